# SPDX-License-Identifier: BSD-2-Clause
"""tinygrad trains a small network on the simulated driver: the recorder changes nothing, and the report agrees with the truth."""

import pytest
import truth

# What a step is, and how long a kernel takes: those of 3 us are done long before the next is launched.
MODES = [("eager", 300), ("replay", 300), ("replay", 3)]


@pytest.mark.parametrize(("mode", "kernel_us"), MODES)
def test_agrees(tinygrad, outcome, mode, kernel_us):
    env = {"SIMGPU_KERNEL_US": kernel_us}
    without = tinygrad(mode, shim=False, env=env)
    assert without.status == 0, without.stderr
    assert without.stdout.count(" loss ") == 20 and "parameters" in without.stdout.splitlines()[-1]

    def record():
        run = tinygrad(mode, env=env, realtime=True)
        assert outcome(run) == outcome(without)
        return run

    truth.agree(record)
