# SPDX-License-Identifier: BSD-2-Clause
"""Five programs as users have them, which leave a simulated device idle for causes of many kinds, and say so themselves. Each says at its top
what it is, which causes it has and why that is the truth. Written from the causes' definitions alone, without a look at how the analyzer
comes to its answers: an examination of it.

A plan (host/faults.py) says what a program needs of the machine, and starts whom it deals with (companions.py)."""

import os
import random
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE))

import answers  # noqa: E402
import rig  # noqa: E402
from faults import Plan  # noqa: E402
from rig import MIB, Missing  # noqa: E402

REQUESTS = 45
QUOTA_US, PERIOD_US = 12_000, 20_000


def companion(place, *words, **how):
    process = subprocess.Popen([sys.executable, str(HERE / "companions.py"), *map(str, words)], env={**os.environ, "SEED": str(seed(place))},
                               stdin=subprocess.DEVNULL, **how)
    place.janitor.later("kill", process.pid)
    return process


def seed(place):
    return 1 if place.seed is None else place.seed


def settings(place, **env):
    """Its log goes into a pipe whose reader is slow."""
    fifo = place.folder / "log.fifo"
    os.mkfifo(fifo, 0o666)
    reader = companion(place, "reader", fifo, place.folder / "log.txt")
    return {"SEED": seed(place), "FURTHER_LOG": fifo, "FURTHER_READER": reader.pid, **env}


def data_file(place):
    """On the disk, not in the cache; the same for the same seed."""
    file = place.folder / "train.bin"
    part = random.Random(seed(place)).randbytes(MIB)
    with open(file, "wb") as out:
        for number in range(48):
            out.write(number.to_bytes(4096, "little") + part[4096:])
        out.flush()
        os.fsync(out.fileno())
        os.posix_fadvise(out.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return file


def images(place):
    """Every third seed has its data on a network's file system."""
    data = data_file(place)
    if seed(place) % 3 == 0:
        try:
            source = place.folder / "source"
            source.mkdir()
            data.rename(source / data.name)
            data = rig.slow_fs(place.janitor, place.build, source, place.folder, 2)[0] / data.name
        except Missing:
            data = (place.folder / "source" / data.name).rename(data)
    return Plan(["images.py"], settings(place, FURTHER_DATA=data))


def server(place):
    ends, held = os.pipe()
    companion(place, "balancer", place.folder, REQUESTS, pass_fds=[held])  # with whom the other tenant goes
    os.close(held)
    shared = {"SIMGPU_SHARED": place.folder / "shared"}
    rng = random.Random(seed(place))
    env = {"LD_LIBRARY_PATH": place.build / "simgpu", "SIMGPU_LOG": place.folder / "tenant.json", "SEED": seed(place), **shared}
    command = [place.build / "further" / "tenant_linked", rng.randint(300, 1500), rng.randint(2000, 12000)]
    tenant = subprocess.Popen([*map(str, command)], env={name: str(value) for name, value in env.items()}, stdin=ends, stdout=subprocess.PIPE,
                              text=True)
    os.close(ends)
    place.janitor.later("kill", tenant.pid)
    assert tenant.stdout.readline() == "ready\n"
    plan = Plan(["server_linked"], settings(place, **shared))
    plan.tenant = tenant
    return plan


def halo(place):
    return Plan(["halo_linked"], {"SEED": seed(place), "SIMGPU_DEVICES": 2})


def rl(place):
    """Two of three seeds have a quota, or swap for what the memory has no room for."""
    plan = Plan(["rl.py"], settings(place))
    try:
        if seed(place) % 3 == 1:
            plan.groups = [rig.quota(place.janitor, QUOTA_US, PERIOD_US)]
            plan.env["LAB_CPU_STAT"] = plan.groups[0].path / "cpu.stat"
        elif seed(place) % 3 == 2:
            rig.swap(place.janitor, place.folder, 64 * MIB)
            group = rig.Group(place.janitor, "memory")
            if group.version == 1:  # its limit can be had for a moment; in version 2 that may end the program
                plan.groups = [group]
                plan.env["LAB_MEMORY"] = group.path
    except Missing:
        pass
    return plan


def ranks(place):
    """The data services are another user's: one for each rank."""
    services = {}
    for rank in range(2):
        fifo = place.folder / f"batches-{rank}"
        os.mkfifo(fifo, 0o666)
        services[f"FURTHER_SERVICE_{rank}"] = companion(place, "feeder", fifo, 512 << 10).pid
    libraries = f"{place.build / 'nccl'}:{place.build / 'simgpu'}"
    return Plan(["ranks_linked"], settings(place, SIMGPU_DEVICES=2, LD_LIBRARY_PATH=libraries, TMPDIR=place.folder, **services), processes=True)


def scored(plan):
    """By this folder's own rules: several threads and devices, gaps of any length."""
    def made(place):
        planned = plan(place)
        planned.score = answers.as_score
        return planned
    return made


CAUSES = {
    images: ("input-storage", "input-network", "input-preprocess", "launch-bound", "sync-bubble", "host-compute", "checkpoint", "output-io",
             "cpu-contention"),
    server: ("input-network", "host-compute", "host-lock", "allocator", "sync-bubble", "output-io", "device-contention"),
    halo: ("device-dependency", "device-latency", "sync-bubble", "launch-bound", "host-compute", "host-sleep", "checkpoint"),
    rl: ("host-compute", "cpu-contention", "cpu-throttled", "input-preprocess", "host-sleep", "allocator", "module-load", "host-lock",
         "memory-stall", "sync-bubble", "output-io"),
    ranks: ("input-wait", "comm-host", "host-compute", "launch-bound", "sync-bubble", "output-io", "checkpoint"),
}
SCENARIOS = {plan.__name__: (scored(plan), causes, "mixture") for plan, causes in CAUSES.items()}
