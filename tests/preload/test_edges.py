# SPDX-License-Identifier: BSD-2-Clause
"""How many timing events a program gets whose work changes its kind with each call, and that never waits."""

import struct

import gst
import pytest

PAIRS = 10000
AT_ONCE = 4
WAITS_AT_ONCE = 12  # more, and one in 5 ms
QUEUE, PUT_IN = 1024, 900  # commands that fit into the driver's queue, and those of the program's that stand there
ANCHOR, START = 5, 2


def ms_of_work(data):
    """From the first submission to the end of the last."""
    parts = gst.segments(data)
    anchors = sorted(struct.unpack_from("<2Q", data, r.offset + 8) for r in gst.valid(data, parts) if r.type == ANCHOR)
    (ticks, ns), (last_ticks, last_ns) = anchors[0], anchors[-1]
    work = [call for call in gst.recorded(data, parts) if call.flags & gst.SUBMISSION]
    return (max(call.end for call in work) - min(call.begin for call in work)) * (last_ns - ns) / (last_ticks - ticks) / 1e6


@pytest.mark.parametrize("level", ["edges", "bursts"])
@pytest.mark.parametrize("case", ["copies", "hostfns", "waits"])
def test_two_in_a_millisecond(recorder, case, level):
    run = recorder.run(recorder.command("edges_linked", case, PAIRS), env={"GPUSHIM_DEVICE": level})
    assert (run.status, run.stdout, run.stderr) == (0, "end\n", "")
    (path,) = run.traces()
    data = path.read_bytes()
    edges, ms = gst.edges(data), ms_of_work(data)
    (stream,) = {edge.stream for edge in edges if edge.covers > 100}
    # Anchors have a limit of their own; the last one stands before the wait at the end; the recorder knows its ticks to a few percent.
    paired = [edge for edge in edges if edge.stream == stream and edge.kind != START and not edge.burst][:-1]
    at_once, in_a_ms = (AT_ONCE + WAITS_AT_ONCE, 1.2) if case == "waits" else (AT_ONCE, 1)
    least = at_once if case == "waits" else 2 * at_once  # a wait for an event may have the one behind it alone
    assert least <= len(paired) <= 2 * (at_once + in_a_ms * ms * 1.1) + 1 + ms / 2000
    assert len(paired) < PAIRS, f"{len(paired)} in {ms:.0f} ms: the program was too slow to be a test"
    if level == "edges":
        assert gst.call_counts(data)[1]["cuEventRecord"] == len(edges)


def test_few_stand_behind_a_wait_that_the_same_thread_ends(recorder):
    """All of the program's fits into the queue. What the recorder puts there beside it must not fill it: nobody would ever write the value."""
    run = recorder.run(recorder.command("edges_linked", "stalled", PUT_IN), env={"SIMGPU_QUEUE": QUEUE, "SIMGPU_QUEUE_ALL": 1})
    assert (run.status, run.stdout, run.stderr) == (0, "end\n", "")
    (path,) = run.traces()
    assert gst.call_counts(path.read_bytes())[1]["cuEventRecord"] > PUT_IN // 2  # the other stream has its edges all the while
