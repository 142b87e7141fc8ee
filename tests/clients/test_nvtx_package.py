# SPDX-License-Identifier: BSD-2-Clause
"""The PyPI nvtx package, unmodified: what a training script in Python says of itself becomes steps and phases."""

from nvtx_records import ATTACHED, CATEGORY, MARK, OURS, PUSHED, STARTED, Trace

SCRIPT = """
import ctypes, nvtx
ctypes.CDLL("libcuda.so.1").cuInit(0)
print(nvtx.enabled())

@nvtx.annotate("decorated", color="blue", domain="mine", category="cat")
def decorated():
    pass

decorated()
for i in range(3):
    with nvtx.annotate(f"step {i}", payload=i), nvtx.annotate("forward", color="green"):
        nvtx.mark("here", payload=1.5)
nvtx.end_range(nvtx.start_range("open", domain="other"))
nvtx.push_range("a")
nvtx.push_range("b", domain="mine")
nvtx.pop_range(domain="mine")
nvtx.pop_range()
fast = nvtx.get_domain("fast")
fast.push_range(fast.get_event_attributes(message="fast path", payload=7))
fast.pop_range()
"""

LOOP = """
import ctypes, time, nvtx
cuda = ctypes.CDLL("libcuda.so.1")
cuda.cuMemsetD8Async.argtypes = ctypes.c_uint64, ctypes.c_ubyte, ctypes.c_size_t, ctypes.c_void_p
context, memory, stream = ctypes.c_void_p(), ctypes.c_uint64(), ctypes.c_void_p()
assert cuda.cuInit(0) == cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == cuda.cuCtxSetCurrent(context) == 0
assert cuda.cuMemAlloc_v2(ctypes.byref(memory), 4096) == cuda.cuStreamCreate(ctypes.byref(stream), 1) == 0
for i in range(8):
    with nvtx.annotate(f"step {i}"):
        with nvtx.annotate("data"):
            time.sleep(0.02)
        with nvtx.annotate("forward"):
            assert cuda.cuMemsetD8Async(memory, 0, 4096, stream) == 0
            assert cuda.cuStreamSynchronize(stream) == 0
"""


def test_everything_it_says(script):
    done = script(SCRIPT)
    assert (done.status, done.stdout, done.stderr) == (0, "True\n", "")
    trace = Trace(done.traces()[0])
    step = [(None, f"step {i}", 0, PUSHED, i) for i in range(3)]
    inner = [(None, "forward", 1, PUSHED, None), (None, "here", 0, MARK, 1.5)]
    assert [(one.domain, one.name, one.level, one.kind, one.payload) for one in trace.ranges] == [
        ("mine", "decorated", 0, PUSHED, None), step[0], *inner, step[1], *inner, step[2], *inner, ("other", "open", 0, STARTED, None),
        (None, "a", 0, PUSHED, None), ("mine", "b", 0, PUSHED, None), ("fast", "fast path", 0, PUSHED, 7)]
    assert trace.said == [(OURS, None, 0, None), (ATTACHED, None, 1, None), (CATEGORY, "mine", 1, "cat")]


def test_steps_and_phases(script):
    """The device waits for the data, in each step: so say steps, phases and the evidence of the gaps, and so do the times."""
    done = script(LOOP)
    assert (done.status, done.stderr) == (0, "")
    report = done.report()
    device, = report["devices"]
    steps = report["steps"]
    assert [step["name"] for step in steps] == [f"step {i}" for i in range(8)]
    assert all(before["end_ns"] == after["begin_ns"] for before, after in zip(steps, steps[1:]))
    assert device["idle_ns"] == device["startup_ns"] + device["shutdown_ns"] + sum(step["idle_ns"] for step in steps)
    assert device["idle_ns"] == sum(phase["idle_ns"] for phase in report["phases"])
    idle = {tuple(phase["path"]): phase["idle_ns"] for phase in report["phases"]}
    assert idle[("data",)] >= 7 * 20e6 and set(idle) <= {("data",), ("forward",), ()}
    said = [text for gap in device["gaps"] for cause in gap["causes"] if cause["end_ns"] - cause["begin_ns"] > 10e6 for text in cause["evidence"]]
    assert {text for text in said if " in range " in f" {text}"} == {f"in range data of step {i}" for i in range(1, 8)}
