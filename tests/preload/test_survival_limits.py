# SPDX-License-Identifier: BSD-2-Clause
"""Programs that are short of something, or leave the place in which they began: they do as without the shim; each call is in the trace, or
counted as one that is not."""

import os
import struct
import subprocess
import tempfile
from pathlib import Path

import gst
import pytest
import survival
from stack_records import REFUSED, read_costs

WHOLE = ["no-threads", "threads-later", "no-locked-memory", "other-directory", "no-permissions", "other-namespaces", "joined-namespaces", "closed",
         "sandbox-that-kills"]
COUNTED = ["no-more-memory", "no-descriptors", "small-files", "other-root", "sandbox"]
ROOT_ONLY = {"other-root", "other-namespaces", "joined-namespaces"}


@pytest.fixture
def anywhere():
    """A run directory that every user may write to."""
    with tempfile.TemporaryDirectory(prefix="gpushim-survive-") as folder:
        os.chmod(folder, 0o777)
        yield Path(folder)


def run(recorder, case, out, **env):
    if case in ROOT_ONLY and os.geteuid() != 0:
        pytest.skip("root's alone")
    command = recorder.command("survive_limits_linked", case)
    plain = survival.run(recorder, command, shim=False)
    if plain.status != 0:
        pytest.skip(f"does not run without the shim either: {plain.stderr[-300:]}")
    done = survival.run(recorder, command, env={"GPUSHIM_OUT": out, **env})
    assert survival.outcome(done) == survival.outcome(plain)
    done.out = out
    return done


@pytest.mark.parametrize("case", WHOLE)
def test_recording_goes_on(recorder, case, anywhere):
    done = run(recorder, case, anywhere)
    survival.same_calls(recorder, done, find=survival.quickly_recorded_calls)
    (trace,) = done.traces()
    assert trace.stat().st_mode & 0o777 == 0o600
    helper = "gpushim" in {part.name for part in gst.segments(trace.read_bytes())}
    assert helper == (case != "no-threads"), "no thread of the recorder's"


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


def test_a_sandbox_ends_stacks(recorder, anywhere):
    """The kernel refuses the question that they are read with: the trace says so, and so does `info`."""
    done = run(recorder, "sandbox", anywhere, GPUSHIM_STACKS="100%")
    (trace,) = done.traces()
    data = trace.read_bytes()
    costs = read_costs(data, gst.segments(data))
    assert costs[-1].python & REFUSED and costs[-1].taken > 0
    words = " ".join(recorder.gpushim("info", trace).stdout.split())
    assert "No stacks from some moment on: the kernel refuses what they are read with, process_vm_readv." in words


GAINS_RIGHTS = """
#include <stdio.h>
#include <unistd.h>
int cuInit(unsigned flags);
int main(void) { printf("%d %d\\n", (int)geteuid(), cuInit(0)); return 0; }
"""


def test_a_program_that_gains_rights(recorder, anywhere):
    """The loader ignores us there: it runs as ever, and nothing is written."""
    if os.geteuid() != 0 or os.statvfs(anywhere).f_flag & os.ST_NOSUID:
        pytest.skip("no set-user-ID program can be made here")
    driver, client, out = recorder.build / "simgpu", anywhere / "client", anywhere / "out"
    done = subprocess.run([os.environ.get("CC", "gcc"), "-x", "c", "-o", client, "-", f"-L{driver}", "-l:libcuda.so.1", f"-Wl,-rpath,{driver}"],
                          input=GAINS_RIGHTS, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    os.chmod(client, 0o4755)
    env = recorder.environment(GPUSHIM_OUT=out)
    results = [subprocess.run([client], env=env, cwd="/", user=user, text=True, capture_output=True, check=False) for user in (65533, 0)]
    if results[0].returncode == 127:
        pytest.skip("another user cannot reach the build here")
    assert [(r.returncode, r.stdout) for r in results] == [(0, "0 0\n")] * 2
    assert results[0].stderr == "" or "cannot be preloaded" in results[0].stderr
    assert len(list(out.glob("*.gst"))) == 1, "root's own run is recorded, the other is not"
