#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs the parts one after another, each under its own limit, and keeps one JSON file up to date. See gpu-check.sh."""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from datetime import datetime, timezone
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOTAL_SECONDS = 520  # under 9 minutes whatever happens

# name, program, limit in seconds, under the shim, needs torch
PARTS = [
    ("environment", "environment.py", 60, False, False),
    ("pointers", "pointers.py", 30, False, False),
    ("pointers_under_shim", "pointers.py", 30, True, False),
    ("events", "events.py", 40, False, False),
    ("conformance", "conformance.py", 120, False, False),
    ("slowdown", "slowdown.py", 210, False, True),
    ("idle", "idle.py", 150, False, True),
]


def commit(binaries):
    """The commit the binaries were built from: a file beside them, else this checkout."""
    file = binaries / "commit"
    if file.exists():
        return file.read_text().strip()
    run = subprocess.run(["git", "-C", str(HERE), "rev-parse", "HEAD"], capture_output=True, text=True)
    return run.stdout.strip() or None


def has_torch():
    import importlib.util
    return importlib.util.find_spec("torch") is not None


def run_part(program, limit, env, args, out):
    """Returns (status, reason)."""
    child = subprocess.Popen([sys.executable, str(HERE / program), "--out", str(out), *args], env=env, start_new_session=True,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        output, _ = child.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
        return "timeout", f"no end after {limit:.0f} s"
    if child.returncode == 0:
        return "ok", ""
    last = (output.strip().splitlines() or [""])[-1]
    return ("skipped", last) if child.returncode == 77 else ("failed", f"exit {child.returncode}: {output[-2000:].strip()}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--dry-run", action="store_true")
    args = parser.parse_args()
    binaries = args.bin.resolve()
    begin = time.monotonic()
    check = {"schema": "gpushim.gpu-check/1", "simulated": args.dry_run, "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
             "commit": commit(binaries), "seconds": 0.0, "parts": {}}

    def save():
        check["seconds"] = round(time.monotonic() - begin, 1)
        new = args.out.with_name(args.out.name + ".new")
        new.write_text(json.dumps(check, indent=1) + "\n")
        new.replace(args.out)

    with tempfile.TemporaryDirectory(prefix="gpu-check-") as work:
        for name, program, limit, shimmed, torch in PARTS:
            part = check["parts"][name] = {"status": "skipped", "reason": "", "seconds": 0.0, "result": {}}
            if torch and (args.dry_run or not has_torch()):
                part["reason"] = "dry run" if has_torch() else "no torch"
                save()
                continue
            left = TOTAL_SECONDS - (time.monotonic() - begin)
            if left < 10:
                part["reason"] = "out of time"
                save()
                continue
            env, started, out = dict(os.environ), time.monotonic(), Path(work) / f"{name}.json"
            if shimmed:
                env.update(LD_PRELOAD=str(binaries / "libgpushim.so"), GPUSHIM_OUT=str(Path(work) / "out"))
            extra = ["--bin", str(binaries), "--work", work] if torch else []
            part["status"], part["reason"] = run_part(program, min(limit, left), env, extra, out)
            part["seconds"] = round(time.monotonic() - started, 1)
            if out.exists():  # also what a part measured before it failed
                part["result"] = json.loads(out.read_text())
            print(f"gpu-check: {name}: {part['status']} {part['reason'].splitlines()[0] if part['reason'] else ''}".rstrip(), flush=True)
            save()
    save()
    return 1 if any(part["status"] in ("failed", "timeout") for part in check["parts"].values()) else 0


if __name__ == "__main__":
    sys.exit(main())
