# SPDX-License-Identifier: BSD-2-Clause
"""Pairs of runs for `gpushim diff`: a program with a fault of the laboratory, and the same program without it: healthy against faulty.

Both put the same work into the streams, step for step. What the fault takes away is let be: it takes next to no time ($LAB_SHORT), reads next
to nothing, from a disk that nothing holds back; its driver call is as fast as any, nobody else is there."""

import json
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

import lab
import rig
from device_faults import FAULTS as DEVICE
from device_faults import measured, plan_of
from faults import CPU, DISK_RATE
from faults import FAULTS as HOST
from faults import Place, linked, loader
from janitor import Janitor

STEPS = 40  # some of which are warm-up
SECONDS = 120
LITTLE = {"LAB_BATCH": 4096}
LARGE = 3 * rig.MIB
SHORT = {"LAB_SHORT": 20_000}
LAYERS = {"LAB_LAYERS": 6}  # by which launches tell a step
SIGNS = {"+": "regressed", "-": "improved"}


@dataclass(frozen=True)
class Pair:
    row: str            # what has to regress, before any other cause
    faulty: Callable    # Place → Plan
    env: dict = field(default_factory=dict)  # of the healthy one, beside the faulty one's
    otherwise: Callable = None  # … which has a set-up of its own

    def healthy(self, place):
        plan = (self.otherwise or self.faulty)(place)
        plan.env.update(self.env)
        plan.groups = []
        return plan


def fast_fuse(place):
    """The same mount, which does not take its time."""
    source = place.folder / "source"
    source.mkdir()
    file = rig.data_file(source, (place.steps * 256 * 1024 // rig.MIB + 4) * rig.MIB)
    mount, _ = rig.slow_fs(place.janitor, place.build, source, place.folder, 0)
    return linked(place, "read", LAB_FILE=mount / file.name, LAB_BATCH=4096, LAB_CAUSE="input-network")


def fast_decode(place):
    return loader(place, workers=1, ms=1)


def waited(place):
    """The gap behind each wait is short: on a quick machine no longer than what is not known of its ends, but where times are measured."""
    return measured(place, DEVICE["sync"](place))


def unwaited(place):
    """What sync does, without waiting for each."""
    plan = waited(place)
    plan.command = ["queued" if word == "sync" else word for word in plan.command]
    return plan


def alone(place):
    return measured(place, plan_of(place, "contended", LAB_DEVICES=1, LAB_STREAMS=1, SIMGPU_DEVICES=1))


def reduce(place):
    """All that is reduced is the numbers' first few: else the stand-in computes for longer than the kernel is said to take."""
    plan = DEVICE["reduce"](place)
    plan.env.update(LAB_COUNT=1 << 26, NCCL_STANDIN_DATA=4096)
    return plan


def queued_late(place):
    """Nothing of it waits for the device, which would have a start's latency in what waiting costs."""
    plan = DEVICE["latency"](place)
    plan.env.update(LAB_AHEAD=1, LAB_LANES=1)
    return plan


def reads_large(place, plan):
    """Batches that are more than the disk lets through at once before it holds all back for a while: each step waits."""
    rig.disk_of(place.folder)
    plan.env.update(LAB_FILE=rig.data_file(place.folder, (place.steps + 2) * LARGE), LAB_BATCH=LARGE)
    plan.groups = [rig.throttled_disk(place.janitor, place.folder, read=DISK_RATE)]
    return plan


def read(place):
    return reads_large(place, linked(place, "read"))


def memory(place):
    """As reads_large: what comes out of the swap in a step is more than the disk lets through at once."""
    plan = HOST["memory"](place)
    plan.env["LAB_BATCH"] = LARGE
    return plan


def quota(place):
    """So small a quota that a machine which is busy elsewhere takes less away than it does."""
    group = rig.quota(place.janitor, 2_000, 20_000)
    plan = linked(place, "quota", LAB_CPU=CPU, LAB_CPU_STAT=group.path / "cpu.stat")
    plan.groups, plan.cpu = [group], CPU
    return plan


def worker_read(place):
    return reads_large(place, loader(place, workers=2, work="read"))


PAIRS = {
    "read": Pair("input-storage", read, LITTLE),
    "mmap": Pair("input-storage", HOST["mmap"], LITTLE),
    "worker-read": Pair("input-storage", worker_read, LITTLE),
    "fuse": Pair("input-network", HOST["fuse"], otherwise=fast_fuse),
    "socket": Pair("input-network", HOST["socket"], SHORT),
    "decode": Pair("input-preprocess", HOST["decode"], otherwise=fast_decode),
    "checkpoint": Pair("checkpoint", HOST["checkpoint"], LITTLE),
    "lock": Pair("host-lock", HOST["lock"], SHORT),
    "contention": Pair("cpu-contention", HOST["contention"], SHORT),
    "quota": Pair("cpu-throttled", quota, SHORT),
    "sleep": Pair("host-sleep", HOST["sleep"], SHORT),
    "memory": Pair("memory-stall", memory, LITTLE),
    "sync": Pair("sync-bubble", waited, otherwise=unwaited),
    "launch-measured": Pair("launch-bound", DEVICE["launch-measured"], {"SIMGPU_LAUNCH_NS": 1000}),
    "compute": Pair("host-compute", DEVICE["compute"], SHORT),
    "allocator": Pair("allocator", DEVICE["allocator"], {"SIMGPU_SLOW": ""}),
    "module": Pair("module-load", DEVICE["module"], {"SIMGPU_SLOW": ""}),
    "compiler": Pair("module-load", DEVICE["compiler"], SHORT),
    "comm": Pair("comm-host", DEVICE["comm"], SHORT),
    "output": Pair("output-io", DEVICE["output"], SHORT),
    "dependency": Pair("device-dependency", DEVICE["dependency"], SHORT),
    "latency": Pair("device-latency", queued_late, {"SIMGPU_LATENCY_US": 5}),
    "contended": Pair("device-contention", DEVICE["contended"], otherwise=alone),
    "copy": Pair("copy", DEVICE["copy"], {"LAB_BYTES": 65536}),
    "reduce": Pair("comm", reduce, {"LAB_COUNT": 4096}),
}


# ---- recorded ------------------------------------------------------------------------------------------------------------------------------

def record(build, folder, plan_of_place, how, steps):
    """-> the recording. Missing, Failed."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    with Janitor() as janitor:
        plan = plan_of_place(Place(folder, build, janitor, steps))
        plan.env.update(LAYERS)
        done = subprocess.run(lab.run_recorded(build, plan, how), cwd=folder, env=lab.environment(build, folder, plan), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, errors="replace", timeout=SECONDS)
    if done.returncode != 0:
        raise lab.Failed(f"exit status {done.returncode}: {done.stderr[-1000:]}")
    return folder / "gpushim-out"


def diff(build, base, new, *options):
    """-> (exit status, the JSON)"""
    done = subprocess.run([str(build / "gpushim"), "diff", base, new, "--json", *options], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS)
    if done.returncode not in (0, 1, 5):
        raise lab.Failed(f"diff: exit status {done.returncode}: {done.stderr}")
    return done.returncode, json.loads(done.stdout)


# ---- judged --------------------------------------------------------------------------------------------------------------------------------

SUMS = ("step", "idle")
BUSY = ("copy", "comm")  # no idle time: no gap tells of it


def row_of(made, name):
    return next(row for row in made["rows"] if row["id"] == name)


def changed(made, sign):
    """The leaves of that verdict, those that changed most first; sums are none."""
    rows = [row for row in made["rows"] if row["verdict"] == sign and row["id"] not in SUMS]
    return [row["id"] for row in sorted(rows, key=lambda row: -abs(row["delta_ns"]))]


def evidence(made, cause):
    """What is shown of the gaps that have more of that cause now."""
    lines = [line for device in made["devices"] for gap in device["gaps"] if gap["new"] and gap["new"]["causes"].get(cause) for line in gap["new"]["evidence"]]
    return [line for line in lines if cause in line]


def moved_more(made):
    """What is told to move more bytes a step now."""
    both = [(one["base"], one["new"]) for device in made["devices"] for one in device["kernels"] + device["comms"] if one["base"] and one["new"]]
    return [new for base, new in both if new["bytes_per_step"] > 2 * base["bytes_per_step"] > 0]


def complaints(pair, forth, back):
    """forth, back: diff()'s, healthy against faulty and the other way round."""
    for (status, made), wanted, sign in ((forth, 1, "+"), (back, 0, "-")):
        if status != wanted or made["verdict"] != sign:
            yield f"{SIGNS[sign]}: exit status {status}, verdict {made['verdict']}: {made['reason']}"
        if not made["reason"].startswith(f"{pair.row} takes "):
            yield f"{SIGNS[sign]}: told is \"{made['reason']}\", not {pair.row}"
        found = changed(made, sign)
        if found[:1] != [pair.row]:
            yield f"{SIGNS[sign]} first is {found[0] if found else 'nothing'}, not {pair.row}"
    if pair.row in forth[1]["devices"][0]["causes_appeared"] or row_of(forth[1], "idle")["delta_ns"] > 0:
        if pair.row not in BUSY and not evidence(forth[1], pair.row):
            yield f"no evidence of {pair.row}"
    if pair.row in BUSY and not moved_more(forth[1]):
        yield "nothing is told to move more"


def run(build, name, folder, how, steps=STEPS):
    """-> (forth, back, complaints). Missing, Failed."""
    pair = PAIRS[name]
    healthy = record(build, Path(folder) / "healthy", pair.healthy, how, steps)
    faulty = record(build, Path(folder) / "faulty", pair.faulty, how, steps)
    forth, back = diff(build, healthy, faulty), diff(build, faulty, healthy)
    return forth, back, list(complaints(pair, forth, back))
