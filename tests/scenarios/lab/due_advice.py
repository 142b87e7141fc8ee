# SPDX-License-Identifier: BSD-2-Clause
"""Is each cause's advice given where the cause is, with the right time, and nowhere else?

Due is the advice of a cause that was true for 5 % of all devices' spans and more; what it says was lost is compared with the truth, and with what
is right of the loop's own causes between the faults."""

import statistics
from collections import Counter
from dataclasses import dataclass, field

import score

FOR = {"input-storage": ("storage",), "input-network": ("network-input",), "input-preprocess": ("more-workers", "load-beside"),
       "input-wait": ("more-workers",), "host-lock": ("lock-holder",), "host-sleep": ("no-sleep",), "host-compute": ("host-code",),
       "cpu-contention": ("more-cpus",), "cpu-throttled": ("cpu-limit",), "memory-stall": ("more-memory",), "output-io": ("less-output",),
       "checkpoint": ("async-checkpoint",), "allocator": ("allocations",), "module-load": ("warm-up",), "comm-host": ("keep-communicators",),
       "device-dependency": ("overlap-work",), "device-contention": ("own-device",), "device-latency": ("start-latency",),
       "launch-bound": ("cuda-graphs", "bigger-batches"), "sync-bubble": ("fewer-syncs",), "copy-h2d-pageable": ("pinned-memory",),
       "copy-h2d-pinned": ("overlap-copies",), "copy-d2h": ("copies-to-host",), "copy-d2d": ("device-copies",), "copy-peer": ("peer-copies",),
       "memset": ("clears",), "comm": ("overlap-communication",)}
DUE = 0.05
NEAR = 0.10


def estimated(report, advice):
    """What is but likely of its loss, on its device."""
    return sum(loss["likely_ns"] for loss in report["recoverable"] if loss["device"] == advice["device"] and loss["id"] == advice["cause"])


def of_run(result, report):
    """[[cause, true ns, {advice's id: ns that it says were lost}], …] of what is due."""
    true = Counter()
    for (cause, _), ns in result.matrix.items():
        true[cause] += ns
    made = []
    for cause, ns in sorted(true.items()):
        if cause == score.BETWEEN or ns < DUE * result.span:
            continue
        ns += result.matrix[score.BETWEEN, cause] * (cause in score.LOOP)
        said = Counter()
        for advice in report["advice"]:
            if advice["id"] in FOR[cause]:
                said[advice["id"]] += advice["lost_ns"] + estimated(report, advice)
        made.append([cause, ns, dict(said)])
    return made


def of_control(report, claimed):
    """[[id, share of its device's span], …] against one of the causes {cause: ns claimed though it was not so}: none should be. That its threads
    had no CPU is said of a control that had none."""
    spans = {device["device"]: device["span_ns"] for device in report["devices"]}
    return [[advice["id"], min(advice["lost_ns"], claimed[advice["cause"]]) / (spans[advice["device"]] or 1)]
            for advice in report["advice"] if claimed.get(advice["cause"])]


@dataclass
class Row:
    """Of one cause, in all runs."""
    due: int = 0
    said: int = 0
    shares: list = field(default_factory=list)  # lost as the advice says by the truth
    ids: set = field(default_factory=set)

    def add(self, true, said):
        self.due += 1
        self.said += bool(said)
        self.ids |= set(said)
        if said:
            self.shares.append(min((ns / true for ns in said.values()), key=lambda share: abs(share - 1)))

    def near(self):
        return sum(abs(share - 1) <= NEAR for share in self.shares)

    def median(self):
        return statistics.median(self.shares) if self.shares else 0.0


def rows(records):
    """{cause: Row}"""
    made = {}
    for record in records:
        for cause, true, said in record.get("advised", ()):
            made.setdefault(cause, Row()).add(true, said)
    return dict(sorted(made.items()))
