# SPDX-License-Identifier: BSD-2-Clause
"""gpu-check.sh on the simulated driver: every part that needs no PyTorch measures something true."""

import json
import re
import subprocess

import pytest

PARTS = ["environment", "pointers", "pointers_under_shim", "events", "conformance", "slowdown", "idle"]


@pytest.fixture(scope="module")
def check(root, build, shim, tmp_path_factory):
    out = tmp_path_factory.mktemp("gpu-check") / "result.json"
    run = subprocess.run([root / "scripts/gpu-check.sh", "--dry-run", build, out], capture_output=True, text=True, timeout=240)
    assert run.returncode == 0, run.stdout + run.stderr
    return json.loads(out.read_text())


def test_says_that_it_is_simulated_and_lists_every_part(check):
    assert check["schema"] == "gpushim.gpu-check/1"
    assert check["simulated"] is True
    assert list(check["parts"]) == PARTS
    assert 0 < check["seconds"] < 540
    assert re.match(r"\d{4}-\d\d-\d\dT", check["date"])
    assert check["commit"] is None or re.fullmatch(r"[0-9a-f]{40}", check["commit"])


@pytest.mark.parametrize("part", ["environment", "pointers", "pointers_under_shim", "events", "conformance"])
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


def test_the_conformance_list_was_replayed(check):
    """tests/conformance asserts more of it; here one device, so that what needs two is skipped and said to be."""
    result = check["parts"]["conformance"]["result"]
    assert result["rows"] > 400 and result["differ"] == 0, result
    assert any("needs devices" in line for line in result["skipped"])


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


REPORT = {"devices": [{"begin_ns": 0, "end_ns": 1000, "span_ns": 1000, "idle_ns": 40, "idle_error_ns": 2, "unresolved_ns": 0, "operations": 9,
                       "gaps": [{"begin_ns": 110, "end_ns": 150}]}], "losses": {"records_dropped": 0}, "self": {}, "calls": {}, "injected": {}}


def parts_args(tmp_path):
    return type("Args", (), {"bin": str(tmp_path), "work": str(tmp_path)})()


def test_slowdown_compares_losses_and_times_pair_by_pair(modules, monkeypatch, tmp_path):
    """On stand-in runs: 100 ns a step without the shim, 103 with it."""
    import part
    import slowdown
    order = []

    def train(work, steps, shim="", out=""):
        order.append(bool(shim))
        return {"losses": ["0x1p+0", "0x1p-1"], "steps": [[0, 103 if shim else 100]] * 3}

    monkeypatch.setattr(slowdown, "train", train)
    monkeypatch.setattr(slowdown, "report", lambda binaries, out: REPORT)
    result = part.Result(str(tmp_path / "out.json"))
    slowdown.measure(parts_args(tmp_path), result)
    assert order == [False] + [False, True, True, False] * 2 + [False, True]
    assert result["losses_equal"] is True
    assert result["ratio"] == {"median": 1.03, "min": 1.03, "max": 1.03, "n": 5}
    assert result["losses"] == {"records_dropped": 0}
    assert json.loads((tmp_path / "out.json").read_text())["pairs"] == 5


def test_slowdown_notices_a_different_loss(modules, monkeypatch, tmp_path):
    import part
    import slowdown
    monkeypatch.setattr(slowdown, "train", lambda work, steps, shim="", out="": {"losses": ["0x2p+0" if shim else "0x1p+0"], "steps": [[0, 100]]})
    monkeypatch.setattr(slowdown, "report", lambda binaries, out: REPORT)
    result = part.Result(str(tmp_path / "out.json"))
    slowdown.measure(parts_args(tmp_path), result)
    assert result["losses_equal"] is False


def test_idle_sets_ours_beside_the_profilers_step_by_step(modules, monkeypatch, tmp_path):
    import idle
    import part

    def train(work, steps, shim="", out="", profile=""):
        if profile:
            profile.write_text("""{"traceEvents": [
                {"ph": "X", "cat": "user_annotation", "name": "gpu_check_step", "ts": 5.0, "dur": 0.1},
                {"ph": "X", "cat": "kernel", "name": "a", "ts": 5.0, "dur": 0.065}]}""")
        return {"losses": [], "steps": [[100, 200]]}

    monkeypatch.setattr(idle, "train", train)
    monkeypatch.setattr(idle, "report", lambda binaries, out: REPORT)
    result = part.Result(str(tmp_path / "out.json"))
    idle.measure(parts_args(tmp_path), result)
    assert result["together"]["ours"]["idle_ns"]["median"] == 40
    assert result["together"]["profiler"]["idle_ns"]["median"] == 35
    assert result["together"]["difference_ns"] == {"median": 5, "min": 5, "max": 5, "n": 1}
    assert result["apart"]["ours_step_ns"] == 100
    assert result["apart"]["profiler"]["steps"] == 1
    assert result["together"]["ours_whole_run"]["idle_error_ns"] == 2


def test_a_part_that_runs_out_of_time_leaves_what_it_measured(modules, tmp_path):
    import run
    out = tmp_path / "part.json"
    (tmp_path / "slow.py").write_text("import part, time\n"
                                      "def measure(args, result):\n    result['first'] = 1\n    result.save()\n    time.sleep(60)\n"
                                      "part.main(measure)\n")
    env = {"PYTHONPATH": str(run.HERE), "PATH": "/usr/bin:/bin"}
    status, reason = run.run_part(str(tmp_path / "slow.py"), 2, env, [], out)
    assert (status, reason) == ("timeout", "no end after 2 s")
    assert json.loads(out.read_text()) == {"first": 1}


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
