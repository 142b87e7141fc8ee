# SPDX-License-Identifier: BSD-2-Clause
"""Every fuzzer's corpus, once, under AddressSanitizer and UndefinedBehaviorSanitizer: what a fuzzer once found stays fixed."""

import re
import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parent
SEEDS_LEAST = 50  # of each target
TARGETS = sorted(path.stem.removeprefix("fuzz_") for path in FOLDER.glob("fuzz_*.c"))


def replay(build, target, *files):
    return subprocess.run([build / "fuzz" / f"replay_{target}", *files], capture_output=True, text=True, timeout=240)


@pytest.mark.parametrize("target", TARGETS)
def test_corpus(build, target):
    seeds = sorted((FOLDER / "corpus" / target).iterdir())
    done = replay(build, target, *seeds)
    tried = done.stdout.splitlines()
    assert done.returncode == 0, f"{tried[-1] if tried else 'nothing'}: exit status {done.returncode}\n{done.stderr}"
    assert tried == [str(seed) for seed in seeds]
    assert len(seeds) >= SEEDS_LEAST


@pytest.mark.parametrize("target", TARGETS)
def test_a_seed_that_is_missing_is_no_success(build, target, tmp_path):
    assert replay(build, target, tmp_path / "missing").returncode == 1
    assert replay(build, target).returncode == 1


def test_seeds_of_golden_traces_are_in_the_form_of_today(build, tmp_path):
    """In an older one they would be noise: run make_seeds.py."""
    seeds = {path.name: path.read_bytes() for path in (FOLDER / "corpus/reader").glob("*-host-*")}
    for name in {re.sub(r"-host-\d+$", "", seed) for seed in seeds}:
        subprocess.run([build / "tools/gst_write", "--compact", FOLDER.parent / "golden" / name / "trace.txt", tmp_path], check=True, stdout=subprocess.DEVNULL)
    assert seeds == {path.stem: path.read_bytes() for path in tmp_path.iterdir()}


def test_rows_of_launches_are_read_both_ways(build):
    seeds = sorted((FOLDER / "corpus/report").glob("rows*"))
    assert len(seeds) >= 4
    assert replay(build, "report", *seeds).stderr == f"{len(seeds)} compared\n"


def test_each_corpus_has_a_target():
    assert sorted(path.name for path in (FOLDER / "corpus").iterdir()) == TARGETS
