# SPDX-License-Identifier: BSD-2-Clause
"""Where launches follow each other the report resolves no gap; it estimates how much of that time was idle, and for what."""

from collections import Counter


def causes(device, true_ns):
    """{cause: ns} of a device of a report. How much was idle is an estimate with an interval: where the truth lies in it, it is the causes'
    shares that count."""
    estimate, of = device.get("unresolved_idle_ns", 0), Counter(device.get("unresolved_causes", {}))
    if estimate and device["unresolved_idle_low_ns"] <= true_ns <= device["unresolved_idle_high_ns"]:
        of = Counter({cause: ns * true_ns // estimate for cause, ns in of.items()})
    return +of
