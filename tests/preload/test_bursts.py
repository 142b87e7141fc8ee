# SPDX-License-Identifier: BSD-2-Clause
"""Bursts in real programs: what stands where, how much of it there is, and what a program's streams have of it: nothing."""

import bisect
import json
import re
import struct
import sys
from collections import defaultdict
from typing import NamedTuple

import gst
import pytest

LEVELS = {1: "host", 2: "edges", 3: "bursts", 4: "cupti"}
SHARE = 64  # submissions for one edge of a burst, shim/burst.c
ALONE, MANY = ("launch_bound_linked", 20000, 20, 0), ("bursts_linked", "threads", 5000)


class Trace:
    def __init__(self, run):
        assert run.status == 0, run.stderr
        (path,) = run.traces()
        self.data = path.read_bytes()
        parts = gst.segments(self.data)
        self.hooks = gst.names(self.data, parts, gst.SPACE_HOOK)
        self.calls = list(gst.recorded(self.data, parts))
        self.work = {(call.stream, call.seq): call for call in self.calls if call.flags & gst.SUBMISSION}
        self.edges, self.bursts = gst.edges(self.data), gst.bursts(self.data)
        self.injected = gst.call_counts(self.data)[1]

    def level(self):
        return LEVELS[int.from_bytes(self.data[32:36], "little")]

    def made(self, name):
        return [call for call in self.calls if self.hooks[call.hook] == name]

    def edges_of(self, burst):
        return [edge for edge in self.edges if edge.burst == burst]


def record(recorder, program, *options, **env):
    command = program if isinstance(program, list) else recorder.command(program, *options)
    return Trace(recorder.run(command, env=env))


def brackets(trace, burst):
    """{(stream, seq): (edge before, edge behind)} of a burst; its marks, its edges behind others."""
    before, behind, null, found, marks = {}, {}, [], {}, []
    for edge in trace.edges_of(burst):
        if edge.kind == gst.BURST_NULL:
            null.append(edge)
        else:
            (before if edge.kind == gst.BURST_BEFORE else behind).setdefault((edge.stream, edge.covers), edge)
    for (stream, seq), after in behind.items():
        begin = before.get((stream, seq - 1)) or behind.get((stream, seq - 1))
        if begin:
            found[stream, seq] = begin, after
        else:
            marks.append(after)
    return found, marks, null


@pytest.mark.parametrize("program", [ALONE, MANY], ids=["one-thread", "threads"])
def test_each_submission_of_a_burst_stands_between_its_edges(recorder, program):
    trace = record(recorder, *program)
    assert trace.level() == "bursts" and [burst.burst for burst in trace.bursts] == list(range(1, len(trace.bursts) + 1))
    assert len(trace.bursts) >= len(trace.work) / SHARE / 40 and trace.injected["cuEventRecord"] == len(trace.edges)
    for burst in trace.bursts:
        found, marks, null = brackets(trace, burst.burst)
        assert len(found) == burst.submissions and len(null) <= 1
        assert len(trace.edges_of(burst.burst)) == burst.edges
        assert sum(edge.end - edge.begin for edge in trace.edges_of(burst.burst)) <= burst.cost_ticks * 1.01
        for (stream, seq), (before, behind) in found.items():
            call = trace.work[stream, seq]
            if before.kind == gst.BURST_BEFORE:
                assert call.begin <= before.begin <= before.end <= call.end and before.covers == seq - 1
            assert call.end <= behind.begin <= burst.end and behind.covers == seq
        for edge in trace.edges_of(burst.burst):
            assert burst.begin <= edge.begin <= edge.end <= burst.end
        assert all(mark.end <= burst.end and mark.stream not in [stream for stream, seq in found if seq <= mark.covers]
                   for mark in marks)
        for edge in null:
            assert (edge.stream, edge.covers) in found


def test_a_program_of_launches_pays_two_percent(recorder):
    trace = record(recorder, *ALONE)
    assert 0.01 < trace.injected["cuEventRecord"] / len(trace.work) <= 0.02
    first = trace.edges_of(1)[0]
    assert trace.bursts[0].submissions == 2 and first.covers < 1200, "the first comes late"  # 1 s at 800 launches a second


def test_elsewhere_two_for_each_wait_and_stream(recorder):
    """Bursts add at most their own share to what blocking calls take, which is one for each stream that has work."""
    run = recorder.run_client("client_dlopen", "--seed", 5)
    trace, waits = Trace(run), [line.split() for line in run.calls.read_text().splitlines()]
    blocking = sum(waits_for == "1" for *_, waits_for in waits)
    streams = len({stream for stream, _ in trace.work})
    assert sum(edge.burst != 0 for edge in trace.edges) <= len(trace.work) / SHARE
    assert trace.injected["cuEventRecord"] <= 2 * blocking * streams
    assert trace.bursts


def test_a_capture_stays_as_it_is(recorder):
    """Events put into it would be nodes; beside it there are none either."""
    command = recorder.command("bursts_linked", "capture", 3000)
    plain, run = recorder.run(command, shim=False), recorder.run(command)
    assert (run.status, run.stdout, run.stderr) == (0, plain.stdout, plain.stderr) and plain.stdout == "300 nodes\nend\n"
    trace = Trace(run)
    (begin,), (end,) = trace.made("cuStreamBeginCapture_v2"), trace.made("cuStreamEndCapture")
    assert not [edge for edge in trace.edges if begin.end <= edge.end and edge.begin <= end.begin]
    assert any(edge.burst and edge.end < begin.end for edge in trace.edges) and any(edge.burst and edge.begin > end.end for edge in trace.edges)


def test_launches_that_may_overlap_stay_side_by_side(recorder):
    trace = record(recorder, "bursts_linked", "programmatic", 5000)
    assert len(trace.work) == 5000
    last = max(call.end for call in trace.work.values())
    assert all(edge.begin >= last for edge in trace.edges), "an edge between two launches that may overlap"
    assert not trace.bursts  # nor was one begun and paid for


def test_a_launch_that_may_overlap_is_forgotten(recorder):
    """64 submissions behind it the stream has bursts as any other."""
    trace = record(recorder, "bursts_linked", "sometimes", 20000)
    found = {submission for burst in trace.bursts for submission in brackets(trace, burst.burst)[0]}
    behind = [(seq - 1) % 200 for _, seq in found]
    assert len(found) > 20000 / SHARE / 2 / 4 and len(found) == sum(burst.submissions for burst in trace.bursts)
    assert min(behind) > 64


@pytest.mark.parametrize("level", ["auto", "edges", "bursts"])
def test_one_hardware_queue_gets_nothing(recorder, level):
    run = recorder.run(recorder.command("bursts_linked", "threads", 2000),
                       env={"CUDA_DEVICE_MAX_CONNECTIONS": 1, "GPUSHIM_DEVICE": level, "GPUSHIM_LOG": 1})
    trace = Trace(run)
    assert trace.level() == "host" and not trace.edges and not [name for name in trace.injected if name.startswith("cuEvent")]
    assert run.stderr == "gpushim: CUDA_DEVICE_MAX_CONNECTIONS=1: device times at level host\n"
    assert run.report()["run"]["device_timing"] == "host"


def test_a_level_that_does_not_exist_is_told(recorder):
    run = recorder.run(recorder.command("bursts_linked", "overlap", 100), env={"GPUSHIM_DEVICE": "burst", "GPUSHIM_LOG": 1})
    assert Trace(run).level() == "bursts" and run.stderr == "gpushim: GPUSHIM_DEVICE=burst is no level: auto is taken\n"


@pytest.mark.parametrize(["queues", "level"], [("1", "host"), ("8", "bursts")])
def test_one_hardware_queue_that_the_program_itself_asks_for(recorder, queues, level):
    """The driver reads the variable when it is initialised, and training scripts set it in their first lines."""
    program = f"import ctypes, os; os.environ['CUDA_DEVICE_MAX_CONNECTIONS'] = '{queues}'; ctypes.CDLL('libcuda.so.1').cuInit(0)"
    assert record(recorder, [sys.executable, "-c", program]).level() == level


@pytest.mark.parametrize(["asked", "level"], [("auto", "bursts"), ("edges", "edges"), ("host", "host"), ("bursts", "bursts")])
def test_the_level_in_force_is_told(recorder, asked, level):
    run = recorder.run(recorder.command("bursts_linked", "overlap", 2000), env={"GPUSHIM_DEVICE": asked, "GPUSHIM_LOG": 1})
    trace = Trace(run)
    assert trace.level() == level and bool(trace.bursts) == (level == "bursts") and run.stderr == ""
    assert re.search(rf"device timing\s+{level}\b", recorder.gpushim("info", run.out).stdout)


def busy_and_overlap(run):
    """Microseconds in which a stream ran something, and in which both did, by the driver's own log."""
    changes = defaultdict(int)
    for line in run.truth.read_text().splitlines():
        entry = json.loads(line)
        if "op" in entry:
            changes[entry["start_ns"]] += 1
            changes[entry["end_ns"]] -= 1
    busy = both = running = last = 0
    for at in sorted(changes):
        busy += (at - last) * (running > 0)
        both += (at - last) * (running > 1)
        running, last = running + changes[at], at
    return busy / 1000, both / 1000


def test_two_streams_overlap_as_they_do_alone(recorder):
    command = recorder.command("bursts_linked", "overlap", 6000)
    shares = []
    for shim in (False, True):
        run = recorder.run(command, shim=shim)
        busy, both = busy_and_overlap(run)
        shares.append(both / busy)
    assert any(edge.burst for edge in Trace(run).edges)
    assert shares[0] > 0.9 and abs(shares[0] - shares[1]) < 0.03, shares


def test_the_legacy_stream_is_never_marked_for_another(recorder):
    """A mark covers what was put in before the burst; one in the legacy stream would make blocking streams wait."""
    trace = record(recorder, "bursts_linked", "legacy", 20000)
    kinds = {record_id: kind for record_id, kind in stream_kinds(trace.data)}
    assert trace.bursts and 1 in kinds.values()
    seen = 0
    for burst in trace.bursts:
        found, marks, _ = brackets(trace, burst.burst)
        assert not [mark for mark in marks if kinds[mark.stream] == 1]
        seen += sum(kinds[stream] == 1 for stream, _ in found)
    assert seen > 0  # it has brackets of its own


def test_none_in_the_legacy_stream_beside_another_thread(recorder):
    """That thread's two blocking streams would wait for each other at an edge between its launches. (Where both are in one burst, unit/test_shim_burst_ends
    says: here the scheduler decides whether they ever are.)"""
    trace = record(recorder, "bursts_linked", "beside", 20000)
    kinds = dict(stream_kinds(trace.data))
    legacy, created = (sum(kinds[stream] == kind for stream, _ in trace.work) for kind in (1, 0))
    assert (legacy, created >= 20000, list(kinds.values()).count(0)) == (20000, True, 2)
    assert {kinds[edge.stream] for edge in trace.edges if edge.burst} == {0}


class Stream(NamedTuple):
    id: int
    device: int
    kind: int
    handle: int
    context: int
    flags: int
    priority: int


def streams(data):
    return {s.id: s for s in (Stream(*struct.unpack_from("<I2H2QIi", data, record_.offset + 8))
                              for record_ in gst.valid(data, gst.segments(data)) if record_.type == gst.STREAM)}


def stream_kinds(data):
    return [(stream.id, stream.kind) for stream in streams(data).values()]


@pytest.fixture(scope="module")
def contexts(recorder):
    """Three contexts in turns, on two devices, with streams of two priorities each."""
    command = recorder.command("bursts_linked", "contexts", 24000)
    plain, run = (recorder.run(command, shim=shim, env={"SIMGPU_DEVICES": 2}) for shim in (False, True))
    assert (run.status, run.stdout, run.stderr) == (0, plain.stdout, plain.stderr) and plain.stdout == "end\n"
    return run, Trace(run)


def test_each_context_has_edges_of_its_own(contexts):
    """Recorded while it is the current one, against a base of its own: an event of another one would be refused."""
    _, trace = contexts
    found, by_number = streams(trace.data), {edge.edge: edge for edge in trace.edges}
    assert trace.edges and {edge.stream for edge in trace.edges} <= set(found)
    assert all(found[edge.stream].device == edge.device for edge in trace.edges)
    assert all(found[edge.stream].context == found[by_number[edge.base].stream].context for edge in trace.edges)
    assert trace.injected["cuEventRecord"] == len(trace.edges)
    work = sorted(trace.work.values())
    for edge in (edge for edge in trace.edges if edge.burst):
        before, behind = (found[call.stream].context for call in nearest(work, edge))
        assert found[edge.stream].context in (before, behind)


def nearest(work, edge):
    """The submissions right before and behind it."""
    at = bisect.bisect(work, edge.begin, key=lambda call: call.begin)
    return work[max(at - 1, 0)], work[min(at, len(work) - 1)]


def test_bursts_are_in_all_of_them_and_as_many(contexts):
    """And in both streams of each, whatever their priority."""
    _, trace = contexts
    found, seen = streams(trace.data), defaultdict(int)
    for burst in trace.bursts:
        inside, marks, _ = brackets(trace, burst.burst)
        assert len(inside) == burst.submissions
        for stream, _ in inside:
            seen[found[stream].device, found[stream].context, found[stream].priority] += 1
    assert len({context for _, context, _ in seen}) == 3 and {device for device, *_ in seen} == {0, 1}
    assert len(seen) == 6 and len({priority for *_, priority in seen}) == 2
    assert 24000 / SHARE / 40 < len(trace.bursts) < 24000 / SHARE / 17 + 2


def test_both_devices_are_reported_from_their_own_bursts(contexts):
    run, trace = contexts
    report = run.report()
    done = [entry["device"] for entry in map(json.loads, run.truth.read_text().splitlines()) if "op" in entry]
    true = [done.count(0), done.count(1)]
    assert [device["operations"] for device in report["devices"]] == true == [16000, 8000]
    assert all(device["bursts"]["bursts"] > 0 for device in report["devices"])
    assert sum(device["bursts"]["bracketed"] for device in report["devices"]) <= sum(burst.submissions for burst in trace.bursts)


def test_an_event_meant_for_another_process(recorder):
    """The simulated driver shares none; the calls are answered as without us, and ours are about none of its."""
    command = recorder.command("bursts_linked", "shared", 6000)
    plain, run = recorder.run(command, shim=False), recorder.run(command)
    assert (run.status, run.stdout, run.stderr) == (0, plain.stdout, plain.stderr) and "to share it: 801\n" in plain.stdout
    trace = Trace(run)
    assert trace.bursts and len(trace.made("cuIpcGetEventHandle")) == len(trace.made("cuIpcOpenEventHandle")) == 1
    assert len(trace.made("cuEventRecord")) == len(trace.made("cuStreamWaitEvent")) == 300
    assert trace.injected["cuEventRecord"] == len(trace.edges)
