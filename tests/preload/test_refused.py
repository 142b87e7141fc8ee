# SPDX-License-Identifier: BSD-2-Clause
"""What the driver refuses without looking, the recorder does not look at either: lists shorter than they say, or nowhere."""

EXPECTED = """a batch of 1000000: CUDA_ERROR_INVALID_VALUE
a batch of 256: CUDA_ERROR_INVALID_VALUE
a batch with flags: CUDA_ERROR_INVALID_VALUE
a batch of nothing: CUDA_ERROR_INVALID_VALUE
a batch of 4: CUDA_SUCCESS
copies without attributes: CUDA_ERROR_INVALID_VALUE
a launch of no kernel: CUDA_ERROR_INVALID_HANDLE
3 is there
"""


def test_the_program_goes_on(recorder):
    command = recorder.command("refused_linked")
    without = recorder.run(command, shim=False)
    recorded = recorder.run(command)
    assert (without.status, without.stdout, without.stderr) == (0, EXPECTED, "")
    assert (recorded.status, recorded.stdout, recorded.stderr) == (0, EXPECTED, "")
    assert len(recorded.traces()) == 1
