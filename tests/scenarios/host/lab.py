#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""lab.py [--how ebpf|perf|proc|none] [--user NAME] [--steps N] [--json FILE] [--keep FOLDER] [--show] [--follow] [FAULT…]

Runs programs that leave a simulated device idle for a known cause, recorded with host probes, and says how much of the true idle time the
report gives to the right cause (score.py), for each fault and overall. Exit 1 where that is less than it has to be:

  ebpf        right >= 90 % of each fault, of the fault itself too, >= 95 % overall; the file and a place inside the batch in >= 90 % of the time
              that is given to a file's cause
  perf        as user nobody: right >= 70 % overall, wrong <= 5 %, and everything inferred
  proc        …, which looks now and then, and knows no wait's begin: wrong <= 10 % of the time
  control     this issue's causes together <= 1 % of the span

"Overall" is the lesser of two: of all time together, and of the faults' shares, where a long one counts no more than others. A fault that this
machine cannot have is left out, with the reason, and said so at the end. Set-up is root's: groups, mounts, swap; all of it is undone at the end,
however that comes. Needs `make BUILD=… tests`; $BUILD says where."""

import argparse
import json
import os
import pwd
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(ROOT / "tests" / folder) for folder in ("workloads", "scenarios", "scenarios/host")]

import run_queue  # noqa: E402
import score  # noqa: E402
from faults import FAULTS, Place  # noqa: E402
from janitor import Janitor  # noqa: E402
from recording import end_with_the_tests  # noqa: E402
from rig import Missing  # noqa: E402
from stolen import stolen_ticks  # noqa: E402

STEPS = 40
TRIES = 3
SECONDS = 120
EACH, OVERALL, FILES = 0.90, 0.95, 0.90
INFERRED_OVERALL, INFERRED_WRONG = 0.70, {"perf": 0.05, "proc": 0.10}
CONTROL = 0.01
FOLDERS = ("host", "further")  # of programs
PYTHON = "/usr/bin/python3"  # one that every user may run


class Failed(Exception):
    """The run itself did not work."""


def program(build, command):
    """As the recorder starts it."""
    name, *args = map(str, command)
    if name.endswith(".py"):
        python = PYTHON if os.path.exists(PYTHON) else sys.executable
        return [python, next(str(HERE.parent / folder / name) for folder in FOLDERS if (HERE.parent / folder / name).exists()), *args]
    return [next((str(build / folder / name) for folder in FOLDERS if (build / folder / name).exists()), name), *args]


def placed(plan, command):
    """The program alone is in its groups: the recorder and the probes are not what is slowed down."""
    if plan.cpu is not None:
        command = ["taskset", "-c", str(plan.cpu), *command]
    if not plan.groups:
        return command
    enter = "".join(f"echo $$ >{shlex.quote(group.procs())} && " for group in plan.groups)
    return ["/bin/sh", "-c", f'{enter}exec "$@"', "sh", *command]


def environment(build, folder, plan):
    drop = ("GPUSHIM", "SIMGPU_", "LD_PRELOAD", "LD_LIBRARY_PATH", "CUDA_", "LAB_")
    env = {name: value for name, value in os.environ.items() if not name.startswith(drop)}
    log = folder / ("truth-%p.json" if plan.processes else "truth.json")
    env.update(LD_LIBRARY_PATH=str(build / "simgpu"), PYTHONDONTWRITEBYTECODE="1", SIMGPU_LOG=str(log), LAB_TRUTH=str(folder / "spans.jsonl"), GPUSHIM_OUT=str(folder / "gpushim-out"))
    if plan.level:
        env["GPUSHIM_DEVICE"] = plan.level
    env.update({name: str(value) for name, value in plan.env.items()})
    return env


def become(user):
    """Between fork and exec."""
    entry = pwd.getpwnam(user) if user else None

    def act():
        if entry:
            os.setgroups([])
            os.setgid(entry.pw_gid)
            os.setuid(entry.pw_uid)
        end_with_the_tests()
    return act


def run_recorded(build, plan, how):
    """One command."""
    return [str(build / "gpushim"), "run", "--host", "off" if how == "none" else how, "--", *placed(plan, program(build, plan.command))]


def until_stopped(process):
    until = time.monotonic() + 10
    while time.monotonic() < until and process.poll() is None:
        with open(f"/proc/{process.pid}/stat") as file:
            if file.read().rsplit(")", 1)[1].split()[0] == "T":
                return
        time.sleep(0.002)
    raise Failed("the program does not wait to be followed")


def run_followed(build, folder, plan, how, user):
    """The collector is told to follow a program that runs already, and has not begun yet."""
    env = environment(build, folder, plan)
    begin = ["/bin/sh", "-c", 'kill -STOP $$; LD_PRELOAD=$0 exec "$@"', str(build / "libgpushim.so"), *program(build, plan.command)]
    options = {"cwd": folder, "env": env, "stdin": subprocess.DEVNULL, "text": True, "errors": "replace", "preexec_fn": become(user)}
    with open(folder / "output.txt", "w") as out:
        process = subprocess.Popen(placed(plan, begin), stdout=out, stderr=out, **options)
        collector = None
        try:
            until_stopped(process)
            collector = subprocess.Popen([str(build / "gpushim"), "host", "--probes", how, "-p", str(process.pid)], stderr=subprocess.PIPE,
                                         **options)
            said = collector.stderr.readline()
            if " following " not in said:
                raise Failed(f"the collector: {said.strip()}")
            os.kill(process.pid, signal.SIGCONT)
            statuses = process.wait(SECONDS), collector.wait(30)
            said += collector.stderr.read()
        finally:
            for started in (process, collector):
                if started and started.poll() is None:
                    started.kill()
                    started.wait()
    return subprocess.CompletedProcess([], max(map(abs, statuses)), (folder / "output.txt").read_text(), said)


def record(build, folder, plan, how, user=None, follow=False, queue=None):
    """Runs it; -> its report. queue: a RunQueue that began before."""
    if follow:
        done = run_followed(build, folder, plan, how, user)
    else:
        done = subprocess.run(run_recorded(build, plan, how), cwd=folder, env=environment(build, folder, plan), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, errors="replace", timeout=SECONDS, preexec_fn=become(user))
    (folder / "output.txt").write_text(done.stdout + done.stderr)
    if done.returncode != 0:
        raise Failed(f"exit status {done.returncode}: {done.stderr[-2000:]}")
    if queue:
        queue.write(folder / "waits.json")
    return report(build, folder)


def traced(janitor, folder):
    """A RunQueue, or None where the scheduler cannot be traced: then nothing is taken off the truth."""
    try:
        return run_queue.RunQueue(janitor, folder)
    except Missing:
        return None


def report(build, folder):
    with open(folder / "report.json", "w") as out:
        done = subprocess.run([str(build / "gpushim"), "report", str(folder / "gpushim-out"), "--json"], stdin=subprocess.DEVNULL, stdout=out,
                              stderr=subprocess.PIPE, text=True, timeout=SECONDS)
    if done.returncode != 0:
        raise Failed(f"report: exit status {done.returncode}: {done.stderr}")
    return json.loads((folder / "report.json").read_text())


def run_fault(build, name, folder, how, user=None, steps=STEPS, follow=False, **env):
    """env: more of the program's variables. -> (score, report, spans). Missing, Failed."""
    shutil.rmtree(folder, ignore_errors=True)  # an earlier run's
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    with Janitor() as janitor:
        plan = FAULTS[name](Place(folder, build, janitor, steps))
        plan.env.update(env)
        made = record(build, folder, plan, how, user, follow, traced(janitor, folder))
    result, spans = score.score_run(folder), score.read_spans(folder / "spans.jsonl")
    if score.cause_of(spans) in score.QUEUED and not (folder / "waits.json").exists():
        raise Missing("needs to trace the scheduler (tracefs, as root)")
    return result, made, spans


def show_longest(build, folder, made):
    """The whole story of the gap that this issue's causes have most of."""
    (device,) = made["devices"]
    by = [sum(cause["end_ns"] - cause["begin_ns"] for cause in gap["causes"] if cause["id"] in score.CAUSES) for gap in device["gaps"]]
    if by:
        longest = str(by.index(max(by)))
        subprocess.run([str(build / "gpushim"), "report", str(folder / "gpushim-out"), "--why", longest], stdin=subprocess.DEVNULL)


# ---- the table ----------------------------------------------------------------------------------------------------------------------------

HEAD = f"{'fault':14} {'true':>9} {'right':>7} {'wrong':>7} {'rest':>7} {'fault':>7} {'file':>7}   what the report says"


def said(counter, total):
    return ", ".join(f"{cause} {ns / total:.1%}" for cause, ns in counter.most_common(4) if total and ns / total >= 0.005)


def row(name, result):
    file = f"{result.named_right / result.named:.1%}" if result.named else ""
    return (f"{name:14} {result.true / 1e6:6.0f} ms {result.share('right'):7.1%} {result.share('wrong'):7.1%} {result.share('rest'):7.1%} "
            f"{result.own_share():7.1%} {file:>7}   {said(result.claimed, sum(result.claimed.values()))}")


def as_json(result):
    names = ("true", "right", "wrong", "rest", "own", "own_right", "queued", "span", "named", "named_right")
    return {**{f"{name}_ns": getattr(result, name) for name in names}, "claimed": dict(result.claimed), "confidence": dict(result.confidence)}


def complaints(name, result, how):
    """Of one fault."""
    if how == "ebpf":
        if min(result.share("right"), result.own_share()) < EACH:
            yield f"{name}: {result.share('right'):.1%} right, of the fault itself {result.own_share():.1%}"
        if result.named_right < FILES * result.named:
            yield f"{name}: the file and the place in {result.named_right / result.named:.1%} of the time; else {result.named_else[:3]}"
    elif set(result.confidence) - {"inferred"}:
        yield f"{name}: said to be observed: {dict(result.confidence)}"


def overall(results, how):
    """Of all time together; of the faults, each counting as much."""
    true = sum(result.true for result in results.values()) or 1
    shares = [[sum(getattr(result, what) for result in results.values()) / true for what in ("right", "wrong")],
              [sum(result.share(what) for result in results.values()) / max(1, len(results)) for what in ("right", "wrong")]]
    for name, (right, wrong) in zip(("overall", "… of faults"), shares):
        print(f"{name:14} {true / 1e6:6.0f} ms {right:7.1%} {wrong:7.1%} {max(0, 1 - right - wrong):7.1%}")
    held = shares[:1] if how == "proc" else shares
    right, wrong = min(right for right, _ in held), max(wrong for _, wrong in held)
    if results and how == "ebpf" and right < OVERALL:
        yield f"overall: {right:.1%} right"
    if results and how in INFERRED_WRONG and (right < INFERRED_OVERALL or wrong > INFERRED_WRONG[how]):
        yield f"overall: {right:.1%} right, {wrong:.1%} wrong"


def settled(run, tries=TRIES):
    """run() until nothing disturbed it: nobody took the machine's CPUs away, others did not have them for much of it. -> what it returned last,
    None where others always had them"""
    got = None
    for _ in range(tries):
        before = stolen_ticks()
        try:
            result, *more = run()
        except run_queue.Holes:
            continue
        if not score.machine_is_too_busy(result, score.cause_of(more[1])):
            got = (result, *more)
            if stolen_ticks() == before:
                break
    return got


def run_all(args, build, folder):
    """-> (what is wrong, what was left out, all as JSON)"""
    results, wrong, out, written = {}, [], [], {}
    more = {"GPUSHIM_STACKS": "off"} if args.show else {}  # they would hide the story
    print(HEAD, flush=True)
    for name in args.faults:
        try:
            got = settled(lambda: run_fault(build, name, folder / name, args.how, args.user, args.steps, args.follow, **more))
            if not got:
                raise Missing(f"others had the CPUs in {TRIES} runs")
        except Missing as why:
            print(f"{name:14} left out: {why}", flush=True)
            out.append(name)
            written[name] = {"left_out": str(why)}
            continue
        except Failed as why:
            print(f"{name:14} {why}", flush=True)
            wrong.append(f"{name}: {why}")
            continue
        result, made, spans = got
        written[name] = as_json(result)
        if name == "control":
            share, claimed = score.control_share(spans, made, run_queue.read(folder / name / "waits.json"))
            written[name]["share"] = share
            print(f"{name:14} {share:.2%} of the span: {said(claimed, made['devices'][0]['span_ns'])}")
            wrong += [f"control: {share:.2%} of the span"] * (share > CONTROL)
            continue
        results[name] = result
        print(row(name, result), flush=True)
        if args.show:
            show_longest(build, folder / name, made)
        wrong += complaints(name, result, args.how)
    return wrong + list(overall(results, args.how)), out, written


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--how", choices=("ebpf", "perf", "proc", "none"), default="ebpf")
    parser.add_argument("--user", help="of the program and the probes (nobody for perf and proc)")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--follow", action="store_true", help="by gpushim host, not by gpushim run")
    parser.add_argument("--show", action="store_true", help="print the story of each fault's longest gap")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--keep", metavar="FOLDER", help="leave the recordings there")
    parser.add_argument("--folder", metavar="FOLDER", default="/var/tmp", help="on the disk to be slowed down")
    parser.add_argument("faults", nargs="*", metavar="FAULT", help=" ".join(FAULTS))
    args = parser.parse_args(arguments)
    args.faults = args.faults or list(FAULTS)
    if unknown := set(args.faults) - set(FAULTS):
        parser.error(f"no such fault: {' '.join(unknown)}")
    if args.how in ("perf", "proc") and args.user is None and os.geteuid() == 0:
        args.user = "nobody"
    build = (ROOT / os.environ.get("BUILD", "build")).resolve()
    folder = Path(args.keep) if args.keep else Path(tempfile.mkdtemp(prefix="gpushim-lab-", dir=args.folder))
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o777)
    try:
        wrong, out, written = run_all(args, build, folder)
    finally:
        if not args.keep:
            shutil.rmtree(folder, ignore_errors=True)
    if args.json:
        Path(args.json).write_text(json.dumps({"how": args.how, "faults": written, "wrong": wrong, "left_out": out}, indent=1) + "\n")
    print("\n".join(wrong or [f"{len(args.faults) - len(out)} of {len(args.faults)} as they have to be"]))
    if out:
        print(f"not seen, so nothing is known of them: {' '.join(out)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
