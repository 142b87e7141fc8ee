# SPDX-License-Identifier: BSD-2-Clause
"""SIGKILL at a random moment: whatever the program was told had returned is in the trace, which is a good trace.

GPUSHIM_TEST_KILLS sets how many moments (200)."""

import json
import os
import random
import struct
import subprocess
import time

from recording import hooked_names

KILLS = int(os.environ.get("GPUSHIM_TEST_KILLS", "200"))
THREADS = 2
AT_ONCE = 2  # clients that run side by side
LATEST_MS = 250  # after the first call


def start(recorder, folder, seed, env=None):
    counter = folder / "counter"
    command = recorder.command("client_dlopen", "--seed", seed, "--threads", THREADS, "--endless", "--counter", counter)
    return recorder.start(command, folder, env={"GPUSHIM_OUT": folder / "out", **(env or {})}), counter


def wait_for_first_call(child, counter):
    for _ in range(5000):
        if counter.exists() and any(counter.read_bytes()):
            return
        assert child.poll() is None, f"the client ended by itself: {child.returncode}"
        time.sleep(0.001)
    raise AssertionError("the client makes no call")


def check(recorder, names, folder, counter):
    counts = dict(zip(names, struct.unpack(f"{len(names)}Q", counter.read_bytes())))
    done = recorder.gpushim("report", folder / "out", "--json")
    assert done.returncode == 0, f"{folder}: exit status {done.returncode}: {done.stderr}"
    report = json.loads(done.stdout)
    assert report["losses"]["records_dropped"] == 0, folder
    hooked = hooked_names()
    for name, returned in counts.items():
        if name not in hooked:
            continue
        recorded = report["calls"].get(name, 0)
        # More than returned: each thread may have been killed after its record and before its count.
        assert returned <= recorded <= returned + THREADS, f"{folder}: {name}: {returned} had returned, {recorded} are recorded"


def client_names(recorder):
    """The calls that its counter counts, in their order."""
    return subprocess.run(recorder.command("client_dlopen", "--names"), env=recorder.environment(shim=False), capture_output=True,
                          text=True, check=True).stdout.split()


def test_kill(recorder):
    names = client_names(recorder)
    rng = random.Random(1)
    for first in range(0, KILLS, AT_ONCE):
        running = []
        for seed in range(first, min(first + AT_ONCE, KILLS)):
            folder = recorder.new_folder()
            running.append((folder, *start(recorder, folder, seed)))
        try:
            for _, child, counter in running:
                wait_for_first_call(child, counter)
            time.sleep(rng.uniform(0, LATEST_MS) / 1000)
        finally:
            for _, child, _ in running:
                child.kill()
                child.wait()
        for folder, _, counter in running:
            check(recorder, names, folder, counter)
            (folder / "out").rename(folder / "checked")
            for trace in (folder / "checked").iterdir():
                trace.unlink()  # 200 of them would fill a small disk
