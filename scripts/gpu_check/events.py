# SPDX-License-Identifier: BSD-2-Clause
"""What an edge costs: recording a timing event, reading a pair, and how long after the call an event on an idle stream fires.

Times are host nanoseconds around the call through ctypes; overhead_ns is what a call that does nothing takes the same way,
and is not taken out."""

import time
from ctypes import byref, c_int

import part
from cuda import NOT_READY, SUCCESS, Driver

ROUNDS = 400


def timed(function, *args):
    begin = time.perf_counter_ns()
    rc = function(*args)
    return time.perf_counter_ns() - begin, rc


def record_cost(driver, stream, events):
    """One record on an idle stream, then a synchronise, so that none waits behind another."""
    costs = []
    for number in range(ROUNDS):
        ns, rc = timed(driver.lib.cuEventRecord, events[number % len(events)], stream)
        if rc == SUCCESS:
            costs.append(ns)
        driver.call("cuStreamSynchronize", stream)
    return costs


def record_sustained(driver, stream, events):
    """Records back to back, per record."""
    costs = []
    for _ in range(20):
        begin = time.perf_counter_ns()
        for number in range(ROUNDS):
            driver.lib.cuEventRecord(events[number % len(events)], stream)
        costs.append((time.perf_counter_ns() - begin) / ROUNDS)
        driver.call("cuStreamSynchronize", stream)
    return costs


def fire_latency(driver, stream, event):
    """From the record's entry to the first query that finds it complete; no shorter than one query can tell."""
    costs = []
    for _ in range(ROUNDS):
        begin = time.perf_counter_ns()
        driver.call("cuEventRecord", event, stream)
        while (rc := driver.lib.cuEventQuery(event)) == NOT_READY:
            pass
        if rc == SUCCESS:
            costs.append(time.perf_counter_ns() - begin)
    return costs


def measure(_args, result):
    driver = Driver()
    driver.open_context()
    stream, events = driver.stream(), [driver.event() for _ in range(64)]
    driver.version()
    result["overhead_ns"] = part.spread([timed(driver.lib.cuDriverGetVersion, byref(c_int()))[0] for _ in range(ROUNDS)])
    record_cost(driver, stream, events)  # warm
    result["record_ns"] = part.spread(record_cost(driver, stream, events))
    result["record_sustained_ns"] = part.spread(record_sustained(driver, stream, events))
    result["fire_latency_ns"] = part.spread(fire_latency(driver, stream, events[0]))
    result.save()

    driver.call("cuEventRecord", events[0], stream)
    time.sleep(0.010)
    driver.call("cuEventRecord", events[1], stream)
    driver.call("cuStreamSynchronize", stream)
    reads = []
    for _ in range(ROUNDS):
        begin = time.perf_counter_ns()
        elapsed = driver.elapsed_ms(events[0], events[1])
        reads.append(time.perf_counter_ns() - begin)
    result["elapsed_read_ns"] = part.spread(reads)
    result["elapsed_of_10ms_sleep_ms"] = elapsed
    result["query_complete_ns"] = part.spread([timed(driver.lib.cuEventQuery, events[0])[0] for _ in range(ROUNDS)])


if __name__ == "__main__":
    part.main(measure)
