# SPDX-License-Identifier: BSD-2-Clause
"""The faults on the driver's and the device's side: what each needs, and which of its ways a seed chooses (fault_*.c). How long a driver call takes
the simulated driver is told (SIMGPU_SLOW)."""

import os
import subprocess

from faults import linked, python

SHORTEST_NS = 100_000  # gaps that are scored where nothing shorter is said


def about(*causes):
    """What a set-up's device is idle for."""
    def note(plan):
        plan.causes = causes
        return plan
    return note


def measured(place, plan):
    """Each kernel's start and end are measured: where the device stands between a call and its start, no edge tells (analyzer/ARCHITECTURE.md)."""
    plan.level = "cupti"
    plan.env["LD_LIBRARY_PATH"] = f"{place.build / 'cupti'}:{place.build / 'simgpu'}"
    return plan


def way(place, names):
    """(number, name) of the way that the seed chooses; the first one where there is none."""
    number = 0 if place.seed is None else place.rng.randrange(len(names))
    return number, names[number]


def plan_of(place, fault, gap_ns=SHORTEST_NS, **env):
    plan = linked(place, fault, **env)
    plan.gap_ns = gap_ns
    return plan


def slow(place, call, part=1):
    """SIMGPU_SLOW for it: over all lengths, or a part of them, computing or asleep."""
    if place.seed is None:
        return f"{call}:{8000 // part}"
    asleep = place.rng.choice(["", ":sleep"])
    return f"{call}:{place.short // 1000 // part}-{place.long // 1000 // part}{asleep}"


# ---- the host waits for the device too often, or is slower than it -------------------------------------------------------------------------

@about("sync-bubble")
def sync(place):
    number, _ = way(place, ("stream", "event", "item", "query", "context"))
    return plan_of(place, "sync", 2_000, LAB_REALTIME=1, LAB_DEVICES=1, LAB_WAY=number, LAB_LAYER_US=int(place.draw(30, 3000, 100)), LAB_ROUNDS=40)


@about("sync-bubble")
def sync_other(place):
    """One thread feeds two devices, and waits for the second one."""
    return plan_of(place, "sync-other", LAB_WAY=4 if place.whole(0, 1, 0) else 2, LAB_DEVICES=1, SIMGPU_DEVICES=2)


def launches(place, launches_each, gap_ns=SHORTEST_NS):
    cost = place.draw(4_000, 60_000, 10_000)
    tiny = max(1, int(cost / 1000 * place.draw(0.1, 0.7, 0.4)))
    return plan_of(place, "launch", gap_ns, LAB_REALTIME=1, LAB_DEVICES=1, LAB_TINY_US=tiny, LAB_LANES=place.whole(1, 4, 1),
                   LAB_EAGER_NS=int(place.draw(100, 3_000, 500)), LAB_LAUNCHES=launches_each, SIMGPU_LAUNCH_NS=int(cost))


@about("launch-bound")
def launch(place):
    plan = launches(place, 2_000)
    plan.level, plan.score = "bursts", "bursts"
    return plan


@about("launch-bound")
def launch_measured(place):
    return measured(place, launches(place, 200, 2_000))


@about("host-compute")
def compute(place):
    return plan_of(place, "compute")


@about("host-compute")
def compute_between(place):
    return plan_of(place, "compute-between")


@about("host-compute")
def python_compute(place):
    plan = python(place, "compute")
    plan.gap_ns = SHORTEST_NS
    return plan


# ---- calls that take long ---------------------------------------------------------------------------------------------------------------------

@about("allocator")
def allocator(place):
    number, call = way(place, ("cuMemAlloc", "cuMemCreate", "cuMemPoolTrimTo", "cuMemHostAlloc"))
    return plan_of(place, "allocator", LAB_WAY=number, SIMGPU_SLOW=slow(place, call))


@about("allocator")
def out_of_memory(place):
    return plan_of(place, "out-of-memory", SIMGPU_MEM_BYTES="256M", LAB_DEVICES=1, SIMGPU_SLOW=slow(place, "cuMemAlloc", 10))


@about("module-load")
def module(place):
    number, call = way(place, ("cuModuleLoadData", "cuLibraryLoadData", "cuLinkComplete"))
    return plan_of(place, "module", LAB_WAY=number, SIMGPU_SLOW=slow(place, call))


@about("module-load")
def lazy(place):
    return measured(place, plan_of(place, "lazy", SIMGPU_FIRST_LAUNCH_US=int(place.draw(300, 100_000, 8_000))))


@about("module-load")
def compiler(place):
    """As Triton has it: ptxas, a process."""
    program = place.folder / "ptxas"
    os.symlink(place.build / "host" / "compute_linked", program)
    return plan_of(place, "compile", LAB_COMPILER=program)


@about("comm-host")
def comm(place):
    plan = plan_of(place, "comm", LAB_WAY=place.whole(0, 1, 0), LAB_DEVICES=1, SIMGPU_DEVICES=2)
    plan.env["LD_LIBRARY_PATH"] = f"{place.build / 'simgpu'}:{place.build / 'nccl'}"
    return plan


@about("output-io")
def output(place):
    number, name = way(place, ("pipe", "socket", "terminal", "file"))
    env = {"LAB_LOG": place.folder / "train.log"} if name == "file" else {"LAB_READER_NS": int(place.draw(50_000, 5_000_000, 500_000))}
    return plan_of(place, "output", LAB_WAY=number, **env)


# ---- the device waits for something else ----------------------------------------------------------------------------------------------------

DEPENDENCIES = ("function", "event", "device", "value-host", "value-stream", "graph")


@about("device-dependency")
def dependency(place):
    number, name = way(place, DEPENDENCIES)
    plan = plan_of(place, "dependency", LAB_WAY=number, LAB_ON_CPU=place.whole(0, 1, 0), LAB_DEVICES=1, SIMGPU_DEVICES=2 if name == "device" else 1)
    return plan if name in ("function", "device") else measured(place, plan)  # else no edge tells that the device stands still


@about("device-latency")
def latency(place):
    plan = plan_of(place, "latency", 5_000, LAB_REALTIME=1, LAB_DEVICES=1, SIMGPU_LATENCY_US=int(place.draw(20, 500, 200)), LAB_LANES=place.whole(1, 2, 2))
    return measured(place, plan)


@about("device-contention")
def contended(place):
    """Another process, which nobody records, has the device for much of the time; not for all of it, or nobody knows what a start takes."""
    shared = place.folder / "device"
    command = [place.build / "host" / "hog_linked", int(place.draw(200, 2_000, 500)), place.whole(4, 40, 10), int(place.draw(1_000, 10_000, 2_000))]
    hog = subprocess.Popen([str(word) for word in command], env={"LD_LIBRARY_PATH": str(place.build / "simgpu"), "SIMGPU_SHARED": str(shared)},
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    place.janitor.later("kill", hog.pid)
    hog.stdout.readline()
    return measured(place, plan_of(place, "contended", LAB_DEVICES=1, LAB_STREAMS=1, SIMGPU_DEVICES=1, SIMGPU_SHARED=shared))


@about("host-compute", "host-sleep", "allocator")
def feeders(place):
    """One thread for each."""
    return plan_of(place, "devices", LAB_DEVICES=1, SIMGPU_DEVICES=place.whole(2, 4, 2), SIMGPU_SLOW="cuMemAlloc:1000-9000")


# ---- what is no idle time ---------------------------------------------------------------------------------------------------------------------

COPIES = ("h2d-pageable", "h2d-pinned", "d2h-pageable", "d2h-pinned", "d2d", "peer", "memset")


def copy(place):
    number, name = way(place, COPIES)
    size = int(place.draw(1 << 20, 64 << 20, 4 << 20)) * (16 if name in ("d2d", "peer", "memset") else 1)
    plan = plan_of(place, "copy", LAB_WAY=number, LAB_BYTES=size, LAB_DEVICES=1, SIMGPU_DEVICES=2 if name == "peer" else 1)
    plan.score = "exposed"
    if name.endswith("pageable"):  # when its staging begins in such a call, and when it is over, no edge tells
        measured(place, plan)
    return plan


def reduce(place):
    plan = plan_of(place, "reduce", LAB_DEVICES=1, SIMGPU_DEVICES=2, LAB_COUNT=int(place.draw(1 << 12, 1 << 24, 1 << 20)))
    plan.env["LD_LIBRARY_PATH"] = f"{place.build / 'simgpu'}:{place.build / 'nccl'}"
    plan.score = "exposed"
    return plan


FAULTS = {f.__name__.replace("_", "-"): f for f in (
    sync, sync_other, launch, launch_measured, compute, compute_between, python_compute, allocator, out_of_memory, module, lazy, compiler, comm, output, dependency, latency, contended, feeders,
    copy, reduce)}


# ---- nothing is wrong with these ---------------------------------------------------------------------------------------------------------------

def queued(place):
    """What sync does, without waiting."""
    return plan_of(place, "queued", LAB_DEVICES=1, LAB_LAYER_US=int(place.draw(30, 1_000, 100)), LAB_ROUNDS=40)


def beside(place):
    return plan_of(place, "beside", LAB_DEVICES=1)


CONTROLS = {"queued": queued, "beside": beside}
