# SPDX-License-Identifier: BSD-2-Clause
"""tinygrad trains a small network on the simulated driver: the recorder changes nothing, and the report agrees with the truth."""

import pytest
import step_truth
import truth

# What a step is, and how long a kernel takes: those of 3 us are done long before the next is launched.
MODES = [("eager", 300), ("replay", 300), ("replay", 3), ("graph", 300), ("graph", 3)]


@pytest.fixture
def training(tinygrad, outcome):
    """start(mode, steps, options, env): a function that records this training and compares it with one that is not recorded."""

    def start(mode, steps, *options, env):
        without = tinygrad(mode, "--steps", steps, *options, env=env, shim=False)
        assert without.status == 0, without.stderr
        assert without.stdout.count(" loss ") == steps and "parameters" in without.stdout.splitlines()[-1]

        def record():
            run = tinygrad(mode, "--steps", steps, *options, env=env, realtime=True)
            assert outcome(run) == outcome(without)
            return run

        return record

    return start


@pytest.mark.parametrize(("mode", "kernel_us"), MODES)
def test_agrees(training, mode, kernel_us):
    """Its steps, too, of which the first two are like no other: nothing but their copies before there is a graph."""
    record = training(mode, 20, "--step-log", "steps.txt", env={"SIMGPU_KERNEL_US": kernel_us})

    def checked():
        run = record()
        assert step_truth.check(run, run.folder / "steps.txt") == []
        return run

    truth.agree(checked)


@pytest.mark.parametrize("mode", ["replay", "graph"])
def test_two_devices(training, mode):
    """Nothing false is claimed. With graphs, one graph holds both devices' kernels and the copies between them. The widths are promised behind a blocking call and in a silence; here one device waits for a copy
    that the other makes, which nobody waits for."""
    run = training(mode, 5, "--devices", 2, env={"SIMGPU_DEVICES": 2})()
    truth.check_sound(run.report(), truth.Truth(run))
