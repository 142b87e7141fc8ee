# SPDX-License-Identifier: BSD-2-Clause
"""What calls cost on the host and on the device, and whether the analyzer's allowances (analyzer/timeline/facts.h) hold on this device.
gpu_costs_linked measures; what it says is a sample a line."""

import json
import re
import subprocess
from pathlib import Path

import part

FACTS = Path(__file__).resolve().parent.parent.parent / "analyzer/timeline/facts.h"
ROUNDS, QUICK_ROUNDS = 400, 40

# Which samples show what each allowance is for: an allowance must cover 99 of 100 of them. All are upper bounds of the thing itself,
# but wake_ns: the write that the watching thread sees stands behind the work, so that much is missing.
ALLOWANCES = {"LATENCY_NS": ("launch_latency_ns", "launch_latency_after_pause_ns", "event_latency_ns"), "WAKE_NS": ("wake_ns", "wake_blocking_ns"),
              "EVENT_NS": ("event_after_work_ns",), "NODE_NS": ("graph_node_gap_ns", "graph_node_gap_by_events_ns")}


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def summary(values):
    if not values:
        return None
    return {"median": quantile(values, 0.5), "p90": quantile(values, 0.9), "p99": quantile(values, 0.99), "min": min(values), "max": max(values),
            "n": len(values)}


def read_allowances(text):
    return {name: int(value) for name, value in re.findall(r"^#define (\w+_NS) (\d+)", text, re.M)}


def judge(samples, allowances):
    """Each allowance beside what was measured; `holds` is None where nothing was."""
    verdicts = {}
    for name, measured in ALLOWANCES.items():
        seen = {kind: summary(samples[kind]) for kind in measured if samples.get(kind)}
        allowed = allowances.get(name)
        worst = max((figures["p99"] for figures in seen.values()), default=None)
        verdicts[name] = {"allowed_ns": allowed, "p99_ns": worst, "by": seen,
                          "holds": None if worst is None or allowed is None else worst <= allowed}
    return verdicts


def read_lines(text):
    samples = {}
    for line in text.splitlines():
        samples.update(json.loads(line))
    return samples


def find_program(binaries):
    for folder in ("workloads", "."):
        program = Path(binaries) / folder / "gpu_costs_linked"
        if program.exists():
            return program
    raise part.Skip("gpu_costs_linked is not built")


def measure(args, result):
    command = [str(find_program(args.bin)), str(QUICK_ROUNDS if args.quick else ROUNDS)]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=float(args.seconds or 60) - 2)
        output, trouble = run.stdout, f"exit {run.returncode}: {run.stderr[-500:]}" if run.returncode else ""
    except subprocess.TimeoutExpired as error:
        output, trouble = (error.stdout or b"").decode().rpartition("\n")[0], "no end in time"
    samples = read_lines(output)
    for name in ("wake_ns", "wake_blocking_ns"):  # negative: the watching thread did not have its CPU just then
        samples[name] = [value for value in samples.get(name, []) if value >= 0]
    allowances = read_allowances(FACTS.read_text()) if FACTS.exists() else {}
    result.update(samples={name: summary(values) for name, values in samples.items()}, allowances=judge(samples, allowances))
    stamp, both = result["samples"].get("device_stamp_ns"), result["samples"].get("device_stamp_event_ns")
    if stamp and both:
        result["device_event_between_kernels_ns"] = both["median"] - stamp["median"]
    result.save()
    if trouble:
        raise RuntimeError(trouble)


if __name__ == "__main__":
    part.main(measure)
