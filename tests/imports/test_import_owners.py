# SPDX-License-Identifier: BSD-2-Clause
"""Traces of several ranks that were put together into one file. The numbers of calls begin anew in each rank, and what was launched before the trace
has its call nowhere: still each kernel is its own rank's, as in the rank's own file."""

import json
import random

import pytest

import imported

IDLE_CALLS = ("cudaGetLastError", "cudaMalloc", "cudaEventQuery", "cudaFuncSetAttribute", "cudaStreamIsCapturing")


def call(rank, at, number, name="cudaLaunchKernel"):
    return {"ph": "X", "cat": "cuda_runtime", "name": name, "ts": at, "dur": 3, "pid": 100 * (rank + 1), "tid": 1, "args": {"correlation": number}}


def kernel(rank, at, number, length=20):
    return {"ph": "X", "cat": "kernel", "name": "k", "ts": at, "dur": length, "pid": rank, "tid": 7,
            "args": {"device": rank, "stream": 7, "correlation": number}}


def reported(gpushim, tmp_path, events):
    (tmp_path / "trace.json").write_text(json.dumps({"traceEvents": events}))
    return imported.report(gpushim, tmp_path / "trace.json")


def devices(said):
    return [(device["operations"], device["idle_ns"] // 1000) for device in said["devices"]]


def guessed(said):
    return [int(warning.split()[1]) for warning in said["losses"]["warnings"] if "guessed" in warning]


def unlinked(said):
    return said["losses"]["operations_unlinked"]


def first_rank(kernels, begin=10, calls_from=11):
    """One kernel each 100 us; without the calls of the first ones."""
    calls = [call(0, 100 * i + 1, i) for i in range(calls_from, kernels + 1)]
    return calls + [kernel(0, 100 * i + begin, i) for i in range(1, kernels + 1)]


def second_rank(begin, apart=9):
    return [event for i in range(1, 26) for event in (call(1, 100 * i + begin - apart, i), kernel(1, 100 * i + begin, i))]


@pytest.mark.parametrize("kernels, begin, second, guesses", ((130, 10, 50, []), (30, 10, 50, []), (130, 30, 0, [25]), (31, 30, 0, [25])))
def test_kernels_from_before_the_trace(gpushim, tmp_path, kernels, begin, second, guesses):
    """The second rank has their numbers, and calls later than they ran, or (second 0) earlier."""
    said = reported(gpushim, tmp_path, first_rank(kernels, begin) + second_rank(second))
    assert devices(said) == [(kernels, 80 * (kernels - 1)), (25, 80 * 24)]
    assert (unlinked(said), guessed(said)) == (10, guesses)


@pytest.mark.parametrize("first", (False, True))
@pytest.mark.parametrize("name", ("cudaGetDeviceCount", "cudaMalloc", "hipGetDevicePropertiesR0600"))
def test_a_process_that_asks_for_no_work(gpushim, tmp_path, first, name):
    ranks, others = first_rank(20, calls_from=1), [call(2, 100 * i, i, name) for i in range(1, 21)]
    said = reported(gpushim, tmp_path, others + ranks if first else ranks + others)
    assert devices(said) == [(20, 80 * 19)] and unlinked(said) == 0
    assert said["losses"]["launches_without_work"] == 0 and said["losses"]["warnings"] == []


def random_rank(chance, rank, launches, begin, late):
    """What is on record of it from `begin` on."""
    events, now, number, free = [], 1000 + late, chance.randrange(3), 0
    for _ in range(launches):
        for _ in range(chance.randrange(3)):
            number, now = number + 1, now + chance.randrange(1, 5)
            events.append(call(rank, now, number, chance.choice(IDLE_CALLS)))
        number, now = number + 1, now + 5
        events.append(call(rank, now, number))
        at, length = max(free, now + chance.randrange(4, 40)), chance.randrange(5, 30)
        events.append(kernel(rank, at, number, length))
        free, now = at + length, now + chance.randrange(5, 60)
    return [event for event in events if event["ts"] >= begin]


def test_ranks_put_together_are_as_by_themselves(gpushim, tmp_path):
    """In whatever order the file has them."""
    for seed in range(25):
        chance = random.Random(seed)
        begin, launches = 1000 + chance.randrange(300), chance.choice((20, 60))
        ranks = [random_rank(chance, rank, launches, begin, chance.randrange(60)) for rank in range(chance.choice((2, 3)))]
        alone = [reported(gpushim, tmp_path, rank) for rank in ranks]
        together = [event for rank in ranks for event in rank]
        chance.shuffle(together)
        said = reported(gpushim, tmp_path, together)
        assert sorted(devices(said)) == sorted(device for one in alone for device in devices(one)), seed
        assert unlinked(said) == sum(map(unlinked, alone)), seed
