# SPDX-License-Identifier: BSD-2-Clause
"""Every fuzzer's corpus, once, under AddressSanitizer and UndefinedBehaviorSanitizer: what a fuzzer once found stays fixed."""

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


def test_each_corpus_has_a_target():
    assert sorted(path.name for path in (FOLDER / "corpus").iterdir()) == TARGETS
