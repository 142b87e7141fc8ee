# SPDX-License-Identifier: BSD-2-Clause
"""HolisticTraceAnalysis, unmodified, loads `gpushim export --chrome`: it counts the kernels that ran and is right about the idle
time, to the nanosecond, where it is not for Kineto's own files (it loses operations without a launch, and rounds)."""

import collections
import importlib.util
import json
import subprocess
from pathlib import Path

import pytest

NUMBERS = Path(__file__).with_name("hta_numbers.py")
CLOSE_US = 1.0  # in total

TRAIN = ("train.py", "--steps", 20, "--workers", 1, "--slow-loader", 40, "--item-each-layer", "--compute-ms", 3,
         "--checkpoint-every", 10, "--allocs", 2)


def run_tinygrad(mode):
    def run(recorder):
        if not importlib.util.find_spec("tinygrad"):
            pytest.skip("tinygrad is not installed (scripts/setup.sh clients)")
        return recorder.run_tinygrad(mode)

    return run


# A workload is a program whose run has one device and one process.
WORKLOADS = {
    "train": lambda recorder: recorder.run(recorder.command(*TRAIN)),
    "streams": lambda recorder: recorder.run_client("client_getproc", "--seed", 3, "--threads", 4, "--actions", 3000),
    "tinygrad-eager": run_tinygrad("eager"),
    "tinygrad-replay": run_tinygrad("replay"),
    "tinygrad-graph": run_tinygrad("graph"),
}


@pytest.fixture(scope="module")
def hta(build):
    python = build / "hta/bin/python"
    if not (build / "setup-hta").exists():
        log = build / "hta.log"
        reason = log.read_text().strip().splitlines()[-1:] if log.exists() else []
        pytest.skip(f"HolisticTraceAnalysis is not installed (scripts/setup.sh hta): {''.join(reason)}")

    def numbers(path):
        done = subprocess.run([python, NUMBERS, path], capture_output=True, text=True, timeout=250)
        assert done.returncode == 0, done.stderr[-2000:]
        return json.loads(done.stdout)

    return numbers


def true_operations(run):
    """By the simulated driver's own log: operations by category, kernels by name."""
    category = {"kernel": "kernel", "memcpy": "gpu_memcpy", "memset": "gpu_memset"}
    log = [json.loads(line) for line in run.truth.read_text().splitlines()]
    operations = [entry for entry in log if entry.get("op") in category]
    return (collections.Counter(category[entry["op"]] for entry in operations),
            collections.Counter(entry["name"] for entry in operations if entry["op"] == "kernel"))


@pytest.mark.parametrize("workload", WORKLOADS)
def test_hta_agrees(recorder, hta, workload):
    run = WORKLOADS[workload](recorder)
    assert run.status == 0, run.stderr
    trace = run.folder / "trace.json"
    done = recorder.gpushim("export", run.out, "--chrome", trace, "--all")
    assert done.returncode == 0 and done.stderr == "", done.stderr
    (device,) = run.report()["devices"]
    theirs = hta(trace)

    operations, kernels = true_operations(run)
    theirs["categories"].pop("unresolved", None)  # busy with what is not known: time, but no operation
    assert theirs["categories"] == operations and sum(operations.values()) == device["operations"] > 0
    assert theirs["kernels"] == kernels
    assert theirs["work_without_launch"] == 0

    ours_us = {key: device[key] / 1000 for key in ("span_ns", "idle_ns", "compute_ns")}
    assert abs(theirs["span_us"] - ours_us["span_ns"]) < CLOSE_US
    assert abs(theirs["idle_us"] - ours_us["idle_ns"]) < CLOSE_US
    busy = ours_us["span_ns"] - ours_us["idle_ns"]
    assert abs(theirs["span_us"] - theirs["idle_us"] - busy) < CLOSE_US
