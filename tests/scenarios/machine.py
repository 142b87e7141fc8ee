# SPDX-License-Identifier: BSD-2-Clause
"""A check that a machine which is busy elsewhere can spoil: right once is right."""

import contextlib
import functools
import os
import subprocess
import sys
import time

import pytest
from stolen import stolen_ticks

MORE_WHERE_ROBBED = 4  # times the tries
SECONDS_MORE = 240  # for all runs beyond a test's own tries, in all tests together


class Patience:
    left = SECONDS_MORE


def once_in(tries, check):
    """What check() returns when it first finds nothing wrong. A failure while CPUs were stolen tells nothing: it is not counted, a
    bounded number of times. AssertionError after `tries` that count, a skip where too few did. Unsound reports are none of its
    business: they end it at once (conservation.Unsound)."""
    counted, robbed = [], []
    while len(counted) < tries and len(counted) + len(robbed) < tries * MORE_WHERE_ROBBED:
        more = len(counted) + len(robbed) >= tries
        if more and Patience.left <= 0:
            break
        before, begin = stolen_ticks(), time.monotonic()
        try:
            return check()
        except AssertionError as error:
            (counted if stolen_ticks() == before else robbed).append(str(error))
        finally:
            Patience.left -= more * (time.monotonic() - begin)
    said = "\n".join(counted + robbed)
    if len(counted) < tries:
        pytest.skip(f"others took this machine's CPUs in {len(robbed)} of {len(counted) + len(robbed)} runs: {said}")
    raise AssertionError(f"not right in any of {len(counted)} runs:\n{said}")


def on_a_busy_machine(test):
    """A test that is such a check."""
    @functools.wraps(test)
    def repeated(**fixtures):
        once_in(3, lambda: test(**fixtures))
    return repeated


IDLE_LOOP = "import os; os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))\nwhile True: pass"


@contextlib.contextmanager
def cpus_awake():
    """Each CPU has something to do, of the lowest priority: an idle one of a virtual machine may take long to wake up for a timer, and
    the recorder's looks are missing meanwhile."""
    loops = [subprocess.Popen([sys.executable, "-c", IDLE_LOOP]) for _ in range(os.cpu_count())]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
