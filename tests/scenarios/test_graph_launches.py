# SPDX-License-Identifier: BSD-2-Clause
"""Graphs and captures, compared with the simulated driver's own log: each node counts, nothing false is claimed of the inside."""

import pytest
import truth

# What a launch may hide is stated: 2 us for each node on the longest way through a graph, all of one that may stand still.
UNRESOLVED_MAX = {"plain": 0.02, "nested": 0.02, "two-streams": 0.02, "update": 0.02, "copies": 0.01, "memsets": 0.01,
                  "to-graph": 0.01, "host": 1.0, "events": 1.0, "global": 1.0, "thread-local": 1.0, "relaxed": 1.0}


@pytest.mark.parametrize("case", UNRESOLVED_MAX)
def test_graphs(recorder, case):
    run = recorder.run(recorder.command("graphs_linked", case), realtime=True)
    assert run.status == 0, run.stderr
    report = run.report()
    truth.check_sound(report, truth.Truth(run))
    device = report["devices"][0]
    assert device["unresolved_ns"] <= UNRESOLVED_MAX[case] * device["span_ns"]


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
