# SPDX-License-Identifier: BSD-2-Clause
"""Several of Nsight's files, and several processes of one: GPUs are one only where the files say so, and their times can be compared; so is their
memory."""

import sqlite3

import pytest

import import_reference
import imported
from made_trace import Call, made, process_of, write_nsys

GPU = "110bc05b-778a-a2aa-f210-230b5a8ea93"
GIB = 1 << 30


def started(db, epoch):
    db.executescript(f"""
        CREATE TABLE IF NOT EXISTS TARGET_INFO_SYSTEM_ENV (name TEXT, value TEXT); INSERT INTO TARGET_INFO_SYSTEM_ENV (name, value) VALUES ('Hostname', 'h1');
        CREATE TABLE IF NOT EXISTS TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER); DELETE FROM TARGET_INFO_SESSION_START_TIME;
        INSERT INTO TARGET_INFO_SESSION_START_TIME (utcEpochNs) VALUES ({epoch});""")


def allocates(db, pid, size, correlation):
    """On its device 0, as its first call."""
    db.execute("CREATE TABLE IF NOT EXISTS CUDA_GPU_MEMORY_USAGE_EVENTS (globalPid, deviceId, contextId, correlationId, address, bytes)")
    db.execute("INSERT OR IGNORE INTO StringIds VALUES (900, 'cuMemAlloc_v2')")
    db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT MIN(start) - 1000, MIN(start) - 500, 0, ?, ?, 900, 0, NULL FROM CUPTI_ACTIVITY_KIND_RUNTIME",
               (process_of(pid) | pid + 100, correlation))
    db.execute("INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (?, 0, 1, ?, ?, ?)", (process_of(pid), correlation, 1 << 40, size))


def peaks(said):
    return sorted(entry[f"peak_{what}_bytes"] // GIB for entry in said["memory"] for what in ("allocated", "reserved"))


def rank(path, number, epoch, gpus, mapped):
    """One process with one device, its number 0; Nsight was started by itself for each. It takes so many GiB and one, as by `number`."""
    what = made(number, devices=1)
    write_nsys(path, what)
    pid = what.work[0].pid
    with sqlite3.connect(path) as db:
        db.executescript("DELETE FROM TARGET_INFO_CUDA_DEVICE; DELETE FROM TARGET_INFO_GPU")
        started(db, epoch)
        for gpu in range(gpus):
            db.execute("INSERT INTO TARGET_INFO_GPU (id, name, totalMemory, uuid) VALUES (?, 'H100', 80, ?)", (gpu, f"{GPU}{gpu}"))
        allocates(db, pid, (number + 1) * GIB, 800_000)
        if mapped is not None:
            db.execute("INSERT INTO TARGET_INFO_CUDA_DEVICE (gpuId, cudaId, pid) VALUES (?, 0, ?)", (mapped, pid))
    db.close()
    return path


@pytest.mark.parametrize("epochs, gpus, mapped, devices, uuids", [
    ((10**18, 10**18), 2, (1, 1), 1, {f"GPU-{GPU}1"}),          # one GPU, one clock
    ((10**18, 10**18 + 10**9), 2, (1, 1), 2, {f"GPU-{GPU}1"}),  # one GPU, but each file's times are its own
    ((10**18, 10**18), 2, (0, 1), 2, {f"GPU-{GPU}0", f"GPU-{GPU}1"}),
    ((10**18, 10**18), 2, (None, None), 2, {""}),               # each saw one of two: nobody knows which
    ((10**18, 10**18), 1, (None, None), 1, {f"GPU-{GPU}0"}),
])
def test_two_processes(gpushim, tmp_path, epochs, gpus, mapped, devices, uuids):
    paths = [rank(tmp_path / f"{number}.sqlite", number, epochs[number], gpus, mapped[number]) for number in range(2)]
    whole = imported.report(gpushim, *paths)
    said = whole["devices"]
    assert (len(said), {device["uuid"] for device in said}) == (devices, uuids)
    assert peaks(whole) == ([3, 3] if devices == 1 else [1, 1, 2, 2])
    alone = [imported.report(gpushim, path)["devices"][0] for path in paths]
    assert sum(device["operations"] for device in said) == sum(device["operations"] for device in alone)
    if devices == 2:
        assert sorted(imported.figures(device)[2:6] for device in said) == sorted(imported.figures(device)[2:6] for device in alone)


@pytest.mark.parametrize("gpus, memory", ((1, [3, 3]), (2, [1, 1, 2, 2])))  # of two nobody says which is whose
def test_memory_of_two_processes_in_one_file(gpushim, tmp_path, gpus, memory):
    path, what = tmp_path / "two.sqlite", made(1, processes=2)
    write_nsys(path, what)
    with sqlite3.connect(path) as db:
        db.executescript("DELETE FROM TARGET_INFO_CUDA_DEVICE; DELETE FROM TARGET_INFO_GPU")
        for gpu in range(gpus):
            db.execute("INSERT INTO TARGET_INFO_GPU (id, name, totalMemory, uuid) VALUES (?, 'H100', 80, ?)", (gpu, f"{GPU}{gpu}"))
        for number in range(2):
            allocates(db, 4000 + number, (number + 1) * GIB, 800_000 + number)
    db.close()
    said = imported.report(gpushim, path)
    assert len(said["devices"]) == gpus and peaks(said) == memory


@pytest.mark.parametrize("later_ns", (0, 5 * 10**9))  # of the second process's last call: it may still be there in the second file's time
def test_one_file_has_one_device_whatever_stands_beside_it(gpushim, tmp_path, later_ns):
    """Two processes share a GPU; the first one has another file, a second later."""
    paths, first = [tmp_path / "a.sqlite", tmp_path / "b.sqlite"], made(1, processes=2)
    last = max(first.calls, key=lambda call: (call.pid, call.end))
    first.calls.append(Call(last.pid, last.tid, "cudaGetDevice", last.end + later_ns, last.end + later_ns + 1000, 99_999))
    for path, what, epoch in zip(paths, (first, made(2)), (10**18, 10**18 + 10**9)):
        write_nsys(path, what)
        with sqlite3.connect(path) as db:
            started(db, epoch)
        db.close()
    said = imported.report(gpushim, *paths)["devices"]
    true = [import_reference.read(path).devices[0] for path in paths]
    assert [(device["operations"], device["idle_ns"]) for device in said] == [(device.operations, device.idle) for device in true]
    assert [device["idle_ns"] for device in said] == [252_949, 489_345]
    assert [imported.figures(device)[2:6] for device in said] == [imported.figures(imported.report(gpushim, path)["devices"][0])[2:6] for path in paths]
