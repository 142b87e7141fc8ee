#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""run_pairs.py [--how ebpf|none] [--steps N] [--keep FOLDER] [--json FILE] [PAIR …]

For each cause of the laboratory: records a healthy program and the same one with the fault, and asks `gpushim diff` whether it got worse: exit
status 1, the cause's row first of those that regressed, its evidence shown; and the other way round: improved, exit status 0. Prints a table;
exit 1 where one of them is not so. Set-up is root's; what this machine cannot have is left out, and said so. Needs `make BUILD=… tests`."""

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests" / folder) for folder in ("workloads", "scenarios", "scenarios/host", "scenarios/lab")]

import lab  # noqa: E402
import pairs  # noqa: E402
from rig import Missing  # noqa: E402

TRIES = 3  # a machine that is busy elsewhere spoils a run


def ms(ns):
    return f"{ns / 1e6:.2f}"


def line(name, pair, forth):
    step, row = pairs.row_of(forth[1], "step"), pairs.row_of(forth[1], pair.row)
    return (f"{name:16} {pair.row:18} {forth[0]:4} {forth[1]['verdict']:>2} {ms(step['base_ns']):>9} {ms(step['new_ns']):>9} {ms(row['delta_ns']):>9}  "
            f"{ms(row['low_ns'])} to {ms(row['high_ns'])}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--how", choices=("ebpf", "none"), default="ebpf")
    parser.add_argument("--steps", type=int, default=pairs.STEPS)
    parser.add_argument("--keep", metavar="FOLDER", help="leave the recordings there")
    parser.add_argument("--folder", metavar="FOLDER", default="/var/tmp", help="on the disk to be slowed down")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("pairs", nargs="*", metavar="PAIR", help=" ".join(pairs.PAIRS))
    args = parser.parse_args()
    if unknown := set(args.pairs) - set(pairs.PAIRS):
        parser.error(f"no such pair: {' '.join(unknown)}")
    build = (ROOT / os.environ.get("BUILD", "build")).resolve()
    folder = Path(args.keep or tempfile.mkdtemp(prefix="gpushim-pairs-", dir=args.folder))
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)
    written, wrong = {}, 0
    print(f"{'pair':16} {'row':18} {'exit':>4} {'':2} {'step, ms':>9} {'faulty':>9} {'row +ms':>9}  95 %", flush=True)
    try:
        for name in args.pairs or pairs.PAIRS:
            begin = time.monotonic()
            try:
                for attempt in range(1, TRIES + 1):
                    forth, back, said = pairs.run(build, name, folder / name, args.how, args.steps)
                    if not said:
                        break
            except Missing as missing:
                print(f"{name:16} left out: {missing}", flush=True)
                written[name] = {"left_out": str(missing)}
                continue
            except lab.Failed as failed:
                forth, said = None, [str(failed)]
            wrong += bool(said)
            tried = f"  ({attempt} tries)" if attempt > 1 else ""
            print((line(name, pairs.PAIRS[name], forth) if forth else f"{name:16}") + tried + "".join(f"\n    NOT SO: {one}" for one in said), flush=True)
            written[name] = {"complaints": said, "tries": attempt, "seconds": round(time.monotonic() - begin, 1), "first": forth and pairs.changed(forth[1], "+")}
    finally:
        if not args.keep:
            shutil.rmtree(folder, ignore_errors=True)
    if args.json:
        Path(args.json).write_text(json.dumps({"how": args.how, "steps": args.steps, "pairs": written}, indent=1) + "\n")
    print(f"{len(written) - wrong} of {len(written)} as they have to be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
