# SPDX-License-Identifier: BSD-2-Clause
"""What ends, ends for the recorder too: contexts that are nobody's current one, handles that come back, threads by the thousand."""

import json
import struct

import pytest

STREAMS_UNTRACKED = 4096 + 3 * 8  # struct gst_counters in shim/format.h


def both(recorder, case):
    command = recorder.command("lifetimes_linked", case)
    return recorder.run(command, shim=False), recorder.run(command)


def true_calls(run):
    return json.loads(run.truth.read_text().splitlines()[-1])["calls"]


@pytest.mark.parametrize("case", ["release-uncurrent", "handle-again", "many-threads"])
def test_the_program_does_not_notice(recorder, case):
    plain, recorded = both(recorder, case)
    assert (plain.status, plain.stdout, plain.stderr) == (recorded.status, recorded.stdout, recorded.stderr)
    assert plain.status == 0 and plain.stdout.endswith("end\n")


def test_a_released_context_is_left_alone(recorder):
    plain, recorded = both(recorder, "release-uncurrent")
    # 200 ms after the release the helper would have tried hundreds of times
    assert true_calls(recorded)["cuCtxSetCurrent"] <= true_calls(plain)["cuCtxSetCurrent"] + 2


def test_a_handle_that_comes_back_is_a_new_stream(recorder):
    run = recorder.run(recorder.command("lifetimes_linked", "handle-again"))
    report = run.report()
    device = report["devices"][0]
    assert device["operations"] == 20
    assert report["injected"]["cuEventRecord"] >= 20
    assert abs(device["compute_ns"] - 20 * 20_000) <= device["idle_error_ns"] + device["unresolved_ns"]


def test_a_threads_own_stream_goes_with_it(recorder):
    run = recorder.run(recorder.command("lifetimes_linked", "many-threads"))
    (trace,) = run.traces()
    assert struct.unpack_from("<Q", trace.read_bytes(), STREAMS_UNTRACKED)[0] == 0
    assert run.report()["devices"][0]["operations"] == 5000
