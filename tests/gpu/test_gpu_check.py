# SPDX-License-Identifier: BSD-2-Clause
"""gpu-check.sh on the simulated driver: every part measures something true, and what came of it goes where it may."""

import copy
import json
import re
import shutil
import subprocess

import pytest

PARTS = ["environment", "pointers", "pointers_under_shim", "costs", "host_probes", "allocator", "nccl", "idle", "slowdown", "conformance"]
HERE = [name for name in PARTS if name != "conformance"]  # that one is tests/conformance's
WORKLOADS = ["launch_bound", "transformer", "graphs", "compiled", "starved"]


@pytest.fixture(scope="module")
def check(root, build, shim, tmp_path_factory):
    out = tmp_path_factory.mktemp("gpu-check") / "result.json"
    command = [root / "scripts/gpu-check.sh", "--dry-run", "--quick", "--only", ",".join(HERE), build, out]
    run = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert run.returncode == 0, run.stdout + run.stderr
    return {**json.loads(out.read_text()), "printed": run.stdout}


def result_of(check, part):
    return check["parts"][part]["result"]


def test_says_that_it_is_simulated_and_lists_every_part(check):
    assert (check["schema"], check["simulated"], check["quick"]) == ("gpushim.gpu-check/2", True, True)
    assert list(check["parts"]) == PARTS
    assert 0 < check["seconds"] < 540
    assert re.match(r"\d{4}-\d\d-\d\dT", check["date"])
    assert check["commit"] is None or re.fullmatch(r"[0-9a-f]{40}", check["commit"])
    assert "simulated" in check["gpu"] and check["driver"] >= 13000


def test_every_part_ran_but_what_needs_pytorch_and_what_was_not_asked_for(check):
    said = {name: (part["status"], part["reason"]) for name, part in check["parts"].items()}
    assert said.pop("allocator") in (("skipped", "no PyTorch"), ("skipped", "dry run"))
    assert said.pop("conformance") == ("skipped", "not asked for")
    assert set(said.values()) == {("ok", "")}, said


@pytest.mark.parametrize("part", ["pointers", "pointers_under_shim"])
def test_every_pointer_is_an_export(check, part):
    result = result_of(check, part)
    assert result["unequal_list"] == [] and result["unequal"] == 0
    assert result["other_list"] == [] and result["other"] == 0
    assert result["absent"] == []
    assert result["exports"] > 600
    assert result["equal"] >= result["names"] - result["unknown"] > 400


def test_the_same_under_the_shim_goes_through_its_hooks(check):
    assert result_of(check, "pointers")["wrapped"] == 0
    assert result_of(check, "pointers_under_shim")["wrapped"] > 100


def test_costs_are_what_the_simulated_driver_is_told_to_take(check):
    """A launch 2 us, a node 0.5 us after the last, an event nothing, a kernel of 1 us; latency 5 us."""
    samples = result_of(check, "costs")["samples"]
    assert 1900 <= samples["launch_ns"]["median"] <= 20000
    assert 400 <= samples["graph_node_gap_by_events_ns"]["median"] <= 520
    assert samples["device_kernel_ns"]["median"] == 1000
    assert abs(samples["device_event_ns"]["median"]) <= 10 and abs(samples["device_stamp_ns"]["median"] - 5000) <= 10
    assert 0 <= samples["event_after_work_ns"]["median"] <= 500
    assert samples["graph_node_gap_ns"] is None  # its kernels write no stamps
    assert samples["launch_latency_ns"]["n"] == 40 and samples["launch_latency_ns"]["median"] >= 2000
    for figures in filter(None, samples.values()):
        assert figures["min"] <= figures["median"] <= figures["p90"] <= figures["p99"] <= figures["max"]


def test_each_allowance_of_the_analyzer_is_judged(check):
    allowances = result_of(check, "costs")["allowances"]
    assert {name: verdict["allowed_ns"] for name, verdict in allowances.items()} == {
        "LATENCY_NS": 25000, "WAKE_NS": 30000, "EVENT_NS": 2000, "NODE_NS": 2000}
    assert allowances["NODE_NS"]["holds"] is True and allowances["EVENT_NS"]["holds"] is True


def test_nccl_of_one_rank_is_recorded(check):
    result = result_of(check, "nccl")
    assert result["without"] == result["recorded"] == {"version": 22809, "right": True}
    assert result["seen"]["ncclAllReduce"] == 20 and result["all_seen"] is True


def test_idle_time_is_set_beside_the_truth_for_every_workload_and_level(check):
    result = result_of(check, "idle")
    assert (result["program"], result["reference"], result["failed"]) == ("driver", "simgpu", {})
    assert {workload: list(levels) for workload, levels in result["runs"].items()} == {name: ["bursts", "edges", "cupti"] for name in WORKLOADS}
    for levels in result["runs"].values():
        for level, run in levels.items():
            assert run["device_timing"] == level
            whole, steps = run["whole"], run["steps"]
            assert whole["comparable"] is True and whole["proven_interval_holds"] is True, (level, whole)
            assert whole["operations"] == whole["reference_operations"] > 0
            assert steps["steps"] == 10 and steps["reference_ns"]["median"] > 0


def test_the_starved_program_is_idle_and_the_busy_one_is_not(check):
    runs = result_of(check, "idle")["runs"]
    assert runs["starved"]["edges"]["steps"]["reference_idle_percent"] > 50
    assert runs["launch_bound"]["edges"]["steps"]["reference_idle_percent"] > 50
    busy = runs["transformer"]["edges"]["steps"]
    assert busy["reference_ns"]["median"] < 0.3 * busy["step_ns"]["median"]
    assert runs["starved"]["edges"]["steps"]["reference_ns"]["min"] >= 2_000_000


def test_slowdown_is_measured_in_pairs_at_every_level(check):
    result = result_of(check, "slowdown")
    assert (result["program"], result["failed"]) == ("driver", {})
    assert list(result["workloads"]) == WORKLOADS
    for name, figures in result["workloads"].items():
        wanted = {"none", "host", "edges", "bursts", "cupti"} | ({"auto"} if name in ("launch_bound", "transformer") else set())
        assert set(figures["levels"]) == wanted and all(figure["pairs"] >= 1 for figure in figures["levels"].values())
        assert all(figures["results_equal"].values())
        assert figures["step_ns"]["min"] > 0
    assert result["workloads"]["transformer"]["step_ns"]["min"] >= 9_600_000  # 96 kernels of 100 us
    assert result["workloads"]["starved"]["step_ns"]["min"] >= 2_000_000  # the wait for a batch; the kernels run in the next one's
    assert {level: facts["device_timing"] for level, facts in result["recorded"].items()} == {
        "host": "host", "edges": "edges", "bursts": "bursts", "cupti": "cupti", "auto": "bursts"}
    assert {level: {name: n for name, n in facts["losses"].items() if n} for level, facts in result["recorded"].items()} == {
        level: {} for level in result["recorded"]}


def test_every_bound_is_printed(check):
    names = [bound["name"] for bound in check["bounds"]]
    assert names[:2] == ["slowdown of transformer at edges, upper end of the 95 % interval",
                         "slowdown of launch_bound at auto, upper end of the 95 % interval"]
    assert len(names) >= 2 + 2 * 15 + 6 + 4 + 3
    printed = [line for line in check["printed"].splitlines() if line.startswith(("met ", "NOT MET ", "inconclusive ", "not measured "))]
    assert len(printed) == len(names)
    assert any(line.startswith("inconclusive ") and line.endswith("; one set of processes says nothing about others") for line in printed)


def test_at_cupti_each_operation_has_its_call_and_its_time(check):
    verdicts = {bound["name"]: (bound["value"], bound["met"]) for bound in check["bounds"] if "no call or no time" in bound["name"]}
    assert verdicts == {f"work of {where} at cupti that has no call or no time": (0, True) for where in (*WORKLOADS, "the slowdown's programs")}


# ---- without the simulated driver -------------------------------------------------------------------------------------------

def test_a_part_that_runs_out_of_time_leaves_what_it_measured(modules, tmp_path):
    import run
    out = tmp_path / "part.json"
    (tmp_path / "slow.py").write_text("import part, time\n"
                                      "def measure(args, result):\n    result['first'] = 1\n    result.save()\n    time.sleep(60)\n"
                                      "part.main(measure)\n")
    env = {"PYTHONPATH": str(run.HERE), "PATH": "/usr/bin:/bin"}
    assert run.run_part(str(tmp_path / "slow.py"), 2, env, [], out) == ("timeout", "no end after 2 s", [])
    assert json.loads(out.read_text()) == {"first": 1}


ENDS = {"ok": ("", "ok", ""), "skipped": ("    raise part.Skip('no such thing')\n", "skipped", "no such thing"),
        "failed": ("    raise ValueError('out of luck')\n", "failed", "exit 1: ValueError: out of luck")}


@pytest.mark.parametrize("how", ENDS)
def test_what_a_part_prints_is_passed_on(modules, tmp_path, how):
    import run
    last, status, reason = ENDS[how]
    (tmp_path / "prints.py").write_text(f"import part\ndef measure(args, result):\n    print('row 7: differs', flush=True)\n{last}part.main(measure)\n")
    env = {"PYTHONPATH": str(run.HERE), "PATH": "/usr/bin:/bin"}
    said, why, lines = run.run_part(str(tmp_path / "prints.py"), 20, env, [], tmp_path / "part.json")
    assert (said, why.partition("\n")[0]) == (status, reason)
    assert lines[0] == "row 7: differs" and reason not in lines[1:]


def test_rows_that_differ_are_printed(root, build, shim, tmp_path):
    """A list with a row that is not so, in the place of the real one."""
    scripts = tmp_path / "scripts"
    shutil.copytree(root / "scripts/gpu_check", scripts / "gpu_check", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(root / "scripts/gpu-check.sh", scripts)
    rows = tmp_path / "tests/conformance"
    rows.mkdir(parents=True)
    (rows / "wrong.txt").write_text("case a-wrong-row bare\ncuInit(0) = SUCCESS\ncuDeviceGetCount(&n:int) = INVALID_VALUE\n")
    run = subprocess.run([scripts / "gpu-check.sh", "--dry-run", "--only", "conformance", build, tmp_path / "out.json"], capture_output=True, text=True,
                         timeout=60)
    assert run.returncode == 0, run.stdout + run.stderr
    lines = run.stdout.splitlines()
    at = lines.index("gpu-check: conformance: ok")
    assert lines[at + 1].startswith("    wrong.txt:") and "expected" in lines[at + 1]
    assert lines[at + 2] == "    2 rows, 1 differ"


def test_a_dry_run_without_cupti_is_refused(root, build, shim, tmp_path):
    """Level cupti would be `auto` without a word."""
    for name in ("libgpushim.so", "gpushim-static", "simgpu", "workloads"):
        (tmp_path / name).symlink_to(build / name)
    run = subprocess.run([root / "scripts/gpu-check.sh", "--dry-run", "--only", "environment", tmp_path, tmp_path / "out.json"], capture_output=True, text=True)
    assert run.returncode == 2 and "cupti/libcupti.so.13 is missing" in run.stderr
    assert not (tmp_path / "out.json").exists()


def test_an_unknown_part_is_refused(root, build, tmp_path):
    run = subprocess.run([root / "scripts/gpu-check.sh", "--dry-run", "--only", "dance", build, tmp_path / "out.json"], capture_output=True, text=True)
    assert run.returncode == 2 and "no such part: dance" in run.stderr


class FakeWorker:
    """100 us a step, and some percent more by level; the process that is told to die does so at its fifth block."""

    dies = ""

    def __init__(self, command, env, errors):
        self.level = env.get("GPUSHIM_DEVICE", "base" if "base" in str(errors) else "none")
        self.blocks = 0
        self.process = type("Process", (), {"poll": staticmethod(lambda: None)})

    def tell(self, line):
        pass

    def answer(self, seconds):
        return {"ready": True}

    def ask(self, line, seconds=60):
        from worker import WorkerError
        command, workload, *steps = line.split()
        if workload == "compiled":
            raise WorkerError("no compiler")
        if command == "prepare":
            return {"ok": True}
        self.blocks += 1
        if self.level == self.dies and self.blocks > 5:
            raise WorkerError("ended: exit status 1")
        more = {"host": 1.01, "edges": 1.02, "bursts": 1.03, "cupti": 1.2, "auto": 1.03}.get(self.level, 1)
        return {"ns": int(steps[0]) * 100_000 * more, "result": "other" if self.level == "cupti" else "same"}

    def end(self):
        pass

    kill = end


@pytest.fixture
def slowdown_of(modules, monkeypatch, tmp_path):
    def run(dies=""):
        import part
        import slowdown
        FakeWorker.dies = dies
        monkeypatch.setattr(slowdown, "Worker", FakeWorker)
        monkeypatch.setattr(slowdown, "worker_command", lambda args: [])
        monkeypatch.setattr(slowdown, "report", lambda binaries, out: {"run": {"device_timing": "edges"}})
        args = type("Args", (), {"bin": str(tmp_path), "work": str(tmp_path), "seconds": "0.4", "simulated": True, "quick": False})()
        result = part.Result(str(tmp_path / "out.json"))
        slowdown.measure(args, result)
        return result
    return run


def test_the_slowdown_found_is_the_one_there_is(slowdown_of):
    result = slowdown_of()
    levels = result["workloads"]["transformer"]["levels"]
    assert {level: figure["percent"] for level, figure in levels.items()} == {
        "none": 0.0, "host": 1.0, "edges": 2.0, "bursts": 3.0, "cupti": 20.0, "auto": 3.0}
    assert levels["edges"]["groups"] >= 2 and levels["edges"]["low"] == levels["edges"]["high"] == 2.0
    assert result["workloads"]["transformer"]["results_equal"] == {
        "none": True, "host": True, "edges": True, "bursts": True, "cupti": False, "auto": True}
    assert result["workloads"]["transformer"]["steps_in_a_block"] == 2500  # 0.25 s


def test_what_cannot_be_run_is_said_and_the_rest_measured(slowdown_of):
    result = slowdown_of(dies="edges")
    assert "compiled" not in result["workloads"] and result["failed"]["0: compiled"] == "no compiler"
    assert result["failed"]["0: edges"] == "ended: exit status 1"
    assert "edges" not in result["workloads"]["starved"]["levels"] and result["workloads"]["starved"]["levels"]["host"]["percent"] == 1.0


# ---- the page and the tables ------------------------------------------------------------------------------------------------

def test_a_dry_run_is_printed_and_written_nowhere(root, check, tmp_path):
    (tmp_path / "check.json").write_text(json.dumps(check))
    before = (root / "README.md").read_text(), sorted((root / "tests/gpu/results").iterdir())
    run = subprocess.run([root / "scripts/gpu_check/results.py", tmp_path / "check.json"], capture_output=True, text=True, check=True)
    assert "| kind | simulated driver, no GPU |" in run.stdout
    assert "| bound | limit | measured |  |" in run.stdout and "| launch_bound |" in run.stdout
    assert ((root / "README.md").read_text(), sorted((root / "tests/gpu/results").iterdir())) == before


def test_a_dry_run_that_is_kept_says_what_it_is_and_enters_no_table(root, modules, check, tmp_path):
    import results
    (tmp_path / "tests/gpu/results").mkdir(parents=True)
    for name in ("README.md", "tests/gpu/results/README.md"):
        (tmp_path / name).write_text((root / name).read_text())
    source = tmp_path / "check.json"
    source.write_text(json.dumps({**check, "date": "2027-01-02T03:04:05+00:00"}))
    page = results.publish(json.loads(source.read_text()), source, tmp_path)
    assert page == tmp_path / "tests/gpu/results/simulated-2027-01-02.md" and page.with_suffix(".json").exists()
    assert "**Simulated: no GPU has run any of this.**" in page.read_text().splitlines()[2]
    for name in ("README.md", "tests/gpu/results/README.md"):
        assert (tmp_path / name).read_text() == (root / name).read_text()


def test_a_run_on_a_gpu_becomes_a_page_and_both_tables(root, modules, check, tmp_path):
    import results
    real = {**copy.deepcopy(check), "simulated": False, "quick": False, "gpu": "NVIDIA H200", "driver": "580.10", "date": "2027-01-02T03:04:05+00:00"}
    (tmp_path / "tests/gpu/results").mkdir(parents=True)
    for name in ("README.md", "tests/gpu/results/README.md"):
        (tmp_path / name).write_text((root / name).read_text())
    source = tmp_path / "check.json"
    source.write_text(json.dumps(real))
    page = results.publish(real, source, tmp_path)
    assert page == tmp_path / "tests/gpu/results/2027-01-02-h200.md"
    assert "| GPU | NVIDIA H200 |" in page.read_text()
    assert json.loads(page.with_suffix(".json").read_text())["gpu"] == "NVIDIA H200"
    for name in ("README.md", "tests/gpu/results/README.md"):
        before, after = (root / name).read_text(), (tmp_path / name).read_text()
        assert "NVIDIA H200, driver 580.10, 2027-01-02" in after and "| transformer |" in after
        assert "ot yet run" not in after[after.index(results.BEGIN):after.index(results.END)]
        assert after.startswith(before[:before.index(results.BEGIN)]) and after.endswith(before[before.index(results.END):])


def test_the_readme_says_that_nothing_ran_on_a_gpu_while_no_result_is_there(root, modules):
    import results
    if [path for path in (root / "tests/gpu/results").glob("*.json") if not json.loads(path.read_text())["simulated"]]:
        pytest.skip("there is one")
    for name in ("README.md", "tests/gpu/results/README.md"):
        text = (root / name).read_text()
        assert "ot yet run on a GPU" in text[text.index(results.BEGIN):text.index(results.END)]


# ---- the list of entry points -----------------------------------------------------------------------------------------------

def test_the_list_of_entry_points_is_the_headers(root, cuda_include):
    source = "#define __CUDA_API_VERSION_INTERNAL\n#include <cuda.h>\n"
    run = subprocess.run(["cc", "-E", "-P", f"-I{cuda_include}", "-xc", "-"], input=source, capture_output=True, text=True, check=True)
    declared = set(re.findall(r"\bCUresult\s+(cu[A-Z]\w*)\s*\(", run.stdout))
    lines = (root / "scripts/gpu_check/entry_points.txt").read_text().splitlines()
    listed = [line for line in lines if not line.startswith("#")]
    assert lines[-1] == "# end"
    assert listed == sorted(listed)
    assert set(listed) == declared
