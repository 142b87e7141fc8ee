# SPDX-License-Identifier: BSD-2-Clause
"""Spans whose end only the driver's log knows (score_until.py)."""

import pytest
import score
import score_until


def op(name, end, kind="kernel"):
    return {"op": kind, "name": name, "device": 0, "start_ns": end - 5, "end_ns": end}


def span(begin, until):
    return score.Span(cause="device-dependency", role="main", begin=begin, end=begin + 1, until=until)


OPS = [op("producer", 10), op("", 40, "hostfn"), op("producer", 30), op("next", 50)]


def test_the_first_end_after_its_begin():
    """The log is in no order of ends."""
    spans = [span(5, "producer"), span(10, "producer"), span(12, "hostfn"), span(12, None)]
    assert [each.end for each in score_until.resolve(spans, OPS)] == [10, 30, 40, 13]


@pytest.mark.parametrize("begin, name", [(30, "producer"), (0, "nobody")])
def test_what_is_not_in_the_log(begin, name):
    with pytest.raises(AssertionError):
        score_until.resolve([span(begin, name)], OPS)
