# SPDX-License-Identifier: BSD-2-Clause
"""Driver calls that do not return: the driver, or a host function in it, throws; a handler jumps; the thread ends or is cancelled. Also
where the call is one of the recorder's own, which then has the gate and more in its hands (shim/gate.h)."""

import os
import shutil
import subprocess

import pytest
import survival

WAYS = ["throw", "jump", "exit", "cancel"]
PLACES = {
    "cuLaunchKernel": False,  # the program's call …
    "cuStreamDestroy_v2": False,  # … with the gate closed
    "cuStreamGetCtx": True,  # the recorder's call, at the first use of a stream
    "cuEventRecord": True,  # … inside the gate
    "cuEventQuery": True,  # … while it reads edges, before a context goes
}


@pytest.fixture(scope="module")
def unwinding(recorder, root, cuda_include, tmp_path_factory):
    """-> the client; the driver is in its folder."""
    compiler = os.environ.get("CXX", "g++")
    if not shutil.which(compiler):
        pytest.skip("no C++ compiler here")
    folder, sources = tmp_path_factory.mktemp("unwinding"), root / "tests" / "workloads"
    common = next((recorder.build / "obj" / "tests" / "workloads").glob("common_driver.o"))
    for command in ([compiler, "-shared", "-fPIC", "-O1", "-o", folder / "libcuda.so.1", sources / "unwind_driver.cc"],
                    [compiler, "-O1", "-isystem", cuda_include, "-iquote", sources, "-o", folder / "unwind", sources / "unwind.cc", common, "-lpthread",
                     "-ldl"]):
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    return folder / "unwind"


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("way", WAYS)
def test_a_call_that_does_not_return(recorder, unwinding, way, place, tmp_path):
    """All go on as without the recorder, at once; what comes later is recorded, and edges too."""
    env = {"LD_LIBRARY_PATH": unwinding.parent, "UNWIND_CAME": tmp_path / "came"}
    plain = survival.run(recorder, [str(unwinding), way, place], shim=False, env=env)
    assert survival.outcome(plain) == (0, "soon: 1\n", "")
    done = survival.run(recorder, [str(unwinding), way, place], env=env)
    assert survival.outcome(done) == survival.outcome(plain)
    left, events = map(int, (tmp_path / "came").read_text().split())
    times = 9 if way in ("throw", "jump") else 3
    assert left == times if not PLACES[place] else 1 <= left <= times
    assert events >= 10, "edges are no longer recorded"  # of 20 waits; the helper may find a stream done before its wait
    survival.same_calls(recorder, done, others=9 * 3, find=survival.quickly_recorded_calls)
