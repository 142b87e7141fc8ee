# SPDX-License-Identifier: BSD-2-Clause
"""One file for each process that makes a driver call, whatever way the process came to be."""

import json
import os
import sys

# A child of fork may not use the driver its parent started; before cuInit it may.
INIT = 'import ctypes, os, sys; lib = ctypes.CDLL("libcuda.so.1"); init = lambda: lib.cuInit(0)\n'

FORK_WITHOUT_CALLS = INIT + """
init()
child = os.fork()
if child == 0:
    os._exit(0)
os.waitpid(child, 0)
"""

FORK_THEN_CALLS = INIT + """
child = os.fork()
if child == 0:
    os._exit(init())
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), init())
"""

# What the driver says to a child of an initialised process (3, not initialised) must come through.
FORK_AFTER_INIT = INIT + """
init()
child = os.fork()
if child == 0:
    code = init()
    lib.cuCtxSynchronize()
    os._exit(code)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), init())
"""

GENERATIONS = INIT + """
for _ in range(3):
    child = os.fork()
    if child:
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        os._exit(init())
os._exit(init())
"""

POSIX_SPAWN = INIT + """
init()
child = os.posix_spawn(sys.executable, [sys.executable, "-c", sys.argv[1]], os.environ)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), init())
"""

SUBPROCESS = INIT + """
import subprocess
init()
print(subprocess.run([sys.executable, "-c", sys.argv[1]]).returncode, init())
"""

VFORK_BY_SHELL = INIT + """
init()
print(os.system("true"), init())
"""

EXEC = INIT + """
init()
os.execv(sys.executable, [sys.executable, "-c", sys.argv[1]])
"""

ONE_CALL = INIT + "sys.exit(init())\n"


def run_python(recorder, program, **how):
    run = recorder.run([sys.executable, "-c", program, ONE_CALL], env={"SIMGPU_LOG": None, **how.pop("env", {})}, **how)
    assert run.status == 0 and run.stderr == "", run.stderr
    return run


def same_as_without(recorder, program):
    without = run_python(recorder, program, shim=False)
    recorded = run_python(recorder, program)
    assert recorded.stdout == without.stdout
    return recorded


def test_fork_without_calls(recorder):
    assert len(same_as_without(recorder, FORK_WITHOUT_CALLS).traces()) == 1


def test_fork_then_calls(recorder):
    run = same_as_without(recorder, FORK_THEN_CALLS)
    assert run.stdout == "0 0\n"
    assert len(run.traces()) == 2
    assert run.report()["calls"]["cuInit"] == 2


def test_fork_after_init(recorder):
    run = same_as_without(recorder, FORK_AFTER_INIT)
    assert len(run.traces()) == 2
    report = run.report()
    assert report["run"]["processes"] == 2
    assert report["calls"]["cuInit"] == 3 and report["calls"]["cuCtxSynchronize"] == 1


def test_four_generations(recorder):
    run = same_as_without(recorder, GENERATIONS)
    assert len(run.traces()) == 4
    assert run.report()["calls"]["cuInit"] == 4


def test_posix_spawn(recorder):
    run = same_as_without(recorder, POSIX_SPAWN)
    assert len(run.traces()) == 2
    assert run.report()["calls"]["cuInit"] == 3


def test_subprocess(recorder):
    run = same_as_without(recorder, SUBPROCESS)
    assert len(run.traces()) == 2
    assert run.report()["calls"]["cuInit"] == 3


def test_system(recorder):
    run = same_as_without(recorder, VFORK_BY_SHELL)
    assert len(run.traces()) == 1
    assert run.report()["calls"]["cuInit"] == 2


def test_exec_gets_a_file_of_its_own(recorder):
    run = same_as_without(recorder, EXEC)
    first, second = sorted(run.traces(), key=lambda path: len(path.name))
    assert second.stem == first.stem + "-2"
    assert run.report()["calls"]["cuInit"] == 2


def test_names_say_host_and_pid(recorder):
    run = recorder.run([sys.executable, "-c", INIT + "init(); print(os.getpid())"])
    (trace,) = run.traces()
    assert trace.name == f"{os.uname().nodename}-{run.stdout.strip()}.gst"


def test_second_run_into_the_same_directory(recorder):
    """The last run is reported, and that there is more; --run chooses."""
    folder = recorder.new_folder()
    env = {"GPUSHIM_OUT": folder / "out"}
    run_python(recorder, ONE_CALL, folder=folder, env=env)
    run_python(recorder, INIT + "init(); init(); init()", folder=folder, env=env)

    def calls(*options):
        done = recorder.gpushim("report", folder / "out", "--json", *options)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["calls"]["cuInit"], done.stderr

    assert calls()[0] == 3
    assert "run" in calls()[1], "nothing says that there is another run"
    assert calls("--run", "0")[0] == 1
    assert calls("--run", "1")[0] == 3
    assert calls("--run", "all")[0] == 4


def test_run_id_joins_processes(recorder):
    """Two processes that did not live at the same time are one run if they say so."""
    folder = recorder.new_folder()
    env = {"GPUSHIM_OUT": folder / "out", "GPUSHIM_RUN": "the one"}
    run_python(recorder, ONE_CALL, folder=folder, env=env)
    run_python(recorder, ONE_CALL, folder=folder, env=env)
    done = recorder.gpushim("report", folder / "out", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["run"]["processes"] == 2


def test_daemon_outlives_its_parent(recorder):
    """A child records into the directory the program started with, wherever it goes."""
    program = INIT + """
child = os.fork()
if child == 0:
    os.chdir("/")
    os._exit(init())
os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    run = recorder.run([sys.executable, "-c", program], env={"GPUSHIM_OUT": "relative", "SIMGPU_LOG": None})
    assert run.status == 0, run.stderr
    assert len(list((run.folder / "relative").glob("*.gst"))) == 1
