# SPDX-License-Identifier: BSD-2-Clause
"""Hand-written traces beside what the report must say of them, and the identities that hold on every trace there is.

A folder here: trace.txt (the events, tests/support/gst_text.h), or another tool's trace: trace.json (Kineto's), trace.sql (Nsight's tables); why.md
(what it is about, three lines), error.txt where that trace is damaged (what stands behind its name on standard error; the exit status is 3) and, where the report is
checked, expected.json: the part of `report --json` that must be so. A number or text there equals ours; a list has ours' length; the
strings of `evidence` are each found within one of ours. info-80.txt, info-120.txt: the page that `info` prints at this width, but for its first line; report-80.txt: that of `report`, all of it.
"""

import json
import subprocess
from pathlib import Path

import pytest
from golden_trace import write

HERE = Path(__file__).resolve().parent
CASES = sorted(path.parent.name for path in HERE.glob("*/trace.*"))
PAGES = sorted((path.parent.name, int(path.stem[5:])) for path in HERE.glob("*/info-*.txt"))
SCREENS = sorted((path.parent.name, int(path.stem[7:])) for path in HERE.glob("*/report-*.txt"))
EXPECTED = sorted(path.parent.name for path in HERE.glob("*/expected.json"))


@pytest.fixture(scope="session")
def report(build, gpushim, tmp_path_factory):
    """name → its report, made once."""
    made = {}

    def get(name):
        if name not in made:
            path = write(build, HERE / name, tmp_path_factory.mktemp(name))
            done = subprocess.run([gpushim, "report", "--json", path], capture_output=True, text=True)
            error = HERE / name / "error.txt"
            assert done.returncode == (3 if error.exists() else 0), done.stderr
            assert done.stderr == (f"gpushim: {path}: {error.read_text()}" if error.exists() else "")
            made[name] = json.loads(done.stdout)
        return made[name]

    return get


def compare(want, have, where):
    if isinstance(want, dict):
        for key, value in want.items():
            assert key in have, f"{where}: no {key}"
            compare(value, have[key], f"{where}.{key}")
    elif isinstance(want, list) and where.endswith(".evidence"):
        for text in want:
            assert any(text in ours for ours in have), f"{where}: nothing says {text!r}: {have}"
    elif isinstance(want, list):
        assert len(have) == len(want), f"{where}: {len(have)} instead of {len(want)}: {have}"
        for index, value in enumerate(want):
            compare(value, have[index], f"{where}[{index}]")
    else:
        assert have == want, where


def conserve_estimate(device):
    """Where there were bursts."""
    if "unresolved_idle_ns" not in device:
        return
    low, idle, high = (device[f"unresolved_idle{part}_ns"] for part in ("_low", "", "_high"))
    assert 0 <= low <= idle <= high <= device["unresolved_ns"]
    assert device["likely_idle_low_ns"] <= device["likely_idle_ns"] <= device["likely_idle_high_ns"] <= device["span_ns"]
    assert sum(device["unresolved_causes"].values()) == idle and set(device["unresolved_causes"]) == set(device["causes"])


def conserve(device):
    """Exact, in whole nanoseconds."""
    assert device["span_ns"] == device["end_ns"] - device["begin_ns"]
    parts = ("compute_ns", "comm_exposed_ns", "copy_exposed_ns", "idle_ns")
    assert all(isinstance(device[part], int) and device[part] >= 0 for part in parts)
    assert device["span_ns"] == sum(device[part] for part in parts)
    assert device["copy_exposed_ns"] == sum(device["copy"].values())
    assert device["comm_exposed_ns"] == sum(device["comm"].values())
    assert device["idle_ns"] == sum(device["causes"].values())
    assert device["idle_ns"] == sum(gap["end_ns"] - gap["begin_ns"] for gap in device["gaps"])
    owned = dict.fromkeys(device["causes"], 0)
    last = device["begin_ns"]
    for gap in device["gaps"]:
        at = gap["begin_ns"]
        assert last <= at < gap["end_ns"] <= device["end_ns"]
        for cause in gap["causes"]:  # they tile the gap
            assert cause["begin_ns"] == at < cause["end_ns"]
            at = cause["end_ns"]
            owned[cause["id"]] += cause["end_ns"] - cause["begin_ns"]
            for link in cause["chain"]:
                assert cause["begin_ns"] <= link["begin_ns"] <= link["end_ns"] <= cause["end_ns"]
        assert at == gap["end_ns"]
        last = at
    assert owned == device["causes"]
    conserve_estimate(device)


def conserve_steps(report):
    """Steps are one after another; with startup and shutdown they have all idle time, and so have phases."""
    for device in report["devices"]:
        steps = [step for step in report["steps"] if step["device"] == device["device"]]
        phases = [phase for phase in report["phases"] if phase["device"] == device["device"]]
        assert all(before["end_ns"] == after["begin_ns"] for before, after in zip(steps, steps[1:]))
        assert all(step["begin_ns"] <= step["end_ns"] for step in steps)
        assert [step["index"] for step in steps] == list(range(len(steps)))
        for part in steps + phases:
            assert sum(part["causes"].values()) == part["idle_ns"] >= 0 and set(part["causes"]) == set(device["causes"])
        if steps:
            assert device["idle_ns"] == device["startup_ns"] + device["shutdown_ns"] + sum(step["idle_ns"] for step in steps)
        else:
            assert device["startup_ns"] == device["shutdown_ns"] == 0
        assert not phases or device["idle_ns"] == sum(phase["idle_ns"] for phase in phases)
        assert len({(tuple(phase["path"]), phase["in_step"]) for phase in phases}) == len(phases)


def describe_memory(report):
    """Each device has an entry, and each entry all its keys, whatever is known of it."""
    assert [entry["device"] for entry in report["memory"]][:len(report["devices"])] == [device["device"] for device in report["devices"]]
    for entry in report["memory"]:
        assert all(isinstance(entry[key], list) for key in ("pools", "course", "stories"))
        assert entry["end"]["allocated_bytes"] + entry["end"]["free_bytes"] == entry["end"]["reserved_bytes"] <= entry["peak_reserved_bytes"]
        assert max([0, *(point[1] for point in entry["course"])]) == entry["peak_allocated_bytes"]


def range_ends():
    """The ranges of nvtx-phases that are in others, each once."""
    lines = (HERE / "nvtx-phases/trace.txt").read_text().splitlines()
    return [line for line in lines if line.startswith("range ") and "level=" in line and "t=2" in line]


@pytest.mark.parametrize("line", range_ends())
def test_a_lost_end(line, build, gpushim, report, tmp_path):
    """Its thread tells by what it does next: all steps are there, and no phase that was not."""
    whole = report("nvtx-phases")
    text = (HERE / "nvtx-phases/trace.txt").read_text()
    begin = line.split("t=")[1].split("..")[0]
    (tmp_path / "trace.txt").write_text(text.replace(line, line.replace(line.split()[2], f"t={begin}")))
    subprocess.run([build / "tools/gst_write", tmp_path / "trace.txt", tmp_path / "run"], check=True)
    done = subprocess.run([gpushim, "report", "--json", tmp_path / "run"], capture_output=True, text=True, check=True)
    made = json.loads(done.stdout)
    conserve_steps(made)
    assert made["steps"] == whole["steps"]
    assert {tuple(phase["path"]) for phase in made["phases"]} == {tuple(phase["path"]) for phase in whole["phases"]}


@pytest.mark.parametrize("name", CASES)
def test_conservation(name, report):
    made = report(name)
    assert made["schema"] == "gpushim.report/1"
    for device in made["devices"]:
        conserve(device)
    conserve_steps(made)
    describe_memory(made)


@pytest.mark.parametrize("name", EXPECTED)
def test_report(name, report):
    compare(json.loads((HERE / name / "expected.json").read_text()), report(name), name)


@pytest.mark.parametrize("name", CASES)
def test_text(name, report, build, gpushim, tmp_path):
    """The text is printed for each, its lines fit, and it holds no control character."""
    report(name)
    path = write(build, HERE / name, tmp_path / "run")
    damaged = (HERE / name / "error.txt").exists()
    for extra in ([], ["--why", "0"], ["--full"], ["--advice"], ["--trust"], *([["--steps"]] if name.startswith("nvtx") else [])):
        done = subprocess.run([gpushim, "report", path, *extra], capture_output=True, env={"LC_ALL": "C.UTF-8"})
        if extra and done.returncode == 2:
            assert b"there is no gap" in done.stderr
            continue
        assert done.returncode == (3 if damaged else 0), done.stderr
        lines = done.stdout.decode().split("\n")
        assert max(len(line) for line in lines) <= 80, max(lines, key=len)
        assert all(line.isprintable() for line in lines)


@pytest.mark.parametrize(["left_out", "words"], [(range(4, 8), "1 submission was timed one by one"), ((), "3 submissions were timed one by one")])
def test_one_is_not_several(left_out, words, build, gpushim, tmp_path):
    lines = (HERE / "bursts-too-few/trace.txt").read_text().splitlines(keepends=True)
    (tmp_path / "trace.txt").write_text("".join(line for line in lines if not line.startswith(tuple(f"edge {n} " for n in left_out))))
    subprocess.run([build / "tools/gst_write", tmp_path / "trace.txt", tmp_path / "run"], check=True)
    done = subprocess.run([gpushim, "report", "--full", tmp_path / "run"], capture_output=True, text=True)
    assert words in " ".join(done.stdout.split()), done.stdout + done.stderr


@pytest.mark.parametrize("name, columns", PAGES)
def test_info(name, columns, build, gpushim, tmp_path):
    subprocess.run([build / "tools/gst_write", HERE / name / "trace.txt", tmp_path], check=True)
    done = subprocess.run([gpushim, "info", tmp_path], capture_output=True, text=True, env={"LC_ALL": "C.UTF-8", "COLUMNS": str(columns)})
    assert done.returncode == 0, done.stderr
    page = done.stdout.split("\n", 1)[1]
    assert page == (HERE / name / f"info-{columns}.txt").read_text()
    assert max(map(len, page.split("\n"))) <= columns


@pytest.mark.parametrize("name, columns", SCREENS)
def test_screen(name, columns, build, gpushim, tmp_path):
    subprocess.run([build / "tools/gst_write", HERE / name / "trace.txt", tmp_path], check=True)
    done = subprocess.run([gpushim, "report", tmp_path], capture_output=True, text=True, env={"LC_ALL": "C.UTF-8", "COLUMNS": str(columns)})
    assert done.stdout == (HERE / name / f"report-{columns}.txt").read_text()
