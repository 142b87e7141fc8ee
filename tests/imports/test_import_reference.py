# SPDX-License-Identifier: BSD-2-Clause
"""The reference itself, against answers worked out by hand: it is what the importers are held against."""

import gzip
import json
import sqlite3

import pytest

import import_reference as reference


def event(cat, ts, dur, device=0, name="k"):
    return f'{{"ph": "X", "cat": "{cat}", "name": "{name}", "pid": {device}, "tid": 7, "ts": {ts}, "dur": {dur}, "args": {{"device": {device}}}}}'


def kineto(tmp_path, *events, head="", packed=False, tail="]}"):
    text = ('{"schemaVersion": 1, ' + head + '"traceEvents": [' + ", ".join(events) + tail).encode()
    path = tmp_path / "trace"
    path.write_bytes(gzip.compress(text) if packed else text)
    return reference.read(path)


def only(trace):
    (device,) = trace.devices
    return device


def parts(device):
    return device.compute, device.comm_exposed, device.copy_exposed, device.idle


def test_a_device_s_time_is_its_union_not_its_sum(tmp_path):
    device = only(kineto(tmp_path, event("kernel", 100, 50), event("kernel", 120, 60), event("kernel", 200, "10.5")))
    assert device == reference.Device(0, 100000, 210500, 90500, 0, 0, 20000, [(180000, 200000)], 3)


def test_a_long_operation_hides_what_ends_within_it(tmp_path):
    device = only(kineto(tmp_path, event("kernel", 0, 100), event("kernel", 10, 5), event("kernel", 130, 1)))
    assert device.gaps == [(100000, 130000)]


@pytest.mark.parametrize("order", [lambda events: events, reversed])
def test_kernels_go_before_collectives_and_these_before_copies(tmp_path, order):
    events = [event("kernel", 0, 10), event("kernel", 5, 20, name="ncclDevKernel_AllReduce"), event("gpu_memcpy", 20, 20), event("gpu_memset", 50, 1)]
    assert parts(only(kineto(tmp_path, *order(events)))) == (10000, 15000, 16000, 10000)


def test_an_operation_of_no_time_ends_a_gap(tmp_path):
    device = only(kineto(tmp_path, event("kernel", 0, 10), event("kernel", 15, 0), event("kernel", 20, 10), event("kernel", 30, 0)))
    assert device.gaps == [(10000, 15000), (15000, 20000)]
    assert (device.operations, device.end, device.idle) == (4, 30000, 10000)


def test_what_ends_before_it_begins_is_no_operation(tmp_path):
    assert only(kineto(tmp_path, event("kernel", 5, 1), event("kernel", 9, -3))).operations == 1


@pytest.mark.parametrize("text, ns", [("1753956402113452.317", 1753956402113452317), ("1.0005", 1001), ("0.0004", 0), ("12.5e2", 1250000),
                                      ("-3.25", -3250), ("-0.0005", 0), ("-0.0006", -1), ("9223372036854775.807", 2 ** 63 - 1), ("9223372036854775.808", None),
                                      ("1e400", None), ("NaN", None), (None, None), ([], None)])
def test_times_are_their_text(text, ns):
    assert reference.nanoseconds(text) == ns


def test_an_end_is_rounded_once(tmp_path):
    """1.0004 and 2.0004 are 3.0008 us: 3001 ns, where each by itself would be 1000 and 2000. What touches still does."""
    device = only(kineto(tmp_path, event("kernel", "1.0004", "2.0004"), event("kernel", "3.0008", "0.0004"), event("kernel", "10.0005", "1")))
    assert device == reference.Device(0, 1000, 11001, 3001, 0, 0, 7000, [(3001, 10001)], 3)


def test_old_and_new_categories_mean_the_same(tmp_path):
    new = kineto(tmp_path, event("kernel", 0, 1), event("gpu_memcpy", 3, 1), event("gpu_memset", 6, 1), event("gpu_user_annotation", 0, 900))
    old = kineto(tmp_path, event("Kernel", 0, 1), event("Memcpy", 3, 1), event("Memset", 6, 1), event("Runtime", 0, 900))
    assert new == old and parts(only(new)) == (1000, 0, 2000, 4000)


def test_a_file_may_be_packed_and_begin_and_end_apart(tmp_path):
    begin, end = '{"ph": "B", "cat": "kernel", "name": "k", "pid": "0", "tid": "s", "ts": 1.5}', '{"ph": "E", "pid": "0", "tid": "s", "ts": 4}'
    assert only(kineto(tmp_path, begin, end, end, packed=True))[:4] == (0, 1500, 4000, 2500)


def halves(tmp_path, *halves):
    """Of "B10 kernel" and "E20": (begin, end, kind) of each operation, in us."""
    events = [json.dumps({"ph": half[0], "ts": int(half[1:].split()[0]), "pid": 0, "tid": 7, **({"cat": half.split()[1], "name": "k"} if half[0] == "B" else {})})
              for half in halves]
    path = tmp_path / "trace"
    path.write_text(f'{{"traceEvents": [{", ".join(events)}]}}')
    return sorted((begin // 1000, end // 1000, event["cat"]) for begin, end, event in reference.complete(reference.Events(path.read_text())))


HALVES = {"one end astray": (["E50", "B10 a", "E20", "B20 b", "E30"], [(10, 20, "a"), (20, 30, "b")]),
          "one end astray, what overlaps": (["E12", "B10 a", "E20", "B15 b", "E25"], [(10, 20, "a"), (15, 25, "b")]),
          "one pair far away": (["B90 a", "E91", "B10 b", "E20"], [(10, 20, "b"), (90, 91, "a")]),
          "pair by pair, the last first": (["B20 a", "E30", "B10 b", "E20", "B5 c", "E15"], [(5, 15, "c"), (10, 20, "b"), (20, 30, "a")]),
          "ends first": (["E20", "B10 a", "E40", "B30 b", "B40 c", "E40"], [(10, 20, "a"), (30, 40, "b"), (40, 40, "c")]),
          "torn": (["B0 a", "B20 b", "E30", "E40", "B20 c", "E20", "E20", "B10 d"], [(0, 40, "a"), (10, 20, "d"), (20, 20, "c"), (20, 30, "b")]),
          "an end before its begin": (["B20 a", "E10", "B30 b", "E31"], [(30, 31, "b")]),
          "the same, and an end that is lost": (["B0 a", "E15", "B10 b", "E25", "B100 c", "E99", "B98 d"], [(0, 15, "a"), (10, 25, "b")]),
          "the same, within what overlaps": (["B0 a", "E15", "B10 b", "E25", "B20 c", "E5"], [(0, 15, "a"), (10, 25, "b")]),
          "two ends before their begins": (["B50 a", "E49", "B100 b", "E99"], []),
          "one end first, among what overlaps": (["E18", "B12 c", "B0 a", "E15", "B10 b", "E25"], [(0, 15, "a"), (10, 25, "b"), (12, 18, "c")]),
          "two ends first": (["E20", "B10 a", "E40", "B30 b"], [(10, 20, "a"), (30, 40, "b")]),
          "backwards": (["E60", "B50 c", "E40", "B30 b", "E20", "B10 a"], [(10, 20, "a"), (30, 40, "b"), (50, 60, "c")]),
          "backwards, and an end that is lost": (["B70 d", "E60", "B50 c", "E40", "B30 b", "E20", "B10 a"], [(10, 20, "a"), (30, 40, "b")])}


@pytest.mark.parametrize("case", HALVES)
def test_halves_in_disorder(tmp_path, case):
    told, operations = HALVES[case]
    assert halves(tmp_path, *told) == operations


def test_devices_are_told_apart(tmp_path):
    trace = kineto(tmp_path, event("kernel", 0, 1, device=3), event("kernel", 0, 2), event("kernel", 5, 2, device=3))
    assert [(d.device, d.operations, d.idle) for d in trace.devices] == [(0, 1, 0), (3, 2, 4000)]


@pytest.mark.parametrize("tail, truncated", [("]}", False), (", ]}", False), ("], \"a\": {\"b\": [1, {}]}}", False), ("", True), (", {\"ph\": \"X\"", True), ("]", True)])
def test_a_cut_file_is_what_precedes_the_cut(tmp_path, tail, truncated):
    trace = kineto(tmp_path, event("kernel", 0, 1), event("kernel", 2, 1), tail=tail)
    assert trace.truncated == truncated and only(trace).operations == 2


def test_a_cut_gzip_is_what_precedes_the_cut(tmp_path):
    path = tmp_path / "trace"
    path.write_bytes(gzip.compress(json.dumps({"traceEvents": [json.loads(event("kernel", i * 7, 1)) for i in range(20000)]}).encode()))
    path.write_bytes(path.read_bytes()[:-2000])
    trace = reference.read(path)
    assert trace.truncated and 10000 < only(trace).operations < 20000


NAMES = {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)": True, "void ncclKernel_Broadcast(int)": True, "nccltests": False,
         "void at::native::copy<ncclA>(int)": False, "void deep_ep::internode::dispatch<false, 8>(int)": True, "_ZN7deep_ep8dispatchIiEEvPf": True,
         "_Z14ncclDevKernel_v": True, "_Z6kernelPf": False, "void c10d::symmetric_memory::(anonymous namespace)::barrier(unsigned*)": True,
         "symmetric_memory": False, "one_shot_all_reduce_kernel": True, "one_shot_all_reduce_kernel_2": False, "multimem_all_reduce<float>": True, "": False}


@pytest.mark.parametrize("name", NAMES)
def test_communication_goes_by_a_kernel_s_own_name(name):
    assert reference.is_communication(name) == NAMES[name]


def nsys(tmp_path, **tables):
    path = tmp_path / "trace.sqlite"
    with sqlite3.connect(path) as base:
        for table, (columns, *rows) in tables.items():
            base.execute(f"CREATE TABLE {table} ({columns})")
            base.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(columns.split(',')))})", rows)
    base.close()
    return reference.read(path)


def test_nsight_s_tables(tmp_path):
    one, two = 0x1000007 << 24, 0x1000008 << 24
    trace = nsys(tmp_path, StringIds=("id, value", (1, "ncclDevKernel_AllReduce"), (2, "gemm")),
                 TARGET_INFO_CUDA_DEVICE=("gpuId, cudaId, pid", (1, 0, 7), (1, 0, 8)),
                 CUPTI_ACTIVITY_KIND_KERNEL=("start, end, deviceId, globalPid, demangledName", (100, 200, 0, one, 2), (150, 300, 0, two, 1), (9, 8, 0, one, 2)),
                 CUPTI_ACTIVITY_KIND_MEMCPY=("start, end, deviceId, globalPid", (250, 350, 0, one), (0, 5, 2, one)),
                 CUPTI_ACTIVITY_KIND_GRAPH_TRACE=("start, end, deviceId, globalPid", (400, 500, 0, two)))
    copies, merged = trace.devices[1], trace.devices[0]
    assert (copies.device, copies.copy_exposed, copies.operations) == (2, 5, 1)
    assert merged == reference.Device(1, 100, 500, 200, 100, 50, 50, [(350, 400)], 4)


def test_what_is_no_trace_is_said(tmp_path):
    (tmp_path / "text").write_text("hello")
    with pytest.raises(reference.NotATrace):
        reference.read(tmp_path / "text")
