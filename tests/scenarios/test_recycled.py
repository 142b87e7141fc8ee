# SPDX-License-Identifier: BSD-2-Clause
"""Recordings whose beginning was given up: what is claimed of the rest is true, and `info` says what is missing."""

import sys

import conservation
from truth import Truth, check_claims

LIMIT = 3 << 20
STEPS = 900
BURST_EVERY = 17 * 64  # launches, at least: shim/burst.c

# Steps of 40 launches and a wait, in two streams, with a copy now and then, an event between the streams, and a pause.
CLIENT = f"""
import ctypes, time
lib = ctypes.CDLL("libcuda.so.1")
context, memory, module, kernel, event = ctypes.c_void_p(), ctypes.c_uint64(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
assert lib.cuInit(0) == 0 and lib.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert lib.cuCtxSetCurrent(context) == 0 and lib.cuMemAlloc_v2(ctypes.byref(memory), 4096) == 0
assert lib.cuModuleLoadData(ctypes.byref(module), b"x") == 0 and lib.cuEventCreate(ctypes.byref(event), 2) == 0
assert lib.cuModuleGetFunction(ctypes.byref(kernel), module, b"work__15us") == 0
streams = [ctypes.c_void_p() for _ in range(2)]
for stream in streams:
    assert lib.cuStreamCreate(ctypes.byref(stream), 1) == 0
host = ctypes.create_string_buffer(4096)
lib.cuMemcpyHtoDAsync_v2.argtypes = ctypes.c_uint64, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p
for step in range({STEPS}):
    for i in range(40):
        assert lib.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, streams[i % 8 == 0], None, None) == 0
    if step % 7 == 0:
        assert lib.cuMemcpyHtoDAsync_v2(memory, host, 4096, streams[0]) == 0
    assert lib.cuEventRecord(event, streams[1]) == 0 and lib.cuStreamWaitEvent(streams[0], event, 0) == 0
    assert lib.cuStreamSynchronize(streams[0]) == 0
    if step % 5 == 0:
        time.sleep(0.002)
"""


def clipped(truth, begin):
    """The device's true work from there on."""
    truth.ops = [op._replace(start=max(op.start, begin)) for op in truth.ops if op.end > begin]
    return truth


def check_estimate(device, idle, launches):
    """From the bursts that are left: the first ones went with the beginning."""
    found = device["bursts"]
    assert found["basis"] == "measured" and 3 <= found["bursts"] < launches / BURST_EVERY
    assert 0 <= device["unresolved_idle_low_ns"] <= device["unresolved_idle_ns"] <= device["unresolved_idle_high_ns"] <= device["unresolved_ns"]
    assert device["likely_idle_low_ns"] <= device["likely_idle_ns"] <= device["likely_idle_high_ns"]
    assert device["likely_idle_high_ns"] - device["likely_idle_low_ns"] < 0.2 * device["span_ns"]
    assert abs(device["likely_idle_ns"] - idle) < 0.1 * device["span_ns"]


@conservation.each_time
def check_idle_behind(device, idle, lead):
    assert device["idle_ns"] - device["idle_error_ns"] - lead <= idle
    assert idle <= device["idle_ns"] + device["idle_error_ns"] + device["unresolved_ns"]


def test_what_is_left_is_true(recorder):
    run = recorder.run([sys.executable, "-c", CLIENT], env={"GPUSHIM_LIMIT": LIMIT, "GPUSHIM_DEVICE": "bursts"})
    assert run.status == 0, run.stderr
    report = run.report()
    conservation.check(report)
    losses, (device,) = report["losses"], report["devices"]
    assert report["run"]["recycled"] == 1 and report["run"]["begins_late_ns"] > 0
    assert losses["segments_recycled"] > 0 and losses["records_dropped"] == 0 and losses["definitions_lost"] == 0
    whole = Truth(run)
    launches = whole.counts["cuLaunchKernel"]
    assert 0 < report["calls"]["cuLaunchKernel"] < launches == STEPS * 40
    assert sum(report["calls"].values()) + losses["calls_recycled"] <= sum(whole.counts.values())
    truth = clipped(whole, device["begin_ns"])
    check_claims(report, truth)
    lead = min(op.start for op in truth.ops) - device["begin_ns"]  # the span begins where the first work can have begun
    idle = truth.idle(0)
    check_idle_behind(device, idle, lead)
    check_estimate(device, idle, launches)
    submitted = report["calls"]["cuLaunchKernel"] + report["calls"]["cuMemcpyHtoDAsync_v2"]
    assert submitted - 1 <= device["operations"] <= submitted  # the call under way when the records begin may be over by then
    assert device["idle_ns"] > idle / 2, "a bound that is right because it says nothing is none"
    words = " ".join(recorder.gpushim("info", run.out).stdout.split())
    assert "were given up to stay within 3.0 MiB: " in words and ", is complete. trust Trust it from " in words
    why = recorder.gpushim("report", run.out, "--why", "0")
    assert why.returncode == 0 and why.stdout
