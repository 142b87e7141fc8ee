# SPDX-License-Identifier: BSD-2-Clause
"""The bounds this project promises, each beside what was measured: met, not met, or None where nothing was measured."""

IDLE_PERCENT = 1.0
COMPUTE_BOUND_PERCENT = 0.5  # edges
LAUNCH_BOUND_PERCENT = 2.0   # auto


def bound(name, limit, value, met, unit="%"):
    return {"name": name, "limit": limit, "value": value, "unit": unit, "met": met}


def slowdown_bound(parts, workload, level, limit):
    figure = parts.get("slowdown", {}).get("result", {}).get("workloads", {}).get(workload, {}).get("levels", {}).get(level)
    high = figure and figure["high"]
    return bound(f"slowdown of {workload} at {level}, upper end of the 95 % interval", limit, high, None if high is None else high <= limit)


def idle_bounds(parts):
    runs = parts.get("idle", {}).get("result", {}).get("runs", {})
    for workload, levels in runs.items():
        for level, run in levels.items():
            if "whole" not in run:
                continue
            whole = run["whole"]
            value = whole["difference_percent"] if whole["comparable"] else None
            yield bound(f"idle time of {workload} at {level}, ours less the reference's, of step time", IDLE_PERCENT, value,
                        None if value is None else abs(value) <= IDLE_PERCENT)
            yield bound(f"idle time of {workload} at {level}: the truth is in the proven interval", True, whole["proven_interval_holds"],
                        whole["proven_interval_holds"] if whole["comparable"] else None, "")
            if "estimate_holds" in whole:
                yield bound(f"idle time of {workload} at {level}: the truth is in the estimate's 95 % interval", True, whole["estimate_holds"],
                            whole["estimate_holds"] if whole["comparable"] else None, "")


def allowance_bounds(parts):
    for name, verdict in parts.get("costs", {}).get("result", {}).get("allowances", {}).items():
        yield bound(f"{name} of the analyzer covers 99 of 100", verdict["allowed_ns"], verdict["p99_ns"], verdict["holds"], "ns")


def other_bounds(parts):
    pointers = parts.get("pointers", {}).get("result", {})
    unequal = pointers.get("unequal")
    yield bound("pointers of cuGetProcAddress that dlsym does not export", 0, unequal, None if unequal is None else unequal == 0, "")
    seen = parts.get("allocator", {}).get("result", {}).get("seen")
    yield bound("the allocator's reports are seen", True, seen, seen, "")
    recorded = parts.get("nccl", {}).get("result", {}).get("all_seen")
    yield bound("NCCL's calls are recorded", True, recorded, recorded, "")


def judge(parts):
    return [slowdown_bound(parts, "transformer", "edges", COMPUTE_BOUND_PERCENT), slowdown_bound(parts, "launch_bound", "auto", LAUNCH_BOUND_PERCENT),
            *idle_bounds(parts), *allowance_bounds(parts), *other_bounds(parts)]


def line(verdict):
    said = {True: "met", False: "NOT MET", None: "not measured"}[verdict["met"]]
    value = "" if verdict["value"] is None else f": {verdict['value']}{' ' + verdict['unit'] if verdict['unit'] else ''}"
    return f"{said:12} {verdict['name']}{value} (bound {verdict['limit']}{' ' + verdict['unit'] if verdict['unit'] else ''})"
