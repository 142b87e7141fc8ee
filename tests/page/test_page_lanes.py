# SPDX-License-Identifier: BSD-2-Clause
"""The lanes of the page's timeline against the report: every nanosecond of idle and of busy time is in them, whatever was merged."""

import json
import subprocess
from collections import Counter
from pathlib import Path

import conftest
import page_data
import page_traces
import pytest

GOLDEN = Path(__file__).parent.parent / "golden"
CASES = ("chain-input-storage", "chain-many-pieces", "chain-looked", "copy-kinds-overlap", "cupti-graph", "cupti-overlap", "four-devices", "graph", "host-function",
         "nvtx-phases", "nvtx-side-by-side", "overlap-two-streams", "ranks-straggler", "recycled", "steps-by-launches", "two-processes", "unlinked-work")


class Lanes:
    """Those of a page, unpacked."""

    def __init__(self, page):
        self.data = page_data.of_page(page)
        self.all = [dict(lane, items=page_data.columns(lane["items"])) for lane in self.data["lanes"]]
        self.classes = [one["id"] for one in self.data["classes"]]

    def of(self, kind, device=None):
        return [lane for lane in self.all if lane["kind"] == kind and (device is None or lane.get("device") == device)]

    def text(self, lane, column="s"):
        items = lane["items"]
        return [self.data["strings"][number] for number in items.get(column, [0] * items["n"])]

    def sums(self, lanes):
        """How long each class ran in them."""
        sums = Counter()
        for lane in lanes:
            items = lane["items"]
            for number, length, empty in zip(items["k"], items["d"], items.get("e", [0] * items["n"])):
                sums[self.classes[number]] += length - empty
        return +sums


def check(lanes, report, steps):
    """What holds of any run."""
    for device in report["devices"]:
        number = device["device"]
        idle = lanes.of("idle", number)
        assert lanes.sums(idle) == {cause: ns for cause, ns in ((cause, value["ns"] if isinstance(value, dict) else value) for cause, value in device["causes"].items()) if ns}
        assert sum(lanes.sums(lanes.of("unresolved", number)).values()) == device["unresolved_ns"]
        listed = [step for step in steps if step["device"] == number]
        assert [name for lane in lanes.of("steps", number) for name in lanes.text(lane)] == [step["name"] for step in listed]
    for lane in lanes.all:
        items = lane["items"]
        ends = [begin + length for begin, length in zip(items["b"], items["d"])]
        assert all(end <= begin + 1 + 1e-4 * length for end, begin, length in zip(ends, items["b"][1:], items["d"])), "none reaches over the next, but by what clocks differ"
        assert not ends or ends[-1] <= lanes.data["span_ns"] + 1
        assert sum(items.get("c", [1] * items["n"])) == lane["slices"]


@pytest.fixture(scope="session")
def golden(build, gpushim, tmp_path_factory):
    made = {}

    def get(name):
        if name not in made:
            folder = tmp_path_factory.mktemp(name)
            subprocess.run([build / "tools/gst_write", GOLDEN / name / "trace.txt", folder / "run"], check=True)
            subprocess.run([gpushim, "report", folder / "run", "--html", folder / "page.html"], check=True, capture_output=True)
            done = subprocess.run([gpushim, "report", folder / "run", "--json"], check=True, capture_output=True)
            made[name] = Lanes(folder / "page.html"), json.loads(done.stdout)
        return made[name]

    return get


@pytest.mark.parametrize("name", CASES)
def test_sums_are_the_reports(golden, name):
    lanes, report = golden(name)
    check(lanes, report, report["steps"])


@pytest.mark.parametrize("kind", conftest.KINDS)
def test_sums_are_the_reports_in_large(made, kind):
    report = made(kind).report("--top", "0")
    check(Lanes(made(kind).path), report, report["steps"])


def test_a_million_gaps_are_there_one_by_one(made):
    lanes, report = Lanes(made("many").path), made("many").report("--top", "0")
    (idle,), (device,) = lanes.of("idle"), report["devices"]
    assert idle["merged_ns"] == 0 and idle["slices"] == idle["items"]["n"] > conftest.GAPS
    assert idle["items"]["g"] == sorted(idle["items"]["g"]) and set(idle["items"]["g"]) == set(range(1, max(idle["items"]["g"]) + 1))
    assert max(idle["items"]["g"]) >= conftest.GAPS
    others = [lane for lane in lanes.all if lane is not idle]
    assert sum(lane["items"]["n"] for lane in others) <= 1_000_000
    (stream,) = lanes.of("stream")
    assert stream["merged_ns"] > 0 and stream["items"]["n"] < stream["slices"] == device["operations"]
    assert sum(lanes.sums([stream]).values()) == device["span_ns"] - device["idle_ns"], "what was merged is no longer and no shorter"


def test_around_the_gaps_that_are_told_nothing_is_merged(made):
    lanes = Lanes(made("many").path)
    (stream,) = lanes.of("stream")
    items = stream["items"]
    length = lambda gap: gap["end_ns"] - gap["begin_ns"]
    for gap in sorted(lanes.data["gaps"], key=length)[-20:]:
        begin, end = gap["at_ns"] - 900_000, gap["at_ns"] + length(gap) + 900_000
        inside = [i for i in range(items["n"]) if begin <= items["b"][i] < end]
        assert inside and all(items["c"][i] == 1 for i in inside)
        assert any(items["l"][i] for i in inside), "and it is known when they were launched"


def test_every_name_is_there_though_its_slices_are_merged(made):
    """How often each kernel ran, and when it ran longest."""
    lanes = Lanes(made("many").path)
    (stream,), (calls,) = lanes.of("stream"), lanes.of("thread")
    for lane in (stream, calls):
        items, names = lane["items"], {lanes.data["strings"][name]: rest for name, *rest in lane["names"]}
        assert sum(count for count, _, _ in names.values()) == lane["slices"]
        assert set(lanes.text(lane)) <= set(names) and len(names) == len(lane["names"])
        longest = {}
        for name, length, count in zip(lanes.text(lane), items["d"], items.get("c", [])):
            longest[name] = max(longest.get(name, 0), length if count == 1 else 0)
        assert all(names[name][2] >= length for name, length in longest.items())


def test_what_a_stream_did(golden):
    lanes, _ = golden("chain-input-storage")
    (stream,), (calls,) = lanes.of("stream"), lanes.of("thread")
    items = stream["items"]
    launcher = lanes.all[items["o"][0] - 1]
    assert launcher is calls
    launches = {begin for begin, name in zip(calls["items"]["b"], lanes.text(calls)) if name == "cuLaunchKernel"}
    assert {begin - (launched - 1) for begin, launched in zip(items["b"], items["l"])} <= launches


def test_what_threads_waited_for(golden):
    """The worker that read, what for, for how long; the disk's request meanwhile."""
    lanes, _ = golden("chain-input-storage")
    (main,) = lanes.of("state")
    workers = {lanes.data["strings"][lane["name"]]: lane for lane in lanes.of("worker")}
    assert set(workers) == {"pt_pin[101]", "pt_data_worker[200]"}
    worker = workers["pt_data_worker[200]"]
    waits = {name: lanes.classes[number] for name, number in zip(lanes.text(worker), worker["items"]["k"])}
    assert {name: kind for name, kind in waits.items() if "/" in name} == {"pread64 /data/train-000.tar": "wait-file"}
    (disk,) = lanes.of("io")
    assert [lanes.classes[number] for number in disk["items"]["k"]] == ["io-read"] and disk["items"]["v"] == [16], "one at once"
    assert "on-cpu" in lanes.sums([main])


def test_slices_that_overlap_have_rows_of_their_own(golden):
    lanes, _ = golden("nvtx-phases")
    ranges = lanes.of("ranges")
    assert [lane["row"] for lane in ranges] == list(range(len(ranges))) and len(ranges) > 2
    assert len({lane["name"] for lane in ranges}) == 1


def page_of(build, gpushim, folder, text):
    page_traces.written(build, folder / "run", text)
    subprocess.run([gpushim, "report", folder / "run", "--html", folder / "page.html"], check=True, capture_output=True)
    return Lanes(folder / "page.html")


def test_there_are_lanes_enough_for_a_page_and_no_more(build, gpushim, tmp_path):
    """Eight hundred streams, and ranges twenty deep: what finds no row is counted, and takes none from who comes later."""
    lines = ["process 100 level=cupti exited=1 end=30ms", "thread 100 main", "device 0"] + [f"stream {n}" for n in range(1, 801)]
    lines += [f"range depth_{n} t={1000 + n}us..{9000 - n}us level={n}" for n in range(1, 21)]
    for n in range(1, 801):
        at = 1000 + 10 * n
        lines += [f"launch t={at}us..{at + 2}us stream={n} seq=1 kernel=k", f"activity t={at + 3}us..{at + 8}us stream={n} seq=1 kernel=k"]
    lanes = page_of(build, gpushim, tmp_path, "\n".join(lines) + "\n")
    ranges = lanes.of("ranges")
    assert [lane["row"] for lane in ranges] == list(range(12))
    streams, (calls,) = lanes.of("stream"), lanes.of("thread")
    assert 600 < len(streams) < 700 and len(lanes.all) <= 1200 and calls["slices"] == 800
    assert lanes.data["lanes_left_out"] == 800 - len(streams) + 20 - 12


def test_looks_end_where_calls_begin(build, gpushim, tmp_path):
    """What a sample found between two calls says nothing of the calls."""
    lanes = page_of(build, gpushim, tmp_path, (GOLDEN / "cause-input-wait/trace.txt").read_text())
    (looks,), (calls,) = lanes.of("state"), lanes.of("thread")
    assert looks["items"]["n"]
    for begin, length in zip(looks["items"]["b"], looks["items"]["d"]):
        assert not any(begin < at + took and at < begin + length for at, took in zip(calls["items"]["b"], calls["items"]["d"]))
