# SPDX-License-Identifier: BSD-2-Clause
"""Dr.Jit fits a curve on the simulated driver: the recorder changes nothing, and the report agrees with the truth."""

import truth


def test_agrees(recorder, drjit, outcome):
    def run(**how):
        return recorder.run(drjit, env={"HOME": recorder.new_folder(), "SIMGPU_KERNEL_US": 300}, **how)

    without = run(shim=False)
    assert without.status == 0, without.stderr
    assert without.stdout.count(" loss ") == 30

    def record():
        recorded = run(realtime=True)
        assert outcome(recorded) == outcome(without)
        return recorded

    calls = truth.agree(record).report()["calls"]
    assert calls["cuLaunchHostFunc"] == 30 and calls["cuMemAllocAsync"] > 0


def test_dies_the_same(recorder, drjit, outcome):
    """It aborts when the driver reports an error."""
    env = {"HOME": recorder.new_folder(), "SIMGPU_FAIL": "cuLaunchKernel:40:719"}
    without = recorder.run(drjit, env=env, shim=False)
    recorded = recorder.run(drjit, env=env)
    assert without.status < 0 and "0719" in without.stderr
    assert outcome(recorded) == outcome(without)
    report = recorded.report()
    assert report["calls"]["cuLaunchKernel"] == 40
    assert report["losses"]["records_dropped"] == 0
