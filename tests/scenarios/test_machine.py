# SPDX-License-Identifier: BSD-2-Clause
"""When a failure counts: not while CPUs were taken away, and never for long."""

import machine
import pytest
import stolen
from conservation import Unsound


@pytest.fixture
def attempt(tmp_path, monkeypatch):
    """attempt(robbed, right): a check that is robbed of the CPUs in its first runs and right from a run on; its runs are counted."""
    stat = tmp_path / "stat"
    stat.write_text("cpu 1 2 3 4 5 6 7 0 9 10\ncpu0 1 2 3 4 5 6 7 0 9 10\n")
    monkeypatch.setenv(stolen.STAT, str(stat))

    def make(robbed, right):
        def check():
            check.runs += 1
            if check.runs <= robbed:
                stat.write_text(f"cpu 1 2 3 4 5 6 7 {check.runs} 9 10\n")
            assert check.runs >= right, f"run {check.runs}"
            return check.runs
        check.runs = 0
        return check
    return make


@pytest.mark.parametrize("robbed, right", [(0, 1), (0, 3), (9, 12), (12, 5)])
def test_right_once_is_right(attempt, robbed, right):
    assert machine.once_in(3, attempt(robbed, right)) == right


def test_wrong_each_time_is_wrong(attempt):
    check = attempt(0, 99)
    with pytest.raises(AssertionError, match="not right in any of 3 runs:\nrun 1\n"):
        machine.once_in(3, check)
    assert check.runs == 3


def test_robbed_runs_do_not_count(attempt):
    check = attempt(5, 99)
    with pytest.raises(AssertionError, match="run 8"):
        machine.once_in(3, check)
    assert check.runs == 8


def test_robbed_all_along_is_a_skip(attempt):
    check = attempt(99, 99)
    with pytest.raises(pytest.skip.Exception, match="in 12 of 12 runs"):
        machine.once_in(3, check)
    assert check.runs == 12


def test_unsound_is_wrong_at_once(attempt):
    runs = []

    def check():
        runs.append(1)
        raise Unsound("a gap that is none")
    with pytest.raises(Unsound):
        machine.once_in(3, check)
    assert runs == [1]


def test_patience_ends(attempt, monkeypatch):
    monkeypatch.setattr(machine.Patience, "left", 0)
    check = attempt(99, 99)
    with pytest.raises(pytest.skip.Exception, match="in 3 of 3 runs"):
        machine.once_in(3, check)
    assert check.runs == 3
