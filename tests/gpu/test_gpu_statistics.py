# SPDX-License-Identifier: BSD-2-Clause
"""The intervals of gpu-check's slowdowns, on numbers whose answer is known."""

import math
import random

import pytest

pytestmark = pytest.mark.usefixtures("modules")


def test_students_interval_is_the_textbooks():
    from paired import student
    low, high = student([1.0, 2.0, 3.0, 4.0, 5.0])  # mean 3, s 1.5811, t(4) 2.776
    assert low == pytest.approx(3 - 1.9629, abs=1e-3) and high == pytest.approx(3 + 1.9629, abs=1e-3)
    assert student([7.0]) is None
    assert student([2.0, 2.0, 2.0]) == (2.0, 2.0)


def test_t_between_two_rows_is_the_wider():
    from paired import t_975
    assert t_975(1) == 12.706 and t_975(11) == t_975(10) == 2.228 and t_975(1000) == 1.980


def test_a_known_slowdown_is_found():
    from paired import slowdown
    figure = slowdown([[(100.0, 103.0), (200.0, 206.0), (50.0, 51.5)]])
    assert figure == {"percent": 3.0, "median": 3.0, "low": 3.0, "high": 3.0, "pairs": 3, "groups": 1, "method": "student over pairs"}


def test_ratios_and_not_differences_are_averaged():
    """Twice as slow and twice as fast is no change."""
    from paired import slowdown
    assert slowdown([[(100.0, 200.0), (200.0, 100.0)]])["percent"] == 0.0


def test_one_pair_has_no_interval_and_none_no_figure():
    from paired import slowdown
    figure = slowdown([[(100.0, 110.0)]])
    assert (figure["percent"], figure["low"], figure["high"]) == (10.0, None, None)
    assert slowdown([[], []]) is None


def test_groups_count_alike_however_many_pairs_they_have():
    from paired import slowdown
    figure = slowdown([[(100.0, 101.0)] * 9, [(100.0, 103.0)]])
    assert figure["percent"] == pytest.approx(100 * (math.sqrt(1.01 * 1.03) - 1), abs=1e-3)
    assert (figure["method"], figure["groups"], figure["pairs"]) == ("student over groups", 2, 10)
    half = 12.706 * math.log(1.03 / 1.01) / 2  # t(1), and the deviation of two values over its root
    assert figure["high"] == pytest.approx(100 * math.expm1((math.log(1.01) + math.log(1.03)) / 2 + half), abs=1e-3)


def pairs_of(rng, truth, groups, pairs, apart, noise):
    for _ in range(groups):
        offset = rng.gauss(0, apart)
        yield [(1.0, math.exp(math.log1p(truth) + offset + rng.gauss(0, noise))) for _ in range(pairs)]


@pytest.mark.parametrize("groups, pairs, apart", [(1, 12, 0.0), (2, 6, 0.003), (2, 6, 0.0), (3, 4, 0.02), (6, 3, 0.003)])
def test_the_truth_is_in_the_interval_as_often_as_said(groups, pairs, apart):
    """95 of 100, however few the groups are and however far they are apart: within three deviations of that, for 400 draws."""
    import paired
    rng, hits = random.Random(5), 0
    for _ in range(400):
        figure = paired.slowdown(list(pairs_of(rng, 0.02, groups, pairs, apart, 0.01)))
        hits += figure["low"] <= 2.0 <= figure["high"]
    assert 367 <= hits <= 393, hits


def test_processes_that_differ_widen_the_interval():
    """What pairs alone would call sure is not, where each set of processes says something else."""
    import paired
    near = paired.slowdown([[(1.0, 1.01), (1.0, 1.011), (1.0, 1.009)] * 4] * 2)
    far = paired.slowdown([[(1.0, 1.00), (1.0, 1.001), (1.0, 0.999)] * 4, [(1.0, 1.02), (1.0, 1.021), (1.0, 1.019)] * 4])
    assert near["percent"] == pytest.approx(1.0, abs=0.01) and far["percent"] == pytest.approx(1.0, abs=0.02)
    assert far["high"] - far["low"] > 5 * (near["high"] - near["low"])


# ---- what is said of a bound ----------------------------------------------------------------------------------------------------

def slowdown_parts(high, none, groups=4):
    levels = {"edges": {"percent": high - 0.1, "low": high - 0.2, "high": high, "groups": groups}}
    if none is not None:
        levels["none"] = {"percent": none, "low": none - 0.1, "high": none + 0.1, "groups": groups}
    return {"slowdown": {"result": {"workloads": {"transformer": {"levels": levels}}}}}


VERDICTS = {"well below": (0.3, 0.1, 4, True), "below, and processes differ by more": (0.3, -0.3, 4, None), "above, within that": (0.6, 0.2, 4, None),
            "above all": (0.8, -0.2, 4, False), "alone": (0.1, None, 4, None), "of one set": (0.1, 0.0, 1, None)}


@pytest.mark.parametrize("case", VERDICTS)
def test_what_processes_differ_by_themselves_decides_nothing(case):
    from bounds import line, slowdown_bound
    high, none, groups, met = VERDICTS[case]
    verdict = slowdown_bound(slowdown_parts(high, none, groups), "transformer", "edges", 0.5)
    assert (verdict["value"], verdict["met"], bool(verdict["why"])) == (high, met, met is None)
    assert line(verdict).startswith({True: "met ", False: "NOT MET ", None: "inconclusive "}[met])


def test_nothing_measured_is_no_verdict():
    from bounds import line, slowdown_bound
    verdict = slowdown_bound({}, "transformer", "edges", 0.5)
    assert line(verdict) == "not measured slowdown of transformer at edges, upper end of the 95 % interval (bound 0.5 %)"


APART = {"as the others": ([59_900, 60_100], True), "one per cent less": ([61_500, 61_600], False), "others that differ": ([60_000, 61_500], None),
         "one other": ([60_000], None)}


@pytest.mark.parametrize("case", APART)
def test_a_run_that_nobody_watched_is_judged_by_the_others(case):
    """Of steps of 100 us the device is busy for 60, we say."""
    from bounds import idle_bounds
    seen, met = APART[case]
    apart = {"step_ns": {"median": 100_000}, "ours_busy_ns": {"median": 60_000}, "reference_busy_ns": seen}
    (verdict,) = idle_bounds({"idle": {"result": {"runs": {"graphs": {"cupti": {"device_timing": "cupti", "apart": apart}}}}}})
    assert verdict["value"] == round((sum(seen) / len(seen) - 60_000) / 1000, 4) and verdict["met"] is met
    assert bool(verdict["why"]) == (met is None)


LINKS = {"all": ("cupti", 0, 0, 0, True), "one without a call": ("cupti", 1, 0, 1, False), "one without a time": ("cupti", 0, 2, 2, False),
         "not at that level": ("edges", 0, 0, None, None)}


@pytest.mark.parametrize("case", LINKS)
def test_work_without_a_call_or_a_time_breaks_a_bound(case):
    from bounds import link_bounds
    level, unlinked, lost, value, met = LINKS[case]
    run = {"device_timing": level, "losses": {"operations_unlinked": unlinked, "operations_lost": lost, "records_dropped": 7}}
    parts = {"idle": {"result": {"runs": {"graphs": {"edges": {}, "cupti": run}}}}, "slowdown": {"result": {"recorded": {"cupti": run, "edges": {}}}}}
    verdicts = list(link_bounds(parts))
    assert [(verdict["value"], verdict["met"]) for verdict in verdicts] == [(value, met)] * 2


# ---- how many sets of processes -------------------------------------------------------------------------------------------------

def groups_in(seconds, first_start, later_start):
    """The seconds that each group measures."""
    from slowdown import is_worth_another, share
    measured, left, start = [], seconds, 0
    while is_worth_another(len(measured), left, start):
        start = later_start if measured else first_start
        left -= start
        measured.append(share(len(measured), left, start))
        left -= measured[-1]
    assert left >= -1e-6 or len(measured) == 1
    return measured


def test_groups_are_as_many_as_their_starts_are_worth():
    assert len(groups_in(190, 1, 1)) == 6
    torch = groups_in(190, 40, 20)
    assert len(torch) >= 3 and min(torch) >= 15
    assert len(groups_in(190, 100, 50)) == 2
    assert len(groups_in(190, 180, 90)) == 1


def test_an_allowance_holds_where_it_covers_99_of_100():
    from costs import judge, read_allowances
    allowances = read_allowances("/* c */\n#define LATENCY_NS 25000\n#define WAKE_NS 30000\n#define OTHER 3\n")
    assert allowances == {"LATENCY_NS": 25000, "WAKE_NS": 30000}
    verdicts = judge({"launch_latency_ns": [9000] * 199 + [90000], "event_latency_ns": [8000] * 200, "wake_ns": [29000] * 90 + [31000] * 10}, allowances)
    assert (verdicts["LATENCY_NS"]["p99_ns"], verdicts["LATENCY_NS"]["holds"]) == (9000, True)
    assert (verdicts["WAKE_NS"]["p99_ns"], verdicts["WAKE_NS"]["holds"]) == (31000, False)
    assert verdicts["NODE_NS"] == {"allowed_ns": None, "p99_ns": None, "by": {}, "holds": None}


def test_the_allowances_are_the_analyzers(root):
    import costs
    names = costs.read_allowances(costs.FACTS.read_text())
    assert set(costs.ALLOWANCES) <= set(names)


def test_quantiles_are_values_that_were_measured():
    from costs import quantile, summary
    values = list(range(100, 0, -1))
    assert (quantile(values, 0.5), quantile(values, 0.99), quantile([7], 0.99)) == (51, 100, 7)
    assert summary([]) is None and summary([3, 1, 2])["n"] == 3
