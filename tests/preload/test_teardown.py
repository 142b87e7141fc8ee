# SPDX-License-Identifier: BSD-2-Clause
"""Contexts, streams and threads that go, and a loader that is busy or finds little: the program is left alone, the counts hold."""

import json
import os
import re
import struct
import subprocess

import gst

STREAMS_UNTRACKED = gst.COUNTERS + 3 * 8  # struct gst_counters in shim/format.h
HANG_SECONDS = 10

# Runs with the loader's lock held. The wait lets the program's other thread get into its first driver call.
CONSTRUCTOR = """
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void look_up(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);

	if (write(atoi(getenv("TEARDOWN_PIPE")), "", 1) != 1)
		return;
	usleep(300000);
	fprintf(stderr, "constructor: cuInit %s\\n", dlsym(driver, "cuInit") ? "found" : "none");
}
"""


def compile_library(path, source):
    command = [os.environ.get("CC", "gcc"), "-shared", "-fPIC", "-x", "c", "-o", str(path), "-"]
    done = subprocess.run(command, input=source, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


def both(recorder, *case, **how):
    """The case without the shim and with it: the program does the same."""
    command = ["timeout", "--signal=KILL", str(HANG_SECONDS), *recorder.command("teardown_linked", *case)]
    plain, recorded = recorder.run(command, shim=False, **how), recorder.run(command, **how)
    assert plain.status == 0 and plain.stdout.endswith("end\n"), plain.stdout + plain.stderr
    assert (recorded.status, recorded.stdout, recorded.stderr) == (plain.status, plain.stdout, plain.stderr)
    return plain, recorded


def true_calls(run):
    return json.loads(run.truth.read_text().splitlines()[-1])["calls"]


def kernels(run):
    """[start, end] of each, by the simulated driver's own log."""
    lines = map(json.loads, run.truth.read_text().splitlines())
    return [(line["start_ns"], line["end_ns"]) for line in lines if line.get("op") == "kernel"]


def trace(run):
    (path,) = run.traces()
    return path.read_bytes()


def test_a_dead_context_is_left_alone(recorder):
    """The helper would try the context again every few hundred microseconds, for 300 ms."""
    plain, recorded = both(recorder, "release")
    own, injected = gst.call_counts(trace(recorded))
    assert own["cuCtxSetCurrent"] == true_calls(plain)["cuCtxSetCurrent"] == 2
    assert true_calls(recorded)["cuCtxSetCurrent"] == 2 + injected.get("cuCtxSetCurrent", 0) <= 4


def test_a_look_up_leaves_no_error_behind(recorder, tmp_path):
    """A driver that has just what this program names: the shim looks in vain for hundreds of calls."""
    (program, _) = recorder.command("teardown_linked", "look-up")
    named = subprocess.run(["nm", "-D", "--undefined-only", program], capture_output=True, text=True, check=True).stdout
    calls = re.findall(r"\bcu[A-Z]\w*", named)
    assert "cuInit" in calls and len(calls) < 20
    compile_library(tmp_path / "libcuda.so.1", "".join(f"int {call}(void) {{ return 0; }}\n" for call in calls))
    plain, _ = both(recorder, "look-up", env={"LD_LIBRARY_PATH": tmp_path})
    assert plain.stdout == "cuInit: found, dlerror: none\nend\n"


def test_a_thread_takes_its_stream_with_it(recorder):
    _, recorded = both(recorder, "threads")
    assert struct.unpack_from("<Q", trace(recorded), STREAMS_UNTRACKED)[0] == 0
    assert recorded.report()["devices"][0]["operations"] == 6000


def test_a_first_call_while_a_constructor_looks_it_up(recorder, tmp_path):
    compile_library(tmp_path / "constructor.so", CONSTRUCTOR)
    plain, recorded = both(recorder, "loader-lock", tmp_path / "constructor.so")
    assert (plain.stdout, plain.stderr) == ("end\n", "constructor: cuInit found\n")
    assert recorded.report()["calls"]["cuInit"] == 1


def test_a_handle_issued_again_is_a_fresh_stream(recorder):
    plain, recorded = both(recorder, "handle-again")
    assert plain.stdout == "launch: error 400\nsame handle: 1\nend\n"
    _, injected = gst.call_counts(trace(recorded))
    assert injected["cuEventRecord"] >= 20
    device = recorded.report()["devices"][0]
    assert device["operations"] == 20 and len(device["gaps"]) == 19
    true = sum(end - start for start, end in kernels(recorded))
    assert true == 20 * 200_000
    assert abs(device["compute_ns"] - true) <= device["idle_error_ns"] + device["unresolved_ns"] <= true // 2
