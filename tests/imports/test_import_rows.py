# SPDX-License-Identifier: BSD-2-Clause
"""Row by row: what a report and its tables say of each operation, call and range of made traces, and of a few by hand that each show one thing."""

import json
import sqlite3
from collections import Counter

import pytest

import import_reference_rows as reference
import imported
import imported_rows
from made_trace import made, write_kineto, write_nsys
from test_made_traces import SHAPES, SHARED, WAYS

SEEDS = range(2)


def agree(gpushim, tmp_path, path, steps=True):
    said = imported.report(gpushim, path)
    rows = imported_rows.check(gpushim, path, tmp_path / "tables.sqlite", said)
    if steps:
        imported_rows.check_steps(said, rows)
    return said, rows


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("way", WAYS)
def test_kineto(gpushim, tmp_path, shape, way):
    for seed in SEEDS:
        what = made(seed, **SHAPES[shape])
        _, rows = agree(gpushim, tmp_path, write_kineto(tmp_path / f"{seed}.json", what, **WAYS[way]), "processes" not in SHAPES[shape])
        assert (len(rows.operations), len(rows.ranges)) == (len(what.work), len(what.ranges))
        assert Counter(call.name for call in rows.calls) == Counter(call.name for call in what.calls)


def test_kineto_s_files_put_together(gpushim, tmp_path):
    what = made(1, processes=3, devices=3)
    _, rows = agree(gpushim, tmp_path, write_kineto(tmp_path / "trace.json", what, ranks=True), steps=False)
    assert (len(rows.operations), len(rows.calls), len(rows.ranges)) == (len(what.work), len(what.calls), len(what.ranges))


@pytest.mark.parametrize("shape", [*SHAPES, *SHARED])
def test_nsys(gpushim, tmp_path, shape):
    options = (SHAPES | SHARED)[shape]
    for seed in SEEDS:
        what = made(seed, **options)
        _, rows = agree(gpushim, tmp_path, write_nsys(tmp_path / f"{seed}.sqlite", what), "processes" not in options)
        assert (len(rows.operations), len(rows.calls), len(rows.ranges)) == (len(what.work), len(what.calls), len(what.ranges))


# ---- by hand -----------------------------------------------------------------------------------------------------------------

def event(cat, name, ts, dur, tid=7, pid=1, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}


def call(name, ts, dur, number):
    return event("cuda_runtime", name, ts, dur, correlation=number)


def kernel(ts, dur, number, stream=7, name="k"):
    return event("kernel", name, ts, dur, stream, 0, device=0, stream=stream, correlation=number)


def kineto(tmp_path, *events):
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return path


def test_a_call_that_takes_no_time_is_one_by_itself(gpushim, tmp_path):
    """By a clock of whole microseconds it begins with the launch behind it, and yet is not inside."""
    path = kineto(tmp_path, call("cudaFuncSetAttribute", 10, 0, 1), call("cudaLaunchKernel", 10, 7, 2), kernel(20, 5, 2))
    said, rows = agree(gpushim, tmp_path, path)
    assert said["calls"] == {"cudaFuncSetAttribute": 1, "cudaLaunchKernel": 1}
    assert rows.operations[0].call == ("cudaLaunchKernel", 10000)


def test_a_part_behind_its_call_is_one_with_it(gpushim, tmp_path):
    """Begin and end are each cut to a microsecond."""
    parts = call("cudaLaunchKernel", 10, 5, 1), call("cuLaunchKernel", 15, 0, 1), call("cudaLaunchKernel", 20, 4, 2), call("cuLaunchKernel", 25, 0, 2)
    said, _ = agree(gpushim, tmp_path, kineto(tmp_path, *parts, kernel(30, 5, 1), kernel(40, 5, 2)))
    assert said["calls"] == {"cudaLaunchKernel": 2} and said["losses"]["launches_without_work"] == 0


def test_the_outer_call_counts_and_has_the_inner_one_s_work(gpushim, tmp_path):
    path = kineto(tmp_path, call("cudaLaunchKernel", 10, 7, 0), call("cuLaunchKernel", 12, 2, 5), kernel(20, 5, 5))
    said, rows = agree(gpushim, tmp_path, path)
    assert said["calls"] == {"cudaLaunchKernel": 1} and rows.operations[0].call == ("cudaLaunchKernel", 10000)


def test_of_numbers_that_come_again_the_last_before_the_work_is_meant(gpushim, tmp_path):
    path = kineto(tmp_path, call("cudaLaunchKernel", 10, 5, 3), kernel(20, 5, 3), call("cudaLaunchKernel", 30, 5, 3), kernel(40, 5, 3))
    _, rows = agree(gpushim, tmp_path, path)
    assert [op.call[1] for op in rows.operations] == [10000, 30000]


def test_work_without_a_call_is_in_its_stream(gpushim, tmp_path):
    """Two streams, not a third one for what nobody is known to have asked for."""
    alone = kernel(30, 5, 8), kernel(40, 5, 9, stream=20), kernel(50, 5, 10, stream=20)
    path = kineto(tmp_path, call("cudaLaunchKernel", 10, 5, 1), kernel(20, 5, 1), *alone)
    said, _ = agree(gpushim, tmp_path, path)
    assert said["devices"][0]["streams"] == 2 and said["losses"]["operations_unlinked"] == 3


def test_what_is_told_of_before_time_0_is_left_out_and_said(gpushim, tmp_path):
    path = kineto(tmp_path, call("cudaLaunchKernel", -30, 5, 1), kernel(-20, 5, 1), call("cudaLaunchKernel", 30, 5, 2), kernel(40, 5, 2))
    said, rows = agree(gpushim, tmp_path, path)
    assert said["losses"]["imported_left_out"] == rows.left_out == 2


COPIES = {"HtoD (Pageable -> Device)": "h2d-pageable", "HtoD (Pinned -> Device)": "h2d-pinned", "HtoD (Host -> Device)": "h2d-pinned",
          "DtoH (Device -> Pageable)": "d2h-pageable", "DtoH (Device -> Pinned)": "d2h-pinned", "DtoD (Device -> Device)": "d2d",
          "PtoP (Device -> Device)": "peer", "HtoH (Pinned -> Pageable)": "h2h"}


@pytest.mark.parametrize("way", COPIES)
def test_a_copy_s_kind_and_bytes(gpushim, tmp_path, way):
    """AMD's copies have no bytes of their own: those of the call."""
    asked = event("cuda_runtime", "hipMemcpyAsync", 10, 5, correlation=1, bytes=700)
    path = kineto(tmp_path, asked, event("gpu_memcpy", f"Memcpy {way}", 20, 5, 7, 0, device=0, stream=7, correlation=1),
                  event("gpu_memcpy", f"Memcpy {way}", 30, 5, 7, 0, device=0, stream=7, bytes=9))
    _, rows = agree(gpushim, tmp_path, path)
    assert [(op.kind, op.bytes) for op in rows.operations] == [(f"copy-{COPIES[way]}", 700), (f"copy-{COPIES[way]}", 9)]


def test_memory_is_what_the_allocator_says(gpushim, tmp_path):
    """The most was what it had before the first record, which gives some of it back."""
    def told(ts, took, allocated):
        return {"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 7, "ts": ts,
                "args": {"Device Type": 1, "Device Id": 0, "Bytes": took, "Addr": 4096, "Total Allocated": allocated, "Total Reserved": 8192}}

    path = kineto(tmp_path, call("cudaLaunchKernel", 10, 5, 1), kernel(20, 5, 1), told(11, -1024, 3072), told(12, 512, 3584), told(13, -512, 3072))
    _, rows = agree(gpushim, tmp_path, path)
    assert rows.memory == [reference.Memory(0, 4096, 8192, 3072, 8192)]


def test_nsight_s_second_rows_and_operators_are_left_out(gpushim, tmp_path):
    """A call's second row has its stack; operators go through NVTX with a namespace, a place in the backward pass, or both."""
    path, thread = tmp_path / "trace.sqlite", 0x1000007 << 24 | 7
    names = {1: "cudaLaunchKernel_v7000", 2: "cudaLaunchKernel"}
    said = [(5, 50, "epoch, op_id = 7"), (6, 25, "aten::add, op_id = 5"), (7, 24, "AddBackward0, seq = 3, op_id = 6")]
    with sqlite3.connect(path) as base:
        base.execute("CREATE TABLE StringIds (id, value)")
        base.executemany("INSERT INTO StringIds VALUES (?, ?)", names.items())
        base.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, eventClass, globalTid, correlationId, nameId)")
        base.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?, ?, ?)", [(8, 22, 67, thread, 1, 2), (10, 20, 0, thread, 1, 1)])
        base.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, streamId, correlationId, globalPid, shortName)")
        base.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (30, 40, 0, 7, 1, ?, 2)", (thread,))
        base.execute("CREATE TABLE NVTX_EVENTS (start, end, text, eventType, globalTid)")
        base.executemany(f"INSERT INTO NVTX_EVENTS VALUES (?, ?, ?, 59, {thread})", said)
    base.close()
    _, rows = agree(gpushim, tmp_path, path)
    assert rows.calls == [reference.Call(7, 7, "cudaLaunchKernel", 10, 20)] and rows.ranges == [reference.Range(7, 7, "epoch", 5, 50)]
