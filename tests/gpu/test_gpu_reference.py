# SPDX-License-Identifier: BSD-2-Clause
"""Who knows what the device did: Kineto's files and the simulated driver's log, read exactly; and our report set beside them."""

import gzip
import json

import pytest

pytestmark = pytest.mark.usefixtures("modules")

# As torch.profiler writes it: decimal microseconds since a base, numbers or not. The kernels overlap; one is another device's.
KINETO = """{"schemaVersion": 1, "baseTimeNanoseconds": 1700000000000000000, "traceEvents": [
 {"ph": "X", "cat": "cuda_runtime", "name": "cudaDeviceSynchronize", "pid": 1, "tid": 1, "ts": 7000000000000.001, "dur": 1.000},
 {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 7000000000002.000, "dur": 2.000},
 {"ph": "X", "cat": "kernel", "name": "a", "pid": 0, "tid": 7, "ts": 7000000000010.001, "dur": 20.007, "args": {"device": 0, "stream": 7}},
 {"ph": "X", "cat": "gpu_memcpy", "name": "b", "pid": 0, "tid": 8, "ts": 7000000000020.001, "dur": 20.000, "args": {"device": 0}},
 {"ph": "X", "cat": "kernel", "name": "c", "pid": 1, "tid": 7, "ts": 7000000000050.001, "dur": 20.000, "args": {"device": 1}},
 {"ph": "X", "cat": "gpu_memset", "name": "d", "pid": 0, "tid": 7, "ts": 7000000000060.001, "dur": 0.000, "args": {"device": 0}},
 {"ph": "X", "cat": "kernel", "name": "e", "pid": 0, "tid": 7, "ts": 7000000000070.002, "dur": 5.000, "args": {"device": 0}},
 {"ph": "X", "cat": "gpu_user_annotation", "name": "f", "pid": 0, "tid": 7, "ts": 7000000000000.000, "dur": 100.000, "args": {"device": 0}},
 {"ph": "X", "cat": "cuda_runtime", "name": "cudaDeviceSynchronize", "pid": 1, "tid": 1, "ts": 7000000000071.000, "dur": 5.500},
 {"ph": "i", "name": "Iteration Start: PyTorch Profiler", "ts": 7000000000000.000, "s": "g"}]}"""
AT = 7_000_000_000_000_000


@pytest.mark.parametrize("packed", [False, True])
def test_a_profile_is_read_exactly_to_the_nanosecond(tmp_path, packed):
    from reference import read_kineto
    path = tmp_path / ("k.json.gz" if packed else "k.json")
    path.write_bytes(gzip.compress(KINETO.encode()) if packed else KINETO.encode())
    reference = read_kineto(path)
    assert reference.busy == [[AT + 10_001, AT + 40_001], [AT + 60_001, AT + 60_001], [AT + 70_002, AT + 75_002]]
    assert (reference.operations, reference.kinds) == (4, {"kernel": 2, "gpu_memcpy": 1, "gpu_memset": 1})
    assert reference.waits == [AT + 1_001, AT + 76_500]
    assert (reference.idle_ns(), reference.span_ns(), reference.same_clock) == (30_001, 65_001, False)


def test_the_simulated_drivers_log_is_read_and_must_be_whole(tmp_path):
    from reference import read_truth
    ops = [{"op": "kernel", "device": 0, "start_ns": 100, "end_ns": 200}, {"op": "memcpy", "device": 0, "start_ns": 150, "end_ns": 260},
           {"op": "hostfn", "device": 0, "start_ns": 260, "end_ns": 900}, {"op": "kernel", "device": 1, "start_ns": 0, "end_ns": 999},
           {"op": "kernel", "device": 0, "start_ns": 300, "end_ns": 310}]
    path = tmp_path / "truth"
    path.write_text("\n".join(map(json.dumps, [*ops, {"calls": {"cuInit": 1}}])))
    reference = read_truth(path)
    assert reference.busy == [[100, 260], [300, 310]] and reference.operations == 3 and reference.idle_ns() == 40
    path.write_text("\n".join(map(json.dumps, ops)))
    with pytest.raises(ValueError):
        read_truth(path)


def test_steps_are_found_by_their_waits_among_others():
    """The profiler's clock runs elsewhere, and before and after the steps somebody waited too."""
    from reference import find_marks
    marks = [1000, 2000, 3500, 4100]
    theirs = [at + 77_000 + jitter for at, jitter in zip(marks, (3, -2, 5, 0))]
    assert find_marks([70_000, 76_950, *theirs, 90_000, 95_000], marks) == theirs
    assert find_marks(theirs, marks) == theirs
    assert find_marks(theirs[1:], marks) is None
    assert find_marks([], marks) is None


def test_covered_merged_and_inside_count_overlap_once():
    from intervals import covered, gaps, inside, merged
    work = [(0, 10), (5, 8), (9, 20), (30, 40), (100, 200)]
    assert covered(work, 0, 50) == 30 and covered(work, 5, 35) == 20 and covered([(0, 1000)], 100, 150) == 50 and covered([], 0, 50) == 0
    assert merged([(9, 20), (0, 10), (5, 8), (30, 40)]) == [[0, 20], [30, 40]]
    assert gaps([[0, 20], [30, 40], [45, 50]]) == [[20, 30], [40, 45]]
    assert inside([[0, 20], [30, 40], [45, 50]], [10, 35, 47, 60]) == [15, 7, 3]
    assert inside([], [0, 10]) == [0]


def summary(**device):
    return {"run": {"device_timing": "bursts"}, "injected": {}, "losses": {},
            "devices": [{"begin_ns": 110, "end_ns": 900, "span_ns": 790, "idle_ns": 90, "idle_error_ns": 5, "unresolved_ns": 100, "operations": 5,
                         "gaps": [{"begin_ns": 150, "end_ns": 190}, {"begin_ns": 280, "end_ns": 330}], **device}]}


def reference(busy, operations=5):
    from reference import Reference
    return Reference(busy, operations, {}, [], True)


def test_our_idle_beside_the_references_step_by_step():
    from compare import compare
    found = compare(summary(), [100, 200, 300], reference([[110, 150], [188, 280], [330, 900]]))
    steps = found["steps"]
    assert steps["ours_ns"]["max"] == 50 and steps["ours_ns"]["min"] == 20        # 10 before the first operation and 40; 20 of the second gap
    assert (steps["reference_ns"]["max"], steps["reference_ns"]["min"]) == (48, 20)
    assert steps["difference_percent"] == 1.0                                     # 2 of 200
    assert found["whole"]["reference_idle_ns"] == 88 and found["whole"]["difference_percent"] == 1.0
    assert (found["whole"]["low_ns"], found["whole"]["high_ns"], found["whole"]["proven_interval_holds"]) == (85, 195, True)
    assert found["whole"]["comparable"] is True and found["whole"]["unresolved_percent"] == 50.0 and "estimate" not in found["whole"]


def test_an_estimate_is_added_and_its_own_interval_tried():
    from compare import compare
    device = {"unresolved_idle_ns": 60, "unresolved_idle_low_ns": 50, "unresolved_idle_high_ns": 75}
    near, far = [[110, 150], [300, 900]], [[110, 150], [340, 900]]  # 150 and 190 idle
    held = compare(summary(**device), [100, 300], reference(near))["whole"]
    assert (held["best_ns"], held["difference_percent"], held["estimate_holds"]) == (150, 0.0, True)
    missed = compare(summary(**device), [100, 300], reference(far))["whole"]
    assert (missed["difference_percent"], missed["estimate_holds"], missed["proven_interval_holds"]) == (-20.0, False, True)


def test_a_wrong_claim_shows():
    from compare import compare
    found = compare(summary(unresolved_ns=0), [100, 300], reference([[110, 400], [460, 900]]))["whole"]  # 60 idle, we say 90
    assert found["proven_interval_holds"] is False and found["difference_percent"] == 15.0


def test_steps_that_the_profiler_does_not_show_are_not_compared():
    from compare import compare
    from reference import Reference
    found = compare(summary(), [100, 200, 300], Reference([[0, 10]], 1, {}, [5], False))
    assert found["steps"] is None and found["whole"]["comparable"] is False


def test_verdicts_say_met_not_met_and_not_measured():
    from bounds import judge, line
    levels = {"edges": {"percent": 0.2, "low": 0.1, "high": 0.3, "groups": 2}, "none": {"percent": 0.1, "low": 0.0, "high": 0.2, "groups": 2}}
    whole = {"difference_percent": -1.2, "comparable": True, "proven_interval_holds": True}
    parts = {"slowdown": {"result": {"workloads": {"transformer": {"levels": levels}}}},
             "idle": {"result": {"runs": {"graphs": {"edges": {"whole": whole}}, "starved": {"edges": {"whole": {**whole, "comparable": False}}},
                                          "compiled": {"cupti": {"apart": {}}}}}},
             "costs": {"result": {"allowances": {"NODE_NS": {"allowed_ns": 2000, "p99_ns": 2500, "holds": False}}}},
             "pointers": {"result": {"unequal": 0}}}
    said = {verdict["name"]: verdict["met"] for verdict in judge(parts)}
    assert said["slowdown of transformer at edges, upper end of the 95 % interval"] is True
    assert said["slowdown of launch_bound at auto, upper end of the 95 % interval"] is None
    assert said["idle time of graphs at edges, ours less the reference's, of step time"] is False
    assert said["idle time of starved at edges, ours less the reference's, of step time"] is None
    assert said["NODE_NS of the analyzer covers 99 of 100"] is False
    assert said["pointers of cuGetProcAddress that dlsym does not export"] is True
    assert said["NCCL's calls are recorded"] is None
    assert [line(verdict).split(":")[0][:12].strip() for verdict in judge({})][:2] == ["not measured"] * 2


def test_a_run_that_the_profiler_saw_a_part_of_gets_no_verdict():
    """As many operations, but one of them long before: a silence that only we saw would be a difference."""
    from compare import compare
    found = compare(summary(), [100, 300], reference([[110, 150], [188, 280], [330, 900]]))["whole"]
    later = compare(summary(), [100, 300], reference([[400, 450], [500, 900]]))["whole"]
    assert (found["comparable"], later["comparable"]) == (True, False)
