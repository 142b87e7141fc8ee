# SPDX-License-Identifier: BSD-2-Clause
"""Several of Nsight's files: GPUs are one only where the files say so, and their times can be compared."""

import sqlite3

import pytest

import imported
from made_trace import made, write_nsys

GPU = "110bc05b-778a-a2aa-f210-230b5a8ea93"


def rank(path, number, epoch, gpus, mapped):
    """One process with one device, its number 0; Nsight was started by itself for each."""
    what = made(number, devices=1)
    write_nsys(path, what)
    pid = what.work[0].pid
    with sqlite3.connect(path) as db:
        db.executescript(f"""
            DELETE FROM TARGET_INFO_CUDA_DEVICE; DELETE FROM TARGET_INFO_GPU;
            CREATE TABLE IF NOT EXISTS TARGET_INFO_SYSTEM_ENV (name TEXT, value TEXT); INSERT INTO TARGET_INFO_SYSTEM_ENV (name, value) VALUES ('Hostname', 'h1');
            CREATE TABLE IF NOT EXISTS TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER); DELETE FROM TARGET_INFO_SESSION_START_TIME;
            INSERT INTO TARGET_INFO_SESSION_START_TIME (utcEpochNs) VALUES ({epoch});""")
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
