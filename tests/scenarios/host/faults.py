# SPDX-License-Identifier: BSD-2-Clause
"""The faults, each by what it needs of the machine and what it runs. A set-up returns a Plan, or raises Missing.

Without a seed all steps are alike, and take some 8 to 20 ms. With one, how long a step's fault takes is drawn (lab_random.c), and so are the
number of workers, other people's programs, periods."""

import random
from dataclasses import dataclass, field
from pathlib import Path

import rig
from rig import MIB

HERE = Path(__file__).resolve().parent
DISK_RATE = 24 * MIB  # bytes a second: a batch takes 20 ms. The kernel lets a few go first, and then holds all back for a while
BATCH = MIB // 2
SHORT_NS, LONG_NS = 200_000, 200_000_000  # a fault's lengths, of a seed: three decades
CPU = 1  # where the fault is on one CPU


@dataclass
class Plan:
    command: list          # program and its arguments; "faults_linked" and the like are found by the runner
    env: dict = field(default_factory=dict)
    groups: list = field(default_factory=list)  # the program puts itself in
    cpu: int = None        # all of it is on this one
    files: bool = False    # the truth names files and offsets: the report must too
    gap_ns: int = 1_000_000  # the shortest gap that is scored; the laboratory of all causes asks for less
    level: str = None      # GPUSHIM_DEVICE
    score: str = "gaps"    # "bursts", "exposed": by sums (lab/sums.py)
    crowded: bool = False  # it wants more CPUs than there are: that they are missing says nothing about the machine
    processes: bool = False  # several put in work: each keeps its own log


@dataclass
class Place:
    """Where a fault is set up: a folder of its own on a disk, the janitor, the build, how many steps."""
    folder: Path
    build: Path
    janitor: object
    steps: int
    seed: int = None
    name: str = ""
    short: int = SHORT_NS  # of a seed
    long: int = LONG_NS

    def __post_init__(self):
        self.rng = random.Random(f"{self.seed} {self.name}")

    def draw(self, low, high, fixed):
        """Log-uniform; `fixed` where there is no seed."""
        return fixed if self.seed is None else low * (high / low) ** self.rng.random()

    def whole(self, low, high, fixed):
        return fixed if self.seed is None else self.rng.randint(low, high)

    def env(self):
        """How long a fault takes, and how much it reads."""
        if self.seed is None:
            return {"LAB_STEPS": min(self.steps, 64)}
        of_steps = {"LAB_STEPS": self.steps, "SEED": self.seed, "LAB_SHORT": self.short, "LAB_LONG": self.long}
        return {**of_steps, **self.device_env()}

    def device_env(self):
        """Of the loop around the fault: one device or two, one to four streams on each, kernels of 0.5 to 4 ms."""
        rng = random.Random(f"{self.seed} {self.name} device")
        devices = rng.choice((1, 1, 1, 2))
        return {"LAB_DEVICES": devices, "SIMGPU_DEVICES": devices, "LAB_STREAMS": rng.randint(1, 4), "LAB_KERNEL_US": int(500 * 8 ** rng.random())}

    def lengths(self):
        """Not more than all of them together, ns."""
        ratio = self.long / self.short
        return sum(self.short * ratio ** ((step + 1) / self.steps) for step in range(self.steps))


def linked(place, fault, **env):
    return Plan(["faults_linked", fault, place.steps], {**place.env(), **env})


def reading(place, rate=DISK_RATE):
    """How much of the file a step reads."""
    return {"LAB_BATCH": BATCH} if place.seed is None else {"LAB_RATE": rate}


def file_size(place, rate=DISK_RATE):
    if place.seed is None:
        return min(place.steps + 2, 64) * BATCH
    return (int(rate * place.lengths() / 1e9) // MIB + 2) * MIB


def cold_file(place, fault, **more):
    rig.disk_of(place.folder)
    file = rig.data_file(place.folder, file_size(place))
    plan = linked(place, fault, LAB_FILE=file, **reading(place), **more)
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
    plan = linked(place, "read", LAB_FILE=merged / file.name, **reading(place))
    plan.groups, plan.files = [rig.throttled_disk(place.janitor, place.folder, read=DISK_RATE)], True
    return plan


def fuse(place):
    """The kernel asks for 128 KiB at a time, ahead too."""
    source = place.folder / "source"
    source.mkdir()
    batch = place.whole(1, 4, 2) * 128 * 1024
    file = rig.data_file(source, (place.steps * batch // MIB + 4) * MIB)
    mount, _ = rig.slow_fs(place.janitor, place.build, source, place.folder, round(place.draw(1, 40, 4)))
    plan = linked(place, "read", LAB_FILE=mount / file.name, LAB_BATCH=batch, LAB_CAUSE="input-network")
    plan.files = True
    return plan


def socket(place):
    batch = 256 * 1024
    port, _ = rig.sender(place.janitor, batch)
    return linked(place, "socket", LAB_PORT=port, LAB_ANSWER=batch)


def loader(place, **options):
    options = {"batches": place.steps, **({} if place.seed is None else {"ms": 0}), **options}
    return Plan(["loader_linked", *(f"{name}={value}" for name, value in options.items())], place.env())


def decode(place):
    """A CPU is left for the others: one worker."""
    return loader(place, workers=1)


def workers(place):
    """One to eight, for two CPUs."""
    plan = loader(place, workers=place.whole(2, 8, 2))
    plan.crowded = True
    return plan


def reads_cold(place, plan):
    """Its workers do."""
    rig.disk_of(place.folder)
    size = (place.steps + 2) * BATCH if place.seed is None else file_size(place)
    plan.env = {**place.env(), "LAB_FILE": rig.data_file(place.folder, size), **reading(place)}
    plan.groups, plan.files = [rig.throttled_disk(place.janitor, place.folder, read=DISK_RATE)], True
    return plan


def worker_read(place):
    return reads_cold(place, loader(place, workers=place.whole(1, 8, 2), work="read"))


def checkpoint(place):
    size = {"LAB_BATCH": 4 * MIB} if place.seed is None else reading(place, 2 * DISK_RATE)
    plan = linked(place, "checkpoint", LAB_SAVE=place.folder / "checkpoint.pt", **size)
    plan.groups = [rig.throttled_disk(place.janitor, place.folder, write=2 * DISK_RATE)]
    return plan


def lock(place):
    return linked(place, "lock")


def sleep(place):
    return linked(place, "sleep")


def contention(place):
    rig.competitors(place.janitor, place.build, CPU, place.whole(1, 4, 2))
    return linked(place, "contention", LAB_CPU=CPU)


def quota(place):
    period = round(place.draw(5_000, 100_000, 20_000))
    group = rig.quota(place.janitor, max(1000, period * 3 // 10), period)
    plan = linked(place, "quota", LAB_CPU=CPU, LAB_CPU_STAT=group.path / "cpu.stat")
    plan.groups, plan.cpu = [group], CPU  # one queue: the group's account of throttled time adds them up
    return plan


def memory(place):
    """A third of what it needs is in the swap, on a slow disk."""
    rig.swap(place.janitor, place.folder, 128 * MIB)
    size = {"LAB_BATCH": MIB} if place.seed is None else reading(place)
    plan = linked(place, "memory", LAB_TOUCH=96 * MIB, **size)
    plan.groups = [rig.little_memory(place.janitor, 64 * MIB), rig.throttled_disk(place.janitor, place.folder, read=DISK_RATE)]
    return plan


def python(place, fault, *args):
    return Plan(["python_faults.py", fault, place.steps, *args], place.env())


def gil(place):
    return python(place, "gil")


def python_decode(place):
    """multiprocessing, as PyTorch's DataLoader has it: worker, its feeder thread, pin thread, main."""
    return python(place, "decode")


def python_read(place):
    return reads_cold(place, python(place, "read"))


def control(place):
    """Everything warm: nothing of this is a cause."""
    file = rig.data_file(place.folder, file_size(place))
    return linked(place, "warm", LAB_FILE=file, **reading(place))


FAULTS = {f.__name__.replace("_", "-"): f for f in (read, mmap, direct, overlay, fuse, socket, decode, worker_read, checkpoint, lock, gil,
                                                    python_decode, python_read, contention, quota, sleep, memory, control)}
WITH_SEEDS = {**FAULTS, "workers": workers}  # the laboratory of all causes has them all
