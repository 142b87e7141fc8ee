# SPDX-License-Identifier: BSD-2-Clause
"""`gpushim run --host`: the program does not notice, whatever becomes of the collector, of gpushim, or of itself."""

import os
import signal
import subprocess
import sys

import pytest
from collecting import CALL, READY, children, has_exited, header, host_files, is_there, named_child, until

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


def test_the_program_is_followed_from_its_first_instruction(run):
    done = run(CALL + "import sys; print('out'); print('err', file=sys.stderr); sys.exit(5)")
    assert done.returncode == 5 and done.stdout == "out\n" and done.stderr.startswith("err\n")
    (file,) = host_files(run.out)
    top = header(file)
    (trace,) = (p for p in run.out.glob("*.gst") if p != file)
    assert has_exited(file) and top["kind"] == 1 and top["run_id"] == header(trace)["run_id"] != ""
    assert (top["exe"], top["cmdline"]) == (header(trace)["exe"], header(trace)["cmdline"]) and " -c import ctypes;" in top["cmdline"]
    assert top["pid"] == header(trace)["pid"] and top["start_mono_ns"] < header(trace)["start_mono_ns"]
    assert done.stderr.splitlines()[-2].startswith("gpushim: host probes by ")
    assert done.stderr.splitlines()[-1] == f"gpushim: recorded in {run.out}"


def test_the_program_begins_as_without_probes(run, way):
    with_probes, without = run(SELF, "--host", way), run(SELF, "--host", "off")
    assert with_probes.stdout == without.stdout and "CapEff" in without.stdout
    assert len(host_files(run.out)) == 1


def test_of_a_script_the_file_names_the_interpreter(run, way):
    """What the kernel makes of it; and of a program that is over at once, what was asked for."""
    script = run.folder / "train"
    script.write_text(f"#!{sys.executable} -B\n{READY}\n")
    script.chmod(0o755)
    command = [str(run.gpushim), "run", "--host", way, "-o", str(run.out), "--", str(script), "a b", ""]
    gpushim = subprocess.Popen(command, env=run.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert gpushim.stdout.readline() == "ready\n"
    (file,) = host_files(run.out)
    until(lambda: header(file)["exe"] == os.path.realpath(sys.executable))
    assert header(file)["cmdline"].rstrip() == f"{sys.executable} -B {script} a b"
    assert gpushim.communicate("\n", timeout=60)[0] == "done\n" and run.recorder.gpushim("info", run.out).returncode == 0


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


def test_a_stopped_collector_goes_on_to_its_end(run):
    gpushim = run.start(READY)
    assert gpushim.stdout.readline() == "ready\n"
    collector = named_child(gpushim.pid, "gpushim-host")
    os.kill(collector, signal.SIGSTOP)
    out, err = gpushim.communicate("\n", timeout=60)
    assert gpushim.returncode == 7 and out == "done\n" and "before its time" not in err and not is_there(collector)
    (file,) = host_files(run.out)
    assert has_exited(file)


def test_a_stopped_process_is_not_waited_for(run, way):
    """One that the program leaves, stopped."""
    done = run(CALL + "import os, signal\nchild = os.fork()\nif not child: os.closerange(0, 3); os.kill(os.getpid(), signal.SIGSTOP)\n"
               "os.waitid(os.P_PID, child, os.WSTOPPED)\nprint(child)", "--host", way)
    child = int(done.stdout)
    try:
        (file,) = host_files(run.out)
        assert has_exited(file) and "before its time" not in done.stderr and is_there(child)
    finally:
        os.kill(child, signal.SIGKILL)


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


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_what_is_to_be_ignored_is_ignored_by_the_program(run, number):
    """As under nohup: sent to the program, to gpushim, or to both, it ends neither; and the program finds it ignored."""
    gpushim = run.start("import signal, sys\n" + CALL + f"print(signal.getsignal({int(number)}) == signal.SIG_IGN, flush=True)\n"
                        "sys.stdin.readline(); sys.exit(7)", preexec_fn=lambda: signal.signal(number, signal.SIG_IGN), start_new_session=True)
    assert gpushim.stdout.readline() == "True\n"
    gpushim.send_signal(number)
    os.killpg(gpushim.pid, number)
    out, err = gpushim.communicate("\n", timeout=60)
    assert gpushim.returncode == 7 and f"recorded in {run.out}" in err
    (file,) = host_files(run.out)
    assert has_exited(file)


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
