# SPDX-License-Identifier: BSD-2-Clause
"""One scenario with one seed, recorded and scored -> what is known of it, as JSON. Kept in a folder: a run that was cut goes on."""

import hashlib
import json
import shutil
import time
import traceback
from pathlib import Path

import conservation
import due_advice
import lab
import run_queue
import score
import sums
from faults import Place
from janitor import Janitor
from rig import Missing
from stolen import stolen_ticks

STEPS = 20
GAP_NS = 100_000  # the shortest that counts
TRIES = 3
FAULTS_OF_A_CONTROL = ("input-storage", "input-network", "input-preprocess", "input-wait", "host-lock", "host-sleep", "cpu-contention",
                       "cpu-throttled", "memory-stall", "allocator", "module-load", "checkpoint", "output-io", "comm-host", "device-dependency",
                       "device-contention")


def once(build, scenario, seed, how, folder, steps):
    """-> (score, report, spans, waits)"""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    with Janitor() as janitor:
        place = Place(folder, build, janitor, steps, seed, scenario.name)
        plan = scenario.plan(place)
        plan.env.setdefault("SEED", seed)
        plan.gap_ns = min(plan.gap_ns, GAP_NS)
        report = lab.record(build, folder, plan, how, queue=lab.traced(janitor, folder))
    conservation.check(report)
    waits = run_queue.read(folder / "waits.json")
    if callable(plan.score):
        result = plan.score(folder, report, how != "none")
    elif plan.score == "gaps":
        result = score.score_run(folder, shortest=plan.gap_ns, probed=how != "none")
    else:
        result = sums.score_run(folder, plan.score)
    return result, report, score.read_spans(folder / "spans.jsonl"), waits, plan


def control_is_starved(report, spans, waits, most=0.05):
    """Its threads had no CPU for so much of the time: then it is not as healthy as it was meant to be."""
    without = run_queue.union(wait for tid in {span.tid for span in spans} for wait in waits.get(tid, []))
    return any(run_queue.length(run_queue.inside(without, device["begin_ns"], device["end_ns"])) > most * device["span_ns"]
               for device in report["devices"])


def disturbed(result, report, spans, waits, plan, is_control):
    causes = {span.cause for span in spans if span.role == "main"}
    if is_control:
        busy = control_is_starved(report, spans, waits)
    else:
        busy = not plan.crowded and not causes & set(score.QUEUED) and score.machine_is_too_busy(result, "")
    return "others had the CPUs" if busy else ""


def record_of(result, report, spans, waits, scenario):
    names = ("true", "right", "wrong", "own", "own_right", "queued", "span", "named", "named_right")
    made = {name: getattr(result, name) for name in names}
    made["matrix"] = [[true, given, ns] for (true, given), ns in sorted(result.matrix.items()) if ns]
    made["decades"] = {str(decade): both for decade, both in sorted(result.decades.items())}
    made["claimed"] = dict(result.claimed)
    if scenario.kind == "control":
        share, claimed = score.control_share(spans, report, waits, FAULTS_OF_A_CONTROL)
        made["control"] = {"share": share, "claimed": dict(claimed), "advice": due_advice.of_control(report, claimed)}
    elif scenario.suite != "further":
        made["advised"] = due_advice.of_run(result, report)
    return made


def run(build, scenario, seed, how, folder, steps=STEPS):
    """Repeated where something disturbed it; the last try counts, unless others had the CPUs."""
    begin, why, made = time.monotonic(), "", None
    for attempt in range(1, TRIES + 1):
        before = stolen_ticks()
        try:
            result, report, spans, waits, plan = once(build, scenario, seed, how, folder, steps)
        except run_queue.Holes as holes:
            why = str(holes)
            continue
        except Missing as missing:
            return {"left_out": str(missing)}
        except conservation.Unsound as unsound:
            return {"unsound": str(unsound)}
        except (lab.Failed, AssertionError, OSError, ValueError, KeyError) as failed:
            return {"failed": f"{type(failed).__name__}: {failed}", "where": traceback.format_exc()[-1500:]}
        why = disturbed(result, report, spans, waits, plan, scenario.kind == "control")
        if not why and stolen_ticks() != before:
            why = "the hypervisor took CPUs"
        if why != "others had the CPUs":
            made = record_of(result, report, spans, waits, scenario)
            made.update(tries=attempt, disturbed=why)
        if not why:
            break
    if made is None:
        return {"left_out": f"{why}, in {TRIES} runs"}
    made["seconds"] = round(time.monotonic() - begin, 2)
    return made


# ---- kept ---------------------------------------------------------------------------------------------------------------------------------

def fingerprint(build, root):
    """Of what the answer depends on: the recorder, the analyzer, the simulated driver, the programs, the laboratory."""
    files = [build / "gpushim", build / "libgpushim.so", build / "simgpu" / "libcuda.so.1"]
    for folder in ("host", "further"):
        files += sorted((build / folder).glob("*"))
    for folder in ("host", "lab", "further"):
        files += sorted((root / "tests/scenarios" / folder).glob("*.py"))
    digest = hashlib.sha256()
    for file in files:
        if file.is_file():
            digest.update(file.name.encode() + hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:16]


class Kept:
    """Results in a folder, one file each."""

    def __init__(self, folder, print_):
        self.folder, self.print = Path(folder), print_
        self.folder.mkdir(parents=True, exist_ok=True)

    def file(self, name, seed, how):
        return self.folder / f"{how}-{name}-{seed}.json"

    def get(self, name, seed, how):
        try:
            made = json.loads(self.file(name, seed, how).read_text())
        except (OSError, ValueError):
            return None
        again = "failed" in made or "others had" in made.get("left_out", "")
        return made if made.get("print") == self.print and not again else None

    def put(self, name, seed, how, made):
        made = {"print": self.print, "scenario": name, "seed": seed, "how": how, **made}
        part = self.file(name, seed, how).with_suffix(f".{time.monotonic_ns()}")
        part.write_text(json.dumps(made) + "\n")
        part.replace(self.file(name, seed, how))
        return made
