# SPDX-License-Identifier: BSD-2-Clause
"""hta_numbers.py [--steps] [--streams] TRACE…: what HolisticTraceAnalysis makes of each Chrome trace, a line of JSON for each.

Run with $BUILD/hta/bin/python. It rounds to microseconds only where HTA_DISABLE_NS_ROUNDING is set to something else than 1.
--steps: the trace as it is; else its ProfilerSteps are taken out. --streams: the idle time of all streams as well.
"""

import collections
import json
import logging
import os
import sys
import tempfile

os.environ.setdefault("HTA_DISABLE_NS_ROUNDING", "1")  # or it rounds every operation's start up and its end down, to microseconds

from hta.trace_analysis import TraceAnalysis  # noqa: E402


def without_steps(path, folder):
    """HTA leaves out what is after the last ProfilerStep begins: for a whole trace they have to go."""
    with open(path) as file:
        trace = json.load(file)
    trace["traceEvents"] = [e for e in trace["traceEvents"] if not e["name"].startswith("ProfilerStep")]
    stripped = os.path.join(folder, "trace.json")
    with open(stripped, "w") as file:
        json.dump(trace, file)
    return stripped


def numbers(path, steps, streams):
    with tempfile.TemporaryDirectory() as folder:
        analysis = TraceAnalysis(trace_files={0: path if steps else without_steps(path, folder)})
    (times,) = analysis.get_temporal_breakdown(visualize=False).to_dict("records")
    trace, names = analysis.t.get_trace(0), analysis.t.symbol_table.get_sym_table()
    work = trace[trace["stream"].ne(-1)]
    more = {}
    if streams:
        by_stream, _ = analysis.get_idle_time_breakdown(ranks=[0], visualize=False)
        more = {"idle_by_stream_us": float(by_stream["idle_time"].sum())}
    return {**more, "span_us": times["kernel_time(us)"], "idle_us": times["idle_time(us)"], "compute_us": times["compute_time(us)"],
            "categories": collections.Counter(names[i] for i in work["cat"]),
            "kernels": collections.Counter(names[n] for c, n in zip(work["cat"], work["name"]) if names[c] == "kernel"),
            "work_without_launch": sum(launch <= 0 and names[c] != "unresolved" for c, launch in zip(work["cat"], work["index_correlation"]))}


def main():
    logging.disable(logging.WARNING)
    options = {"--steps", "--streams"}.intersection(sys.argv)
    for path in sys.argv[1 + len(options):]:
        print(json.dumps(numbers(os.path.abspath(path), "--steps" in options, "--streams" in options)))


main()
