# SPDX-License-Identifier: BSD-2-Clause
"""tinygrad trains a small network on the simulated driver: the recorder changes nothing, and the report agrees with the truth."""

import pytest
import truth

MODES = ["eager", "replay"]


@pytest.fixture(scope="module", params=MODES)
def mode(request):
    return request.param


@pytest.fixture(scope="module")
def without(tinygrad, outcome, mode):
    """What a training prints that is not recorded."""
    run = tinygrad(mode, shim=False)
    assert run.status == 0, run.stderr
    assert run.stdout.count(" loss ") == 20 and "parameters" in run.stdout.splitlines()[-1]
    return outcome(run)


def test_agrees(tinygrad, outcome, mode, without):
    def record():
        run = tinygrad(mode, realtime=True)
        assert outcome(run) == without
        return run

    truth.agree(record)
