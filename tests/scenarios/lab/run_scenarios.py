#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""run_scenarios.py [--seeds 21-40] [--how ebpf,none] [--jobs N] [--results FOLDER] [--json FILE] [--markdown FILE] [SCENARIO or suite …]

The laboratory: programs whose device is idle for causes we know, with parameters that a seed draws, recorded and scored; prints the confusion
matrix (true × given) with host probes and without, and says what falls short. Exit 1 where something does.

  with probes   right >= 95 % overall, >= 90 % of each cause and of each mixture; unexplained <= 3 %, wrong <= 2 %; controls <= 1 % of the span
  without       right >= 70 % overall, wrong <= 5 %

What ran is kept in --results, so that a call which was cut goes on; it runs again after a change of what was built, or of the laboratory. Needs
root (control groups, mounts, the scheduler's trace) and `make BUILD=… tests`."""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests" / folder) for folder in ("workloads", "scenarios", "scenarios/host", "scenarios/lab")]

import matrix  # noqa: E402
import runs  # noqa: E402
import tables  # noqa: E402
from scenarios import all_scenarios  # noqa: E402


def numbers(text):
    """1-20,33"""
    found = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def chosen(parser, words):
    everything = all_scenarios()
    if not words:
        return everything
    for word in words:
        if not any(word in (scenario.name, scenario.suite, scenario.kind) for scenario in everything.values()):
            parser.error(f"no such scenario: {word}; there are {' '.join(everything)}")
    return {name: one for name, one in everything.items() if {one.name, one.suite, one.kind} & set(words)}


def work(job):
    """In a process of its own, where several run at once: control groups are named by it."""
    build, name, seed, how, folder, steps = job
    return name, seed, how, runs.run(build, all_scenarios()[name], seed, how, Path(folder) / f"{name}-{seed}-{how}", steps)


def line(made):
    if "true" not in made:
        return next(f"{what}: {made[what]}" for what in ("left_out", "unsound", "failed") if what in made).splitlines()[0][:160]
    if "control" in made:
        return f"{100 * made['control']['share']:.2f} % of the span"
    true = made["true"] or 1
    said = sorted(((ns, f"{a}→{b}") for a, b, ns in made["matrix"] if a != b and a != "loop"), reverse=True)
    wrong = ", ".join(f"{pair} {100 * ns / true:.1f}" for ns, pair in said[:3] if ns / true >= 0.01)
    return (f"{true / 1e6:5.0f} ms  {100 * made['right'] / true:5.1f} right {100 * made['wrong'] / true:5.1f} wrong  {wrong}"
            f"{'  (' + made['disturbed'] + ')' if made['disturbed'] else ''}")


def run_all(args, build, scenarios):
    """-> records"""
    kept = runs.Kept(args.results, runs.fingerprint(build, ROOT))
    jobs = [(name, seed, how) for seed in args.seeds for how in args.how for name in scenarios]
    records = [made for job in jobs if (made := kept.get(*job))]
    todo = [job for job in jobs if not kept.get(*job)]
    print(f"{len(jobs)} runs, {len(records)} of them known already", flush=True)
    with tempfile.TemporaryDirectory(prefix="gpushim-lab-", dir=args.folder, ignore_cleanup_errors=True) as place:
        os.chmod(place, 0o755)
        given = [(build, name, seed, how, args.keep or place, args.steps) for name, seed, how in todo]
        begin = time.monotonic()
        pool = ProcessPoolExecutor(args.jobs) if args.jobs > 1 else None
        for done, (name, seed, how, made) in enumerate((pool.map if pool else map)(work, given), 1):
            records.append(kept.put(name, seed, how, made))
            left = (time.monotonic() - begin) / done * (len(todo) - done)
            print(f"[{done}/{len(todo)}, {left / 60:.0f} min] {how} {seed} {name:16} {line(made)}", flush=True)
        if pool:
            pool.shutdown()
    return records


def commit():
    done = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    changed = subprocess.run(["git", "-C", str(ROOT), "status", "--porcelain", "--untracked-files=no"], capture_output=True, text=True)
    return (done.stdout.strip() or "unknown") + (" with changes" if changed.stdout.strip() else "")


def about(args):
    machine = f"a machine with {os.cpu_count()} CPUs ({platform.machine()}, Linux {'.'.join(platform.release().split('.')[:2])})"
    return {"commit": commit(), "date": date.today().isoformat(), "machine": machine, "seeds": args.seed_text, "steps": args.steps}


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="21-40", help="21-40")
    parser.add_argument("--how", default="ebpf,none", help="ebpf,none")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--steps", type=int, default=runs.STEPS)
    parser.add_argument("--results", metavar="FOLDER", help="$BUILD/scenarios")
    parser.add_argument("--keep", metavar="FOLDER", help="leave the recordings there")
    parser.add_argument("--folder", metavar="FOLDER", default="/var/tmp", help="on the disk to be slowed down")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--markdown", metavar="FILE")
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO")
    args = parser.parse_args(arguments)
    args.seed_text, args.seeds, args.how = args.seeds, numbers(args.seeds), args.how.split(",")
    scenarios = chosen(parser, args.scenarios)
    build = (ROOT / os.environ.get("BUILD", "build")).resolve()
    args.results = args.results or build / "scenarios"
    records = run_all(args, build, scenarios)
    answers = [matrix.Answer([record for record in records if record["how"] == how], scenarios, how) for how in args.how]
    told, facts = [tables.told(answer) for answer in answers], about(args)
    print("\n" + "\n".join(told))
    if args.json:
        Path(args.json).write_text(json.dumps({**facts, "answers": [answer.as_json() for answer in answers]}, indent=1) + "\n")
    if args.markdown:
        Path(args.markdown).write_text(tables.document(answers, facts))
    return 1 if any(list(answer.complaints()) for answer in answers) else 0


if __name__ == "__main__":
    sys.exit(main())
