#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs the parts one after another, each under its own limit, and keeps one JSON file up to date. See gpu-check.sh."""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from datetime import datetime, timezone
from pathlib import Path

from bounds import judge, line

HERE = Path(__file__).resolve().parent
TOTAL_SECONDS = 525  # under 9 minutes whatever happens
GRACE_SECONDS = 5     # a part that is given N seconds ends within them; then it is killed

# name, program, seconds, seconds of a quick run, under the shim. In order of worth: where the time runs out, the last are missing.
PARTS = [
    ("environment", "environment.py", 45, 20, False),
    ("pointers", "pointers.py", 20, 20, False),
    ("pointers_under_shim", "pointers.py", 20, 20, True),
    ("costs", "costs.py", 30, 10, False),
    ("host_probes", "host_probes.py", 10, 10, False),
    ("allocator", "allocator.py", 40, 10, False),
    ("nccl", "nccl.py", 40, 20, False),
    ("idle", "idle.py", 130, 15, False),
    ("slowdown", "slowdown.py", 190, 6, False),
    ("conformance", "conformance.py", 140, 60, False),
]
FIXED = ("idle", "slowdown")  # these use all the time they are given; the budget is theirs to keep


def commit(binaries):
    """The commit the binaries were built from: a file beside them, else this checkout."""
    file = binaries / "commit"
    if file.exists():
        return file.read_text().strip()
    run = subprocess.run(["git", "-C", str(HERE), "rev-parse", "HEAD"], capture_output=True, text=True)
    return run.stdout.strip() or None


def run_part(program, limit, env, args, out):
    """Returns (status, reason, lines it printed but for the reason)."""
    child = subprocess.Popen([sys.executable, str(HERE / program), "--out", str(out), *args], env=env, start_new_session=True,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        output, _ = child.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        output, _ = child.communicate()
        return "timeout", f"no end after {limit:.0f} s", output.splitlines()
    lines = output.strip().splitlines()
    if child.returncode == 0:
        return "ok", "", lines
    last = (lines or [""])[-1]
    if child.returncode == 77:
        return "skipped", last, lines[:-1]
    return "failed", f"exit {child.returncode}: {last}\n{output[-2000:].strip()}", lines[:-1]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--quick", action="store_true", help="as little of everything as runs through: no figures worth keeping")
    parser.add_argument("--only", default="", help="parts, with commas between them")
    parser.add_argument("--seconds", type=float, default=TOTAL_SECONDS, help="for everything together")
    args = parser.parse_args()
    names = [name for name, *_ in PARTS]
    args.only = args.only.split(",") if args.only else names
    unknown = set(args.only) - set(names)
    if unknown:
        parser.error(f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    return args


def part_environment(shimmed, binaries, work):
    env = dict(os.environ)
    if shimmed:
        env.update(LD_PRELOAD=str(binaries / "libgpushim.so"), GPUSHIM_OUT=str(work / "out"))
    return env


def run_parts(args, check, save):
    binaries, begin = args.bin.resolve(), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="gpu-check-") as folder:
        for name, program, seconds, quick_seconds, shimmed in PARTS:
            part = check["parts"][name] = {"status": "skipped", "reason": "", "seconds": 0.0, "result": {}}
            left, wanted = args.seconds - (time.monotonic() - begin), quick_seconds if args.quick else seconds
            if name not in args.only or left < 10:
                part["reason"] = "not asked for" if name not in args.only else "out of time"
                save()
                continue
            work, started = Path(folder) / name, time.monotonic()
            work.mkdir()
            out, given = work / "result.json", min(wanted, left - GRACE_SECONDS)
            extra = ["--bin", str(binaries), "--work", str(work), "--seconds", f"{given:.1f}"]
            extra += ["--simulated"] * args.dry_run + ["--quick"] * args.quick
            limit = min(left, given + 60 if name in FIXED else given) + GRACE_SECONDS
            part["status"], part["reason"], lines = run_part(program, limit, part_environment(shimmed, binaries, work), extra, out)
            part["seconds"] = round(time.monotonic() - started, 1)
            if out.exists():  # also what a part measured before it failed
                part["result"] = json.loads(out.read_text())
            shutil.rmtree(work, ignore_errors=True)  # profiles and traces are large
            print(f"gpu-check: {name}: {part['status']} {part['reason'].splitlines()[0] if part['reason'] else ''}".rstrip(), flush=True)
            for printed in lines:
                print(f"    {printed}", flush=True)
            save()


def main():
    args = arguments()
    begin = time.monotonic()
    check = {"schema": "gpushim.gpu-check/2", "simulated": args.dry_run, "quick": args.quick,
             "date": datetime.now(timezone.utc).isoformat(timespec="seconds"), "commit": commit(args.bin.resolve()), "gpu": None, "driver": None,
             "seconds": 0.0, "bounds": [], "parts": {}}

    def save():
        environment = check["parts"].get("environment", {}).get("result", {})
        smi = (environment.get("nvidia_smi") or [{}])[0]
        check.update(seconds=round(time.monotonic() - begin, 1), bounds=judge(check["parts"]), gpu=environment.get("device"),
                     driver=smi.get("driver_version") or environment.get("cuda_driver_version"))
        new = args.out.with_name(args.out.name + ".new")
        new.write_text(json.dumps(check, indent=1) + "\n")
        new.replace(args.out)

    run_parts(args, check, save)
    save()
    for verdict in check["bounds"]:
        print(line(verdict))
    return 1 if any(part["status"] in ("failed", "timeout") for part in check["parts"].values()) else 0


if __name__ == "__main__":
    sys.exit(main())
