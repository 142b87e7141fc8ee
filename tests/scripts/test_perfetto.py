# SPDX-License-Identifier: BSD-2-Clause
"""`gpushim export --perfetto`, decoded by the perfetto package's own classes: the same slices, arrows and counters as in the Chrome form, on
the same tracks, in a fifth of its bytes."""

import gzip
import json
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from perfetto_trace import Decoded

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
LINKS = {"device", "stream", "correlation"}  # what tracks and arrows say
BYTES, BYTES_JSON = 100, 400  # of a launch: its slice, the arrow and the kernel's slice, but for names


def ns(microseconds):
    return round(microseconds * 1000)


def exported(gpushim, folder, into, *options):
    """Both forms of a run: Perfetto's, decoded, and Chrome's, parsed."""
    subprocess.run([gpushim, "export", *folder, "--perfetto", into / "t.pftrace", "--chrome", into / "t.json", *options], check=True,
                   stderr=subprocess.DEVNULL)
    return Decoded((into / "t.pftrace").read_bytes()), json.loads((into / "t.json").read_text())


class Chrome:
    """The same things of a Chrome trace."""

    def __init__(self, trace):
        self.events = trace["traceEvents"]
        named = [e for e in self.events if e["ph"] == "M" and e["name"].endswith("_name")]
        self.process = {e["pid"]: e["args"]["name"] for e in named if e["name"] == "process_name"}
        self.thread = {(e["pid"], e["tid"]): e["args"]["name"] for e in named if e["name"] == "thread_name"}
        self.slices = [e for e in self.events if e["ph"] == "X"]

    def place(self, event):
        return self.process[event["pid"]], self.thread[event["pid"], event["tid"]]


def in_ns(args):
    """Chrome's arguments as Perfetto has them."""
    out = {}
    for key, value in args.items():
        if key.endswith("_us"):
            key, value = key[:-3] + "_ns", ns(value)
        out[key] = value
    if "grid" in out:
        out["grid x threads"] = f"{','.join(map(str, out.pop('grid')))} x {out.pop('threads')}"
    return out


def without_links(args):
    return {key: value for key, value in args.items() if key not in LINKS}


def frozen(args):
    return json.dumps(args, sort_keys=True)


def same(decoded, chrome):
    ours = Counter((decoded.parent_name(s.track), s.track.name, s.category, s.name, s.begin_ns, s.end_ns, frozen(without_links(s.args)))
                   for s in decoded.slices)
    theirs = Counter((*chrome.place(e), e["cat"], e["name"], ns(e["ts"]), ns(e["ts"]) + ns(e["dur"]), frozen(without_links(in_ns(e["args"]))))
                     for e in chrome.slices)
    assert ours == theirs

    arrows = {flow: slice for slice in decoded.slices for flow in slice.flow_from}
    ends = {flow: slice for slice in decoded.slices for flow in slice.flow_to}
    begins_json = {e["bind_id"]: e for e in chrome.slices if "flow_out" in e}
    ends_json = {e["bind_id"]: e for e in chrome.slices if "flow_in" in e}
    assert sum(len(s.flow_from) + len(s.flow_to) for s in decoded.slices) == len(arrows) + len(ends)
    for mine, other in ((arrows, begins_json), (ends, ends_json)):
        assert mine.keys() == other.keys()
        for flow, slice in mine.items():
            assert (decoded.parent_name(slice.track), slice.track.name) == chrome.place(other[flow])
            assert (slice.name, slice.begin_ns) == (other[flow]["name"], ns(other[flow]["ts"]))

    counted = Counter((decoded.parent_name(c.track), c.track.name, c.at_ns, c.value) for c in decoded.counters)
    assert counted == Counter((chrome.process[e["pid"]], f"{e['name']}: {key}", ns(e["ts"]), value)
                              for e in chrome.events if e["ph"] == "C" for key, value in e["args"].items())
    return len(ours), len(arrows), len(counted)


@pytest.fixture(scope="module")
def write(build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("golden")

    def written(name):
        into = folder / name
        if not into.exists():
            subprocess.run([build / "tools/gst_write", GOLDEN / name / "trace.txt", into], check=True)
        return into

    return written


@pytest.mark.parametrize("name", sorted(p.parent.name for p in GOLDEN.glob("*/trace.txt")))
def test_golden_traces_are_the_same(gpushim, write, tmp_path, name):
    slices, _, _ = same(*(make(form) for make, form in zip((lambda d: d, Chrome), exported(gpushim, [write(name)], tmp_path, "--all"))))
    assert slices


@pytest.fixture(scope="module")
def launches(recorder):
    run = recorder.run(recorder.command("launch_bound_linked", 5000, 2, 0))
    assert run.status == 0, run.stderr
    return run


@pytest.fixture(scope="module")
def training(recorder):
    run = recorder.run(recorder.command("train.py", "--steps", 20, "--workers", 1, "--item-each-layer", "--compute-ms", 3, "--checkpoint-every", 10,
                                        "--allocs", 2))
    assert run.status == 0, run.stderr
    return run


@pytest.fixture(params=["launches", "training"])
def forms(request, gpushim, tmp_path):
    run = request.getfixturevalue(request.param)
    decoded, chrome = exported(gpushim, [run.out], tmp_path, "--all")
    return run, decoded, Chrome(chrome), tmp_path


def test_recorded_runs_are_the_same(forms):
    run, decoded, chrome, _ = forms
    slices, arrows, counters = same(decoded, chrome)
    assert slices > 2000 and arrows == sum(device["operations"] for device in run.report()["devices"])
    assert counters or not [e for e in chrome.events if e["ph"] == "C"]


def test_bytes_of_a_launch(forms):
    """Both forms of both runs; names are counted apart, as they are of any length, and in Perfetto's form they are there once."""
    _, decoded, chrome, folder = forms
    ends = [s for s in decoded.slices if s.flow_to]
    ours = sum(s.bytes for s in decoded.slices if s.flow_to or s.flow_from) / len(ends)
    lines = [line.rstrip(",") for line in (folder / "t.json").read_text().splitlines() if '"bind_id":' in line]
    names = sum(len(json.dumps(json.loads(line)["name"])) - 2 for line in lines)
    theirs = (sum(len(line.encode()) + 2 for line in lines) - names) / len(ends)
    print(f"{ours:.1f} and {theirs:.1f} bytes; whole files {(folder / 't.pftrace').stat().st_size} and {(folder / 't.json').stat().st_size}")
    assert len(lines) == 2 * len(ends) >= 2000
    assert ours <= BYTES and theirs <= BYTES_JSON
