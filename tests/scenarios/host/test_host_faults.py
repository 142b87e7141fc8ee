# SPDX-License-Identifier: BSD-2-Clause
"""Programs that leave a device idle for a known cause: the report gives the time to it (score.py), names the file and the place in it, and
calls it observed or inferred as it is. Short runs of what lab.py does at length; a run on a busy machine may be repeated."""

import os

import lab
import pytest
import score
from faults import FAULTS
from machine import once_in
from rig import Missing

STEPS = 12
TRIES = 3
CAUSED = [name for name in FAULTS if name != "control"]
# Without privileges: one of each kind. What they need of the machine is root's all the same.
INFERRED = ("read", "mmap", "socket", "decode", "checkpoint", "lock", "sleep")


def run(build, disk, name, how, user=None):
    """(score, report, spans) of a run in a folder of its own; of the last of a few, where others have the CPUs so much that it tells nothing."""
    for _ in range(TRIES):
        folder = disk / f"{name}-{how}-{len(list(disk.iterdir()))}"
        try:
            result, report, spans = lab.run_fault(build, name, folder, how, user, STEPS)
        except Missing as why:
            pytest.skip(str(why))
        if not score.machine_is_too_busy(result, score.cause_of(spans)):
            return result, report, spans
    pytest.skip(f"the machine is too busy: {result.queued / 1e6:.0f} ms without a CPU, {result.true / 1e6:.0f} ms of the fault")


@pytest.mark.parametrize("name", CAUSED)
def test_observed(build, disk, needs, name):
    needs("ebpf")

    def check():
        result, _, _ = run(build, disk, name, "ebpf")
        assert result.true > 0, "the fault did not happen"
        assert list(lab.complaints(name, result, "ebpf")) == [], lab.row(name, result)
        if name not in ("contention", "quota"):  # there the device waits for a thread that computes
            assert result.share("wrong") <= 1 - lab.EACH, lab.row(name, result)
    once_in(TRIES, check)


def test_control(build, disk, needs):
    """Everything warm: next to nothing of the causes that others could make."""
    needs("ebpf")

    def check():
        _, report, spans = run(build, disk, "control", "ebpf")
        share, claimed = score.control_share(spans, report)
        assert share <= lab.CONTROL, claimed
        assert report["devices"][0]["causes"]["host-compute"] > 0.5 * report["devices"][0]["idle_ns"]
    once_in(TRIES, check)


# Looks at /proc miss how a wait begins: until the first of them it is what it was taken for without probes.
@pytest.mark.parametrize("how, most_wrong", [("perf", lab.INFERRED_WRONG), ("proc", 2.5 * lab.INFERRED_WRONG)], ids=["perf", "proc"])
def test_inferred(build, disk, needs, how, most_wrong):
    """As a user with no rights at all."""
    needs(how)
    if os.geteuid() != 0:
        pytest.skip("needs root, to make what goes wrong")

    def check():
        results = {name: run(build, disk, name, how, "nobody")[0] for name in INFERRED}
        table = "\n".join(lab.row(name, result) for name, result in results.items())
        assert list(lab.overall(results, how, most_wrong)) == [], table
        for name, result in results.items():
            assert list(lab.complaints(name, result, how)) == [], table
    once_in(TRIES, check)
