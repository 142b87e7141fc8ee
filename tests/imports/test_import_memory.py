# SPDX-License-Identifier: BSD-2-Clause
"""Memory in PyTorch's traces: blocks with the allocator's totals. A trace begins in the middle, so what a report says follows the totals, and not the
blocks alone; what was taken before is named."""

import json
import random
import re
import sqlite3
import subprocess

import pytest

import imported
from made_trace import made, write_kineto

GIB = 1 << 30
US = 1000


class Allocator:
    """A caching allocator on one device. Some of its blocks are older than the trace. waits: from one event to the next one, us."""

    def __init__(self, chance, pid, device, at, old, waits):
        self.chance, self.pid, self.device, self.at, self.events, self.waits = chance, pid, device, at, [], waits
        self.old = [(1 << 40 | n << 32, chance.randrange(1, 4) * GIB) for n in range(old)]
        self.blocks = dict(self.old)
        self.before = self.allocated = sum(self.blocks.values())
        self.reserved = self.allocated + chance.randrange(2) * GIB
        self.course = []  # (time, allocated, reserved)

    def tell(self, address, change):
        self.allocated += change
        self.reserved = max(self.reserved, self.allocated)
        self.at += self.chance.choice(self.waits)
        self.course.append((self.at * US, self.allocated, self.reserved))
        self.events.append({"ph": "i", "s": "t", "name": "[memory]", "pid": self.pid, "tid": self.pid + 100, "ts": self.at, "args": {
            "Device Type": 1, "Device Id": self.device, "Addr": address, "Bytes": change, "Total Allocated": self.allocated, "Total Reserved": self.reserved}})

    def act(self):
        if self.blocks and self.chance.random() < 0.5:
            address = self.chance.choice(list(self.blocks))
            self.tell(address, -self.blocks.pop(address))
        else:
            address = self.chance.choice([n for n in (2 << 40 | k << 32 for k in range(64)) if n not in self.blocks])
            self.blocks[address] = 512 * self.chance.randrange(1, 1 << 21)
            self.tell(address, self.blocks[address])

    def left(self):
        """Of what is older than the trace."""
        return sum(self.blocks.get(address, 0) for address, _ in self.old)


def traced(folder, seed, processes=1, devices=1, totals=True):
    """totals: what the allocator says; else this number, or None."""
    chance = random.Random(seed)
    path = write_kineto(folder / "trace.json", made(seed, processes=processes, devices=devices))
    text = json.loads(path.read_text())
    # of one instant there is only one order that totals can have; without them what is given back comes first
    waits = (0, 0, 1, 7) if totals is True else (1, 7)
    allocators = [Allocator(chance, 4000 + n % processes, n, 5_000_000 + chance.randrange(1000), (seed + n) % 4, waits) for n in range(devices)]
    for allocator in allocators:
        for _ in range(200):
            allocator.act()
        for event in [] if totals is True else allocator.events:
            del event["args"]["Total Allocated"], event["args"]["Total Reserved"]
            event["args"] |= {} if totals is None else {"Total Allocated": totals, "Total Reserved": totals}
        text["traceEvents"] += allocator.events
    path.write_text(json.dumps(text))
    return path, allocators


@pytest.mark.parametrize("processes, devices", [(1, 1), (1, 3), (2, 2)])
def test_totals(gpushim, tmp_path, processes, devices):
    for seed in range(6):
        path, allocators = traced(tmp_path, seed, processes, devices)
        said = {entry["device"]: entry for entry in imported.report(gpushim, path)["memory"]}
        for allocator in allocators:
            entry, true = said[allocator.device], allocator.course
            framework, end = entry["framework"], entry["end"]
            assert entry["peak_allocated_bytes"] == max(allocator.before, *(allocated for _, allocated, _ in true))
            assert entry["peak_reserved_bytes"] == max(reserved for _, _, reserved in true)
            assert (end["allocated_bytes"], end["reserved_bytes"]) == true[-1][1:] == (framework["allocated_bytes"], framework["reserved_bytes"])
            assert end["free_bytes"] == true[-1][2] - true[-1][1]
            assert (framework["before_bytes"], framework["before_left_bytes"]) == (allocator.before, allocator.left())
            assert {said[key] for said in (entry, end) for key in ("fragmentation", "largest_free_bytes")} == {None}, "how what is free lies is not on record"
            assert {largest for *_, largest in entry["course"]} == {None}
            last = {time: use for time, *use in true}
            course = {time: use for time, *use, _ in entry["course"]}
            known = {time: use for time, use in course.items() if time >= true[0][0]}
            assert known and all(last[time] == use for time, use in known.items())
            assert set(map(tuple, (use for time, use in course.items() if time < true[0][0]))) <= {(allocator.before, true[0][2])}


@pytest.mark.parametrize("ranks", ((0, 0), (0, 1)))  # two windows of one, and two at one time
@pytest.mark.parametrize("host", ("h", None))
def test_each_trace_has_a_device_of_its_own(gpushim, tmp_path, ranks, host):
    """All call theirs 0, and nothing says that two are one: as devices with work are apart, so is their memory."""
    paths, allocators = [], []
    for number, rank in enumerate(ranks):
        (tmp_path / str(number)).mkdir()
        path, (allocator,) = traced(tmp_path / str(number), number + 2)
        text = json.loads(path.read_text())
        text |= {"distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 2}, "baseTimeNanoseconds": 1_700_000_000_000_000_000, **({"hostname": host} if host else {})}
        for event in text["traceEvents"]:
            event["ts"] += 60_000_000 * number * (rank == ranks[0])
        path.write_text(json.dumps(text))
        paths.append(path)
        allocators.append(allocator)
    said = imported.report(gpushim, *paths)
    assert [entry["device"] for entry in said["memory"]] == [device["device"] for device in said["devices"]] == [0, 1]
    expected = [(max(a.before, *(allocated for _, allocated, _ in a.course)), max(reserved for *_, reserved in a.course), a.before, a.course[-1][1]) for a in allocators]
    told = [(e["peak_allocated_bytes"], e["peak_reserved_bytes"], e["framework"]["before_bytes"], e["end"]["allocated_bytes"]) for e in said["memory"]]
    assert sorted(told) == sorted(expected)
    head = subprocess.run([gpushim, "report", *paths], check=True, capture_output=True, text=True).stdout.splitlines()[1]
    assert head.startswith("1 process in 2 traces on " if ranks == (0, 0) else "2 processes on ") and said["run"]["processes"] == 2


def test_blocks_before_the_first_total_were_not_taken_before_the_trace(gpushim, tmp_path):
    path, (allocator,) = traced(tmp_path, 2)
    text = json.loads(path.read_text())
    first = allocator.events[0]
    begun = [{**first, "ts": 1_000 * n, "args": {"Device Type": 1, "Device Id": 0, "Addr": n << 44, "Bytes": allocator.before // 4}} for n in (1, 2)]
    text["traceEvents"] += begun
    path.write_text(json.dumps(text))
    (entry,) = imported.report(gpushim, path)["memory"]
    assert entry["framework"]["before_bytes"] == allocator.before - 2 * (allocator.before // 4)


def test_in_words_and_as_a_counter(gpushim, tmp_path):
    path, (allocator,) = traced(tmp_path, 2)
    gib = f"{allocator.before / GIB:.1f} GiB"
    assert allocator.before
    screen, full = (" ".join(subprocess.run([gpushim, "report", *more, path], capture_output=True, text=True, check=True).stdout.split()) for more in ([], ["--full"]))
    assert f"; {gib} taken before the trace began" in screen
    assert f"{gib} taken before the trace began: where they lie is not on record" in full and "fragmentation" not in full
    subprocess.run([gpushim, "export", path, "--chrome", tmp_path / "chrome.json"], check=True)
    chrome = json.loads((tmp_path / "chrome.json").read_text())
    counters = [event["args"] for event in chrome["traceEvents"] if event["ph"] == "C" and event["name"] == "memory"]
    _, allocated, reserved = allocator.course[-1]
    assert list(counters[-1].values()) == [allocated, reserved - allocated]


def test_evidence_claims_no_fragmentation(gpushim, tmp_path):
    """How what is free lies is not on record: a call in a gap that takes memory is told how much it was, and no more."""
    path, (allocator,) = traced(tmp_path, 2)
    text = json.loads(path.read_text())
    free, at = allocator.reserved - allocator.allocated, max(event["ts"] + event.get("dur", 0) for event in text["traceEvents"] if "ts" in event)
    for number, begin in enumerate((at, at + 1000)):
        about = {"correlation": 900_000 + number}
        text["traceEvents"] += [
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 4000, "tid": 4100, "ts": begin, "dur": 5, "args": about},
            {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": begin + 6, "dur": 5, "args": {"device": 0, "context": 1, "stream": 7, **about}}]
    text["traceEvents"].append({"ph": "X", "cat": "cuda_runtime", "name": "cudaMalloc", "pid": 4000, "tid": 4100, "ts": at + 100, "dur": 800, "args": {"correlation": 900_009}})
    path.write_text(json.dumps(text))
    causes = [cause for device in imported.report(gpushim, path)["devices"] for gap in device["gaps"] for cause in gap["causes"]]
    said = " ".join(place for cause in causes if cause["id"] == "allocator" for place in cause["evidence"])
    assert f"; {free / GIB:.1f} GiB reserved and free" in said and "fragmentation" not in said


def test_no_export_nor_page_knows_how_free_memory_lies(gpushim, tmp_path):
    """Of a device with totals nobody does; of one whose blocks are all that is known it is computed."""
    for totals in (True, None):
        path, (allocator,) = traced(tmp_path, 2, totals=totals)
        subprocess.run([gpushim, "export", path, "--sqlite", tmp_path / "t.sqlite", "--metrics", tmp_path / "t.prom"], check=True)
        subprocess.run([gpushim, "report", path, "--html", tmp_path / "t.html"], check=True, capture_output=True)
        (data,) = re.findall(r'"memory": ?\[\{"device": ?0, ?"name".*?"unplaced"', (tmp_path / "t.html").read_text(), re.DOTALL)
        assert [f'"{key}":' in data.replace('": ', '":') for key in ("largest_free", "fragmentation", "l")] == [totals is None] * 3
        with sqlite3.connect(tmp_path / "t.sqlite") as base:
            assert base.execute("SELECT fragmentation IS NULL, peak_reserved_bytes > 0 FROM memory").fetchall() == [(totals is True, 1)]
            assert base.execute("SELECT DISTINCT largest_free_bytes IS NULL FROM memory_points").fetchall() == [(totals is True,)]
        metrics = (tmp_path / "t.prom").read_text()
        assert ("\ngpushim_memory_fragmentation_ratio{" in metrics) == (totals is None)
        assert "\n# TYPE gpushim_memory_fragmentation_ratio gauge\n" in metrics and "\ngpushim_memory_peak_reserved_bytes{" in metrics


def test_a_diff_does_not_compare_what_is_not_known(gpushim, tmp_path):
    """Nor does one with a baseline of it."""
    path, _ = traced(tmp_path, 3)
    (tmp_path / "other").mkdir()
    bare, _ = traced(tmp_path / "other", 3, totals=None)
    subprocess.run([gpushim, "report", path, "--save-baseline", tmp_path / "base.json"], check=True, capture_output=True)

    def diff(form, *sides):
        done = subprocess.run([gpushim, "diff", *form, *sides], capture_output=True, text=True)
        assert done.returncode in (0, 1, 5), done.stderr
        return done.stdout

    for sides in ((path, bare), ("--baseline", tmp_path / "base.json", bare)):
        (pair,) = json.loads(diff(["--json"], *sides))["devices"]
        assert (pair["memory"]["base"]["fragmentation"], pair["memory"]["new"]["fragmentation"]) == (None, 0) and pair["memory"]["changed"]
        words = diff([], *sides) + diff(["--md"], *sides) + diff(["--html", tmp_path / "diff.html"], *sides) + (tmp_path / "diff.html").read_text()
        assert "out of memory" in words and "fragmentation" not in words


def test_totals_of_nothing(gpushim, tmp_path):
    """0 in all is a total: the last block is given back, and all that was reserved."""
    path, (allocator,) = traced(tmp_path, 2)
    text = json.loads(path.read_text())
    last = {**allocator.events[-1], "ts": allocator.at + 1}
    last["args"] = {**last["args"], "Bytes": -allocator.allocated, "Addr": 4096, "Total Allocated": 0, "Total Reserved": 0}
    text["traceEvents"].append(last)
    path.write_text(json.dumps(text))
    (entry,) = imported.report(gpushim, path)["memory"]
    assert {entry[where][key] for where in ("end", "framework") for key in ("allocated_bytes", "reserved_bytes")} == {0}
    assert entry["peak_reserved_bytes"] == allocator.reserved > 0


@pytest.mark.parametrize("instead", [None, -1, 0])
def test_without_totals_only_the_blocks_count(gpushim, tmp_path, instead):
    path, (allocator,) = traced(tmp_path, 2, totals=instead)
    (entry,) = imported.report(gpushim, path)["memory"]
    assert "before_bytes" not in entry["framework"] and entry["end"]["allocated_bytes"] == allocator.allocated - allocator.left()
