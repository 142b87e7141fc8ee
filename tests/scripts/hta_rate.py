# SPDX-License-Identifier: BSD-2-Clause
"""hta_rate.py TRACE: how long HolisticTraceAnalysis takes to load a trace and to say how long its streams were idle, and why: a line of
JSON. Run with $BUILD/hta/bin/python. Its own start is not counted."""

import json
import logging
import os
import sys
import time

os.environ.setdefault("HTA_DISABLE_NS_ROUNDING", "1")

from hta.trace_analysis import TraceAnalysis  # noqa: E402


def main():
    logging.disable(logging.WARNING)
    begin, begin_cpu = time.monotonic(), time.process_time()
    analysis = TraceAnalysis(trace_files={0: os.path.abspath(sys.argv[1])})
    loaded = time.monotonic()
    analysis.get_idle_time_breakdown(ranks=[0], visualize=False)
    print(json.dumps({"load_s": loaded - begin, "idle_s": time.monotonic() - loaded, "cpu_s": time.process_time() - begin_cpu,
                      "events": len(analysis.t.get_trace(0))}))


if __name__ == "__main__":
    main()
