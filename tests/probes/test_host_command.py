# SPDX-License-Identifier: BSD-2-Clause
"""`gpushim host`: whom it follows, where it writes, how it ends, and what rights it keeps."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from collecting import NOBODY, ORDINARY, Host, counters, has_exited, header, host_files, is_there, open_to_all, status, until
from watching import why_not

CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE = 1 << 2, 1 << 19


@pytest.fixture
def program():
    """Starts programs that are gone when the test is over."""
    started = []

    def start(*command, **how):
        started.append(subprocess.Popen(command or ["sleep", "60"], **how))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


@pytest.fixture
def host(gpushim, tmp_path):
    started = []

    def start(pid, *options, out=tmp_path / "out", **how):
        started.append(Host(gpushim, pid, out, *options, **how))
        return started[-1]

    yield start
    for h in started:
        h.process.kill()
        h.process.wait()


@pytest.mark.parametrize("way", ["ebpf", "perf", "proc"])
def test_it_ends_when_the_tree_has(host, program, build, way):
    reason = why_not(build, way)
    if reason:
        pytest.skip(reason)
    target = program("sh", "-c", "read line; sleep 2 & sleep 0.5", stdin=subprocess.PIPE)
    until(lambda: Path(f"/proc/{target.pid}/comm").read_text() == "sh\n")  # a moment after Popen returns
    follower = host(target.pid, "--probes", way)
    assert f"by {way} into" in follower.first
    target.stdin.close()
    until(lambda: not is_there(target.pid))  # nobody has asked for its status: it is dead all the same
    assert follower.process.poll() is None  # its child lives, and was there for long enough to be met by looks
    status_, said = follower.end()
    assert status_ == 0
    assert said.startswith(f"gpushim: following process {target.pid} (sh) by ") and f" into {follower.file}\n" in said
    assert f"gpushim: ended: process {target.pid}; it took " in said and "lost" not in said
    top = header(follower.file)
    assert top["kind"] == 1 and top["clock"] == 2 and top["version"] == 1
    assert top["pid"] == target.pid and top["ppid"] == os.getpid() and top["cmdline"] == "sh -c read line; sleep 2 & sleep 0.5"
    assert has_exited(follower.file) and follower.file.stat().st_mode & 0o777 == 0o600
    assert follower.file.name == f"{os.uname().nodename}-{target.pid}.host.gst"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_it_ends_when_it_is_told_to(host, program, number):
    target = program()
    follower = host(target.pid, preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))
    follower.process.send_signal(number)
    status_, said = follower.end()
    assert status_ == 0 and f"told to end: no longer following process {target.pid}" in said
    assert has_exited(follower.file) and target.poll() is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_what_it_was_started_to_ignore_does_not_end_it(host, program, number):
    """nohup; a shell's background."""
    target = program()
    follower = host(target.pid, preexec_fn=lambda: signal.signal(number, signal.SIG_IGN))
    assert int(status(follower.process.pid, "SigIgn"), 16) >> (number - 1) & 1
    follower.process.send_signal(number)
    target.kill()
    status_, said = follower.end()
    assert status_ == 0 and f"ended: process {target.pid}" in said


def test_killed_it_leaves_what_it_wrote(host, program, gpushim):
    target = program()
    follower = host(target.pid)
    first = counters(follower.file)[6]
    until(lambda: counters(follower.file)[6] > first)  # signs of life
    follower.process.kill()
    follower.process.wait()
    assert not has_exited(follower.file) and target.poll() is None
    again = host(target.pid)
    assert len(host_files(follower.out)) == 2 and f"-{target.pid}-2.host.gst" in again.first


def test_it_joins_the_run_of_the_process(host, program, tmp_path):
    target = program(env={"PATH": os.environ["PATH"], "GPUSHIM_OUT": str(tmp_path / "its"), "GPUSHIM_RUN": "its-run"})
    follower = host(target.pid, out=None, env={k: v for k, v in os.environ.items() if not k.startswith("GPUSHIM")}, cwd=tmp_path)
    (file,) = host_files(tmp_path / "its")
    assert str(file) in follower.first and header(file)["run_id"] == "its-run"
    here = host(target.pid, out=None, env={**os.environ, "GPUSHIM_OUT": "mine", "GPUSHIM_RUN": "my-run"}, cwd=tmp_path)
    (file,) = host_files(tmp_path / "mine")
    assert "following" in here.first and header(file)["run_id"] == "my-run"


def refused(gpushim, *options, **how):
    done = subprocess.run([gpushim, "host", *options], capture_output=True, text=True, timeout=60, **how)
    return done.returncode, done.stderr


def test_whom_it_does_not_follow(gpushim, program, tmp_path):
    assert refused(gpushim) == (2, "gpushim: host: no process is named (-p PID)\ntry: gpushim host --help\n")
    assert refused(gpushim, "-p", "0")[0] == refused(gpushim, "-p", "x")[0] == 2
    assert refused(gpushim, "-p", "4194304") == (4, "gpushim: there is no process 4194304\n")
    dead = subprocess.Popen(["true"])
    until(lambda: not is_there(dead.pid))
    assert refused(gpushim, "-p", str(dead.pid)) == (4, f"gpushim: there is no process {dead.pid}\n")
    dead.wait()
    threads = program(sys.executable, "-c", "import threading, time; t = threading.Thread(target=time.sleep, args=(60,)); t.start()\n"
                      "print(t.native_id, flush=True); t.join()", stdout=subprocess.PIPE, text=True)
    tid = threads.stdout.readline().strip()
    assert refused(gpushim, "-p", tid) == (2, f"gpushim: host: {tid} is a thread of process {threads.pid}\n")
    status_, said = refused(gpushim, "-p", str(threads.pid), "-o", "/proc/here")
    assert (status_, said) == (4, "gpushim: cannot record into /proc/here: No such file or directory\n")
    status_, said = refused(gpushim, "-p", str(threads.pid), "-o", tmp_path / "out", "--off", "switch,nothing")
    assert status_ == 2 and "--off knows no probe nothing; there are switch, " in said and "memcg-reclaim" in said
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to be two users")
def test_another_users_process_is_roots_alone(gpushim, program, host, tmp_path):
    mine, theirs = program(), program(**ORDINARY)
    open_to_all(tmp_path)
    status_, said = refused(gpushim, "-p", str(mine.pid), "-o", tmp_path / "a", **ORDINARY)
    assert (status_, said) == (4, f"gpushim: process {mine.pid} is another user's, or has another's rights\ntry: as root\n")
    follower = host(theirs.pid)
    theirs.kill()
    assert follower.end()[0] == 0 and has_exited(follower.file)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs rights to give up")
def test_rights_are_given_up(host, program):
    target = program(**ORDINARY)
    follower = host(target.pid)
    assert "following" in follower.first
    pid = follower.process.pid
    kept = int(status(pid, "CapPrm"), 16)
    assert kept & ~(CAP_DAC_READ_SEARCH | CAP_SYS_PTRACE) == 0
    assert status(pid, "CapBnd") == status(pid, "CapAmb") == status(pid, "CapInh") == "0" * 16
    assert status(pid, "NoNewPrivs") == "1"
    time.sleep(0.1)
    assert follower.process.poll() is None and int(status(target.pid, "Uid").split()[0]) == NOBODY
