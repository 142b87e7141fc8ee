# SPDX-License-Identifier: BSD-2-Clause
"""Device memory as the page has it: its peaks are the report's, its course is the report's, and the map at an out-of-memory is the one that the report
has of it."""

import json
import subprocess

import memory_trace
import page_data
import page_traces
import pytest

# out of memory, and where the report says so of the map: all of one process
GOLDEN = {"memory-framework": True, "memory-driver": True, "memory-pool": True, "memory-mapped": False, "memory-context-gone": False,
          "memory-pool-of-another-device": False, "memory-handle-again": False, "cause-allocator-retried": False}


class Both:
    def __init__(self, build, gpushim, folder, text):
        run = page_traces.written(build, folder / "trace", text)
        subprocess.run([gpushim, "report", run, "--html", folder / "page.html"], check=True)
        self.data = page_data.of_page(folder / "page.html")
        self.report = json.loads(subprocess.run([gpushim, "report", "--json", run], capture_output=True, check=True).stdout)
        self.zero = int(self.data["zero_ns"])

    def devices(self):
        """Each device of the page, and what the report has of it."""
        known = {entry["device"]: entry for entry in self.report["memory"]}
        made = [(one, known.pop(one["device"])) for one in self.data["memory"]]
        assert all(not entry["peak_reserved_bytes"] for entry in known.values()), "only what never held anything is left out"
        return made


@pytest.fixture
def both(build, gpushim, tmp_path):
    return lambda text: Both(build, gpushim, tmp_path, text)


def check_figures(page, one, known):
    assert (one["peak_allocated"], one["peak_reserved"]) == (known["peak_allocated_bytes"], known["peak_reserved_bytes"])
    course = page_data.columns(one["course"])
    rows = list(zip(course["t"], course["a"], course["r"], course["l"]))
    assert max(course["a"]) == known["peak_allocated_bytes"] and max(course["r"]) == known["peak_reserved_bytes"]
    assert course["t"] == sorted(course["t"]) and course["n"] <= 4000
    told = [(t - page.zero, a, r, free) for t, a, r, free in known["course"]]
    assert set(told) <= set(rows) or course["n"] < course["points"]
    assert rows[-1][1:] == tuple(known["end"][key] for key in ("allocated_bytes", "reserved_bytes", "largest_free_bytes"))
    assert [(m["failed"], m["t"], m["until"], m["asked"], m["tid"], page.data["strings"][m["call"]], m["largest_free"]) for m in one["marks"]] == [
        (s["outcome"] == "out-of-memory", s["begin_ns"] - page.zero, s["end_ns"] - page.zero, s["asked_bytes"], s["tid"], s["call"],
         s["largest_free_bytes"]) for s in known["stories"]]
    worst = one["worst"]
    cells = page_data.columns(worst["cells"])
    assert sum(row["bytes"] for row in worst["rows"]) + worst["unplaced"] + worst["bytes_left_out"] == worst["reserved"]
    assert sum(row["used"] for row in worst["rows"]) + worst["used_left_out"] == worst["allocated"]
    assert sum(cells["b"]) == sum(row["bytes"] for row in worst["rows"]) and sum(row["cells"] for row in worst["rows"]) == cells["n"]
    if known["out_of_memory"]:
        last = [s for s in known["stories"] if s["outcome"] == "out-of-memory"][-1]
        assert (worst["why"], worst["t"], worst["asked"]) == ("out-of-memory", last["end_ns"] - page.zero, last["asked_bytes"])
    else:
        assert (worst["why"], worst["t"]) == ("fragmentation", known["fragmentation_ns"] - page.zero)
        assert abs(worst["fragmentation"] - known["fragmentation"]) < 1e-9
        assert worst["largest_free"] == known["largest_free_bytes"]
    return worst, cells


def drawn(worst, cells):
    """Ranges as the report writes them."""
    made, at = [], 0
    for row in worst["rows"]:
        pieces, offset = [], 0
        for i in range(at, at + row["cells"]):
            pieces.append([offset, cells["b"][i], int(cells["u"][i] > 0)])
            offset += cells["b"][i]
        at += row["cells"]
        made.append({"address": row["address"], "bytes": row["bytes"], "source": row["source"], "pieces": pieces})
    return made


@pytest.mark.parametrize("name", GOLDEN)
def test_golden(both, root, name):
    page = both((root / "tests/golden" / name / "trace.txt").read_bytes())
    assert page.devices()
    for one, known in page.devices():
        worst, cells = check_figures(page, one, known)
        if GOLDEN[name]:
            (*_, last) = (s for s in known["stories"] if s["outcome"] == "out-of-memory")
            assert drawn(worst, cells) == last["map"] != []


def test_a_training_that_runs_out(both):
    """Thousands of blocks: the course is cut down and has the peaks, the map is whole."""
    page = both(memory_trace.text())
    ((one, known),) = page.devices()
    worst, cells = check_figures(page, one, known)
    assert one["course"]["points"] > 4000 > one["course"]["n"] > 2000
    (*_, last) = (s for s in known["stories"] if s["outcome"] == "out-of-memory")
    assert drawn(worst, cells) == last["map"] and worst["rows_left_out"] == worst["smallest"] == 0
    assert [k for k in cells["k"]].count(4) == 1 and cells["b"][cells["k"].index(4)] == worst["largest_free"] < worst["asked"]


def test_more_than_is_drawn(both):
    """Thousands of ranges: the smallest are summed up, and no byte is lost."""
    lines = ["process 100 exited=1 end=900ms", "thread 100 main", "device 0", "stream 1",
             "launch t=1000us..1002us stream=1 seq=1 kernel=step", "sync-stream t=1005us..4010us stream=1 seq=1"]
    for i in range(2000):
        lines += ["segment"] if i % 1000 == 999 else []
        lines.append(f"alloc t={5000 + 10 * i}us..{5005 + 10 * i}us pointer={0x10000000 + 0x1000000 * i:#x} bytes={1000 + i}")
    page = both("\n".join(lines) + "\n")
    ((one, known),) = page.devices()
    worst, _ = check_figures(page, one, known)
    assert len(worst["rows"]) == 501 and worst["rows_left_out"] == 1499
    assert worst["bytes_left_out"] == worst["used_left_out"] == sum(1000 + i for i in range(1499))
