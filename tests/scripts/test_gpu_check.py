# SPDX-License-Identifier: BSD-2-Clause
"""gpu-check.sh on the simulated driver: every part that needs no PyTorch measures something true."""

import json
import re
import subprocess
import sys

import pytest

PARTS = ["environment", "pointers", "pointers_under_shim", "events", "slowdown", "idle"]


@pytest.fixture(scope="module")
def check(root, build, shim, tmp_path_factory):
    out = tmp_path_factory.mktemp("gpu-check") / "result.json"
    run = subprocess.run([root / "scripts/gpu-check.sh", "--dry-run", build, out], capture_output=True, text=True, timeout=240)
    assert run.returncode == 0, run.stdout + run.stderr
    return json.loads(out.read_text())


@pytest.fixture
def modules(root, monkeypatch):
    """scripts/gpu_check importable; removed again afterwards, its module names are short."""
    monkeypatch.syspath_prepend(str(root / "scripts/gpu_check"))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_says_that_it_is_simulated_and_lists_every_part(check):
    assert check["schema"] == "gpushim.gpu-check/1"
    assert check["simulated"] is True
    assert list(check["parts"]) == PARTS
    assert 0 < check["seconds"] < 540
    assert re.match(r"\d{4}-\d\d-\d\dT", check["date"])
    assert check["commit"] is None or re.fullmatch(r"[0-9a-f]{40}", check["commit"])


@pytest.mark.parametrize("part", ["environment", "pointers", "pointers_under_shim", "events"])
def test_parts_without_pytorch_ran(check, part):
    assert (check["parts"][part]["status"], check["parts"][part]["reason"]) == ("ok", "")


@pytest.mark.parametrize("part", ["slowdown", "idle"])
def test_parts_with_pytorch_are_skipped_not_invented(check, part):
    assert check["parts"][part]["status"] == "skipped"
    assert check["parts"][part]["reason"] in ("no torch", "dry run")
    assert check["parts"][part]["result"] == {}


@pytest.mark.parametrize("part", ["pointers", "pointers_under_shim"])
def test_every_pointer_is_an_export(check, part):
    result = check["parts"][part]["result"]
    assert result["unequal_list"] == [] and result["unequal"] == 0
    assert result["other_list"] == [] and result["other"] == 0
    assert result["absent"] == []
    assert result["exports"] > 600
    assert result["equal"] >= result["names"] - result["unknown"] > 400


def test_the_same_under_the_shim_goes_through_its_hooks(check):
    assert check["parts"]["pointers"]["result"]["wrapped"] == 0
    assert check["parts"]["pointers_under_shim"]["result"]["wrapped"] > 100


def test_event_costs_are_times(check):
    result = check["parts"]["events"]["result"]
    for name in ("overhead_ns", "record_ns", "record_sustained_ns", "fire_latency_ns", "elapsed_read_ns", "query_complete_ns"):
        spread = result[name]
        assert 0 < spread["min"] <= spread["median"] <= spread["max"]
        assert spread["n"] > 0
    assert result["fire_latency_ns"]["n"] == 400
    assert result["fire_latency_ns"]["median"] < 50_000_000
    assert 10.0 <= result["elapsed_of_10ms_sleep_ms"] < 1000.0


def test_environment_names_driver_and_versions(check):
    result = check["parts"]["environment"]["result"]
    assert result["cuda_driver_version"] >= 13000
    assert result["devices"] == 1
    assert result["device"]
    assert re.match(r"3\.\d+", result["python"])


def test_covered_counts_overlap_once(modules):
    from idle import covered
    work = [(0, 10), (5, 8), (9, 20), (30, 40), (100, 200)]
    assert covered(work, 0, 50) == 30
    assert covered(work, 5, 35) == 20
    assert covered(work, 20, 30) == 0
    assert covered([], 0, 50) == 0
    assert covered([(0, 1000)], 100, 150) == 50


def test_kineto_idle_is_exact_to_the_nanosecond(modules, tmp_path):
    from idle import kineto_idle
    trace = tmp_path / "kineto.json"
    trace.write_text("""{"traceEvents": [
        {"ph": "X", "cat": "user_annotation", "name": "gpu_check_step", "ts": 7000000000000.001, "dur": 100.000},
        {"ph": "X", "cat": "gpu_user_annotation", "name": "gpu_check_step", "ts": 7000000000000.001, "dur": 1.000},
        {"ph": "X", "cat": "kernel", "name": "a", "ts": 7000000000010.001, "dur": 20.007},
        {"ph": "X", "cat": "gpu_memcpy", "name": "b", "ts": 7000000000020.001, "dur": 20.000},
        {"ph": "X", "cat": "cpu_op", "name": "c", "ts": 7000000000050.001, "dur": 20.000}]}""")
    assert kineto_idle(trace) == [[100_000, 70_000]]


def test_our_idle_is_the_gaps_inside_the_step(modules):
    from idle import our_idle
    summary = {"devices": [{"begin_ns": 110, "end_ns": 900, "gaps": [{"begin_ns": 150, "end_ns": 190}, {"begin_ns": 280, "end_ns": 320}]}]}
    assert our_idle(summary, [[100, 200], [200, 300], [850, 950]]) == [[100, 50], [100, 20], [100, 50]]


def test_the_list_of_entry_points_is_the_headers(root, build):
    inc = (build / "setup.mk").read_text().split("=")[1].strip()
    source = "#define __CUDA_API_VERSION_INTERNAL\n#include <cuda.h>\n"
    run = subprocess.run(["cc", "-E", "-P", f"-I{root / inc}", "-xc", "-"], input=source, capture_output=True, text=True, check=True)
    declared = set(re.findall(r"\bCUresult\s+(cu[A-Z]\w*)\s*\(", run.stdout))
    lines = (root / "scripts/gpu_check/entry_points.txt").read_text().splitlines()
    listed = [line for line in lines if not line.startswith("#")]
    assert lines[-1] == "# end"
    assert listed == sorted(listed)
    assert set(listed) == declared
