# SPDX-License-Identifier: BSD-2-Clause
"""The driver API through NVIDIA's cuda-bindings on the simulated driver, which resolve every function with cuGetProcAddress:
the recorder changes nothing, and the report agrees with the truth."""

import pytest
import truth

SECTIONS = {
    "basics": ["devices", "contexts", "libraries", "streams_and_events", "default_stream", "errors"],
    "copies": ["copies", "pitched", "boxes", "batch", "host_memory"],
    "pools": ["managed", "pools", "virtual"],
    "graphs": ["explicit", "captured", "updated", "nested"],
    "second-device": ["second_device"],
}


@pytest.mark.parametrize("per_thread", [None, 1], ids=["legacy", "per-thread"])
@pytest.mark.parametrize("name", SECTIONS)
def test_agrees(bindings, outcome, name, per_thread):
    env = {"CUDA_PYTHON_CUDA_PER_THREAD_DEFAULT_STREAM": per_thread}
    without = bindings(*SECTIONS[name], env=env, shim=False)
    assert without.status == 0, without.stdout + without.stderr
    assert without.stdout.count("\n-- ") == len(SECTIONS[name])
    assert "False" not in without.stdout, without.stdout

    def record():
        run = bindings(*SECTIONS[name], env=env, realtime=True)
        assert outcome(run) == outcome(without)
        return run

    if name == "second-device":  # its first work waits for the other device's copy, which nobody waits for: no width is promised
        run = record()
        truth.check_sound(run.report(), truth.Truth(run))
    else:
        run = truth.agree(record, copies_untold=name in ("copies", "pools"))
    calls = run.report()["calls"]
    assert calls["cuLaunchKernel_ptsz" if per_thread else "cuLaunchKernel"] > 0
