# SPDX-License-Identifier: BSD-2-Clause
"""Programs that leave a device idle for a known cause: the report gives the time to it (score.py), names the file and the place in it, and
calls it observed or inferred as it is. Short runs of what lab.py does at length, of every fault, held to the same; a run that was disturbed is
repeated."""

import os
import re

import advised
import lab
import pytest
import run_queue
import score
from faults import FAULTS
from machine import once_in
from rig import Missing
from running import skipped_where

STEPS = 12
TRIES = 3
CAUSED = [name for name in FAULTS if name != "control"]


class Busy(Exception):
    """Others had the CPUs, in every run."""


def run(build, disk, name, how, user=None):
    """(score, report, spans, folder) of a run in a folder of its own."""
    def once():
        folder = disk / f"{name}-{how}-{len(list(disk.iterdir()))}"
        return *lab.run_fault(build, name, folder, how, user, STEPS), folder
    got = lab.settled(once)
    if not got:
        raise Busy(f"{name}: others had the CPUs in {lab.TRIES} runs")
    return got


or_skipped = skipped_where(Missing, Busy)
OBSERVED = {}  # by fault, of this module's tests so far


def observe(build, disk, name):
    def check():
        result, report, *_ = run(build, disk, name, "ebpf")
        OBSERVED[name] = result
        assert result.own > 0, "the fault did not happen"
        assert list(lab.complaints(name, result, "ebpf")) == [], lab.row(name, result)
        advised.check(name, report, STEPS)
    once_in(TRIES, check)


@pytest.mark.parametrize("name", CAUSED)
@or_skipped
def test_observed(build, disk, needs, name):
    needs("ebpf")
    observe(build, disk, name)


def test_observed_overall(build, disk, needs):
    """Of all that this machine can have."""
    needs("ebpf")
    for name in CAUSED:
        try:
            if name not in OBSERVED:
                observe(build, disk, name)
        except (Missing, Busy):
            pass
    table = "\n".join(lab.row(name, result) for name, result in OBSERVED.items())
    if not OBSERVED:
        pytest.skip("no fault could be had here")
    assert list(lab.overall(OBSERVED, "ebpf")) == [], table


@or_skipped
def test_control(build, disk, needs):
    """Everything warm: next to nothing of the causes that others could make."""
    needs("ebpf")

    def check():
        _, report, spans, folder = run(build, disk, "control", "ebpf")
        share, claimed = score.control_share(spans, report, run_queue.read(folder / "waits.json"))
        assert share <= lab.CONTROL, claimed
        assert report["devices"][0]["causes"]["host-compute"] > 0.5 * report["devices"][0]["idle_ns"]
    once_in(TRIES, check)


def test_the_story_of_the_longest_gap(build, disk, needs, monkeypatch, capfd):
    """What `make demo` shows as root: main, its thread, the worker's feeder, the worker, the file and the place in it, the disk."""
    needs("ebpf")
    monkeypatch.setenv("BUILD", str(build))

    def check():
        status = lab.main(["--steps", "8", "--show", "--folder", str(disk), "python-read"])
        told = re.sub(r"\s+", " ", capfd.readouterr().out)
        if "left out" in told:
            pytest.skip(told)
        assert status == 0 and "1 of 1 as they have to be" in told
        story = r"input-storage, observed python3\[(\d+)\] of process \1: futex, woken by python3\[(\d+)\] python3\[\2\] of process \1: read pipe:" \
            r".*woken by python3\[(\d+)\] python3\[\3\] of process (\d+): futex, woken by python3\[\4\] python3\[\4\] of process \4: pread64 \S+" \
            r".* offset=(\d+) bytes=524288: python3\[\4\] in pread64"
        assert (found := re.search(story, told)), told
        assert int(found[5]) % 524288 == 0 and "throttled above the device" in told
    once_in(TRIES, check)


@or_skipped
def test_a_quota_without_probes(build, disk):
    """The recorder asks the control group itself: it is not said to be others' doing."""
    def check():
        result, report, spans, _ = run(build, disk, "quota", "none")
        causes = report["devices"][0]["causes"]
        without = sum(span.queued - span.throttled for span in spans if span.role == "main")  # by the kernel: others had the CPU, or it was late
        assert 0.75 * result.own <= causes["cpu-throttled"] <= 1.25 * result.own, (result.own, causes)  # where in a silence nobody saw
        assert causes["cpu-contention"] < max(0, without) + 0.1 * causes["cpu-throttled"], (without, causes)
    once_in(TRIES, check)


@pytest.mark.parametrize("how", sorted(lab.INFERRED_WRONG))
def test_inferred(build, disk, needs, how):
    """As a user with no rights at all: every fault, whose set-up is root's all the same."""
    needs(how)
    if os.geteuid() != 0:
        pytest.skip("needs root, to make what goes wrong")

    def check():
        results = {}
        for name in CAUSED:
            try:
                results[name] = run(build, disk, name, how, "nobody")[0]
            except (Missing, Busy):
                pass
        table = "\n".join(lab.row(name, result) for name, result in results.items())
        assert [complaint for name, result in results.items() for complaint in lab.complaints(name, result, how)] == [], table
        assert list(lab.overall(results, how)) == [], table
    once_in(2, check)
