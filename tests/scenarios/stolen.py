# SPDX-License-Identifier: BSD-2-Clause
"""How much of this machine the hypervisor gave to others while we had something to run."""

import os
from pathlib import Path

STAT = "CHECK_PROC_STAT"  # in the environment: another file in its place, for the tests of the tests


def stolen_ticks():
    """Of all CPUs together, in ticks of 10 ms: "steal" in proc(5). Always 0 where the kernel does not know it."""
    return int(Path(os.environ.get(STAT, "/proc/stat")).read_text().split("\n", 1)[0].split()[8])
