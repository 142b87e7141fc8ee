# SPDX-License-Identifier: BSD-2-Clause
"""What a report gives only as sums: the causes of unresolved time (level bursts), and exposed copies and communication. Truth is the simulated
driver's log and the program's spans; of each cause the lesser of true and given is right, and what is given beyond that is wrong as far as
truth is left."""

import json
from collections import Counter
from pathlib import Path

import run_queue
import score
import unresolved

KEYS = {"h2d-pageable": "copy-h2d-pageable", "h2d-pinned": "copy-h2d-pinned", "d2h-pageable": "copy-d2h", "d2h-pinned": "copy-d2h",
        "d2d": "copy-d2d", "peer": "copy-peer"}


def compare(true, given):
    """Two Counters of ns, by cause -> Score."""
    result, left = score.Score(), Counter(given)
    for cause, ns in true.items():
        fine = score.LOOP if cause == score.BETWEEN else (cause,)
        said = Counter()
        for one in fine:
            said[one] = min(left[one], ns - sum(said.values()))
            left[one] -= said[one]
        right = sum(said.values())
        result.count(cause, ns, right, said, fine)
        if cause != score.BETWEEN:
            result.own += ns
            result.own_right += right
        result.claimed.update(said)
    for given_cause, ns in left.items():
        beyond(result, given_cause, ns)
    return result


def beyond(result, given, ns):
    """Takes the place of what was found nowhere."""
    for (cause, none), missing in [item for item in result.matrix.items() if item[0][1] == score.NONE]:
        taken = min(ns, missing)
        result.matrix[cause, none] -= taken
        result.matrix[cause, given] += taken
        result.wrong += taken * (given not in score.REST)
        result.claimed[given] += taken
        ns -= taken


def excuse(true, given, waits):
    """What the main thread was without a CPU for, in its spans, is no part of the fault: as much as the report says of that is taken off both, and
    returned."""
    if not true or "cpu-contention" in true:
        return 0
    longest = max(true, key=true.get)
    ns = min(given.get("cpu-contention", 0), waits, true[longest])
    true[longest] -= ns
    given["cpu-contention"] -= ns
    return ns


def without_cpu(spans, waits, device):
    """By the scheduler's trace."""
    main = [span for span in spans if span.role == "main" and span.device in (None, device)]
    times = run_queue.union((span.begin, span.end) for span in main)
    alone = run_queue.union(wait for tid in {span.tid for span in main} for wait in waits.get(tid, []))
    return sum(run_queue.length(run_queue.inside(alone, begin, end)) for begin, end in times)


def idle_by_cause(ops, spans, device):
    """Of the loop."""
    main = sorted((span for span in spans if span.role == "main" and span.device in (None, device)), key=lambda span: span.begin)
    true = Counter()
    for begin, end in score.gaps_of(ops, device):
        if main and begin < main[-1].end and end > main[0].begin:
            for first, last, span in score.stretches(main, begin, end):
                true[span.cause if span else score.BETWEEN] += last - first
    return true


def given_idle(device, true):
    return Counter(device["causes"]) + unresolved.causes(device, sum(true.values()) - device["idle_ns"])


def key_of(op):
    if op["op"] == "kernel":
        return "comm" if "ncclDevKernel" in op["name"] else "compute"
    return "memset" if op["op"] == "memset" else KEYS[op["kind"]]


def exposed_by_key(ops, device):
    """ns in which nothing but this runs; where several kinds of copies do, the first in name has it."""
    edges = []
    for op in ops:
        if op["op"] != "hostfn" and op["device"] == device:
            edges += [(op["start_ns"], 1, key_of(op)), (op["end_ns"], -1, key_of(op))]
    running, true, before = Counter(), Counter(), 0
    for at, step, key in sorted(edges):
        alone = sorted(name for name, count in running.items() if count)
        if alone and "compute" not in alone:
            true["comm" if "comm" in alone else alone[0]] += at - before
        running[key] += step
        before = at
    return true


def given_exposed(device, _):
    return Counter(device["copy"]) + Counter({"comm": sum(device["comm"].values())})


WAYS = {"bursts": (lambda ops, spans, device: idle_by_cause(ops, spans, device), given_idle),
        "exposed": (lambda ops, _, device: exposed_by_key(ops, device), given_exposed)}


def score_run(folder, how):
    folder, (true, given) = Path(folder), WAYS[how]
    ops, spans = score.operations(*sorted(folder.glob("truth*.json"))), score.read_spans(folder / "spans.jsonl")
    report, result = json.loads((folder / "report.json").read_text()), score.Score()
    waits = run_queue.read(folder / "waits.json")
    for device in report["devices"]:
        happened = true(ops, spans, device["device"])
        said = given(device, happened)
        queued = excuse(happened, said, without_cpu(spans, waits, device["device"])) if how == "bursts" else 0
        found = compare(happened, said)
        found.queued = queued
        found.span = device["span_ns"]
        result.add(found)
    return result
