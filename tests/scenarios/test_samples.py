# SPDX-License-Identifier: BSD-2-Clause
"""The sample programs: true programs of the driver API, recorded exactly, and none the wiser."""

import pytest
import truth

# What each prints, and how many operations its work is: told by its source, not by the recorder.
SAMPLES = {
    "vector_add": ("vector_add: 50000 sums\n", 6),
    "matrix_multiply": ("matrix_multiply: 30 products of 128 by 128\n", 34),
    "streams": ("streams: 6 passes over 1048576 numbers\n", 6 * 4 * 3),
    "peer_copy": ("peer_copy: 4 devices, 12 ways between them are direct\n", 10),
    "graph": ("graph by hand: 5 nodes, launched 10 times\ngraph by capture: 5 nodes, launched 10 times\n", 2 * 10 * 5),
}


@pytest.mark.parametrize("sample", SAMPLES)
def test_sample(recorder, sample):
    prints, operations = SAMPLES[sample]
    command = recorder.command(f"sample_{sample}_linked")
    settings = {"SIMGPU_DEVICES": 4}
    alone, run = recorder.run(command, shim=False, env=settings), recorder.run(command, env=settings, realtime=True)
    assert (alone.status, alone.stdout) == (0, prints), alone.stderr
    assert (run.status, run.stdout) == (0, prints), run.stderr
    true = truth.Truth(run)
    assert len(true.ops) == operations
    truth.check_sound(run.report(), true)
