# SPDX-License-Identifier: BSD-2-Clause
"""Real runs of one program on the simulated driver: `gpushim diff` of two of them seldom says that one is worse; of one that sleeps it does."""

import json
import os
import subprocess
import sys

import pytest

PAIRS = 20
STEPS = 40


@pytest.fixture
def recorded(root, build, gpushim, shim, tmp_path):
    def run(name, *options):
        subprocess.run([gpushim, "run", "--host", "off", "-o", tmp_path / name, "--", sys.executable, root / "tests/workloads/train.py", "--steps", str(STEPS), *options],
                       check=True, capture_output=True, timeout=300, env={**os.environ, "LD_LIBRARY_PATH": str(build / "simgpu"), "TMPDIR": str(tmp_path)})
        return tmp_path / name
    return run


def compare(gpushim, base, new):
    done = subprocess.run([gpushim, "diff", base, new, "--json"], capture_output=True, text=True)
    assert done.returncode in (0, 1, 5), done.stderr
    return done.returncode, json.loads(done.stdout)


def test_pairs_of_one_program(gpushim, recorded):
    runs = [recorded(f"run{i}") for i in range(PAIRS + 1)]
    answers = [compare(gpushim, base, new) for base, new in zip(runs, runs[1:])]
    worse = [answer["reason"] for status, answer in answers if status == 1]
    assert len(worse) <= 0.05 * PAIRS, worse
    assert all(answer["verdict"] != "x" for _, answer in answers)
    # What a run of 40 steps tells is mostly enough to say that nothing changed.
    assert sum(answer["verdict"] == "~" for _, answer in answers) >= PAIRS / 2, [answer["reason"] for _, answer in answers]


def test_a_program_that_sleeps(gpushim, recorded):
    status, answer = compare(gpushim, recorded("base"), recorded("new", "--sleep-ms", "15"))
    rows = {row["id"]: row for row in answer["rows"]}
    assert status == 1 and answer["reason"].startswith("host-sleep takes "), answer["reason"]
    assert rows["step"]["verdict"] == rows["idle"]["verdict"] == "+" and 10_000_000 < rows["step"]["delta_ns"] < 25_000_000
