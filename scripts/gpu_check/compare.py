# SPDX-License-Identifier: BSD-2-Clause
"""Our idle time beside the reference's, of one run that both watched. Two comparisons, both in percent of the steps' time:

    whole   from the first operation to the last: what we prove, the interval that must hold the truth, and with bursts the estimate
    steps   step by step: what we prove idle in each, without the estimate, which is of the whole run

The difference over the whole run is of the time before the steps too, and only the steps' time stands below the line: a
long silence at the start, in which everybody agrees, makes nothing look better."""

import part
from intervals import gaps, inside, merged
from reference import find_marks

SAME_OPERATIONS = 0.002  # the profiler may have a few operations of its own
SAME_SPAN = 0.002


def our_interval(device):
    """What the report claims: the true idle time lies in it."""
    error = device["idle_error_ns"]
    return device["idle_ns"] - error, device["idle_ns"] + error + device["unresolved_ns"]


def percent_of(value, whole):
    return round(100 * value / whole, 4) if whole else None


def saw_the_same(device, reference):
    """Whether both watched the whole run: as many operations, as long from the first to the last."""
    return (abs(device["operations"] - reference.operations) <= SAME_OPERATIONS * reference.operations
            and abs(device["span_ns"] - reference.span_ns()) <= SAME_SPAN * reference.span_ns() + device["idle_error_ns"])


def compare_whole(device, reference, steps_ns):
    low, high = our_interval(device)
    true = reference.idle_ns()
    estimated = device.get("unresolved_idle_ns") is not None
    best = device["idle_ns"] + (device["unresolved_idle_ns"] if estimated else 0)
    out = {"reference_idle_ns": true, "reference_span_ns": reference.span_ns(), "reference_operations": reference.operations,
           "span_ns": device["span_ns"], "operations": device["operations"], "idle_ns": device["idle_ns"], "low_ns": low, "high_ns": high,
           "unresolved_ns": device["unresolved_ns"], "proven_interval_holds": low <= true <= high,
           "unresolved_percent": percent_of(device["unresolved_ns"], steps_ns), "comparable": saw_the_same(device, reference),
           "best_ns": best, "difference_percent": percent_of(best - true, steps_ns),
           "proven_difference_percent": percent_of(device["idle_ns"] - true, steps_ns)}
    if estimated:
        unresolved = true - device["idle_ns"]
        out["estimate"] = {name: device[f"unresolved_idle{name}_ns"] for name in ("", "_low", "_high")}
        out["estimate_holds"] = device["unresolved_idle_low_ns"] - device["idle_error_ns"] <= unresolved <= (
            device["unresolved_idle_high_ns"] + device["idle_error_ns"])
    return out


def idle_in_steps(idle, marks, begin, end):
    """Before the first operation and after the last the device is idle too."""
    return inside([[min(marks[0], begin), begin]] + idle + [[end, max(marks[-1], end)]], marks)


def compare_steps(device, marks, reference):
    """None where the reference does not show the steps."""
    theirs_marks = marks if reference.same_clock else find_marks(reference.waits, marks)
    if theirs_marks is None or not reference.busy:
        return None
    idle = merged([gap["begin_ns"], gap["end_ns"]] for gap in device["gaps"])
    ours = idle_in_steps(idle, marks, device["begin_ns"], device["end_ns"])
    theirs = idle_in_steps(gaps(reference.busy), theirs_marks, reference.busy[0][0], reference.busy[-1][1])
    steps = [right - left for left, right in zip(marks, marks[1:])]
    return {"steps": len(steps), "step_ns": part.spread(steps), "ours_ns": part.spread(ours), "reference_ns": part.spread(theirs),
            "difference_ns": part.spread([a - b for a, b in zip(ours, theirs)]),
            "difference_percent": percent_of(sum(ours) - sum(theirs), sum(steps)),
            "reference_idle_percent": percent_of(sum(theirs), sum(steps))}


def compare(summary, marks, reference):
    device = summary["devices"][0]
    return {"device_timing": summary["run"]["device_timing"], "whole": compare_whole(device, reference, marks[-1] - marks[0]),
            "steps": compare_steps(device, marks, reference), "injected": summary["injected"], "losses": summary["losses"]}
