# SPDX-License-Identifier: BSD-2-Clause
"""Traces made from a seed, written as PyTorch's profiler and as Nsight Systems would: the same content, so the same report.

made(seed) is what happened, in whole nanoseconds; write_kineto and write_nsys are how it is told. Nothing here knows what a report should
say of it: that is import_reference's."""

import gzip
import json
import random
import re
import sqlite3
from dataclasses import dataclass, field

US = 1000
KERNELS = ("void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>(int)", "ampere_sgemm_128x64_tn", "triton_poi_fused_add_0",
           "_ZN7cutlass6KernelINS_4gemmEEEvT_")
COLLECTIVES = ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclDevComm*)")
COPIES = {"HtoD": 1, "DtoH": 2, "DtoD": 8}  # CUPTI's numbers
LAUNCH = {"kernel": "cudaLaunchKernel", "comm": "cudaLaunchKernelExC", "copy": "cudaMemcpyAsync", "memset": "cudaMemsetAsync"}


@dataclass
class Call:
    pid: int
    tid: int
    name: str
    begin: int
    end: int
    correlation: int


@dataclass
class Work:
    pid: int
    device: int
    stream: int
    kind: str
    name: str
    begin: int
    end: int
    correlation: int  # 0: no call of the trace asked for it
    graph_node: int = 0


@dataclass
class Range:
    pid: int
    tid: int
    name: str
    begin: int
    end: int


@dataclass
class Made:
    calls: list = field(default_factory=list)
    work: list = field(default_factory=list)
    ranges: list = field(default_factory=list)  # of the program, nested
    operators: list = field(default_factory=list)


class Maker:
    """A process that submits to its devices' streams. Work of one stream runs in order; of several, at once."""

    def __init__(self, chance, made, number, devices, epoch):
        self.chance, self.made, self.pid, self.tid = chance, made, 4000 + number, 4100 + number
        self.devices, self.now, self.free, self.number = devices, epoch + chance.randrange(5000), {}, number << 20

    def took(self):
        """Times as they come: short and long, none at all, whole microseconds."""
        return self.chance.choice((0, 0, 1, self.chance.randrange(1, 900), self.chance.randrange(1, 90) * US, self.chance.randrange(40_000)))

    def work(self, device, stream, kind, at, correlation, node=0):
        name = self.chance.choice({"kernel": KERNELS, "comm": COLLECTIVES, "copy": tuple(COPIES), "memset": ("",)}[kind])
        stream += 100 * (self.pid - 4000)  # nobody else's: B and E have to find each other
        begin = max(at, self.free.get((device, stream), 0))
        end = begin + self.took()
        self.free[device, stream] = end
        self.made.work.append(Work(self.pid, device, stream, kind, name, begin, end, correlation, node))

    def call(self, name, correlation=0):
        begin, self.now = self.now, self.now + self.chance.randrange(800, 9000)
        self.made.calls.append(Call(self.pid, self.tid, name, begin, self.now, correlation))
        return begin, self.now

    def submit(self):
        self.number += 1
        device, stream = self.chance.choice(self.devices), self.chance.choice((7, 7, 7, 13, 20))
        kind = self.chance.choice(("kernel", "kernel", "kernel", "comm", "copy", "memset"))
        begin, end = self.call(LAUNCH[kind], self.number)
        # Most begins behind the call, some inside it; some things ask for work that the tool has no call of.
        self.work(device, stream, kind, self.chance.choice((end + self.took(), (begin + end) // 2)), 0 if self.chance.random() < 0.1 else self.number)

    def launch_graph(self):
        self.number += 1
        device = self.chance.choice(self.devices)
        _, end = self.call("cudaGraphLaunch", self.number)
        for node in range(1, self.chance.randrange(2, 9)):
            self.work(device, 7, self.chance.choice(("kernel", "kernel", "memset")), end + self.took(), self.number, node)

    def twins(self):
        """Two that begin together, one of them over at once."""
        device, at = self.chance.choice(self.devices), self.now + 3000
        for stream in (30, 31):
            self.work(device, stream, "kernel", at, 0)

    def step(self, number):
        begin, self.now = self.now, self.now + 40
        for layer in range(self.chance.randrange(1, 4)):
            since, self.now = self.now, self.now + 30
            for _ in range(self.chance.randrange(1, 12)):
                opened, self.now = self.now, self.now + 20
                self.chance.choice((self.submit, self.submit, self.submit, self.submit, self.launch_graph, self.twins))()
                self.made.operators.append(Range(self.pid, self.tid, "aten::add", opened, self.now + 5))
                self.now += 10 + self.took()
            self.made.ranges.append(Range(self.pid, self.tid, f"layer{layer}", since, self.now))
            self.now += 5
        self.call("cudaDeviceSynchronize")
        self.now = max([self.now] + list(self.free.values())) if self.chance.random() < 0.5 else self.now
        self.made.ranges.append(Range(self.pid, self.tid, f"ProfilerStep#{number}", begin, self.now + 1))
        self.now += self.chance.randrange(100_000)


def made(seed, processes=1, devices=1, steps=4, epoch=5_000_000_000):
    """Process p submits to the devices whose number is p modulo their count, so that several may share one."""
    chance, out = random.Random(seed), Made()
    for number in range(processes):
        mine = [d for d in range(devices) if d % processes == number % devices] or [number % devices]
        maker = Maker(chance, out, number, mine, epoch)
        for step in range(steps):
            maker.step(step)
    return out


# ---- as PyTorch's profiler ---------------------------------------------------------------------------------------------------

CATEGORIES = {"new": {"kernel": "kernel", "comm": "kernel", "copy": "gpu_memcpy", "memset": "gpu_memset", "call": "cuda_runtime", "operator": "cpu_op",
                      "range": "user_annotation"},
              "old": {"kernel": "Kernel", "comm": "Kernel", "copy": "Memcpy", "memset": "Memset", "call": "Runtime", "operator": "Operator",
                      "range": "user_annotation"}}


def microseconds(ns, finer=0):
    """As a text that plain() makes a number of: no double has all of its digits. finer: ten thousandths of a nanosecond."""
    return f"@{ns // US}.{ns % US:03}{f'{finer:04}' if finer else ''}@"


def finer_times(begin, end):
    """ts and dur as a program writes them whose clock is finer than a nanosecond. What happens at one instant still does."""
    at, until = (ns * 10_000 + ns * 7919 % 10_000 for ns in (begin, end))
    return microseconds(begin, at % 10_000), microseconds((until - at) // 10_000, (until - at) % 10_000)


def plain(text):
    return re.sub(r'"@([0-9.]+)@"', r"\1", text)


def title(work):
    if work.kind == "copy":
        return {"HtoD": "Memcpy HtoD (Pinned -> Device)", "DtoH": "Memcpy DtoH (Device -> Pageable)", "DtoD": "Memcpy DtoD (Device -> Device)"}[work.name]
    return "Memset (Device)" if work.kind == "memset" else work.name


def spans(what, names, string_pids, ranks):
    """(category, name, pid, tid, begin, end, args). ranks: the files of several were put together, each with its device 0."""
    process = (lambda pid: f"[rank {pid // 100}] {pid}") if ranks else str if string_pids else int
    for w in what.work:
        place = f"[rank {w.device}] 0" if ranks else process(w.device)
        args = {"device": 0 if ranks else w.device, "context": 1, "stream": w.stream, **({"correlation": w.correlation} if w.correlation else {}),
                **({"bytes": 4096} if w.kind in ("copy", "memset") else {}), **({"graph node id": w.graph_node} if w.graph_node else {})}
        yield names[w.kind], title(w), place, str(w.stream) if string_pids else w.stream, w.begin, w.end, args
    for c in what.calls:
        yield names["call"], c.name, process(c.pid), str(c.tid) if string_pids else c.tid, c.begin, c.end, {"cbid": 211, "correlation": c.correlation}
    for key, ranges in (("range", what.ranges), ("operator", what.operators)):
        for r in ranges:
            yield names[key], r.name, process(r.pid), str(r.tid) if string_pids else r.tid, r.begin, r.end, {}


def complete(parts, chance, finer):
    events = []
    for cat, name, pid, tid, begin, end, args in parts:
        ts, dur = finer_times(begin, end) if finer else (microseconds(begin), microseconds(end - begin))
        events.append({"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args})
    if chance:
        chance.shuffle(events)
    return events


def begins_and_ends(parts):
    """A thread's B and E in the order of time; at one instant what ends goes first, but what takes no time, whose E is behind its B."""
    marks = []
    for number, (cat, name, pid, tid, begin, end, args) in enumerate(parts):
        opened = {"ph": "B", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": microseconds(begin), "args": args}
        closed = {"ph": "E", "pid": pid, "tid": tid, "ts": microseconds(end)}
        if begin == end:
            marks.append(((begin, 1, 0, number), (opened, closed)))
        else:
            marks += [((begin, 2, -end, number), (opened,)), ((end, 0, -begin, number), (closed,))]
    return [event for _, events in sorted(marks, key=lambda mark: mark[0]) for event in events]


def in_blocks(events, chance):
    """Torn into blocks, some within a begin and its end, but for those that take no time; they lie in any order, in front of them an end of nothing."""
    places = [i for i in range(1, len(events)) if events[i - 1]["ts"] != events[i]["ts"]]
    cuts = [0, *sorted(chance.sample(places, 9)), len(events)]
    blocks = [events[begin:end] for begin, end in zip(cuts, cuts[1:])]
    chance.shuffle(blocks)
    return [chance.choice(events) | {"ph": "E", "ts": microseconds(2 ** 61)}, *(event for block in blocks for event in block)]


def write_kineto(path, what, style="new", phases="X", string_pids=False, ranks=False, base=False, packed=False, shuffle=None, finer=False):
    """base: times are counted from baseTimeNanoseconds; else they are whole. finer: with decimals behind the third."""
    names, head = CATEGORIES[style], {"schemaVersion": 1, "deviceProperties": [{"id": n, "name": "GPU"} for n in sorted({w.device for w in what.work})]}
    if base:
        head |= {"displayTimeUnit": "ms", "baseTimeNanoseconds": 1_700_000_000_000_000_000}
    parts, chance = spans(what, names, string_pids, ranks), random.Random(shuffle) if shuffle is not None else None
    events = begins_and_ends(parts) if phases == "BE" else complete(parts, chance, finer)
    if phases == "BE" and chance:
        events = in_blocks(events, chance)
    text = plain(json.dumps({**head, "traceEvents": events, "traceName": "made.json"}, indent=1)).encode()
    path.write_bytes(gzip.compress(text) if packed else text)
    return path


# ---- as Nsight Systems -------------------------------------------------------------------------------------------------------

COMMON = "start INTEGER NOT NULL, end INTEGER NOT NULL, "
DEVICE = COMMON + "deviceId INTEGER NOT NULL, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, graphNodeId INTEGER"
TABLES = {"StringIds": "id INTEGER PRIMARY KEY, value TEXT NOT NULL",
          "META_DATA_EXPORT": "name TEXT, value TEXT",
          "TARGET_INFO_GPU": "vmId INTEGER, id INTEGER, name TEXT, busLocation TEXT, uuid TEXT, totalMemory INTEGER",
          "TARGET_INFO_CUDA_DEVICE": "gpuId INTEGER NOT NULL, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL, uuid TEXT",
          "CUPTI_ACTIVITY_KIND_KERNEL": DEVICE + ", demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER",
          "CUPTI_ACTIVITY_KIND_MEMCPY": DEVICE + ", bytes INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER",
          "CUPTI_ACTIVITY_KIND_MEMSET": DEVICE + ", bytes INTEGER, value INTEGER, memKind INTEGER",
          "CUPTI_ACTIVITY_KIND_RUNTIME": COMMON + "eventClass INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER, returnValue INTEGER, callchainId INTEGER",
          "NVTX_EVENTS": "start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER"}
PUSHED = 59  # NvtxPushPopRange


def process_of(pid):
    return 0x1000000 << 32 | pid << 24


def write_nsys(path, what):
    texts = {}

    def text(value):
        return texts.setdefault(value, len(texts) + 1)

    with sqlite3.connect(path) as base:
        for table, columns in TABLES.items():
            base.execute(f"CREATE TABLE {table} ({columns})")

        def add(table, *row):
            base.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)

        for device in sorted({w.device for w in what.work}):
            add("TARGET_INFO_GPU", 0, device, "GPU", f"0000:{device:02x}:00.0", f"00000000-0000-0000-0000-{device + 1:012x}", 1 << 34)
        for pid, device in sorted({(w.pid, w.device) for w in what.work}):
            add("TARGET_INFO_CUDA_DEVICE", device, device, pid, None)
        for w in what.work:
            row = w.begin, w.end, w.device, 1, w.stream, w.correlation, process_of(w.pid), w.graph_node or None
            if w.kind == "copy":
                add("CUPTI_ACTIVITY_KIND_MEMCPY", *row, 4096, COPIES[w.name], 1, 2)
            elif w.kind == "memset":
                add("CUPTI_ACTIVITY_KIND_MEMSET", *row, 4096, 0, 2)
            else:
                add("CUPTI_ACTIVITY_KIND_KERNEL", *row, text(w.name), text(w.name.split("(")[0]), None)
        for c in what.calls:
            add("CUPTI_ACTIVITY_KIND_RUNTIME", c.begin, c.end, 0, process_of(c.pid) | c.tid, c.correlation, text(c.name + "_v3020"), 0, None)
        for r in what.ranges:
            add("NVTX_EVENTS", r.begin, r.end, PUSHED, r.name, process_of(r.pid) | r.tid, None, None, 0)
        for value, number in texts.items():
            add("StringIds", number, value)
    base.close()
    return path
