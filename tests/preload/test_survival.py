# SPDX-License-Identifier: BSD-2-Clause
"""The survival matrix: however a program ends, forks, threads, is signalled or built, it does the same as without the shim, and every call
that it counted is in the trace. MATRIX names each row's test; what has a file of its own is named there and only seen to exist."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import gst
import pytest
import survival
from survival import survives

NO_STREAM = 0xFFFFFFFF
HERE = Path(__file__).resolve().parent

MATRIX = {
    "exit": "test_exit",
    "_exit": "test__exit",
    "quick_exit": "test_quick_exit",
    "abort": "test_abort",
    "SIGSEGV": "test_sigsegv",
    "SIGTERM": "test_sigterm",
    "SIGKILL": "test_sigkill",
    "fork with CUDA in the child": "test_fork_with_cuda_in_the_child",
    "fork without": "test_fork_without",
    "vfork+exec": "test_vfork_exec",
    "thread exit mid-call": "test_thread_exit_mid_call",
    "dlclose": "test_dlclose",
    "disk full": "test_transparent.py::test_disk_full",
    "quota recycled": "test_recycle.py::test_a_long_run_keeps_its_newest_calls",
    "directory removed": "test_run_directory.py::test_gone_while_recording",
    "FUSE directory": "test_run_directory_fuse.py::test_is_moved_there_at_the_end",
    "1,000 threads": "test_1000_threads",
    "signal handler that launches": "test_signal_handler_that_launches",
    "global-mode capture": "test_global_mode_capture",
    "deepbind": "test_twin.py::test_deepbind",
    "ASan and TSan clients": "test_sanitized_client",
}


@pytest.mark.parametrize("row", MATRIX)
def test_each_row_has_a_test(row):
    file, _, name = MATRIX[row].rpartition("::")
    assert re.search(rf"^def {name}\(", (HERE / (file or Path(__file__).name)).read_text(), re.MULTILINE), f"no {name} in {file}"


# ---- the end ---------------------------------------------------------------------------------------------------------------


def ends(recorder, case, status, regular=False, **how):
    _, done = survives(recorder, recorder.command("survive_exits_linked", case), status, **how)
    counters = [path.read_bytes()[4096 + 7 * 8] for path in done.traces()]  # struct gst_counters: exited
    assert all(exited == regular for exited in counters)


def test_exit(recorder):
    """With a handler that makes calls."""
    ends(recorder, "exit", 7, regular=True)


def test__exit(recorder):
    ends(recorder, "_exit", 5)


def test_quick_exit(recorder):
    """With a handler that makes calls."""
    ends(recorder, "quick_exit", 6)


def test_exit_while_another_thread_waits(recorder):
    ends(recorder, "exit-elsewhere", 4, regular=True, others=3)


def test_main_thread_leaves(recorder):
    """The process ends with the last of its own threads, though ours are still there."""
    ends(recorder, "main-leaves", 0, regular=True)


def test_main_thread_leaves_where_no_thread_is_to_be_had(recorder):
    """So the shim counts the threads in one that it has: the program's last one is still there."""
    ends(recorder, "main-leaves-no-thread", 0, regular=True)


def test_abort(recorder):
    ends(recorder, "abort", -signal.SIGABRT)


def test_abort_survived(recorder):
    ends(recorder, "abort-survived", 0, regular=True)


def test_sigsegv(recorder):
    ends(recorder, "SIGSEGV", -signal.SIGSEGV)


def test_sigsegv_handled(recorder):
    """By a handler on a stack of its own, which makes calls and leaves."""
    ends(recorder, "SIGSEGV-handled", 9)


def test_sigterm(recorder):
    ends(recorder, "SIGTERM", -signal.SIGTERM)


def test_sigkill(recorder):
    """Once, at a known moment; at 200 random ones: test_kill.py."""
    ends(recorder, "SIGKILL", -signal.SIGKILL)


def test_exec(recorder):
    ends(recorder, "exec", 5, processes=2)


# ---- children --------------------------------------------------------------------------------------------------------------


def forks(recorder, case, processes, **how):
    return survives(recorder, recorder.command("survive_forks_linked", case), 0, processes=processes, **how)


def test_fork_with_cuda_in_the_child(recorder):
    forks(recorder, "fork-cuda", 2)


def test_fork_of_an_initialised_process(recorder):
    """The driver refuses the child's calls, as without the shim; they are recorded."""
    plain, _ = forks(recorder, "fork-after", 2)
    assert plain.stdout == "child: exit status 3\nend\n"  # not initialized


def test_fork_without(recorder):
    forks(recorder, "fork", 1)


def test_vfork_exec(recorder):
    """Of a program that is there, and of one that is not."""
    forks(recorder, "vfork-exec", 1)


def test_posix_spawn(recorder):
    forks(recorder, "spawn", 2)


def test_clone(recorder):
    """clone, clone3 and _Fork, of which no library is told."""
    forks(recorder, "clone", 4)


def test_fork_while_others_call(recorder):
    forks(recorder, "fork-amid", 51)


def test_fork_in_a_signal_handler(recorder):
    forks(recorder, "handler", 2)


def test_fork_in_a_host_function(recorder):
    forks(recorder, "callback", 1)


def test_daemon(recorder):
    forks(recorder, "daemon", 1)


# ---- threads ---------------------------------------------------------------------------------------------------------------


def threads(recorder, case, **how):
    return survives(recorder, recorder.command("survive_threads_linked", case), 0, **how)


def test_1000_threads(recorder):
    """At once."""
    _, done = threads(recorder, "many")
    assert survival.recorded_calls(done)["cuLaunchKernel"] == 8000


def test_10000_threads_one_by_one(recorder):
    """Each goes on where the last one's segment ended."""
    _, done = threads(recorder, "one-by-one")
    (trace,) = done.traces()
    assert trace.stat().st_blocks * 512 < 16 << 20


def test_destructors_that_call(recorder):
    threads(recorder, "destructors")


def test_global_mode_capture(recorder):
    plain, _ = threads(recorder, "global-capture")
    assert plain.stdout == "spoilt: 0\nend\n"


CANCEL_POINT = """
#include <unistd.h>
int cuEventQuery(void *event) { return !event; }
int cuCtxSynchronize(void) { for (;;) sleep(1); }
"""


def compile_c(*arguments, **how):
    done = subprocess.run([os.environ.get("CC", "gcc"), *map(str, arguments)], text=True, capture_output=True, check=False, **how)
    assert done.returncode == 0, done.stderr


def test_thread_exit_mid_call(recorder, tmp_path):
    """Cancelled in a driver call, deferred and asynchronously."""
    compile_c("-shared", "-fPIC", "-x", "c", "-o", tmp_path / "libcuda.so.1", "-", input=CANCEL_POINT)
    survives(recorder, recorder.command("survive_signals", "cancelled"), 0, env={"LD_LIBRARY_PATH": tmp_path})


# ---- signals ---------------------------------------------------------------------------------------------------------------


def signals(recorder, case, stdout, **how):
    env = {"LD_LIBRARY_PATH": recorder.build / "bench"}
    plain, done = survives(recorder, recorder.command("survive_signals", case), 0, env=env, find=survival.quickly_recorded_calls, **how)
    assert plain.stdout == stdout
    return done


def test_signal_handler_that_launches(recorder):
    """Thousands of times a second, in the middle of whatever the loop it interrupts is in: mostly our own functions."""
    signals(recorder, "handler", "handled: 1, errno changed: 0\nend\n")


def test_signal_handler_on_a_small_stack(recorder):
    signals(recorder, "alternate-stack", "handled: 1, errno changed: 0, room left: 1\nend\n")


def test_signal_handler_that_jumps(recorder):
    """Out of the middle of our functions: what comes later is recorded."""
    done = signals(recorder, "jump", "jumped: 1\nend\n", others=1 << 30)
    assert survival.quickly_recorded_calls(done)["cuEventQuery"] == 1000


def test_signal_handler_that_jumps_out_of_a_first_use(recorder):
    """Of a stream: another thread then uses streams that are new, and nothing holds it up. It is the last to launch."""
    done = signals(recorder, "jump-out-of-first-uses", "jumped: 1\nend\n", others=1 << 30)
    (trace,) = done.traces()
    data = trace.read_bytes()
    first, *parts = [part for part in gst.segments(data) if part.name == "survive_signals"]
    streams = [call.stream for call in gst.recorded(data, [part for part in parts if part.tid != first.tid])]
    assert len(set(streams)) == len(streams) == 100 and NO_STREAM not in streams


# ---- libraries that go -----------------------------------------------------------------------------------------------------

DLCLOSE = """
import ctypes, sys
close = ctypes.CDLL(None).dlclose
close.argtypes = [ctypes.c_void_p]
for turn in range(3):
    lib = ctypes.CDLL("libcuda.so.1")
    print(lib.cuInit(0), lib.cuCtxSynchronize())
    print(close(lib._handle))
if len(sys.argv) > 1:  # a recorder that was not preloaded: opened, asked for a call, closed
    shim = ctypes.CDLL(sys.argv[1])
    print(shim.cuInit(0), close(shim._handle))
    print(ctypes.CDLL("libcuda.so.1").cuInit(0))
"""


def python(recorder, program, *args, shim=True, env=None):
    return recorder.run([sys.executable, "-c", program, *map(str, args)], shim=shim, env={"SIMGPU_LOG": None, **(env or {})})


def test_dlclose(recorder):
    """The driver is closed as often as it was opened, and opened again."""
    plain, done = python(recorder, DLCLOSE, shim=False), python(recorder, DLCLOSE)
    assert plain.status == 0 and plain.stdout
    assert survival.outcome(done) == survival.outcome(plain)
    assert survival.recorded_calls(done) == {"cuInit": 3, "cuCtxSynchronize": 3}


def test_dlclose_of_the_shim(recorder):
    done = python(recorder, DLCLOSE, recorder.shim, shim=False)
    assert done.status == 0 and done.stdout.endswith("0 0\n0\n"), done.stdout + done.stderr


# ---- sanitizers ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["address", "address -static-libasan", "thread"])
def sanitized(request, recorder, root, cuda_include, tmp_path_factory):
    """(client, library to be preloaded before ours): built with a sanitizer."""
    options = request.param.split()
    client = tmp_path_factory.mktemp("sanitized") / "client"
    workloads = root / "tests" / "workloads"
    sources = [workloads / "client_dlopen.c", *sorted(workloads.glob("common*.c"))]
    command = ["-fsanitize=" + options[0], *options[1:], "-D_GNU_SOURCE", "-g", "-O1", "-isystem", cuda_include, "-iquote", root / "tests" / "workloads",
               "-iquote", root]
    try:
        compile_c(*command, "-o", client, *sources, "-lpthread", "-ldl", "-lm")
    except AssertionError as error:
        pytest.skip(f"no sanitizer here: {str(error)[-200:]}")
    needed = subprocess.run(["ldd", str(client)], capture_output=True, text=True, check=True).stdout
    runtime = re.search(r"=> (\S+lib[at]san\S+)", needed)
    return client, runtime.group(1) if runtime else None


def test_sanitized_client(recorder, sanitized):
    """No report of the sanitizer's, the same output, the same calls. A runtime that is a library of its own wants to come first."""
    client, runtime = sanitized
    check_sanitized(recorder, client, f"{runtime}:{recorder.shim}" if runtime else str(recorder.shim))


def test_sanitized_client_behind_the_shim(recorder, sanitized):
    """The other order, where the runtime is told not to mind."""
    client, runtime = sanitized
    if not runtime:
        pytest.skip("the runtime is in the program")
    check_sanitized(recorder, client, f"{recorder.shim}:{runtime}", ":verify_asan_link_order=0")


def check_sanitized(recorder, client, preload, options=""):
    command = ["setarch", os.uname().machine, "-R", str(client), "--seed", "5", "--threads", "2", "--actions", "150"]
    env = {"ASAN_OPTIONS": "detect_leaks=0" + options}
    plain = recorder.run(command, shim=False, env=env)
    if plain.status != 0:
        pytest.skip(f"does not run without the shim either: {plain.stderr[-300:]}")
    done = recorder.run(command, env={**env, "LD_PRELOAD": preload})
    assert survival.outcome(done) == survival.outcome(plain)
    assert survival.recorded_calls(done)["cuLaunchKernel"] > 50
