# SPDX-License-Identifier: BSD-2-Clause
"""`gpushim diff` as scripts call it: exit statuses, the verdict, what is the same twice, and what is no comparison."""

import json
import random
import sqlite3
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

GOLDEN = Path(__file__).resolve().parent.parent / "golden"


def events(seed, steps=40, allocator_us=300, kernels=("fill", "forward", "backward", "adam"), device=0, warm_up=0, long_us=0):
    """A training loop of kernels and a wait in each step, in which the host takes memory for a while; steps vary. long_us: and for
    so long in each tenth one."""
    rng, at, lines, seq = random.Random(seed), 1000, [], 0
    for step in range(steps):
        for kernel in kernels:
            seq += 1
            lines += [f"launch t={at}us..{at + 2}us stream=1 seq={seq} kernel={kernel}",
                      f"activity t={at + 5}us..{at + 5 + rng.randint(480, 520)}us stream=1 seq={seq} kernel={kernel}"]
            at += 530
        lines.append(f"sync-stream t={at - 500}us..{at}us stream=1 seq={seq}")
        held = max(1, int(allocator_us * rng.uniform(0.9, 1.1))) + (5000 if step < warm_up else 0) + (long_us if step % 10 == 9 else 0)
        lines += [f"alloc t={at + 10}us..{at + 10 + held}us pointer={4096 * (step + 1)} bytes=1048576"]
        at += 20 + held
    head = [f"process 100 level=cupti exited=1 end={at // 1000 + 10}ms", "thread 100 main", f"device {device}", "stream 1"]
    order = sorted(lines, key=lambda line: (line.startswith("activity"), int(line.split("t=")[1].split("us")[0])))
    return "\n".join(head + order) + "\n"


@pytest.fixture
def recording(build, tmp_path):
    def write(name, text=None, **program):
        (tmp_path / "events").write_text(text or events(**program))
        subprocess.run([build / "tools/gst_write", tmp_path / "events", tmp_path / name], check=True)
        return tmp_path / name
    return write


@pytest.fixture
def diff(gpushim):
    def run(*args, status=None):
        done = subprocess.run([gpushim, "diff", *map(str, args)], capture_output=True, text=True, env={"LC_ALL": "C.UTF-8"})
        assert status is None or done.returncode == status, (done.returncode, done.stdout, done.stderr)
        return done
    return run


@pytest.fixture
def compared(diff):
    return lambda *args, status: json.loads(diff(*args, "--json", status=status).stdout)


def rows_of(answer):
    return {row["id"]: row for row in answer["rows"]}


def assert_sums(answer):
    rows = rows_of(answer)
    for figure in ("base_ns", "new_ns", "delta_ns"):
        leaves = {name: row[figure] for name, row in rows.items() if name not in ("step", "idle")}
        assert sum(leaves.values()) == rows["step"][figure]
        assert sum(ns for name, ns in leaves.items() if name not in ("compute", "comm", "copy")) == rows["idle"][figure]


def test_the_same_program(recording, compared):
    answer = compared(recording("base", seed=1), recording("new", seed=2), status=0)
    assert answer["schema"] == "gpushim.diff/1" and answer["verdict"] == "~" and answer["exit_status"] == 0
    assert [run["side"] for run in answer["runs"]] == ["base", "new"] and not answer["devices"][0]["run_to_run_known"]
    assert_sums(answer)


def test_a_cause_got_worse_and_better_again(recording, diff, compared):
    base, new = recording("base", seed=1), recording("new", seed=2, allocator_us=700)
    answer = compared(base, new, status=1)
    rows = rows_of(answer)
    assert answer["verdict"] == "+" and answer["reason"].startswith("allocator takes ")
    assert rows["allocator"]["verdict"] == rows["idle"]["verdict"] == rows["step"]["verdict"] == "+" and rows["compute"]["verdict"] == "~"
    assert 330_000 < rows["allocator"]["delta_ns"] < 470_000 and rows["allocator"]["low_ns"] <= 400_000 <= rows["allocator"]["high_ns"]
    assert_sums(answer)
    back = compared(new, base, status=0)
    assert back["verdict"] == "-" and {name: -row["delta_ns"] for name, row in rows.items()} == {name: row["delta_ns"] for name, row in rows_of(back).items()}
    text = diff(base, new, status=1).stdout
    assert text.startswith("+ regressed: allocator takes") and "cuMemAlloc" in text
    evidence = [line for gap in answer["devices"][0]["gaps"] for line in gap["new"]["evidence"]]
    assert any("allocator" in line for line in evidence)


def test_the_same_bytes(recording, diff):
    base, new = recording("base", seed=1), recording("new", seed=2, allocator_us=700)
    for option in ([], ["--json"], ["--md"], ["--junit", "-"], ["--html", "-"]):
        first, second = (diff(base, new, *option, status=1).stdout for _ in range(2))
        assert first == second and first


def test_long_steps_got_longer(recording, diff, compared, tmp_path):
    """The typical step is as it was; it is worse all the same, and each output says where."""
    base, new = recording("base", seed=1, steps=120), recording("new", seed=2, steps=120, long_us=40_000)
    answer = compared(base, new, "--junit", tmp_path / "j.xml", "--html", tmp_path / "p.html", status=1)
    device = answer["devices"][0]
    assert answer["verdict"] == device["tail"]["verdict"] == "+" and answer["reason"].startswith("steps that take long add ")
    assert {row["verdict"] for row in answer["rows"]} <= {"~", "?"} and 3_000_000 < device["tail"]["delta_ns"] < 5_000_000
    suite = ElementTree.parse(tmp_path / "j.xml").getroot()
    assert suite.get("failures") == "1" and [case.get("name") for case in suite.iter("testcase") if case.find("failure") is not None] == ["tail"]
    assert "\n| `+` | **tail** |" in diff(base, new, "--md", status=1).stdout and ">tail</span>" in (tmp_path / "p.html").read_text()
    compared(base, new, "--fail-on", "step>+5%", "--junit", tmp_path / "rules.xml", status=0)  # no rule is about it
    assert ElementTree.parse(tmp_path / "rules.xml").getroot().get("failures") == "0"


def test_which_are_base_and_which_new(recording, diff, compared):
    base, new = [recording(f"base{i}", seed=i) for i in range(3)], [recording(f"new{i}", seed=10 + i, allocator_us=700) for i in range(2)]
    answer = compared(*base, "--", *new, status=1)
    assert [run["side"] for run in answer["runs"]] == ["base"] * 3 + ["new"] * 2 and answer["devices"][0]["run_to_run_known"]
    assert json.loads(diff("--json", *base, "--", *new).stdout) == answer
    for args in ([base[0]], [*base], ["--", base[0]], [base[0], "--"], []):
        done = diff(*args, status=2)
        assert done.stderr.startswith("gpushim: diff: ") and not done.stdout


@pytest.mark.parametrize(("rules", "status"), [(["idle>+2%"], 1), (["idle>+50%"], 0), (["allocator>+200us"], 1), (["allocator>+5ms"], 0),
                                               (["compute>0%", "allocator>+1%"], 1), (["compute>0%,step>90%"], 0)])
def test_rules(recording, compared, rules, status):
    options = [word for rule in rules for word in ("--fail-on", rule)]
    answer = compared(recording("base", seed=1), recording("new", seed=2, allocator_us=700), *options, status=status)
    assert answer["verdict"] == "+" and bool(answer["fired"]) == (status == 1)


def test_what_is_no_rule(diff, tmp_path):
    done = diff(tmp_path / "nowhere", tmp_path / "nothing", "--fail-on", "idle", status=2)
    assert "'idle' is no rule: ROW>+AMOUNT" in done.stderr and "us, ms or s" in done.stderr and not done.stdout


def test_other_numbers_of_devices(recording, compared):
    two = (GOLDEN / "four-devices/trace.txt").read_text()
    answer = compared(recording("base", seed=1), recording("new", text=two), status=5)
    assert answer["verdict"] == "x" and answer["reason"] == "base uses 1 device and new 4" and not answer["rows"]


def test_other_steps(recording, compared):
    answer = compared(recording("base", seed=1), recording("new", seed=2, kernels=("a", "b", "c", "adam")), status=5)
    assert answer["verdict"] == "x" and "only 25 % of what a step launches is the same" in answer["reason"]
    assert {row["verdict"] for row in answer["rows"]} == {"x"}


def test_a_kernel_more_is_a_change(recording, compared):
    answer = compared(recording("base", seed=1), recording("new", seed=2, kernels=("fill", "forward", "dropout", "backward", "adam")), status=1)
    assert answer["reason"].startswith("compute takes ")
    assert any(k["name"] == "dropout" and k["base"] is None for k in answer["devices"][0]["kernels"])


def test_too_few_steps(recording, compared):
    answer = compared(recording("base", seed=1), recording("new", text=(GOLDEN / "cause-allocator/trace.txt").read_text()), status=5)
    assert answer["verdict"] == "x"


def test_warm_up_is_left_out(recording, compared):
    answer = compared(recording("base", seed=1, warm_up=4), recording("new", seed=2), status=0)
    base, new = (run["devices"][0] for run in answer["runs"])
    assert base["warm_up_steps"] == new["warm_up_steps"] + 3 and answer["verdict"] == "~"  # the first step begins before the device does


def test_a_side_that_is_cut(recording, diff):
    base, new = recording("base", seed=1), recording("new", seed=2)
    file = next(new.glob("*.gst"))
    file.write_bytes(file.read_bytes()[:-1000])
    for sides in ((base, new), (new, base)):
        done = diff(*sides, "--json", status=3)
        answer = json.loads(done.stdout)
        assert answer["verdict"] == "x" and not answer["rows"] and "byte" in answer["reason"] and file.name in done.stderr


def test_what_is_not_there(recording, diff, tmp_path):
    done = diff(recording("base", seed=1), tmp_path / "none", status=3)
    assert f"{tmp_path}/none: cannot open" in done.stderr and not done.stdout


def test_other_tools_are_not_mixed(recording, compared, tmp_path):
    base, kineto, nsys = recording("base", seed=1), GOLDEN / "kineto-starved-loader/trace.json", tmp_path / "nsys.sqlite"
    db = sqlite3.connect(nsys)
    db.executescript((GOLDEN / "nsys-launch-bound/trace.sql").read_text())
    db.close()
    for sides, words in (((base, kineto), "gpushim and new by Kineto"), ((kineto, nsys), "Kineto and new by Nsight Systems"), ((nsys, base), "Nsight Systems and new by gpushim")):
        answer = compared(*sides, status=5)
        assert answer["verdict"] == "x" and words in answer["reason"] and not answer["rows"]
    for one in (kineto, nsys):
        assert compared(one, one, status=5)["devices"]  # too short, but of one kind


def test_a_baseline_says_what_the_run_would(gpushim, recording, compared, tmp_path):
    base, new = recording("base", seed=1), recording("new", seed=2, allocator_us=700)
    saved = tmp_path / "base.json"
    done = subprocess.run([gpushim, "report", base, "--save-baseline", saved], capture_output=True, text=True)
    assert done.returncode == 0 and not done.stdout and saved.stat().st_size < 100_000
    answer, whole = compared("--baseline", saved, new, status=1), compared(base, new, status=1)
    assert answer["rows"] == whole["rows"] and answer["reason"] == whole["reason"]
    assert compared(new, "--baseline", saved, new, status=1)["devices"][0]["run_to_run_known"]


def test_commits_and_files(recording, compared, tmp_path):
    answer = compared(recording("base", seed=1), recording("new", seed=2), "--base-commit", "abc", "--new-commit", "def", "--junit", tmp_path / "j.xml", "--html", tmp_path / "p.html", status=0)
    assert [run["commit"] for run in answer["runs"]] == ["abc", "def"] and {"name": "commit", "base": "abc", "new": "def"} in answer["environment"]
    assert (tmp_path / "j.xml").read_text().startswith("<?xml") and "</html>" in (tmp_path / "p.html").read_text()


def test_nothing_is_overwritten_that_is_read(recording, diff):
    base, new = recording("base", seed=1), recording("new", seed=2)
    file = next(new.glob("*.gst"))
    before = file.read_bytes()
    assert "part of the recording" in diff(base, new, "--html", file, status=2).stderr and file.read_bytes() == before


def test_all_runs_of_a_directory_are_runs_of_a_side(recording, compared, tmp_path):
    both = "".join(events(seed=seed).replace("process 100", f"process {seed} run=r{seed} start={seed}s", 1) for seed in (1, 2))
    answer = compared(recording("base", text=both), recording("new", text=both), "--run", "all", status=0)
    assert len(answer["runs"]) == 4
