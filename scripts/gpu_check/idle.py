# SPDX-License-Identifier: BSD-2-Clause
"""Our idle time per step beside torch.profiler's.

"together": the shim and the profiler watch the same steps in one process; "apart": each its own run.
A step is the time between two marks taken on the host around it; idle is the part of it with no kernel, copy or memset.
The profiler's is exact: its intervals are decimal microseconds, taken as integer nanoseconds."""

import gzip
import json
import shutil
from decimal import Decimal
from pathlib import Path

import part
from recorded_run import report, step_ns, train

STEPS = 60
DEVICE_WORK = ("kernel", "gpu_memcpy", "gpu_memset")


def covered(intervals, begin, end):
    """How much of [begin, end] the intervals (sorted by begin) cover together."""
    total, reached = 0, begin
    for first, last in intervals:
        if first >= end:
            break
        first, last = max(first, reached), min(last, end)
        if last > first:
            total += last - first
            reached = last
    return total


def kineto_idle(path):
    """Per step: [length, idle] in ns."""
    opener = gzip.open if str(path).endswith(".gz") else open
    with opener(path, "rt") as file:
        events = json.load(file, parse_float=Decimal)["traceEvents"]

    def interval(event):
        begin = int(Decimal(event["ts"]) * 1000)
        return begin, begin + int(Decimal(event["dur"]) * 1000)

    complete = [event for event in events if event.get("ph") == "X"]
    work = sorted(interval(event) for event in complete if event.get("cat") in DEVICE_WORK)
    marks = sorted(interval(e) for e in complete if e.get("name") == "gpu_check_step" and e.get("cat") in ("user_annotation", "cpu_op"))
    return [[end - begin, end - begin - covered(work, begin, end)] for begin, end in marks]


def our_idle(summary, steps):
    """Per step: [length, idle] in ns, from the report's gaps. Before the first and after the last operation the device is idle too."""
    device = summary["devices"][0]
    gaps = sorted((gap["begin_ns"], gap["end_ns"]) for gap in device["gaps"])
    gaps = [(0, device["begin_ns"])] + gaps + [(device["end_ns"], 1 << 62)]
    return [[end - begin, covered(gaps, begin, end)] for begin, end in steps]


def totals(rows):
    return {"steps": len(rows), "step_ns": part.spread([row[0] for row in rows]), "idle_ns": part.spread([row[1] for row in rows])}


def bounds(summary):
    device = summary["devices"][0]
    return {name: device.get(name) for name in ("span_ns", "idle_ns", "idle_error_ns", "unresolved_ns", "operations")}


def measure(args, result):
    shim, work = Path(args.bin) / "libgpushim.so", Path(args.work)
    out, profile = work / "idle-out", work / "kineto.json"

    shutil.rmtree(out, ignore_errors=True)
    trained = train(work, STEPS, shim=shim, out=out, profile=profile)
    ours, summary, theirs = None, report(args.bin, out), kineto_idle(profile)
    ours = our_idle(summary, trained["steps"])
    result["together"] = {"ours": totals(ours), "profiler": totals(theirs), "ours_whole_run": bounds(summary)}
    if len(ours) == len(theirs):
        result["together"]["difference_ns"] = part.spread([a[1] - b[1] for a, b in zip(ours, theirs)])
    result.save()

    shutil.rmtree(out, ignore_errors=True)
    trained = train(work, STEPS, shim=shim, out=out)
    summary = report(args.bin, out)
    result["apart"] = {"ours": totals(our_idle(summary, trained["steps"])), "ours_step_ns": step_ns(trained), "ours_whole_run": bounds(summary)}
    result.save()
    train(work, STEPS, profile=profile)
    result["apart"]["profiler"] = totals(kineto_idle(profile))


if __name__ == "__main__":
    part.main(measure, ("--bin", "--work"))
