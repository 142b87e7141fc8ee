#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""run_further.py [--how ebpf,none] [--seeds 1-3] [--keep FOLDER] [--differs N] [PROGRAM…]

Runs the five programs (further.py), recorded with host probes and without, and says how much of the true idle time the report gives to the right
cause, by cause (answers.py). --differs: the N longest stretches on which it says something else, with the number of the gap for report --why.
Needs `make BUILD=… tests`; $BUILD says where. Root, for what the machine must be made to do."""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(ROOT / "tests" / folder) for folder in ("workloads", "scenarios", "scenarios/host", "scenarios/further")]

import answers  # noqa: E402
import lab  # noqa: E402
from faults import Place  # noqa: E402
from further import SCENARIOS  # noqa: E402
from janitor import Janitor  # noqa: E402


def run(build, name, folder, how, seed):
    """-> (report, Answer)"""
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    with Janitor() as janitor:
        plan = SCENARIOS[name][0](Place(folder, build, janitor, 0, seed=seed, name=name))
        report = lab.record(build, folder, plan, how, queue=lab.traced(janitor, folder))
        end_tenant(plan)
    return report, answers.compare(folder, report, how != "none")


def run_alone(build, name, folder, seed, recorded):
    """Without `gpushim run`, with the recorder preloaded or without. -> (begin, end) of the process"""
    folder.mkdir(parents=True)
    with Janitor() as janitor:
        plan = SCENARIOS[name][0](Place(folder, build, janitor, 0, seed=seed, name=name))
        env = lab.environment(build, folder, plan)
        if recorded:
            env["LD_PRELOAD"] = str(build / "libgpushim.so")
        begin = time.monotonic_ns()
        done = subprocess.run(lab.placed(plan, lab.program(build, plan.command)), cwd=folder, env=env, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=lab.SECONDS)
        end = time.monotonic_ns()
        end_tenant(plan)
        (folder / "output.txt").write_text(done.stdout)
        if done.returncode != 0:
            raise lab.Failed(f"exit status {done.returncode}: {done.stderr[-2000:]}")
        until_logged(folder)
    return begin, end


def until_logged(folder, seconds=10):
    """The log's last line comes when its reader has taken it."""
    until = time.monotonic() + seconds
    while (folder / "log.fifo").exists() and not (folder / "log.whole").exists() and time.monotonic() < until:
        time.sleep(0.01)


def end_tenant(plan):
    """Its log is whole when it has ended."""
    if tenant := getattr(plan, "tenant", None):
        tenant.wait(timeout=10)


def percent(part, whole):
    return f"{part / whole:6.1%}" if whole else "     –"


def table(name, seed, how, answer):
    total = answer.scored()
    print(f"{name} seed {seed} {how}: idle {answer.idle / 1e6:.0f} ms, {answer.covered():.1%} covered, "
          f"{answer.excused / max(1, answer.idle):.1%} excused; right {percent(sum(answer.right.values()), total)} "
          f"wrong {percent(sum(answer.wrong.values()), total)}")
    for cause, ns in answer.of_cause().most_common():
        right, wrong = answer.right[cause], answer.wrong[cause]
        said = ", ".join(f"{other} {n / ns:.1%}" for (true, other), n in answer.said.most_common()
                         if true == cause and other != cause and n > 0.005 * ns)
        print(f"  {cause:18} {ns / 1e6:8.1f} ms  right {percent(right, ns)}  wrong {percent(wrong, ns)}  "
              f"rest {percent(ns - right - wrong, ns)}  {said}")


def overall(answers_of):
    for how, of in answers_of.items():
        total = sum(answer.scored() for answer in of)
        right, wrong = (sum(sum(getattr(answer, what).values()) for answer in of) for what in ("right", "wrong"))
        print(f"overall {how}: {total / 1e6:.0f} ms, right {percent(right, total)} wrong {percent(wrong, total)} "
              f"rest {percent(total - right - wrong, total)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--how", default="ebpf,none")
    parser.add_argument("--seeds", default="1-3")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--differs", type=int, default=0, metavar="N")
    parser.add_argument("programs", nargs="*", default=list(SCENARIOS), metavar="PROGRAM")
    args = parser.parse_args()
    build = Path(os.environ.get("BUILD", ROOT / "build")).resolve()
    first, _, last = args.seeds.partition("-")
    of = {how: [] for how in args.how.split(",")}
    with tempfile.TemporaryDirectory(prefix="gpushim-further-", dir="/var/tmp") as place:
        for name in args.programs:
            for seed in range(int(first), int(last or first) + 1):
                for how, found in of.items():
                    _, answer = run(build, name, (args.keep or Path(place)) / f"{name}-{seed}-{how}", how, seed)
                    table(name, seed, how, answer)
                    for ns, true, said, number, begin, end, device in answer.differs[:args.differs]:
                        print(f"    {ns / 1e6:8.3f} ms device {device} gap {number}: {true}, it says {said} [{begin}, {end})")
                    sys.stdout.flush()
                    found.append(answer)
    overall(of)


if __name__ == "__main__":
    sys.exit(main())
