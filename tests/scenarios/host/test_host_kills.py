# SPDX-License-Identifier: BSD-2-Clause
"""Whoever is killed, the collector, the program, or both, and whenever: both traces are readable, and what was recorded until then is in
them."""

import json
import random
import select
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conservation import Unsound
from faults import Plan
from machine import once_in
from records import Trace
from running import Running

KILLS = 20
TRIES = 3  # of what a busy machine may spoil: how late the last records are
MS = 1_000_000
LATEST = 0.3  # seconds
FLUSHED = 150 * MS  # of what the probes saw before that, all is in the file; 20 ms where nobody else wants the CPU
BEHIND = 2  # steps the recorder may be behind with: the last one's kernel may not be done


def readable(build, out):
    """-> the report; the program's trace and the probes'. No busy machine explains one that is not."""
    reports = []
    for command in (["info", out], ["report", out, "--json"]):
        done = subprocess.run([str(build / "gpushim"), *map(str, command)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        if done.returncode != 0:
            raise Unsound(f"{command[0]}: exit status {done.returncode}: {done.stderr}")
        reports.append(done.stdout)
    return json.loads(reports[1])


def follows(running, seconds):
    """When, in ns, the collector said that it does; None if not within so long."""
    if select.select([running.collector.stderr], [], [], seconds)[0] and " following " in running.collector.stderr.readline():
        return time.monotonic_ns()
    return None


def kill(running, whom, seed):
    """At any moment after the collector's start, or, every second time, after it began to follow. -> (when; since when it followed, or None)"""
    wait = random.Random(seed).uniform(0, LATEST)
    running.attach()
    since = follows(running, 30 if seed % 2 else 0)
    time.sleep(wait)
    since = since or follows(running, 0)
    at = time.monotonic_ns()
    for name in whom:
        getattr(running, name).send_signal(signal.SIGKILL)
    for name in whom:
        getattr(running, name).wait(timeout=30)
    return at, since


def host_records(out):
    """Of the probes' file, read by the layouts alone (tests/probes/records.py). None: there is none."""
    files = list(Path(out).glob("*.host.gst"))
    return Trace(files[0]) if files else None


def check_host_records(out, since, killed):
    """What the tree did from the moment on that it was followed: each step waits, several times, and of the last ones all are there."""
    trace = host_records(out)
    assert trace, "it followed, and there is no file"
    into = [wait.into for wait in trace.waits if since <= wait.into <= killed]
    steps = (killed - since) / (20 * MS)  # on a busy machine; three processes wait in each
    assert len(into) >= steps, f"{len(into)} waits in {(killed - since) / MS:.0f} ms"
    assert killed - max(into) < FLUSHED, f"the last is {(killed - max(into)) / MS:.0f} ms before the kill"


def killed_once(build, folder, seed, whom):
    """-> whether the probes' records could be checked."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    running = Running(build, folder, Plan(["loader_linked", "workers=2", "depth=2", "batches=2000", "ms=3"]))
    out = folder / "gpushim-out"
    try:
        running.until_step(2)
        killed, since = kill(running, whom, seed)
        if "collector" not in whom:
            said = running.collector.communicate(timeout=30)[1]  # nobody is left to follow, or was when it had begun
            assert running.collector.returncode == 0 or "has ended" in said, said
        if whom == ("collector",) and seed % 5 == 0:
            readable(build, out)  # also while the program runs
    finally:
        running.end()
    operations = readable(build, out)["devices"][0]["operations"]
    assert operations >= running.all_steps() - BEHIND
    followed = since is not None and killed - since > 2 * FLUSHED // 3
    if followed:
        check_host_records(out, since, killed)
    return followed


@pytest.mark.parametrize("whom", [("collector",), ("program",), ("collector", "program"), ("program", "collector")], ids="-".join)
def test_killed_at_any_moment(build, disk, needs, whom):
    needs("ebpf")
    checked = 0
    kills = KILLS if len(whom) == 1 else KILLS // 2
    for seed in range(kills):
        checked += once_in(TRIES, lambda: killed_once(build, disk / "kill", seed, whom))
    assert checked >= kills // 5, "hardly ever had it followed for long"
