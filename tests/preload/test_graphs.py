# SPDX-License-Identifier: BSD-2-Clause
"""Graphs and captures: the program's graphs hold what it put into them and nothing else, and a capture never meets a call of ours."""

import json
import struct

import gst
import pytest

GRAPHS_UNTRACKED = gst.COUNTERS + 8 * 8  # struct gst_counters in shim/format.h
REMEMBERED = 4096  # executable graphs, shim/graph.c
DESCRIBED = 32768

BUILT = ["plain", "nested", "host", "events", "two-streams", "update", "copies", "memsets"]
CAPTURES = ["global", "thread-local", "relaxed", "to-graph"]
BROKEN = ["wrong-ends", "invalidated", "unjoined", "stream-gone", "context-gone"]


def both(recorder, *case):
    """The case without the shim and with it: what it prints, its graphs among that, is the same."""
    program = "captures_linked" if case[0] in CAPTURES + BROKEN else "graphs_linked"
    command = recorder.command(program, *case)
    plain, recorded = recorder.run(command, shim=False), recorder.run(command)
    assert plain.status == 0 and plain.stdout.endswith("end\n"), plain.stdout + plain.stderr
    assert (recorded.status, recorded.stdout, recorded.stderr) == (plain.status, plain.stdout, plain.stderr)
    return plain, recorded


def truth(run):
    lines = [json.loads(line) for line in run.truth.read_text().splitlines()]
    return [line for line in lines if "op" in line], lines[-1]["calls"]


def trace(run):
    (path,) = run.traces()
    return path.read_bytes()


def counter(run, offset):
    return struct.unpack_from("<Q", trace(run), offset)[0]


def operations(run):
    return sum(op["op"] != "hostfn" for op in truth(run)[0])


@pytest.mark.parametrize("case", BUILT + CAPTURES)
def test_nodes_are_counted_singly(recorder, case):
    """The driver's own log has one line for each node that ran."""
    plain, recorded = both(recorder, case)
    report = recorded.report()
    assert report["devices"][0]["operations"] == operations(recorded)
    assert report["losses"]["operations_unlinked"] == 0
    if case not in ("thread-local", "relaxed"):  # there another thread works as long as it is let
        assert operations(recorded) == operations(plain)


@pytest.mark.parametrize("case", BUILT + CAPTURES + BROKEN)
def test_every_call_is_the_programs_or_ours(recorder, case):
    _, recorded = both(recorder, case)
    made, report = truth(recorded)[1], recorded.report()
    for name, times in report["calls"].items():
        assert made[name] == times + report["injected"].get(name, 0), name


def test_a_captured_graph_has_the_programs_nodes(recorder):
    plain, _ = both(recorder, "global")
    assert "captured: 5 nodes, 5 edges\n" in plain.stdout


@pytest.mark.parametrize("case", CAPTURES)
def test_nothing_is_asked_of_a_stream_in_a_capture(recorder, case):
    """Half of the time goes by in the capture: whether a stream takes part in one is all that is asked meanwhile."""
    _, recorded = both(recorder, case)
    assert recorded.report()["injected"].get("cuStreamIsCapturing", 0) <= 40
    assert "CAPTURE" not in recorded.stdout


def test_an_end_in_another_stream_ends_nothing(recorder):
    """Its result is an error. Counted as an end, it would let events of ours into the capture that is still open."""
    plain, recorded = both(recorder, "wrong-ends")
    assert plain.stdout.count("CUDA_ERROR_ILLEGAL_STATE") == 2 and "one graph: 6 nodes, 5 edges\n" in plain.stdout
    assert recorded.report()["injected"]["cuEventRecord"] <= 3  # before the capture, and behind it


@pytest.mark.parametrize("case", ["invalidated", "unjoined", "stream-gone", "context-gone"])
def test_a_capture_that_ends_badly_is_over(recorder, case):
    """Otherwise nothing would ever be asked again: five waits come after it, each with an event before it."""
    _, recorded = both(recorder, case)
    assert recorded.report()["injected"]["cuEventRecord"] >= 8


def names(run, export):
    done = run.recorder.gpushim("export", run.out, "--chrome", export, "--all")
    assert done.returncode == 0, done.stderr
    events = json.loads(export.read_text())["traceEvents"]
    return [event for event in events if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]


@pytest.mark.parametrize("case", ["plain", "nested", "update"])
def test_every_node_has_its_slice_and_name(recorder, tmp_path, case):
    _, recorded = both(recorder, case)
    slices = names(recorded, tmp_path / "trace.json")
    kernels = sorted(event["name"] for event in slices if event["cat"] == "kernel")
    assert kernels == sorted(op["name"] for op in truth(recorded)[0] if op["op"] == "kernel")
    copies = sorted(event["args"]["bytes"] for event in slices if event["cat"] != "kernel")
    assert copies == sorted(op["bytes"] for op in truth(recorded)[0] if op["op"] in ("memcpy", "memset"))
    assert not [event for event in slices if "error_us" in event["args"]], "none is said to be measured"


@pytest.mark.parametrize("case, key", [("copies", "copy-h2d-pinned"), ("memsets", "memset")])
def test_a_graph_of_one_kind_counts_as_that(recorder, case, key):
    _, recorded = both(recorder, case)
    device = recorded.report()["devices"][0]
    assert device["compute_ns"] == 0
    assert device["copy"][key] == device["copy_exposed_ns"] > 0


def test_a_large_graph_is_described_whole(recorder):
    _, recorded = both(recorder, "big", 10000)
    report = recorded.report()
    assert report["devices"][0]["operations"] == 10000
    assert report["injected"]["cuGraphNodeGetType"] == 10000


def test_beyond_what_is_described_nodes_are_counted(recorder):
    _, recorded = both(recorder, "big", DESCRIBED + 2000)
    report = recorded.report()
    assert report["devices"][0]["operations"] == DESCRIBED + 2000
    assert report["injected"]["cuGraphKernelNodeGetParams_v2"] == DESCRIBED
    device = report["devices"][0]
    assert device["unresolved_ns"] > device["compute_ns"] // 2  # what else is in there nobody knows


def test_more_executable_graphs_than_are_remembered(recorder):
    """Those that had to make room are launches of unknown contents: one operation each, and the report says so."""
    _, recorded = both(recorder, "many", 6000)
    report = recorded.report()
    forgotten = counter(recorded, GRAPHS_UNTRACKED)
    assert 6000 - REMEMBERED <= forgotten < 3000
    assert report["losses"]["operations_unlinked"] == forgotten
    assert report["devices"][0]["operations"] == 2 * 6000 - forgotten
