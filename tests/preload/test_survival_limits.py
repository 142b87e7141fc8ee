# SPDX-License-Identifier: BSD-2-Clause
"""Programs that are short of something, or leave the place in which they began: they do as without the shim; each call is in the trace, or
counted as one that is not."""

import os
import struct
import tempfile
from pathlib import Path

import gst
import pytest
import survival

WHOLE = ["no-threads", "no-locked-memory", "other-directory", "no-permissions", "other-namespaces", "closed", "sandbox-that-kills"]
COUNTED = ["no-more-memory", "no-descriptors", "small-files", "other-root", "sandbox"]
ROOT_ONLY = {"other-root", "other-namespaces"}


@pytest.fixture
def anywhere():
    """A run directory that every user may write to."""
    with tempfile.TemporaryDirectory(prefix="gpushim-survive-") as folder:
        os.chmod(folder, 0o777)
        yield Path(folder)


def run(recorder, case, out):
    if case in ROOT_ONLY and os.geteuid() != 0:
        pytest.skip("root's alone")
    command = recorder.command("survive_limits_linked", case)
    plain = survival.run(recorder, command, shim=False)
    if plain.status != 0:
        pytest.skip(f"does not run without the shim either: {plain.stderr[-300:]}")
    done = survival.run(recorder, command, env={"GPUSHIM_OUT": out})
    assert survival.outcome(done) == survival.outcome(plain)
    done.out = out
    return done


@pytest.mark.parametrize("case", WHOLE)
def test_recording_goes_on(recorder, case, anywhere):
    done = run(recorder, case, anywhere)
    survival.same_calls(recorder, done, find=survival.quickly_recorded_calls)
    (trace,) = done.traces()
    assert trace.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("case", COUNTED)
def test_what_is_missing_is_counted(recorder, case, anywhere):
    done = run(recorder, case, anywhere)
    (trace,) = done.traces()
    data = trace.read_bytes()
    counters = struct.unpack_from("<13Q", data, gst.COUNTERS)
    dropped, given_up = counters[0], counters[12]
    calls = gst.call_counts(data)[0]
    returned = survival.counted(recorder, done.counter)
    assert all(count <= returned.get(name, count) for name, count in calls.items())
    assert 0 < sum(calls.values()) <= sum(returned.values()) <= sum(calls.values()) + dropped + given_up
    info = recorder.gpushim("info", trace)
    assert info.returncode == 0 and (dropped == 0 or "were dropped" in info.stdout), info.stdout + info.stderr
