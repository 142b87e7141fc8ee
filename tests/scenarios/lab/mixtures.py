# SPDX-License-Identifier: BSD-2-Clause
"""Mixtures: two or three faults of one program (faults_linked "a+b"), which the seed draws: each step has one of them, or each has all, one after
the other in one gap. At most one of them reads the file, as there is one."""

import rig
from faults import DISK_RATE, Plan, file_size
from rig import MIB

FILE = ("read", "direct", "mmap")
POOL = [*FILE, "socket", "sleep", "lock", "checkpoint", "worker"]


def draw(place, count):
    while True:
        chosen = place.rng.sample(POOL, count)
        if sum(name in FILE for name in chosen) <= 1:
            return chosen


def mixture(place, count, how):
    """Each takes its share of the time."""
    chosen = draw(place, count)
    place.long = place.long // (2 if how == "gap" else 1)
    steps = place.steps if how == "gap" else -(-place.steps // count)
    env = {**place.env(), "LAB_STEPS": steps, "LAB_MIX": how, "LAB_RATE": DISK_RATE}
    plan = Plan(["faults_linked", "+".join(chosen), place.steps], env)
    if "socket" in chosen:
        answer = 256 * 1024
        port, _ = rig.sender(place.janitor, answer)
        env.update(LAB_PORT=port, LAB_ANSWER=answer)
    if "checkpoint" in chosen:
        env["LAB_SAVE"] = place.folder / "checkpoint.pt"
    if any(name in FILE for name in chosen):
        env["LAB_FILE"] = rig.data_file(place.folder, file_size(place) + MIB)
    if "checkpoint" in chosen or "LAB_FILE" in env:
        plan.groups = [rig.throttled_disk(place.janitor, place.folder, read=DISK_RATE, write=2 * DISK_RATE)]
    return plan


def of(count, how):
    def plan(place):
        return mixture(place, count, how)
    return plan


MIXTURES = {f"{count}-{'in-turns' if how == 'turns' else 'in-a-gap'}": of(number, how)
            for count, number in (("two", 2), ("three", 3)) for how in ("turns", "gap")}
