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
    assert figure == {"percent": 3.0, "median": 3.0, "low": 3.0, "high": 3.0, "pairs": 3, "groups": 1, "method": "student"}


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
    assert (figure["low"], figure["high"], figure["method"], figure["groups"]) == (1.0, 3.0, "bootstrap", 2)


def pairs_of(rng, truth, groups, pairs, apart, noise):
    for _ in range(groups):
        offset = rng.gauss(0, apart)
        yield [(1.0, math.exp(math.log1p(truth) + offset + rng.gauss(0, noise))) for _ in range(pairs)]


@pytest.mark.parametrize("groups, pairs, apart", [(1, 12, 0.0), (6, 3, 0.003)])
def test_the_truth_is_in_the_interval_about_as_often_as_said(monkeypatch, groups, pairs, apart):
    """95 of 100, less what a bootstrap of few groups is known to miss."""
    import paired
    draw = paired.bootstrap
    monkeypatch.setattr(paired, "bootstrap", lambda values: draw(values, draws=120))
    rng, hits = random.Random(5), 0
    for _ in range(100):
        figure = paired.slowdown(list(pairs_of(rng, 0.02, groups, pairs, apart, 0.01)))
        hits += figure["low"] <= 2.0 <= figure["high"]
    assert 84 <= hits <= 100, hits


def test_processes_that_differ_widen_the_interval():
    """What pairs alone would call sure is not, where each set of processes says something else."""
    import paired
    near = paired.slowdown([[(1.0, 1.01), (1.0, 1.011), (1.0, 1.009)] * 4] * 2)
    far = paired.slowdown([[(1.0, 1.00), (1.0, 1.001), (1.0, 0.999)] * 4, [(1.0, 1.02), (1.0, 1.021), (1.0, 1.019)] * 4])
    assert near["percent"] == pytest.approx(1.0, abs=0.01) and far["percent"] == pytest.approx(1.0, abs=0.02)
    assert far["high"] - far["low"] > 5 * (near["high"] - near["low"])


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
