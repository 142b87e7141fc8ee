# SPDX-License-Identifier: BSD-2-Clause
"""Steps of programs that say nothing of them, from what they launch: held against the program's own log of when each began."""

import pytest
import step_truth

# What each variant does besides a plain loop; how many pieces lie between its steps.
VARIANTS = {
    "plain": ([], 0),
    "items": (["--item-each-layer"], 0),
    "checkpoints": (["--checkpoint-every", 3], 0),
    "warm-up": (["--warm-up", "--pinned"], 0),
    "shapes": (["--shapes", "--log-every", 3], 0),
    "epochs": (["--epoch", 6], 2),
    "everything": (["--warm-up", "--shapes", "--log-every", 4, "--epoch", 5, "--validate", 2, "--checkpoint-every", 5], 3),
    "accumulate": (["--accumulate", 2], 0),
    "accumulate-and-log": (["--accumulate", 4, "--log-every", 8, "--checkpoint-every", 0], 0),
    "graph": (["--graph"], 0),
    "graph-epochs": (["--graph", "--epoch", 6, "--validate", 3], 2),
}
ITERATIONS = 16


@pytest.mark.parametrize("variant", VARIANTS)
def test_train(recorder, variant):
    options, between = VARIANTS[variant]
    log = recorder.new_folder() / "steps.txt"
    run = recorder.run(recorder.command("train.py", "--steps", ITERATIONS, "--step-log", log, *options), env={"SIMGPU_KERNEL_US": 100})
    assert run.status == 0, run.stderr
    assert len(step_truth.check(run, log)) == between


@pytest.mark.parametrize("seed", range(2))
def test_random_calls_have_none(recorder, seed):
    run = recorder.run(recorder.command("random_calls", seed, 10000))
    assert run.report()["steps"] == []
    run = recorder.run(recorder.command("client_linked", "--seed", seed, "--threads", 2, "--actions", 1000))
    assert run.report()["steps"] == []
