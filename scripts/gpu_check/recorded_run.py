# SPDX-License-Identifier: BSD-2-Clause
"""Running training.py with and without the shim."""

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

import part


def train(work, steps, shim="", out="", profile="", seconds=120):
    """One run in its own process. Returns what training.py wrote. Raises Skip where it cannot run."""
    result = Path(work) / "training.json"
    result.unlink(missing_ok=True)
    env = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD" and not name.startswith("GPUSHIM")}
    if shim:
        env.update(LD_PRELOAD=str(shim), GPUSHIM_OUT=str(out), GPUSHIM_LOG="1")
    command = [sys.executable, str(Path(__file__).with_name("training.py")), "--out", str(result), "--steps", str(steps)]
    if profile:
        command += ["--profile", str(profile)]
    run = subprocess.run(command, env=env, capture_output=True, text=True, timeout=seconds)
    if run.returncode == 77:
        raise part.Skip((run.stdout.strip().splitlines() or ["training.py skipped"])[-1])
    if run.returncode != 0:
        raise RuntimeError(f"training.py{' under the shim' if shim else ''}: exit {run.returncode}: {run.stderr[-2000:]}")
    return json.loads(result.read_text())


def step_ns(trained):
    """The run's median step time."""
    return statistics.median(end - begin for begin, end in trained["steps"])


def report(binaries, out):
    """gpushim report --json."""
    run = subprocess.run([str(Path(binaries) / "gpushim-static"), "report", str(out), "--json"], capture_output=True, text=True, timeout=120)
    if run.returncode != 0:
        raise RuntimeError(f"gpushim report: exit {run.returncode}: {run.stderr[-2000:]}")
    return json.loads(run.stdout)
