# SPDX-License-Identifier: BSD-2-Clause
"""`gpushim run --host` by a gpushim whose file has capabilities: who has them, for how long; the program has what it would have without us."""

import os
import shutil
import signal
import stat
import subprocess
import sys

import pytest
from collecting import CALL, NOBODY, ORDINARY, READY, environment_of, host_files, named_child, open_to_all, status, until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give a file capabilities and to become somebody else")
NONE = "0" * 16
CAP_CHOWN, CAP_KILL = 1 << 0, 1 << 5
SHOW = CALL + """import os
for item in os.environ.items(): print('='.join(item))
for line in open('/proc/self/status'):
    if line.startswith('Cap'): print(line.strip().replace(':\\t', '='))
"""


def python():
    """One that every user may run."""
    return shutil.which("python3", path="/usr/bin:/bin") or sys.executable


def test_require_is_refused_with_the_reason(run, tmp_path):
    open_to_all(tmp_path)
    done = run("open('started', 'w')", "--host", "require", cwd=tmp_path, **ORDINARY)
    assert done.returncode == 4 and not (tmp_path / "started").exists()
    reason, command = done.stderr.splitlines()
    assert reason.startswith("gpushim: run: host probes by ebpf: ") and command.startswith("try: ")
    assert command == f"try: sudo setcap cap_bpf,cap_perfmon+ep '{run.gpushim}'" or "CAP_BPF" not in reason
    assert not run.out.exists() and done.stdout == ""


@pytest.fixture
def capable(run, tmp_path, shim):
    """A command line's beginning: a gpushim with the two capabilities, all that it needs, and its environment."""
    own = shutil.copy(run.gpushim, tmp_path / "gpushim")
    if not shutil.which("setcap") or subprocess.run(["setcap", "cap_bpf,cap_perfmon+ep", own], capture_output=True).returncode:
        pytest.skip("there is no setcap, or no capability to be had on this file system")
    open_to_all(tmp_path)
    library = shutil.copy(shim, tmp_path / "libgpushim.so")
    simgpu = tmp_path / "simgpu"
    shutil.copytree(run.recorder.build / "simgpu", simgpu, symlinks=True, ignore=shutil.ignore_patterns("gen"))
    run.capable_environment = run.environment(LD_LIBRARY_PATH=simgpu, GPUSHIM_LIBRARY=library)
    return [str(own), "run", "-o", str(run.out)]


def program(text):
    return ["--", python(), "-c", text]


def test_a_gpushim_with_capabilities_gives_the_program_all_of_its_environment(run, capable, tmp_path):
    """The loader takes LD_LIBRARY_PATH and the like out of the environment of a program whose file has capabilities."""
    env = {**run.capable_environment, "TMPDIR": str(tmp_path), "LD_PRELOAD": "libm.so.6", "WITH_BLANKS": "a b=c "}
    done = subprocess.run([*capable, *program(SHOW)], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, cwd=tmp_path,
                          **ORDINARY)
    assert done.returncode == 0, done.stderr
    seen = environment_of(done.stdout)
    assert all(seen[name] == env[name] for name in ("LD_LIBRARY_PATH", "TMPDIR", "WITH_BLANKS"))
    assert seen["LD_PRELOAD"] == f"{tmp_path / 'libgpushim.so'}:libm.so.6"
    assert seen["CapPrm"] == seen["CapEff"] == seen["CapAmb"] == seen["CapInh"] == NONE
    assert f"recorded in {run.out}" in done.stderr and len(host_files(run.out)) == 1


def test_the_program_inherits_what_it_would_without_us(run, capable, tmp_path):
    if not shutil.which("setpriv"):
        pytest.skip("there is no setpriv")
    become = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--inh-caps=+chown,+kill"]
    how = {"env": run.capable_environment, "stdin": subprocess.DEVNULL, "capture_output": True, "text": True, "timeout": 60, "cwd": tmp_path}
    without = subprocess.run([*become, python(), "-c", SHOW], **how)
    if without.returncode:
        pytest.skip(f"nothing can be lent here: {without.stderr}")
    with_us = subprocess.run([*become, *capable, *program(SHOW)], **how)
    assert with_us.returncode == 0, with_us.stderr
    sets = [[environment_of(done.stdout)[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")] for done in (with_us, without)]
    assert sets[0] == sets[1] and int(sets[0][0], 16) & (CAP_CHOWN | CAP_KILL) == CAP_CHOWN | CAP_KILL


def rights(pid):
    return status(pid, "CapPrm"), status(pid, "CapEff")


@pytest.mark.parametrize("host", ["auto", "off"])
def test_while_the_program_runs_nobody_has_capabilities(run, capable, tmp_path, host):
    gpushim = subprocess.Popen([*capable, "--host", host, *program(READY)], env=run.capable_environment, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path, **ORDINARY)
    assert gpushim.stdout.readline() == "ready\n"
    who = [gpushim.pid, named_child(gpushim.pid, "gpushim-witness")]
    if host != "off":
        who.append(named_child(gpushim.pid, "gpushim-host"))
    until(lambda: all(rights(pid) == (NONE, NONE) for pid in who), seconds=2)
    assert gpushim.communicate("\n", timeout=60)[0] == "done\n" and gpushim.returncode == 7


def test_of_roots_capabilities_gpushim_keeps_what_waiting_needs(run):
    gpushim = run.start(READY)
    assert gpushim.stdout.readline() == "ready\n"
    waits = 1 << 1 | 1 << 2 | CAP_KILL | 1 << 19  # files of whom the program becomes; signals to it; its /proc
    until(lambda: int(rights(gpushim.pid)[0], 16) & ~waits == 0, seconds=2)
    assert rights(named_child(gpushim.pid, "gpushim-witness")) == (NONE, NONE)
    assert gpushim.communicate("\n", timeout=60)[0] == "done\n" and gpushim.returncode == 7


def test_a_program_that_becomes_somebody_else_is_passed_signals(run):
    text = CALL + f"""import os, signal, sys
def ended(*_): print("ended"); sys.exit(9)
signal.signal(signal.SIGTERM, ended)
os.setresuid({NOBODY}, {NOBODY}, {NOBODY}); print("ready", flush=True); signal.pause()
"""
    gpushim = run.start(text)
    assert gpushim.stdout.readline() == "ready\n"
    witness = named_child(gpushim.pid, "gpushim-witness")
    until(lambda: rights(witness) == (NONE, NONE), seconds=2)
    gpushim.send_signal(signal.SIGTERM)
    out, err = gpushim.communicate(timeout=60)
    assert gpushim.returncode == 9 and out == "ended\n" and f"recorded in {run.out}" in err


def test_tmpdir_is_the_users_for_a_gpushim_with_capabilities_too(run, capable, tmp_path):
    """Where the run directory is elsewhere, the collector's file is below TMPDIR meanwhile."""
    folder = tmp_path / "local"
    folder.mkdir()
    folder.chmod(0o1777)
    env = {**run.capable_environment, "TMPDIR": str(folder), "GPUSHIM_LOCAL": "/nowhere"}
    gpushim = subprocess.Popen([*capable, *program(READY)], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, cwd=tmp_path, **ORDINARY)
    assert gpushim.stdout.readline() == "ready\n"
    assert len(until(lambda: list(folder.glob(f"gpushim-{NOBODY}/*.host.gst")))) == 1
    gpushim.communicate("\n", timeout=60)
    assert gpushim.returncode == 7 and len(host_files(run.out)) == 1


@pytest.mark.parametrize("owner", [0, NOBODY])
def test_a_set_user_id_gpushim_refuses(run, tmp_path, owner):
    own = shutil.copy(run.gpushim, tmp_path / "gpushim")
    open_to_all(tmp_path)
    os.chown(own, owner, owner)
    own.chmod(0o755 | stat.S_ISUID)
    if os.statvfs(tmp_path).f_flag & os.ST_NOSUID:
        pytest.skip("this file system has no set-user-ID")
    who = {} if owner else ORDINARY
    for command in (["run", "-o", str(tmp_path / "out"), "--", "touch", str(tmp_path / "ran")], ["info", "/dev/null"], []):
        done = subprocess.run([own, *command], capture_output=True, text=True, timeout=60, cwd=tmp_path, **who)
        assert done.returncode == 4 and done.stdout == ""
        assert done.stderr.startswith("gpushim: runs with another user's or group's rights (set-user-ID)")
    assert not (tmp_path / "ran").exists() and not (tmp_path / "out").exists()
