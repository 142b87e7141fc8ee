# SPDX-License-Identifier: BSD-2-Clause
"""What the report says to do about a fault of the host's, with the figures that are the same in every run."""

from faults import BATCH, DISK_RATE

STATE = 4 << 20  # a checkpoint's bytes


def file(figures, name):
    assert figures["path"].rsplit("/", 1)[1] == name, figures


def reads(figures, steps):
    """Those that waited; what they asked for, and how fast it came: slower than the disk is throttled to."""
    file(figures, "train-000.tar")
    assert 0 < figures["reads"] <= steps + 2 and figures["read_bytes"] == figures["reads"] * BATCH, figures
    assert abs(figures["bytes_per_s"] - figures["read_bytes"] * 1e9 / figures["read_ns"]) <= 1, figures


def faults(figures, _):
    """What the disk read for them, with all that it read ahead: as fast as it is throttled to."""
    file(figures, "train-000.tar")
    assert figures["reads"] and 0.6 * DISK_RATE < figures["bytes_per_s"] < 1.5 * DISK_RATE, figures


def some(figures, _):
    file(figures, "train-000.tar")
    assert figures["reads"] and figures["read_bytes"], figures


def works(number):
    def check(figures, _):
        assert figures["workers"] == number and figures["needed"] > number and figures["work_ns"] >= figures["on_cpu_ns"] > 0, figures
    return check


def saved(figures, steps):
    file(figures, "checkpoint.pt")
    assert steps - 3 <= figures["stalls"] <= steps and figures["bytes"] == figures["stalls"] * STATE, figures
    assert figures["longest_ns"] >= figures["mean_ns"] > 0, figures


def held(figures, _):
    assert figures["holder"], figures


def gaps(figures, steps):
    assert 0 < figures["gaps"] and figures["longest_ns"] <= figures["lost_ns"], figures


ADVICE = {"read": ("storage", reads), "direct": ("storage", reads), "mmap": ("storage", faults), "overlay": ("storage", reads),
          "worker-read": ("storage", reads), "python-read": ("storage", some), "fuse": ("network-input", gaps), "socket": ("network-input", gaps),
          "decode": ("more-workers", works(1)), "checkpoint": ("async-checkpoint", saved), "lock": ("lock-holder", held), "gil": ("lock-holder", held),
          "contention": ("more-cpus", gaps), "quota": ("cpu-limit", gaps), "sleep": ("no-sleep", gaps), "memory": ("more-memory", gaps)}


def check(name, report, steps):
    """The fault's own advice is there, and right."""
    if name not in ADVICE:
        return
    id, right = ADVICE[name]
    said = {advice["id"]: advice for advice in report["advice"]}
    assert id in said, (id, [(advice["id"], advice["ceiling"]) for advice in report["advice"]])
    right(said[id]["figures"], steps)
    (device,) = report["devices"]
    assert said[id]["lost_ns"] <= device["idle_ns"]
