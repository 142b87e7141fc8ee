#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""explain.py GPUSHIM FOLDER: for each complaint of truth.py about the run in FOLDER (a failing test names it), what really happened
around it: the program's calls, the device's operations, the gaps the report claims, and the records of the trace. Times are
nanoseconds from the true begin of the gap."""

import json
import struct
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "workloads"), str(HERE.parent / "preload")]

import gst  # noqa: E402
import truth  # noqa: E402
from recording import RunFiles  # noqa: E402

BEFORE, AFTER = 6 * truth.MS, 1 * truth.MS
CALL, ANCHOR, EDGE, POLL = 1, 5, 6, 7
EDGE_KINDS = ["?", "block", "start", "class", "before-hostfn", "after-hostfn", "burst-before", "burst-after", "burst-null"]


def clock(data, parts):
    """ticks -> ns, by the first and the last anchor."""
    anchors = sorted(struct.unpack_from("<QQ", data, r.offset + 8) for part in parts for r in part.records if r.type == ANCHOR)
    (ticks, ns), (last_ticks, last_ns) = anchors[0], anchors[-1]
    rate = (last_ns - ns) / (last_ticks - ticks)
    return lambda t: int(ns + (t - ticks) * rate)


def record_lines(path):
    """(begin, end, text) of each call, edge and poll."""
    data = path.read_bytes()
    parts = gst.segments(data)
    hooks, ns = gst.names(data, parts, gst.SPACE_HOOK), clock(data, parts)
    for record in (record for part in parts for record in part.records):
        at = record.offset + 8
        if record.type == CALL:
            begin, end, seq, hook, _, flags, result, stream = struct.unpack_from("<QQIHBBiI", data, at)
            yield ns(begin), ns(end), f"{hooks[hook]} stream {stream & 0xffff} seq {seq} flags {flags} result {result}"
        elif record.type == EDGE:
            edge, base, stream, covers, begin, end, done, ms, _, kind = struct.unpack_from("<IIIIQQQfHH", data, at)
            seen = f"seen at {ns(done)}" if done else "never seen"
            yield ns(begin), ns(end), f"edge {edge} ({EDGE_KINDS[kind]}) stream {stream} covers {covers} base {base} {ms:.4f} ms {seen}"
        elif record.type == POLL:
            stream, covers, begin, end, ready, _ = struct.unpack_from("<IIQQII", data, at)
            yield ns(begin), ns(end), f"poll stream {stream} covers {covers} ready {ready}"


def show(title, lines, gap):
    """Those that touch the time around the gap's two ends."""
    print(f" {title}:")
    for begin, end, text in sorted(lines):
        if end >= gap.begin - BEFORE and begin <= gap.begin + AFTER or end >= gap.end - AFTER and begin <= gap.end + AFTER:
            print(f"    {begin - gap.begin} .. {end - gap.begin} {text}")


def main():
    gpushim, folder = sys.argv[1], Path(sys.argv[2])
    files = RunFiles(folder)
    real = truth.Truth(files)
    done = subprocess.run([gpushim, "report", str(files.out), "--json"], capture_output=True, text=True, check=True)
    records = [line for path in files.out.glob("*.gst") for line in record_lines(path)]
    for device in json.loads(done.stdout)["devices"]:
        complaints = list(truth.complain_gaps(device, real))
        for gap, _, _ in truth.long_gaps(device["device"], real):
            own = [complaint for complaint in complaints if complaint.startswith(f"{gap},")]
            if not own:
                continue
            print("\n".join(own))
            show("records", records, gap)
            show("operations", [(op.start, op.end, f"{op.op} {op.kind} stream {op.stream} submitted at {op.submit - gap.begin}")
                                for op in real.ops + real.host_functions], gap)
            show("claimed", [(g["begin_ns"], g["end_ns"], f"± {g['begin_error_ns']} {g['end_error_ns']}") for g in device["gaps"]], gap)


if __name__ == "__main__":
    main()
