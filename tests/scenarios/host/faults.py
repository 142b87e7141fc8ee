# SPDX-License-Identifier: BSD-2-Clause
"""The faults, each by what it needs of the machine and what it runs. A set-up returns a Plan, or raises Missing."""

from dataclasses import dataclass, field
from pathlib import Path

import rig
from rig import MIB

HERE = Path(__file__).resolve().parent
DISK_RATE = 24 * MIB  # bytes a second: a batch takes 20 ms. The kernel lets a few go first, and then holds all back for a while
BATCH = MIB // 2
CPU = 1  # where the fault is on one CPU


@dataclass
class Plan:
    command: list          # program and its arguments; "faults_linked" and the like are found by the runner
    env: dict = field(default_factory=dict)
    groups: list = field(default_factory=list)  # the program puts itself in
    cpu: int = None        # all of it is on this one
    files: bool = False    # the truth names files and offsets: the report must too


@dataclass
class Place:
    """Where a fault is set up: a folder of its own on a disk, the janitor, the build, how many steps."""
    folder: Path
    build: Path
    janitor: object
    steps: int


def linked(place, fault, **env):
    return Plan(["faults_linked", fault, place.steps], env)


def file_size(place):
    return min(place.steps + 2, 64) * BATCH


def cold_file(place, fault, **more):
    rig.disk_of(place.folder)
    file = rig.data_file(place.folder, file_size(place))
    plan = linked(place, fault, LAB_FILE=file, LAB_BATCH=BATCH, **more)
    plan.groups, plan.files = [rig.throttled_disk(place.janitor, place.folder, read=DISK_RATE)], True
    return plan


def read(place):
    return cold_file(place, "read")


def mmap(place):
    return cold_file(place, "mmap")


def direct(place):
    return cold_file(place, "direct")


def overlay(place):
    """Throttled below: the program names the file as it sees it."""
    lower = place.folder / "lower"
    lower.mkdir()
    file = rig.data_file(lower, file_size(place))
    merged = rig.overlay(place.janitor, lower, place.folder)
    plan = linked(place, "read", LAB_FILE=merged / file.name, LAB_BATCH=BATCH)
    plan.groups, plan.files = [rig.throttled_disk(place.janitor, place.folder, read=DISK_RATE)], True
    return plan


def fuse(place):
    """The kernel asks for 128 KiB at a time, ahead too."""
    source = place.folder / "source"
    source.mkdir()
    batch = 256 * 1024
    file = rig.data_file(source, max(place.steps // 4 + 1, 4) * MIB)
    mount, _ = rig.slow_fs(place.janitor, place.build, source, place.folder, 4)
    plan = linked(place, "read", LAB_FILE=mount / file.name, LAB_BATCH=batch, LAB_CAUSE="input-network")
    plan.files = True
    return plan


def socket(place):
    batch = 256 * 1024
    port, _ = rig.sender(place.janitor, batch, 0.008)
    return linked(place, "socket", LAB_PORT=port, LAB_BATCH=batch)


def loader(place, **options):
    options = {"batches": place.steps, **options}
    return Plan(["loader_linked", *(f"{name}={value}" for name, value in options.items())])


def decode(place):
    """A CPU is left for the others: one worker."""
    return loader(place, workers=1)


def reads_cold(place, plan):
    """Its workers do."""
    rig.disk_of(place.folder)
    plan.env = {"LAB_FILE": rig.data_file(place.folder, (place.steps + 2) * BATCH), "LAB_BATCH": BATCH}
    plan.groups, plan.files = [rig.throttled_disk(place.janitor, place.folder, read=DISK_RATE)], True
    return plan


def worker_read(place):
    return reads_cold(place, loader(place, workers=2, work="read"))


def checkpoint(place):
    plan = linked(place, "checkpoint", LAB_SAVE=place.folder / "checkpoint.pt")
    plan.groups = [rig.throttled_disk(place.janitor, place.folder, write=2 * DISK_RATE)]
    return plan


def lock(place):
    return linked(place, "lock")


def sleep(place):
    return linked(place, "sleep")


def contention(place):
    rig.competitors(place.janitor, place.build, CPU, 2)
    return linked(place, "contention", LAB_CPU=CPU)


def quota(place):
    group = rig.quota(place.janitor, 6000, 20000)
    plan = linked(place, "quota", LAB_CPU=CPU, LAB_CPU_STAT=group.path / "cpu.stat")
    plan.groups, plan.cpu = [group], CPU  # one queue: the group's account of throttled time adds them up
    return plan


def memory(place):
    """A third of what it needs is in the swap, on a slow disk."""
    rig.swap(place.janitor, place.folder, 128 * MIB)
    plan = linked(place, "memory", LAB_TOUCH=96 * MIB)
    plan.groups = [rig.little_memory(place.janitor, 64 * MIB), rig.throttled_disk(place.janitor, place.folder, read=DISK_RATE)]
    return plan


def python(place, fault, *args):
    return Plan(["python_faults.py", fault, place.steps, *args])


def gil(place):
    return python(place, "gil")


def python_decode(place):
    """multiprocessing, as PyTorch's DataLoader has it: worker, its feeder thread, pin thread, main."""
    return python(place, "decode")


def python_read(place):
    return reads_cold(place, python(place, "read"))


def control(place):
    """Everything warm: nothing of this is a cause."""
    file = rig.data_file(place.folder, 8 * BATCH)
    return linked(place, "warm", LAB_FILE=file, LAB_BATCH=BATCH)


FAULTS = {f.__name__.replace("_", "-"): f for f in (read, mmap, direct, overlay, fuse, socket, decode, worker_read, checkpoint, lock, gil,
                                                    python_decode, python_read, contention, quota, sleep, memory, control)}
