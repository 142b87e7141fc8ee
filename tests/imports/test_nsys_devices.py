# SPDX-License-Identifier: BSD-2-Clause
"""Several of Nsight's files: GPUs are one only where the files say so, and their times can be compared."""

import sqlite3

import pytest

import import_reference
import imported
from made_trace import Call, made, write_nsys

GPU = "110bc05b-778a-a2aa-f210-230b5a8ea93"


def started(db, epoch):
    db.executescript(f"""
        CREATE TABLE IF NOT EXISTS TARGET_INFO_SYSTEM_ENV (name TEXT, value TEXT); INSERT INTO TARGET_INFO_SYSTEM_ENV (name, value) VALUES ('Hostname', 'h1');
        CREATE TABLE IF NOT EXISTS TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER); DELETE FROM TARGET_INFO_SESSION_START_TIME;
        INSERT INTO TARGET_INFO_SESSION_START_TIME (utcEpochNs) VALUES ({epoch});""")


def rank(path, number, epoch, gpus, mapped):
    """One process with one device, its number 0; Nsight was started by itself for each."""
    what = made(number, devices=1)
    write_nsys(path, what)
    pid = what.work[0].pid
    with sqlite3.connect(path) as db:
        db.executescript("DELETE FROM TARGET_INFO_CUDA_DEVICE; DELETE FROM TARGET_INFO_GPU")
        started(db, epoch)
        for gpu in range(gpus):
            db.execute("INSERT INTO TARGET_INFO_GPU (id, name, totalMemory, uuid) VALUES (?, 'H100', 80, ?)", (gpu, f"{GPU}{gpu}"))
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
    said = imported.report(gpushim, *paths)["devices"]
    assert (len(said), {device["uuid"] for device in said}) == (devices, uuids)
    alone = [imported.report(gpushim, path)["devices"][0] for path in paths]
    assert sum(device["operations"] for device in said) == sum(device["operations"] for device in alone)
    if devices == 2:
        assert sorted(imported.figures(device)[2:6] for device in said) == sorted(imported.figures(device)[2:6] for device in alone)


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
