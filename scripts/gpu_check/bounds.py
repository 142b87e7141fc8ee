# SPDX-License-Identifier: BSD-2-Clause
"""The bounds this project promises, each beside what was measured: met, not met, or None: nothing was measured, or it settles nothing,
and `why` says why not."""

IDLE_PERCENT = 1.0
COMPUTE_BOUND_PERCENT = 0.5  # edges
LAUNCH_BOUND_PERCENT = 2.0   # auto


OTHERS = "the two counted different operations"
CUPTI = "cupti"


def bound(name, limit, value, met, unit="%", why=""):
    return {"name": name, "limit": limit, "value": value, "unit": unit, "met": met, "why": why if met is None else ""}


def verdict(value, limit, doubt):
    """Of a value that may be wrong by so much, None where nobody knows by how much: does it keep the limit either way, or break it?"""
    if doubt is None:
        return None
    return True if value + doubt <= limit else False if value - doubt > limit else None


def doubt_of(figure, none):
    """(percent, why): how far processes differ that are the same program without the recorder."""
    if figure["groups"] < 2:
        return None, "one set of processes says nothing about others"
    if not none:
        return None, "no second process without the recorder to compare with"
    return abs(none["percent"]), f"processes without the recorder differ by {abs(none['percent'])} %"


def slowdown_bound(parts, workload, level, limit):
    levels = parts.get("slowdown", {}).get("result", {}).get("workloads", {}).get(workload, {}).get("levels", {})
    figure, name = levels.get(level), f"slowdown of {workload} at {level}, upper end of the 95 % interval"
    if not figure or figure["high"] is None:
        return bound(name, limit, None, None)
    doubt, why = doubt_of(figure, levels.get("none"))
    return bound(name, limit, figure["high"], verdict(figure["high"], limit, doubt), why=why)


def apart_bound(workload, level, apart):
    """Where nobody else could watch: the device's time in a step, beside what was seen of it in other runs. By how much those differ among
    themselves, ours may as well."""
    name = f"idle time of {workload} at {level}, ours less that of steps of other runs, of step time"
    seen, step = apart.get("reference_busy_ns") or [], (apart.get("step_ns") or {}).get("median")
    if not seen or not step:
        return bound(name, IDLE_PERCENT, None, None)
    value = round(100 * (sum(seen) / len(seen) - apart["ours_busy_ns"]["median"]) / step, 4)
    doubt = round(100 * (max(seen) - min(seen)) / step, 4) if len(seen) > 1 else None
    why = "one other run alone" if doubt is None else f"the other runs differ by {doubt} %"
    return bound(name, IDLE_PERCENT, value, verdict(abs(value), IDLE_PERCENT, doubt), why=why)


def idle_bounds(parts):
    runs = parts.get("idle", {}).get("result", {}).get("runs", {})
    for workload, levels in runs.items():
        for level, run in levels.items():
            if "whole" not in run:
                yield apart_bound(workload, level, run["apart"])
                continue
            whole = run["whole"]
            value = whole["difference_percent"] if whole["comparable"] else None
            yield bound(f"idle time of {workload} at {level}, ours less the reference's, of step time", IDLE_PERCENT, value,
                        None if value is None else abs(value) <= IDLE_PERCENT, why=OTHERS)
            yield bound(f"idle time of {workload} at {level}: the truth is in the proven interval", True, whole["proven_interval_holds"],
                        whole["proven_interval_holds"] if whole["comparable"] else None, "", OTHERS)
            if "estimate_holds" in whole:
                yield bound(f"idle time of {workload} at {level}: the truth is in the estimate's 95 % interval", True, whole["estimate_holds"],
                            whole["estimate_holds"] if whole["comparable"] else None, "", OTHERS)


def without_call_or_time(losses):
    return sum(losses[name] for name in ("operations_unlinked", "operations_lost"))


def link_bound(where, run):
    """CUPTI's numbers join its records to calls: also on a real driver, under a real runtime?"""
    came_to, name = run.get("device_timing"), f"work of {where} at cupti that has no call or no time"
    if came_to != CUPTI:
        return bound(name, 0, None, None, "", f"the level came to {came_to or 'nothing'}")
    value = without_call_or_time(run["losses"])
    return bound(name, 0, value, value == 0, "")


def link_bounds(parts):
    for workload, levels in parts.get("idle", {}).get("result", {}).get("runs", {}).items():
        if CUPTI in levels:
            yield link_bound(workload, levels[CUPTI])
    recorded = parts.get("slowdown", {}).get("result", {}).get("recorded", {})
    if CUPTI in recorded:
        yield link_bound("the slowdown's programs", recorded[CUPTI])


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
            *idle_bounds(parts), *link_bounds(parts), *allowance_bounds(parts), *other_bounds(parts)]


def said(verdict):
    if verdict["met"] is not None:
        return "met" if verdict["met"] else "NOT MET"
    return "not measured" if verdict["value"] is None else "inconclusive"


def line(verdict):
    value = "" if verdict["value"] is None else f": {verdict['value']}{' ' + verdict['unit'] if verdict['unit'] else ''}"
    why = f"; {verdict['why']}" if verdict["why"] else ""
    return f"{said(verdict):12} {verdict['name']}{value} (bound {verdict['limit']}{' ' + verdict['unit'] if verdict['unit'] else ''}){why}"
