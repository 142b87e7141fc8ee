# SPDX-License-Identifier: BSD-2-Clause
"""Where other tools were measured to be wrong about a device's time: each on a trace of its own, with what they say of it and what is so.

Their figures come from their own way to count, written down here, and from HolisticTraceAnalysis itself where it is installed.
"""

import json
import math
import os
import re
import subprocess
from pathlib import Path
from typing import NamedTuple

import conservation
import pytest

NUMBERS = Path(__file__).resolve().parents[1] / "scripts/hta_numbers.py"
US = 1_000


class Work(NamedTuple):
    """What the device did, in ns; `launched`: the call that asked for it is on record."""
    begin: int
    end: int
    stream: int = 1
    name: str = "work"
    copy: str = ""
    launched: bool = True


def us(begin, end, *what, **more):
    return Work(begin * US, end * US, *what, **more)


def as_gst(works):
    """The trace as text (tests/support/gst_text.h), everything measured."""
    lines = [f"process 100 level=cupti exited=1 end={max(work.end for work in works) + 1000 * US}ns", "thread 100 main", "device 0"]
    lines += [f"stream {stream}" for stream in sorted({work.stream for work in works})]
    numbers = {}
    for work in works:
        what = f"kind=copy copy={work.copy} bytes=4096" if work.copy else f"kernel={work.name}"
        asked = ""
        if work.launched:
            number = numbers[work.stream] = numbers.get(work.stream, 0) + 1
            asked = f"stream={work.stream} seq={number}"
            call = f"copy {asked} kind={work.copy} bytes=4096" if work.copy else f"launch {asked} kernel={work.name}"
            lines.append(f"{call} t={work.begin - 5 * US}ns..{work.begin - 3 * US}ns")
        lines.append(f"activity t={work.begin}ns..{work.end}ns {what} {asked}")
    return "\n".join(lines) + "\n"


def as_kineto(works):
    """The same as PyTorch's profiler writes it: microseconds, launches joined to work by a number."""
    events = []
    for number, work in enumerate(works, 1):
        args = {"stream": work.stream, "correlation": number, "device": 0}
        category, name = ("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)") if work.copy else ("kernel", work.name)
        if work.launched:
            events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": work.begin / US - 5,
                           "dur": 2, "args": {"correlation": number}})
        events.append({"ph": "X", "cat": category, "name": name, "pid": 0, "tid": work.stream, "ts": work.begin / US,
                       "dur": (work.end - work.begin) / US, "args": args})
    end = max(work.end for work in works) / US
    steps = [{"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{k}", "pid": 1, "tid": 1, "ts": k * end, "dur": end, "args": {}}
             for k in range(3)]
    return {"schemaVersion": 1, "distributedInfo": {"rank": 0}, "traceEvents": [*steps, *events]}


@pytest.fixture
def ours(build, gpushim, tmp_path):
    """The report's only device, of a trace as text or as works; options: then the page instead."""
    def report(trace, *options):
        text, out = tmp_path / "trace.txt", tmp_path / "run"
        text.write_text(trace if isinstance(trace, str) else as_gst(trace))
        subprocess.run([build / "tools/gst_write", text, out], check=True)
        done = subprocess.run([gpushim, "report", out, *(options or ["--json"])], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        if options and "--json" not in options:
            return done.stdout
        made = json.loads(done.stdout)
        if "--top" not in options:
            conservation.check(made)
        (device,) = made["devices"]
        return device | {"losses": made["losses"]}

    return report


@pytest.fixture
def hta(build, tmp_path):
    """What HolisticTraceAnalysis says of works; None where it is not installed."""
    def numbers(works, *options, rounds=False):
        if not (build / "setup-hta").exists():
            return None
        trace = tmp_path / "kineto.json"
        trace.write_text(json.dumps(as_kineto(works)))
        done = subprocess.run([build / "hta/bin/python", NUMBERS, *options, trace], capture_output=True, text=True, timeout=250,
                              env=os.environ | {"HTA_DISABLE_NS_ROUNDING": "0" if rounds else "1"})
        assert done.returncode == 0, done.stderr[-2000:]
        return json.loads(done.stdout)

    return numbers


def union(works):
    """Busy time."""
    busy, until = 0, 0
    for work in sorted(works):
        busy += max(0, work.end - max(work.begin, until))
        until = max(until, work.end)
    return busy


def span(works):
    return max(work.end for work in works) - min(work.begin for work in works)


def test_overlapping_streams_never_use_more_than_all(ours):
    """Durations summed over streams are 3.5 ms of work in a span of 2 ms: 175 % in use. It is 75 %."""
    works = [us(1000, 2500, 1), us(1000, 2000, 2), us(1500, 2500, 3), us(3000 - 10, 3000, 1)]
    theirs = sum(work.end - work.begin for work in works) / span(works)
    device = ours(works)
    assert round(theirs, 3) == 1.755
    assert (device["compute_ns"], device["idle_ns"], device["span_ns"]) == (1_510 * US, 490 * US, 2_000 * US)
    page = ours(works, "--top", "6")
    assert all(float(share) <= 100 for share in re.findall(r"([0-9.]+) ?%", page)), page


def test_streams_one_after_another_leave_no_device_idle(ours):
    """Each of two streams pauses while the other one works: by stream 4 ms of idle time, of the device none."""
    works = [us(1000 * (k + 1), 1000 * (k + 2), 1 + k % 2) for k in range(6)]
    by_stream = sum(span(own) - union(own) for own in ([work for work in works if work.stream == s] for s in (1, 2)))
    device = ours(works)
    assert by_stream == 4_000 * US
    assert device["idle_ns"] == 0 and device["gaps"] == [] and device["streams"] == 2


# The idle time is 27,296 us; a library's work, of which no launch is on record, fills 19,614 us between what is left without it.
UNLINKED = [us(1000, 2000), us(10000, 28636, launched=False), us(39000, 40000), us(40700, 41678, launched=False), us(49910, 50910)]


def test_unlinked_work_is_busy(ours, hta):
    """Work without a launch dropped: 46,910 us of idle time, of which the longest gap holds 18,636 us of work. It is 27,296 us."""
    linked = [work for work in UNLINKED if work.launched]
    theirs = hta(UNLINKED, "--steps")
    device = ours(UNLINKED)
    assert span(linked) - union(linked) == 46_910 * US
    assert device["idle_ns"] == 27_296 * US and device["compute_ns"] == (3_000 + 18_636 + 978) * US
    assert device["losses"]["operations_unlinked"] == 2, "and it is said"
    if theirs:
        assert theirs["idle_us"] == 46_910


def test_no_gap_is_negative(ours, hta):
    """Start less the end of the one before, in one stream, where a graph's nodes overlap: -10,478 us of idle time. It is none."""
    works = [us(1000, 21000), us(2000, 3000), us(11522, 31000)]
    theirs = sum(after.begin - before.end for before, after in zip(works, works[1:]))
    device = ours(works)
    assert theirs == -10_478 * US
    assert device["idle_ns"] == 0 and device["gaps"] == [] and device["compute_ns"] == 30_000 * US
    measured = hta(works, "--streams")
    if measured:
        assert measured["idle_by_stream_us"] == -10_478


def test_the_running_maximum(ours):
    """The same with a gap behind it: the last to begin is not the last to end, and the gap begins where all have ended."""
    device = ours([us(1000, 21000), us(2000, 3000), us(25000, 26000)])
    (gap,) = device["gaps"]
    assert (gap["begin_ns"], gap["end_ns"]) == (10**9 + 21_000 * US, 10**9 + 25_000 * US)


def test_nothing_is_rounded(ours, hta):
    """Starts rounded up and ends down to microseconds: 1,500 pauses of 0.3 us become pauses of 1 us and more."""
    works, at = [], 1_000_400
    for _ in range(1_500):
        works.append(Work(at, at + 2_700))
        at += 3_000
    rounded = [Work(math.ceil(work.begin / US) * US, math.floor(work.end / US) * US) for work in works]
    theirs, true = span(rounded) - union(rounded), 1_499 * 300
    device = ours(works)
    assert theirs > 3 * true
    assert device["idle_ns"] == true and len(device["gaps"]) == 1_499
    assert {gap["end_ns"] - gap["begin_ns"] for gap in device["gaps"]} == {300}
    measured = hta(works, rounds=True)
    if measured:
        assert measured["idle_us"] * US > 2 * true


def test_a_copy_alone_is_not_idle(ours):
    """By kernels alone the device was idle for 8 of 10 ms. It copied for 6 of them, and from pageable memory."""
    works = [us(1000, 2000), us(2000, 8000, copy="h2d-pageable"), us(10000, 11000)]
    kernels = [work for work in works if not work.copy]
    device = ours(works)
    assert span(kernels) - union(kernels) == 8_000 * US
    assert device["idle_ns"] == 2_000 * US and device["copy_exposed_ns"] == device["copy"]["copy-h2d-pageable"] == 6_000 * US


GRAPH = "".join(f"node 1 handle={k} kernel=k{k}\n" for k in range(1, 101)) + "".join(
    f"depends 1 from={k} to={k + 1}\n" for k in range(1, 100)) + "structure 1 t=50us\n"


def test_a_graph_of_which_one_node_is_left_is_not_idle(ours):
    """Of a launch's hundred nodes one is on record, 0.1 of 10 ms: 99 % idle for who adds up what is there. None of that is idle time."""
    device = ours("process 100 level=cupti exited=1 end=30ms\nthread 100 main\ndevice 0\nstream 1\n" + GRAPH +
                  "graph t=1000us..1010us stream=1 seq=1 structure=1\nlaunch t=1020us..1022us stream=1 seq=2 kernel=behind\n"
                  "sync-stream t=1030us..11120us stream=1 seq=2\n"
                  "activity t=1015us..1115us stream=1 seq=1 node=1 kernel=k1\nactivity t=11015us..11115us stream=1 seq=2 kernel=behind\n")
    assert device["idle_ns"] == 0 and device["gaps"] == []
    assert device["unresolved_ns"] >= 9_800 * US, "nobody knows, and it says so"
    assert device["operations"] == 101 and device["losses"]["operations_lost"] == 99


def test_a_graph_without_times_is_not_idle(ours):
    """Nothing of a graph is on record but its launch, and not even what it holds: by its records the device was idle but for 0.2 ms."""
    device = ours("process 100 exited=1 end=30ms\nthread 100 main\ndevice 0\nstream 1\n"
                  "edge 1 t=995us..996us stream=1 covers=0 fired=1001us done=1300us kind=start\n"
                  "launch t=1000us..1002us stream=1 seq=1 kernel=before\ngraph t=1010us..1020us stream=1 seq=2\n"
                  "launch t=1030us..1032us stream=1 seq=3 kernel=behind\n"
                  "edge 2 t=1033us..1034us stream=1 covers=3 fired=11000us done=11010us base=1\nsync-stream t=1035us..11010us stream=1 seq=3\n")
    assert device["idle_ns"] == 0 and device["gaps"] == []
    assert device["unresolved_ns"] > 9_000 * US and device["losses"]["operations_unlinked"] == 1


def test_modern_names_of_collectives(ours):
    """For who looks for ncclKernel there is no communication. There are 3 ms."""
    works = [us(1000, 2000), us(2000, 4000, name="ncclDevKernel_AllReduce_Sum_f32_RING_LL"),
             us(4000, 5000, name="ncclSymDevKernel_ReduceScatter_LDMC_sum_bf16"), us(5000, 6000)]
    assert not any(re.search("ncclKernel", work.name) for work in works)
    device = ours(works)
    assert device["comm_exposed_ns"] == sum(device["comm"].values()) == 3_000 * US and device["compute_ns"] == 2_000 * US


def test_a_shorter_list_has_the_same_totals(ours):
    """Gaps of 10 ms and more: one, beside a total of all fifty: the list is cut, and neither total nor count is."""
    works = [us(1000 * k, 1000 * k + 900, 1) for k in range(1, 51)] + [us(70000, 70100)]
    whole, cut = ours(works), ours(works, "--json", "--top", "1")
    assert [len(whole["gaps"]), len(cut["gaps"])] == [50, 1]
    assert cut["gaps"][0] in whole["gaps"] and cut["gaps"][0]["end_ns"] - cut["gaps"][0]["begin_ns"] == 19_100 * US
    assert {key: value for key, value in whole.items() if key != "gaps"} == {key: value for key, value in cut.items() if key != "gaps"}
    assert whole["idle_ns"] == sum(gap["end_ns"] - gap["begin_ns"] for gap in whole["gaps"]) == (49 * 100 + 19_100) * US
    pages = [ours(works, "--top", str(n)) for n in (1, 50)]
    heads = [page[:page.index("longest gap")] for page in pages]
    assert heads[0] == heads[1]
