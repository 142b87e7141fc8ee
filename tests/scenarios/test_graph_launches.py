# SPDX-License-Identifier: BSD-2-Clause
"""Graphs and captures, compared with the simulated driver's own log: each node counts, nothing false is claimed of the inside."""

import pytest
import truth

# What a launch may hide is stated: 2 us for each node on the longest way through a graph, all of one that may stand still.
UNRESOLVED_MAX = {"plain": 0.02, "nested": 0.02, "two-streams": 0.02, "update": 0.02, "copies": 0.01, "memsets": 0.01,
                  "host": 1.0, "events": 1.0}
CAPTURES = {"to-graph": 0.01, "global": 1.0, "thread-local": 1.0, "relaxed": 1.0}


@pytest.mark.parametrize("case", [*UNRESOLVED_MAX, *CAPTURES])
def test_graphs(recorder, case):
    run = recorder.run(recorder.command("captures_linked" if case in CAPTURES else "graphs_linked", case), realtime=True)
    assert run.status == 0, run.stderr
    report = run.report()
    truth.check_sound(report, truth.Truth(run))
    device = report["devices"][0]
    assert device["unresolved_ns"] <= (UNRESOLVED_MAX | CAPTURES)[case] * device["span_ns"]


def test_a_host_node_is_no_gap_and_no_proof(recorder):
    """Three launches of which 3 ms each are the host's: not claimed as idle, and not as busy beyond doubt."""
    run = recorder.run(recorder.command("graphs_linked", "host"), realtime=True)
    device = run.report()["devices"][0]
    known = truth.Truth(run)
    inside = [gap for gap in known.gaps(0) if any(host.start >= gap.begin and host.end <= gap.end
                                                  for host in known.host_functions)]
    assert len(inside) == 5
    assert device["unresolved_ns"] >= sum(gap.end - gap.begin for gap in inside[:4]) * 0.95


def test_the_host_level_claims_nothing_of_graphs(recorder):
    for case in ("host", "events", "plain"):
        run = recorder.run(recorder.command("graphs_linked", case), env={"GPUSHIM_DEVICE": "host"}, realtime=True)
        truth.check_sound(run.report(), truth.Truth(run))


def two_devices(recorder, **env):
    run = recorder.run(recorder.command("graphs_linked", "two-devices"), env={"SIMGPU_DEVICES": 2, **env}, realtime=True)
    assert (run.status, run.stdout) == (0, "end\n"), run.stdout + run.stderr
    return run


def test_one_graph_on_two_devices(recorder):
    """Its nodes count where they ran, ten launches of three there; the other device's time from a launch to its end is not claimed."""
    run = two_devices(recorder)
    report, known = run.report(), truth.Truth(run)
    truth.check_sound(report, known)
    here, there = report["devices"]
    assert (here["operations"], there["operations"]) == (30, 32)
    launches = [op for op in known.ops if op.device == 1][1:-1]
    assert there["unresolved_ns"] >= sum(op.end - op.start for op in launches)
    assert there["idle_ns"] > 5 * 3 * truth.MS  # between the launches it is known idle as ever


def test_one_graph_on_two_devices_without_edges(recorder):
    run = two_devices(recorder, GPUSHIM_DEVICE="host")
    truth.check_sound(run.report(), truth.Truth(run))
