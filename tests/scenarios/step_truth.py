# SPDX-License-Identifier: BSD-2-Clause
"""When the steps of a program began, by its own log (--step-log), and whether a report agrees that has nothing but launches to tell them by."""

import bisect
import json

from conservation import each_time


def submissions(run):
    """When the driver got each piece of work, by its own log."""
    entries = [json.loads(line) for line in run.truth.read_text().splitlines()]
    return sorted(entry["submit_ns"] for entry in entries if "op" in entry)


@each_time
def check(run, log):
    """All steps are there, each from its first submission on; returns the pieces between them."""
    began = [int(line) for line in log.read_text().splitlines()]
    submitted = submissions(run)
    report = run.report()
    device = report["devices"][0]["device"]
    pieces = [piece for piece in report["steps"] if piece["device"] == device]
    assert all(piece["by"] == "launches" for piece in pieces)
    steps = [piece for piece in pieces if piece["kind"] == "step"]
    assert len(steps) == len(began)
    for step, begin in zip(steps, began):
        first = bisect.bisect_left(submitted, begin)
        assert begin <= step["begin_ns"] <= submitted[first], step["name"]
        assert first == 0 or submitted[first - 1] < step["begin_ns"], step["name"]
    return [piece for piece in pieces if piece["kind"] == "between"]
