# SPDX-License-Identifier: BSD-2-Clause
"""The page's tree of idle time is what `export --folded` writes: the same stacks with the same causes and times."""

import json
import subprocess
from collections import Counter

import page_data
import page_traces
import pytest

GOLDEN = ("stacks-python", "stacks-native", "stacks-silence", "stacks-three-processes", "chain-input-storage", "four-devices", "ranks-straggler", "nvtx-phases")


def tree_of(data):
    """Each way from a device to a cause → its idle time."""
    flame = page_data.columns(data["flame"])
    ways = [()] * flame["n"]
    found = Counter()
    assert flame["p"][0] == 0 and data["strings"][flame["s"][0]] == ""
    for i in range(1, flame["n"]):
        assert 0 < flame["p"][i] <= i, "a node's parent comes before it"
        name = data["strings"][flame["s"][i]]
        if flame["k"][i] >= flame["classes_from"]:
            assert data["classes"][flame["k"][i] - flame["classes_from"]]["id"] == name
            found[(*ways[i - flame["p"][i]], f"[{name}]")] += flame["v"][i]
            assert 0 < flame["m"][i] <= flame["v"][i] and 0 < flame["g"][i] <= data["gaps_all"]
        else:
            assert flame["v"][i] == flame["m"][i] == flame["g"][i] == 0, "only causes have time"
            ways[i] = (*ways[i - flame["p"][i]], name)
    return found


def folded(gpushim, run):
    lines = subprocess.run([gpushim, "export", run, "--folded", "-"], capture_output=True, text=True, check=True).stdout.splitlines()
    return {tuple(line.rpartition(" ")[0].split(";")): int(line.rpartition(" ")[2]) for line in lines}


@pytest.mark.parametrize("name", GOLDEN)
def test_tree(build, gpushim, root, tmp_path, name):
    run = page_traces.written(build, tmp_path / "trace", (root / "tests/golden" / name / "trace.txt").read_bytes())
    subprocess.run([gpushim, "report", run, "--html", tmp_path / "page.html"], check=True)
    data = page_data.of_page(tmp_path / "page.html")
    found = {tuple(frame.replace(";", ":") for frame in way): ns for way, ns in tree_of(data).items()}
    assert found == folded(gpushim, run)
    assert sum(found.values()) == sum(device["idle_ns"] for device in data["report"]["devices"]) > 0
    assert data["flame"]["left_out"] == 0
    assert (data["flame"]["stacks"] > 0) == any("[no stack]" not in way for way in found)


def test_the_longest_gap(build, gpushim, root, tmp_path):
    """Of each cause's stack the gap that has most of it in one piece."""
    run = page_traces.written(build, tmp_path / "trace", (root / "tests/golden/nvtx-phases/trace.txt").read_bytes())
    subprocess.run([gpushim, "report", run, "--html", tmp_path / "page.html"], check=True)
    data = page_data.of_page(tmp_path / "page.html")
    report = json.loads(subprocess.run([gpushim, "report", run, "--json"], capture_output=True, check=True).stdout)
    gaps = [gap for device in report["devices"] for gap in device["gaps"]]
    flame = page_data.columns(data["flame"])
    leaves = [i for i in range(flame["n"]) if flame["v"][i]]
    assert leaves and len(gaps) > 1
    for i in leaves:
        cause = data["strings"][flame["s"][i]]
        longest = max(piece["end_ns"] - piece["begin_ns"] for piece in gaps[flame["g"][i] - 1]["causes"] if piece["id"] == cause)
        assert flame["m"][i] == longest == max(p["end_ns"] - p["begin_ns"] for gap in gaps for p in gap["causes"] if p["id"] == cause)


def test_more_stacks_than_are_shown(build, gpushim, root, tmp_path):
    """Thousands of ways of many frames: those with the least time are one, and not a nanosecond is lost."""
    run = page_traces.written(build, tmp_path / "trace", page_traces.stacks_text(2500, 40))
    subprocess.run([gpushim, "report", run, "--html", tmp_path / "page.html"], check=True)
    data = page_data.of_page(tmp_path / "page.html")
    found = tree_of(data)
    assert 50000 < data["flame"]["n"] < 61000 and data["flame"]["left_out"] > 500
    (device,) = data["report"]["devices"]
    assert sum(found.values()) == device["idle_ns"]
    by_cause = Counter()
    for way, ns in found.items():
        by_cause[way[-1].strip("[]")] += ns
    assert by_cause == {cause: ns for cause, ns in device["causes"].items() if ns}
    assert any(way[:2] == ("device 0", "(other stacks)") for way in found)
    whole, known = folded(gpushim, run), {way: ns for way, ns in found.items() if "(other stacks)" not in way}
    assert all(whole[way] == ns for way, ns in known.items()) and len(known) > 1000
