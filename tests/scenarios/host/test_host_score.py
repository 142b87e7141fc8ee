# SPDX-License-Identifier: BSD-2-Clause
"""What scores a report: by what the programs wrote down, the simulated driver's log and a trace of the scheduler alone."""

import pytest
import run_queue
import score

MS = 1_000_000
GAP = [(0, 10 * MS)]


def span_of(cause, begin, end, role="main", **more):
    values = {"step": 0, "pid": 1, "tid": 1, "cpu": 0, "queued": 0, "throttled": 0, **more}
    return score.Span(cause=cause, role=role, begin=begin, end=end, **values)


def report_of(*causes):
    """One gap, of (id, begin, end, chain)."""
    entries = [{"id": cause, "begin_ns": begin, "end_ns": end, "confidence": "observed", "chain": chain} for cause, begin, end, *chain in causes]
    gap = {"begin_ns": entries[0]["begin_ns"], "end_ns": entries[-1]["end_ns"], "causes": entries}
    return {"devices": [{"device": 0, "span_ns": 100 * MS, "gaps": [gap]}]}


def figures(found):
    return found.true, found.right, found.wrong, found.rest


def test_what_is_right_wrong_and_neither():
    report = report_of(("input-storage", 0, 6 * MS), ("sync-bubble", 6 * MS, 8 * MS), ("input-wait", 8 * MS, 9 * MS))
    assert figures(score.score(GAP, [span_of("input-storage", 0, 10 * MS)], report)) == (10 * MS, 6 * MS, 2 * MS, 2 * MS)


def test_between_the_faults_it_is_the_loop():
    """All of a gap counts: where the main thread is in no span, a cause of this issue is wrong."""
    spans = [span_of("input-storage", 4 * MS, 8 * MS)]
    found = score.score(GAP, spans, report_of(("sync-bubble", 0, 1 * MS), ("input-storage", 1 * MS, 8 * MS), ("host-compute", 8 * MS, 9 * MS)))
    assert figures(found) == (10 * MS, (1 + 4 + 1) * MS, 3 * MS, 1 * MS)
    assert (found.own, found.own_right) == (4 * MS, 4 * MS)


def test_only_the_loop_counts():
    """Not what came before its first span, nor after its last; nor short gaps."""
    spans = [span_of("host-sleep", 20 * MS, 22 * MS)]
    gaps = [(0, 10 * MS), (18 * MS, 21 * MS), (21 * MS, 22 * MS - 1), (22 * MS, 30 * MS)]
    assert figures(score.score(gaps, spans, report_of(("host-sleep", 20 * MS, 21 * MS)))) == (3 * MS, 1 * MS, 0, 2 * MS)


def test_waiting_for_a_cpu_is_no_part_of_the_fault():
    """Once, where two threads that had a part in it waited at the same time; whoever had none excuses nothing."""
    spans = [span_of("input-preprocess", 0, 10 * MS), span_of("input-preprocess", 0, 5 * MS, "worker", tid=2),
             span_of("input-preprocess", 0, 5 * MS, "worker", tid=3, step=1)]
    waits = {1: [(7 * MS, 9 * MS)], 2: [(8 * MS, 10 * MS)], 3: [(0, 6 * MS)], 4: [(0, 10 * MS)]}
    report = report_of(("input-preprocess", 0, 7 * MS), ("cpu-contention", 7 * MS, 10 * MS))
    found = score.score(GAP, spans, report, waits)
    assert (*figures(found), found.queued) == (7 * MS, 7 * MS, 0, 0, 3 * MS)


def test_a_missing_cpu_named_where_none_was_missing_is_wrong():
    """Also if it is as long as one that was, elsewhere in the gap; and if nobody traced the scheduler."""
    spans = [span_of("input-preprocess", 0, 10 * MS)]
    report = report_of(("input-preprocess", 0, 5 * MS), ("cpu-contention", 5 * MS, 7 * MS), ("input-preprocess", 7 * MS, 10 * MS))
    assert figures(score.score(GAP, spans, report, {1: [(1 * MS, 3 * MS)]})) == (8 * MS, 6 * MS, 2 * MS, 0)
    assert figures(score.score(GAP, spans, report)) == (10 * MS, 8 * MS, 2 * MS, 0)


def test_short_waits_are_a_sum():
    """What the report says of them may stand anywhere in the same span; what is more than there was is wrong."""
    us = 1000
    spans = [span_of("output-io", 0, 10 * MS)]
    report = report_of(("output-io", 0, 5 * MS), ("cpu-contention", 5 * MS, 5 * MS + 90 * us), ("output-io", 5 * MS + 90 * us, 10 * MS))
    found = score.score(GAP, spans, report, {1: [(1 * MS, 1 * MS + 60 * us)]})
    assert figures(found) == (10 * MS - 60 * us, 10 * MS - 90 * us, 30 * us, 0)
    found = score.score(GAP, spans, report, {1: [(1 * MS, 1 * MS + 200 * us)]})
    assert figures(found) == (10 * MS - 200 * us, 10 * MS - 200 * us, 0, 0)


def test_where_a_cpu_is_the_fault_the_rest_is_computing():
    spans, waits = [span_of("cpu-contention", 0, 10 * MS)], {1: [(6 * MS, 10 * MS)]}
    found = score.score(GAP, spans, report_of(("host-compute", 0, 6 * MS), ("cpu-contention", 6 * MS, 10 * MS)), waits)
    assert (*figures(found), found.own) == (10 * MS, 10 * MS, 0, 0, 4 * MS)
    found = score.score(GAP, spans, report_of(("host-compute", 0, 3 * MS), ("cpu-contention", 3 * MS, 10 * MS)), waits)
    assert (*figures(found), found.own_right) == (10 * MS, 7 * MS, 3 * MS, 0, 4 * MS)


def test_a_quota_is_told_from_other_peoples_programs():
    spans, waits = [span_of("cpu-throttled", 0, 10 * MS, throttled=6 * MS)], {1: [(2 * MS, 10 * MS)]}
    report = report_of(("host-compute", 0, 2 * MS), ("cpu-throttled", 2 * MS, 8 * MS), ("cpu-contention", 8 * MS, 10 * MS))
    assert figures(score.score(GAP, spans, report, waits)) == (8 * MS, 8 * MS, 0, 0)
    report = report_of(("host-compute", 0, 2 * MS), ("cpu-throttled", 2 * MS, 4 * MS), ("cpu-contention", 4 * MS, 10 * MS))
    assert figures(score.score(GAP, spans, report, waits)) == (8 * MS, 4 * MS, 4 * MS, 0)


FILE = {"path": "/d/a.tar", "offset": 4096, "bytes": 4096}


@pytest.mark.parametrize("link, right", [
    ({"file": "/d/a.tar", "offset": 4096, "last_offset": 8191}, True), ({"file": "/d/a.tar", "offset": 4096, "last_offset": 8192}, False),
    ({"file": "/d/a.tar", "offset": 4095, "last_offset": 8000}, False), ({"file": "/d/a.tar", "offset": 8192}, False),
    ({"file": "/d/b.tar", "offset": 4096}, False), ({"file": "/d/a.tar"}, False), ({}, False)])
def test_the_file_and_the_place_in_it(link, right):
    """Of the pieces that got the file's cause; by their time, not by their number."""
    claims = [("input-storage", 0, 9 * MS, link), ("input-storage", 9 * MS, 10 * MS, {"file": "/d/a.tar", "offset": 5000})]
    found = score.score(GAP, [span_of("input-storage", 0, 10 * MS, **FILE)], report_of(*claims))
    assert (found.named, found.named_right) == (10 * MS, (9 * right + 1) * MS)


def test_another_cause_names_no_file():
    report = report_of(("host-compute", 0, 10 * MS, {"file": "/d/a.tar", "offset": 4096}))
    found = score.score(GAP, [span_of("input-storage", 0, 10 * MS, **FILE)], report)
    assert (found.named, found.right) == (0, 0)


def test_a_file_further_up_the_chain_is_not_where_it_ends():
    chain = [{"file": "/d/a.tar", "offset": 4096}, {"file": "/d/b.tar", "offset": 4096}]
    found = score.score(GAP, [span_of("input-storage", 0, 10 * MS, **FILE)], report_of(("input-storage", 0, 10 * MS, *chain)))
    assert (found.named, found.named_right) == (10 * MS, 0)


def test_another_workers_batch():
    """Several workers answer into one pipe, which wakes whoever waits: what another reads at the time is as right. One worker has its own."""
    workers = [span_of("input-storage", 0, 9 * MS, "worker", tid=2, **FILE),
               span_of("input-storage", 0, 9 * MS, "worker", tid=3, step=1, **{**FILE, "offset": 8192})]
    report = report_of(("input-storage", 0, 10 * MS, {"file": "/d/a.tar", "offset": 8192}))
    main = span_of("input-storage", 0, 10 * MS, **FILE)
    assert score.score(GAP, [main, *workers], report).named_right == 10 * MS
    assert score.score(GAP, [main, workers[0]], report).named_right == 0


def test_the_control_excuses_only_a_cpu_that_was_missing():
    """In its idle time, not in all of the loop; no more than was."""
    report = report_of(("host-compute", 0, 8 * MS), ("cpu-contention", 8 * MS, 10 * MS), ("input-storage", 10 * MS, 11 * MS))
    spans = [span_of("host-compute", 0, 10 * MS)]
    for waits, left in (([(0, MS)], MS), ([(0, 5 * MS)], 0), ([(11 * MS, 20 * MS)], 2 * MS), ([], 2 * MS)):
        share, claimed = score.control_share(spans, report, {1: waits, 2: [(0, 11 * MS)]})
        assert (claimed["cpu-contention"], share) == (left, pytest.approx((left + MS) / (100 * MS)))


# ---- run_queue.py: the scheduler's trace ------------------------------------------------------------------------------------------------------

def traced(*events):
    return run_queue.waits_of(f"     some one-{thread}     [001] d..2. 12.{us:06}: {text}" for us, thread, text in events)


def switch(us, out, state, into):
    before, after = f"prev_comm=a =b prev_pid={out} prev_prio=120 prev_state={state}", f"next_comm=c d next_pid={into} next_prio=120"
    return us, out, f"sched_switch: {before} ==> {after}"


def waking(us, thread, name="sched_waking"):
    return us, 99, f"{name}: comm=a b pid={thread} prio=120 target_cpu=001"


def at(*us):
    return tuple(12 * 10**9 + 1000 * one for one in us)


def test_from_the_wake_to_the_cpu():
    assert traced(switch(100, 7, "S", 8), waking(300, 7), switch(450, 8, "S", 7)) == {7: [at(300, 450)]}
    assert traced(waking(300, 7, "sched_wakeup_new"), switch(350, 8, "S", 7)) == {7: [at(300, 350)]}


def test_from_one_cpu_to_the_next():
    """Preempted: it did not wait for anything else."""
    assert traced(switch(100, 7, "R+", 8), switch(180, 8, "D", 7)) == {7: [at(100, 180)]}
    assert traced(switch(100, 7, "D", 8), switch(180, 8, "S", 7)) == {}


def test_a_wake_before_it_slept():
    """Just before; an earlier one was for nothing, and the sleep was one."""
    asleep = switch(50, 8, "S", 7)
    assert traced(asleep, waking(90, 7), switch(100, 7, "S", 8), switch(500, 8, "S", 7)) == {7: [at(100, 500)]}
    assert traced(asleep, waking(90, 7), switch(900, 7, "S", 8), switch(1500, 8, "S", 7)) == {}


def test_a_switch_from_an_idle_cpu_that_is_in_no_trace():
    """What it ran by the next account tells when it began to."""
    ran = (400, 7, "sched_stat_runtime: comm=a b pid=7 runtime=150000 [ns]")
    assert traced(switch(100, 7, "R", 0), ran, switch(410, 7, "S", 0)) == {7: [at(100, 250)]}
    assert traced(waking(300, 7), ran, switch(410, 7, "S", 0)) == {}


def test_a_run_too_short_for_an_account():
    """The wait ended just before it; the sleep after that is none."""
    again = (waking(900, 7), switch(950, 8, "S", 7))
    assert traced(waking(300, 7), switch(310, 7, "S", 0), *again) == {7: [at(300, 310), at(900, 950)]}
    assert traced(switch(100, 7, "R", 0), switch(310, 7, "R", 8), switch(330, 8, "S", 7)) == {7: [at(100, 310), at(310, 330)]}


def test_stretches():
    joined = run_queue.union([(5, 7), (0, 2), (1, 3), (7, 8)])
    assert joined == [(0, 3), (5, 8)] and run_queue.length(joined) == 6
    assert run_queue.inside(joined, 2, 6) == [(2, 3), (5, 6)] and run_queue.inside(joined, 3, 5) == []
