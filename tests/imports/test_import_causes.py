# SPDX-License-Identifier: BSD-2-Clause
"""Why the device was idle, by other tools' traces: written here event by event, so that every nanosecond of the truth is known."""

import json
import sqlite3
import subprocess

import pytest

STEPS = 8


class Made:
    """A process with one thread that trains, and a device; times in us."""

    def __init__(self):
        self.events, self.free, self.number = [], 0, 0

    def add(self, category, name, begin, length, **args):
        pid, tid = (0, 7) if category in ("kernel", "gpu_memcpy") else (100, 100)
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": begin, "dur": length, "args": args})

    def launch(self, at, kernel, call=5, latency=3):
        """A kernel that runs as soon as it was launched, and the device is free."""
        self.number += 1
        begin = max(self.free, at + call + latency)
        self.add("cuda_runtime", "cudaLaunchKernel", at, call, correlation=self.number)
        self.add("kernel", "gemm", begin, kernel, correlation=self.number, device=0, stream=7, context=1)
        self.free = begin + kernel
        return at + call

    def report(self, gpushim, path):
        path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": self.events}))
        done = subprocess.run([gpushim, "report", "--json", path], capture_output=True, text=True, check=True)
        (device,) = json.loads(done.stdout)["devices"]
        assert sum(device["causes"].values()) == device["idle_ns"]
        return device, {id: ns / max(1, device["idle_ns"]) for id, ns in device["causes"].items()}


def evidence(device, cause):
    return [text for gap in device["gaps"] for part in gap["causes"] if part["id"] == cause for text in part["evidence"]]


def trained(load, loader, category="user_annotation"):
    """Steps of 40 kernels of 1 ms, each launched 20 us after the one before; a batch takes that long to load, before the first of them."""
    made, at = Made(), 1000
    for _ in range(STEPS):
        begin = at
        made.add(category, f"enumerate(DataLoader)#{loader}.__next__", at, load)
        made.add("cpu_op", "aten::stack", at + load // 2, load // 4)
        at += load + 40
        for _ in range(40):
            made.add("cpu_op", "aten::addmm", at - 5, 15)
            at = made.launch(at, 1000) + 15
        made.add("user_annotation", "ProfilerStep#1", begin - 20, at - begin)
    return made


@pytest.mark.parametrize("category", ["user_annotation", "Operator"])
def test_starved(category, gpushim, tmp_path):
    """The thread loads its batches itself, each in twice the time that the device takes for one."""
    device, share = trained(80000, "_SingleProcessDataLoaderIter", category).report(gpushim, tmp_path / "a.json")
    assert share["input-preprocess"] > 0.95 and share["input-wait"] == 0
    assert any("_SingleProcessDataLoaderIter.__next__ took 80.0 ms (byte " in text for text in evidence(device, "input-preprocess"))


def test_starved_by_workers(gpushim, tmp_path):
    _, share = trained(80000, "_MultiProcessingDataLoaderIter").report(gpushim, tmp_path / "a.json")
    assert share["input-wait"] > 0.95 and share["input-preprocess"] == 0


def test_well_fed(gpushim, tmp_path):
    """A batch is there in 1 ms, and the device has work for 39 ms more: nothing is lost."""
    device, share = trained(1000, "_MultiProcessingDataLoaderIter").report(gpushim, tmp_path / "a.json")
    assert share["input-wait"] == share["input-preprocess"] == 0
    assert device["idle_ns"] < device["span_ns"] / 100


def eager(between, inner=()):
    """Kernels of 4 us, launched that long apart, within operators."""
    made, at = Made(), 1000
    for _ in range(200):
        made.add("cpu_op", "aten::linear", at - between * 3 // 4, between * 3 // 4 + 10)
        for name, length in inner:
            made.add("cpu_op", name, at - length - 1, length)
        at = made.launch(at, 4) + between
    return made


def test_eager(gpushim, tmp_path):
    """A framework takes 60 us from launch to launch, through operators of a few each."""
    device, share = eager(60, [("aten::addmm", 20)]).report(gpushim, tmp_path / "a.json")
    assert share["launch-bound"] > 0.9
    assert any("aten::" in text for text in evidence(device, "launch-bound"))


def test_host_code(gpushim, tmp_path):
    """One operator computes for 2 ms before each launch."""
    device, share = eager(3000, [("aten::nonzero", 2000)]).report(gpushim, tmp_path / "a.json")
    assert share["host-compute"] == pytest.approx(0.75, abs=0.02) and share["unexplained"] == pytest.approx(0.25, abs=0.02)  # nobody says what was before aten::linear
    assert any(text.startswith("aten::nonzero took 2.0 ms (byte ") and "within aten::linear" in text for text in evidence(device, "host-compute"))


def test_nothing_on_record(gpushim, tmp_path):
    """3 ms between two launches of which nobody says anything."""
    made, at = Made(), 1000
    for _ in range(100):
        at = made.launch(at, 4) + 3000
    _, share = made.report(gpushim, tmp_path / "a.json")
    assert share["unexplained"] > 0.95


@pytest.mark.parametrize("name, cause", [("Buffer Flush", "profiler"), ("Lazy Function Loading", "module-load")])
def test_overhead(name, cause, gpushim, tmp_path):
    """What the profiler says that it did in the thread is its own; what the driver did is not."""
    made, at = Made(), 1000
    for _ in range(50):
        made.add("cpu_op", "aten::linear", at, 900)
        made.add("overhead", name, at + 50, 800)
        at = made.launch(at + 950, 4)
    _, share = made.report(gpushim, tmp_path / "a.json")
    assert share[cause] == pytest.approx(49 * 800 / (49 * 959), abs=0.03)


def test_calls(gpushim, tmp_path):
    """What calls are about, they say by their names."""
    made, at = Made(), 1000
    for name in ["cudaMalloc", "cudaFree", "cudaHostAlloc", "cudaModuleLoadData"] * 10:
        made.add("cuda_runtime", name, at + 10, 500, correlation=10000 + at)
        at = made.launch(at + 530, 4) + 20
    _, share = made.report(gpushim, tmp_path / "a.json")
    assert share["allocator"] == pytest.approx(0.66, abs=0.03) and share["module-load"] == pytest.approx(0.22, abs=0.03)


@pytest.mark.parametrize("category, name, cause", [
    ("user_annotation", "save_checkpoint", "checkpoint"), ("python_function", "torch/serialization.py(850): save", "checkpoint"),
    ("cpu_op", "CheckpointFunction", "host-compute"), ("python_function", "torch/serialization.py(1300): load", "host-compute")])
def test_saving(category, name, cause, gpushim, tmp_path):
    """Every tenth launch comes after the state was saved, or what is called alike; copies out of the device within it are no less of it."""
    made, at = Made(), 1000
    for number in range(50):
        if number % 10 == 9:
            made.add(category, name, at + 5, 30000)
            made.add("cuda_runtime", "cudaMemcpyAsync", at + 1000, 5, correlation=30000 + number)
            at += 30010
        at = made.launch(at, 100) + 100
    _, share = made.report(gpushim, tmp_path / "a.json")
    assert share[cause] > 0.9 and share["checkpoint"] == pytest.approx(share[cause] if cause == "checkpoint" else 0)


def test_synchronised(gpushim, tmp_path):
    """Each step waits for its work and only then goes on."""
    made, at = Made(), 1000
    for _ in range(100):
        at = made.launch(at, 500) + 2
        made.add("cuda_runtime", "cudaStreamSynchronize", at, made.free + 30 - at, correlation=20000 + at)
        at = made.free + 35
    _, share = made.report(gpushim, tmp_path / "a.json")
    assert share["sync-bubble"] > 0.95


# ---- Nsight Systems ----

TABLES = {
    "StringIds": "id INTEGER PRIMARY KEY, value TEXT",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER, returnValue INTEGER",
    "CUPTI_ACTIVITY_KIND_KERNEL": "start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, "
                                  "demangledName INTEGER, shortName INTEGER",
    "OSRT_API": "start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER, returnValue INTEGER",
    "PROFILER_OVERHEAD": "start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER",
}
PID, TID = 100 << 24, 100 << 24 | 100


@pytest.mark.parametrize("table, name, cause", [
    ("OSRT_API", "read", "input-wait"), ("OSRT_API", "pread64", "input-storage"), ("OSRT_API", "usleep", "host-sleep"), ("OSRT_API", "fsync", "checkpoint"),
    ("OSRT_API", "write", "output-io"), ("OSRT_API", "pthread_cond_wait", "unexplained"), ("OSRT_API", "poll", "unexplained"),
    ("PROFILER_OVERHEAD", "CUDA profiling data flush overhead", "profiler")])
def test_calls_of_the_operating_system(table, name, cause, gpushim, tmp_path):
    """800 us of each ms the thread is in that call; the rest of the time nobody knows."""
    path = tmp_path / "a.sqlite"
    with sqlite3.connect(path) as db:
        for each, columns in TABLES.items():
            db.execute(f"CREATE TABLE {each} ({columns})")
        db.executemany("INSERT INTO StringIds VALUES (?, ?)", [(1, "cudaLaunchKernel_v7000"), (2, "gemm"), (3, name)])
        for i in range(100):
            at = 1000000 * (i + 1)
            db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 0, ?, ?, 1, 0)", (at, at + 5000, TID, i + 1))
            db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 1, 7, ?, ?, 2, 2)", (at + 8000, at + 10000, i + 1, PID))
            values = (at + 100000, at + 900000, TID, 3)
            db.execute("INSERT INTO OSRT_API VALUES (?, ?, 0, ?, 0, ?, 0)" if table == "OSRT_API" else "INSERT INTO PROFILER_OVERHEAD VALUES (?, ?, ?, 0, ?)", values)
    db.close()
    done = subprocess.run([gpushim, "report", "--json", path], capture_output=True, text=True, check=True)
    (device,) = json.loads(done.stdout)["devices"]
    assert device["idle_ns"] == 99 * 998000
    assert device["causes"][cause] >= 99 * 800000 and (cause == "unexplained" or device["causes"][cause] == 99 * 800000)
    assert any(text.startswith(f"{name} took 800.0 us (row ") and text.endswith(f"of {table})") for text in evidence(device, cause))
