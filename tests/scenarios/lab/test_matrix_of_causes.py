# SPDX-License-Identifier: BSD-2-Clause
"""What runs come to, and what is kept of them."""

from collections import Counter
from types import SimpleNamespace

import due_advice
import matrix
import pytest
import run_scenarios
import runs
import score
import sums
import tables

MS = 1_000_000
SCENARIOS = {name: SimpleNamespace(kind=kind) for name, kind in
             (("sleep", "cause"), ("read", "cause"), ("mix", "mixture"), ("plain", "control"))}


def record(scenario, *cells, **more):
    """cells: (true, given, ms)"""
    result = score.Score()
    for true, given, ms in cells:
        result.count(true, ms * MS, ms * MS * (true == given), {given: ms * MS}, (true,))
    return {"scenario": scenario, "seed": 21, **{name: getattr(result, name) for name in ("true", "right", "wrong", "queued", "own", "own_right")},
            "matrix": [[true, given, ns] for (true, given), ns in result.matrix.items()], "decades": {"6": [MS, MS]}, "span": 100 * MS, **more}


def test_what_is_wrong_and_what_is_rest():
    answer = matrix.Answer([record("sleep", ("host-sleep", "host-sleep", 90), ("host-sleep", "sync-bubble", 6), ("host-sleep", "unexplained", 4))],
                           SCENARIOS, "ebpf")
    assert answer.all.of("host-sleep") == (100 * MS, 90 * MS, 6 * MS)
    assert answer.overall()["unexplained"] == (0.04, 0.04)
    assert list(answer.complaints()) == ["overall: 90.0% right, 95% is asked for", "overall: 6.0% wrong, 2% is allowed",
                                         "overall: 4.0% unexplained, 3% is allowed"]


def test_a_long_scenario_hides_no_short_one():
    """Of all time 98 % are right, of the scenarios the half."""
    answer = matrix.Answer([record("read", ("input-storage", "input-storage", 980)), record("sleep", ("host-sleep", "host-lock", 20))],
                           SCENARIOS, "ebpf")
    assert answer.overall()["right"] == (0.98, 0.5)
    assert "overall: 50.0% right, 95% is asked for" in list(answer.complaints())
    assert "host-sleep: 0.0% right, 90% is asked for" in list(answer.complaints())


def test_mixtures_are_held_one_by_one():
    mixed = record("mix", ("host-sleep", "host-sleep", 8), ("host-lock", "host-sleep", 2))
    answer = matrix.Answer([mixed, record("read", (*["input-storage"] * 2, 990))], SCENARIOS, "ebpf")
    assert "mixture mix: 80.0% right, 90% is asked for" in list(answer.complaints())


def test_controls_are_no_part_of_the_matrix():
    control = record("plain", ("loop", "sync-bubble", 5), control={"share": 0.02, "claimed": {"host-lock": 2 * MS}})
    answer = matrix.Answer([control, record("read", (*["input-storage"] * 2, 10))], SCENARIOS, "ebpf")
    assert answer.all.true == 10 * MS and answer.control("plain") == (0.02, 0.02)
    assert list(answer.complaints()) == ["control plain: 2.00% of the span, 1% is allowed"]


def test_without_probes_a_worker_owes_the_batch():
    """input-wait is what can be known of an input's cause; of no other."""
    cells = [["input-storage", "input-wait", 80 * MS], ["host-lock", "input-wait", 20 * MS]]
    made = {**record("read"), "true": 100 * MS, "right": 80 * MS, "wrong": 0, "matrix": cells}
    answer = matrix.Answer([made], SCENARIOS, "none")
    assert answer.all.of("input-storage") == (80 * MS, 80 * MS, 0) and answer.all.of("host-lock") == (20 * MS, 0, 0)
    assert list(answer.complaints()) == [] and "All of it met." in tables.told(answer)
    assert answer.overall()["right by the cause's own name"] == (0, 0)
    assert matrix.Answer([made], SCENARIOS, "ebpf").all.of("input-storage") == (80 * MS, 0, 0)


def test_what_failed_is_told_and_counts_for_nothing():
    answer = matrix.Answer([{"scenario": "sleep", "seed": 22, "failed": "exit status 3"}, {"scenario": "read", "seed": 21, "left_out": "no disk"}],
                           SCENARIOS, "ebpf")
    assert list(answer.complaints()) == ["sleep, seed 22: exit status 3"]
    assert answer.as_json()["left_out"] == [["read", 21, "no disk"]]


def test_the_tables_mark_what_is_right():
    told = tables.told(matrix.Answer([record("sleep", ("host-sleep", "host-sleep", 99), ("host-sleep", "host-lock", 1))], SCENARIOS, "ebpf"))
    assert "| host-sleep | 0.1 | **99.0** | 1.0 |" in told and "| sleep | 1 | 0.10 | 99.0 | 1.0 | 0.0 |" in told


# ---- by sums ----------------------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("given, right, wrong", [
    ({"launch-bound": 10 * MS}, 10, 0), ({"launch-bound": 15 * MS}, 10, 0), ({"launch-bound": 6 * MS, "host-compute": 4 * MS}, 6, 4),
    ({"unexplained": 10 * MS}, 0, 0), ({}, 0, 0), ({"launch-bound": 10 * MS, "host-lock": 3 * MS}, 10, 0)])
def test_sums(given, right, wrong):
    found = sums.compare({"launch-bound": 10 * MS}, given)
    assert (found.true, found.right, found.wrong) == (10 * MS, right * MS, wrong * MS)
    assert sum(found.matrix.values()) == found.true


@pytest.mark.parametrize("said, waits, excused", [(4, 3, 3), (2, 3, 2), (4, 0, 0), (0, 3, 0)])
def test_sums_excuse_a_cpu_that_was_missing(said, waits, excused):
    """No more than was, by the scheduler's trace; nor than is said."""
    true, given = Counter({"launch-bound": 10 * MS}), Counter({"launch-bound": 6 * MS, "cpu-contention": said * MS})
    assert sums.excuse(true, given, waits * MS) == excused * MS
    assert (true["launch-bound"], given["cpu-contention"]) == ((10 - excused) * MS, (said - excused) * MS)
    where_it_is_the_fault = Counter({"cpu-contention": 10 * MS})
    assert sums.excuse(where_it_is_the_fault, Counter({"cpu-contention": 10 * MS}), 10 * MS) == 0


def test_sums_look_for_missing_cpus_in_the_main_threads_spans():
    spans = [score.Span("launch-bound", "main", 0, 10, tid=1), score.Span("launch-bound", "main", 20, 30, tid=1),
             score.Span("launch-bound", "other", 0, 30, tid=2)]
    assert sums.without_cpu(spans, {1: [(5, 25)], 2: [(0, 30)]}, 0) == 10


def test_exposed_is_what_nothing_else_hides():
    def op(begin, end, **more):
        return {"start_ns": begin, "end_ns": end, "device": 0, "op": "memcpy", "name": "", "kind": "h2d-pageable", **more}
    ops = [op(0, 100, op="kernel"), op(50, 150), op(160, 170, kind="d2h-pinned"), op(165, 180, op="memset"),
           op(200, 230, op="kernel", name="ncclDevKernel_X"), op(210, 240, kind="h2d-pinned"), op(0, 500, device=1)]
    assert sums.exposed_by_key(ops, 0) == {"copy-h2d-pageable": 50, "copy-d2h": 10, "memset": 10, "comm": 30, "copy-h2d-pinned": 10}


# ---- kept -------------------------------------------------------------------------------------------------------------------------------------

def test_what_ran_is_not_run_again(tmp_path):
    kept = runs.Kept(tmp_path, "a")
    kept.put("sleep", 3, "ebpf", {"true": 1})
    assert runs.Kept(tmp_path, "a").get("sleep", 3, "ebpf")["true"] == 1
    assert kept.get("sleep", 4, "ebpf") is None and kept.get("sleep", 3, "none") is None
    assert runs.Kept(tmp_path, "b").get("sleep", 3, "ebpf") is None, "of another build"


@pytest.mark.parametrize("made", [{"failed": "x"}, {"left_out": "others had the CPUs, in 3 runs"}])
def test_what_failed_is_run_again(tmp_path, made):
    kept = runs.Kept(tmp_path, "a")
    kept.put("sleep", 3, "ebpf", made)
    assert kept.get("sleep", 3, "ebpf") is None


def test_a_file_that_was_cut_is_none(tmp_path):
    kept = runs.Kept(tmp_path, "a")
    kept.file("sleep", 3, "ebpf").write_text('{"print": "a", "tr')
    assert kept.get("sleep", 3, "ebpf") is None


def test_seeds():
    assert run_scenarios.numbers("21-23,7") == [21, 22, 23, 7]


# ---- advice ------------------------------------------------------------------------------------------------------------------------------

def advised(*advice):
    return {"advice": [{"id": name, "cause": cause, "device": 0, "lost_ns": ms * MS} for name, cause, ms in advice],
            "recoverable": [{"device": 0, "id": "launch-bound", "likely_ns": 3 * MS}], "devices": [{"device": 0, "span_ns": 100 * MS}]}


def result_of(*cells):
    return SimpleNamespace(span=100 * MS, matrix=Counter({(true, given): ms * MS for true, given, ms in cells}))


def test_advice_is_due_where_its_cause_is():
    """Sleeping for 20 %, a lock for 4; of launches some is but likely; what is right between the faults is the synchronise's."""
    result = result_of(("host-sleep", "host-sleep", 15), ("host-sleep", "host-lock", 5), ("host-lock", "host-lock", 4),
                       ("launch-bound", "launch-bound", 10), ("sync-bubble", "sync-bubble", 10), ("loop", "sync-bubble", 2), ("loop", "none", 50))
    report = advised(("no-sleep", "host-sleep", 15), ("cuda-graphs", "launch-bound", 7), ("host-code", "host-compute", 5))
    assert due_advice.of_run(result, report) == [["host-sleep", 20 * MS, {"no-sleep": 15 * MS}], ["launch-bound", 10 * MS, {"cuda-graphs": 10 * MS}],
                                                 ["sync-bubble", 12 * MS, {}]]


def test_advice_that_is_missing_or_off():
    runs_of = [record("sleep", ("host-sleep", "host-sleep", 100), advised=[["host-sleep", 100 * MS, said]])
               for said in ({"no-sleep": 100 * MS}, {"no-sleep": 80 * MS}, {})]
    answer = matrix.Answer(runs_of, SCENARIOS, "ebpf")
    row = answer.advised["host-sleep"]
    assert (row.due, row.said, row.near(), row.median(), row.ids) == (3, 2, 1, 0.9, {"no-sleep"})
    assert list(answer.complaints()) == ["advice against host-sleep: in 2 of 3 runs, 95% is asked for"]
    assert "| host-sleep | no-sleep | 3 | 2 | 50.0 | 90 |" in tables.told(answer)


def test_no_advice_in_controls():
    """But of a cause that is no fault's, and of what is next to nothing; of a missing CPU as far as it was not missing."""
    report = advised(("no-sleep", "host-sleep", 2), ("more-cpus", "cpu-contention", 9), ("host-code", "host-compute", 9))
    said = due_advice.of_control(report, {"host-sleep": 2 * MS, "cpu-contention": MS})
    assert said == [["no-sleep", 0.02], ["more-cpus", 0.01]]
    control = record("plain", control={"share": 0.0, "claimed": {}, "advice": said})
    answer = matrix.Answer([control, record("read", (*["input-storage"] * 2, 10))], SCENARIOS, "ebpf")
    assert list(answer.complaints()) == ["control plain, seed 21: advice no-sleep for 2.00% of the span"]
