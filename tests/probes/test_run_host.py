# SPDX-License-Identifier: BSD-2-Clause
"""`gpushim run --host`: the program does not notice, whatever becomes of the collector, of gpushim, or of itself."""

import os
import shutil
import signal
import subprocess
import sys

import pytest
from collecting import ORDINARY, children, environment_of, has_exited, header, host_files, is_there, named_child, open_to_all, until
from watching import why_not

CALL = 'import ctypes; ctypes.CDLL("libcuda.so.1").cuInit(0)\n'
READY = CALL + 'import sys; print("ready", flush=True); sys.stdin.readline(); print("done", flush=True); sys.exit(7)'
SELF = CALL + """
import os
for line in open("/proc/self/status"):
    if line.startswith(("Cap", "NoNewPrivs", "SigBlk", "SigIgn", "SigCgt", "Groups")):
        print(line.strip().replace(":", "=", 1))
print("fds=", sorted(os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if int(fd) > 2 and os.path.exists(f"/proc/self/fd/{fd}")))
print("ids=", os.getpgid(0) == os.getpgid(os.getppid()), os.getsid(0) == os.getsid(os.getppid()), os.getcwd(), os.umask(0))
print("environment=", sorted(set(os.environ) - {"LD_PRELOAD", "GPUSHIM_OUT", "GPUSHIM_RUN"}))
print("children=", open("/proc/self/task/%d/children" % os.getpid()).read())
"""


class Runs:
    def __init__(self, gpushim, recorder, folder):
        self.gpushim, self.recorder, self.folder, self.out = gpushim, recorder, folder, folder / "out"

    def command(self, text, *options):
        return [str(self.gpushim), "run", "-o", str(self.out), *options, "--", sys.executable, "-c", text]

    def environment(self, **more):
        return self.recorder.environment(shim=False, **more)

    def __call__(self, text, *options, **how):
        return subprocess.run(self.command(text, *options), env=self.environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=60, **how)

    def start(self, text, *options, **how):
        return subprocess.Popen(self.command(text, *options), env=self.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, **how)


@pytest.fixture
def run(gpushim, recorder, tmp_path):
    return Runs(gpushim, recorder, tmp_path)


@pytest.fixture(params=["ebpf", "perf", "proc"])
def way(request, build):
    reason = why_not(build, request.param)
    if reason:
        pytest.skip(reason)
    return request.param


def test_the_program_is_followed_from_its_first_instruction(run):
    done = run(CALL + "import sys; print('out'); print('err', file=sys.stderr); sys.exit(5)")
    assert done.returncode == 5 and done.stdout == "out\n" and done.stderr.startswith("err\n")
    (file,) = host_files(run.out)
    top = header(file)
    (trace,) = (p for p in run.out.glob("*.gst") if p != file)
    assert has_exited(file) and top["kind"] == 1 and top["run_id"] == header(trace)["run_id"] != ""
    assert top["pid"] == header(trace)["pid"] and top["start_mono_ns"] < header(trace)["start_mono_ns"]
    assert done.stderr.splitlines()[-2].startswith("gpushim: host probes by ")
    assert done.stderr.splitlines()[-1] == f"gpushim: recorded in {run.out}"


def test_the_program_begins_as_without_probes(run, way):
    with_probes, without = run(SELF, "--host", way), run(SELF, "--host", "off")
    assert with_probes.stdout == without.stdout and "CapEff" in without.stdout
    assert len(host_files(run.out)) == 1


def test_a_killed_collector_is_not_missed(run):
    gpushim = run.start(READY)
    assert gpushim.stdout.readline() == "ready\n"
    collector = named_child(gpushim.pid, "gpushim-host")
    os.kill(collector, signal.SIGKILL)
    until(lambda: collector not in children(gpushim.pid))  # no zombie
    out, err = gpushim.communicate("\n", timeout=60)
    assert gpushim.returncode == 7 and out == "done\n"
    assert "the host probes' collector was ended before its time: what it wrote is there\n" in err and f"recorded in {run.out}" in err
    (file,) = host_files(run.out)
    assert not has_exited(file) and run.recorder.gpushim("report", run.out).returncode == 0


def test_a_stopped_collector_holds_nobody_up(run):
    gpushim = run.start(READY)
    assert gpushim.stdout.readline() == "ready\n"
    collector = named_child(gpushim.pid, "gpushim-host")
    os.kill(collector, signal.SIGSTOP)
    out, err = gpushim.communicate("\n", timeout=60)
    assert gpushim.returncode == 7 and out == "done\n" and "before its time" in err and not is_there(collector)


def test_where_gpushim_is_killed_both_go_on(run, way):
    gpushim = run.start(READY, "--host", way)
    assert gpushim.stdout.readline() == "ready\n"
    collector = named_child(gpushim.pid, "gpushim-host")
    gpushim.kill()
    gpushim.wait()
    assert is_there(collector)
    gpushim.stdin.write("\n")
    gpushim.stdin.flush()
    assert gpushim.stdout.read() == "done\n"  # the collector does not keep it open, nor does anybody else
    until(lambda: not is_there(collector))
    (file,) = host_files(run.out)
    assert has_exited(file)
    gpushim.stdin.close()
    gpushim.stderr.close()
    gpushim.stdout.close()


def test_ctrl_c_is_the_programs(run):
    gpushim = run.start("import signal, time\n" + CALL + "def ended(*_): print('interrupted'); raise SystemExit(3)\n"
                        "signal.signal(signal.SIGINT, ended); print('ready', flush=True); time.sleep(60)", start_new_session=True)
    assert gpushim.stdout.readline() == "ready\n"
    os.killpg(gpushim.pid, signal.SIGINT)
    out, err = gpushim.communicate(timeout=60)
    assert gpushim.returncode == 3 and out == "interrupted\n"
    (file,) = host_files(run.out)
    assert has_exited(file) and "before its time" not in err


def test_what_outlives_the_program_is_not_waited_for(run, way):
    gpushim = run.start(CALL + "import subprocess; print(subprocess.Popen(['sleep', '60'], stdout=-3, stderr=-3, start_new_session=True).pid)",
                        "--host", way)
    out, err = gpushim.communicate(timeout=30)
    os.kill(int(out), signal.SIGKILL)
    (file,) = host_files(run.out)
    assert gpushim.returncode == 0 and has_exited(file)


def test_nothing_recorded_leaves_nothing(run):
    done = run("pass")
    assert done.returncode == 0 and "nothing was recorded" in done.stderr and not run.out.exists()
    done = subprocess.run([str(run.gpushim), "run", "-o", str(run.out), "--", "no-such-program"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 127 and done.stderr == "gpushim: no-such-program: No such file or directory\n" and not run.out.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to be somebody else")
def test_require_is_refused_with_the_reason(run, tmp_path):
    open_to_all(tmp_path)
    done = run("open('started', 'w')", "--host", "require", cwd=tmp_path, **ORDINARY)
    assert done.returncode == 4 and not (tmp_path / "started").exists()
    reason, command = done.stderr.splitlines()
    assert reason.startswith("gpushim: run: host probes by ebpf: ") and command.startswith("try: ")
    assert command == f"try: sudo setcap cap_bpf,cap_perfmon+ep '{run.gpushim}'" or "CAP_BPF" not in reason
    assert not run.out.exists() and done.stdout == ""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give a file capabilities")
def test_a_gpushim_with_capabilities_gives_the_program_all_of_its_environment(run, tmp_path, shim):
    """The loader takes LD_LIBRARY_PATH and the like out of the environment of a program whose file has capabilities."""
    own = shutil.copy(run.gpushim, tmp_path / "gpushim")
    if subprocess.run(["setcap", "cap_bpf,cap_perfmon+ep", own], capture_output=True).returncode:
        pytest.skip("there is no setcap, or no capability to be had on this file system")
    open_to_all(tmp_path)
    library = tmp_path / "libgpushim.so"
    shutil.copy(shim, library)
    show = CALL + "import os\nfor item in os.environ.items(): print('='.join(item))\n" \
        "for line in open('/proc/self/status'):\n    if line.startswith('Cap'): print(line.strip().replace(':\\t', '='))"
    simgpu = tmp_path / "simgpu"
    shutil.copytree(run.recorder.build / "simgpu", simgpu, symlinks=True, ignore=shutil.ignore_patterns("gen"))
    env = run.environment(LD_LIBRARY_PATH=simgpu, TMPDIR=tmp_path, LD_PRELOAD="libm.so.6", GPUSHIM_LIBRARY=library, WITH_BLANKS="a b=c ")
    python = shutil.which("python3", path="/usr/bin:/bin") or sys.executable
    done = subprocess.run([own, "run", "-o", str(run.out), "--", python, "-c", show], env=env, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=60, cwd=tmp_path, **ORDINARY)
    assert done.returncode == 0, done.stderr
    seen = environment_of(done.stdout)
    assert seen["LD_LIBRARY_PATH"] == str(simgpu) and seen["TMPDIR"] == str(tmp_path) and seen["WITH_BLANKS"] == "a b=c "
    assert seen["LD_PRELOAD"] == f"{library}:libm.so.6"
    assert seen["CapPrm"] == seen["CapEff"] == seen["CapAmb"] == "0" * 16
    assert f"recorded in {run.out}" in done.stderr and len(host_files(run.out)) == 1


def test_written_here_where_the_run_directory_is_elsewhere(run):
    """As for a run directory on a network file system; a collector that was killed has its file moved by gpushim."""
    local = run.folder / "local"
    local.mkdir()
    for killed in (False, True):
        gpushim = subprocess.Popen(run.command(READY), env=run.environment(GPUSHIM_LOCAL=local), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        assert gpushim.stdout.readline() == "ready\n"
        (file,) = until(lambda: list(local.glob("gpushim-*/*.host.gst")))
        (note,) = until(lambda: list(run.out.glob("*.host.gst.elsewhere")))
        assert str(file) in note.read_text() and note.name == f"{file.name}.elsewhere"
        if killed:
            os.kill(named_child(gpushim.pid, "gpushim-host"), signal.SIGKILL)
        gpushim.communicate("\n", timeout=60)
        assert gpushim.returncode == 7 and not note.exists() and not file.exists()
        assert has_exited(run.out / file.name) != killed and header(run.out / file.name)["kind"] == 1
