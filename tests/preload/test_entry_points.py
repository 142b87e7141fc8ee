# SPDX-License-Identifier: BSD-2-Clause
"""Every intercepted call by every route; what cudart asks for; and that no name in CUDA's headers was overlooked."""

import re
import subprocess
import sys

import gst
import pytest
from recording import hooked_names

SHIM, DRIVER = "libgpushim.so", "libcuda.so.1"
UNKNOWN = gst.COUNTERS + 2 * 8  # struct gst_counters: entry_points_unknown
ROUTES = ["direct", "handle", "default", "lookup"]


def lines(run):
    assert (run.status, run.stderr) == (0, "")
    return run.stdout.splitlines()


@pytest.fixture(scope="module")
def where(recorder):
    """The same questions without and with the shim: the answers in pairs."""
    command = recorder.command("entry_points_linked", "where")
    without, recorded = (lines(recorder.run(command, shim=shim)) for shim in (False, True))
    assert len(without) == len(recorded)
    return list(zip(without, recorded))


def expected(plain, hooked):
    """Where the driver's function for an intercepted call was found, ours; the driver's own, or none, as before."""
    file, _, symbol = plain.split()[-1].partition(":")
    return plain.replace(DRIVER, SHIM) if file == DRIVER and symbol in hooked else plain


def test_every_answer_that_is_intercepted_is_ours_and_every_other_is_the_drivers(where):
    hooked = hooked_names()
    wrong = [f"without {plain!r}, with {line!r}" for plain, line in where if line != expected(plain, hooked)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("route", ["direct", "handle", "default", "lookup-1", "lookup-2"])
def test_every_row_is_reached(where, route):
    reached = {line.rpartition(":")[2] for _, line in where if line.startswith(f"{route} ") and f" {SHIM}:" in line}
    assert reached == hooked_names()


def test_what_cudart_asks_for(where):
    """All of libcudart 13's requests are answered, from ours where we intercept."""
    replay = [line.split() for plain, line in where if line.startswith("replay")]
    assert len(replay) == 440
    assert replay[0] == ["replay", "0", "0", "none"]
    assert [request for request in replay[1:] if request[-1] in ("none", "unknown")] == []
    files = {request[1]: request[-1].split(":")[0] for request in replay[1:]}
    assert (files["cuLaunchKernel"], files["cuGetProcAddress"], files["cuMemcpyHtoDAsync"]) == (SHIM, SHIM, SHIM)
    assert (files["cuDeviceGetCount"], files["cuCtxGetCurrent"], files["cuGetErrorString"]) == (DRIVER, DRIVER, DRIVER)


@pytest.mark.parametrize("route", ROUTES)
def test_every_row_is_recorded_with_its_result(recorder, route):
    """Called with nothing but zeros, before cuInit and in a context: the same answers as without the shim, all of them in the
    trace, in their order."""
    command = recorder.command("entry_points_linked", "call", route)
    without = lines(recorder.run(command, shim=False))
    run = recorder.run(command)
    assert lines(run) == without
    (trace,) = run.traces()
    program = [(name, int(result)) for name, result in map(str.split, without)]
    assert list(gst.calls(trace.read_bytes())) == program
    assert {name for name, _ in program} == hooked_names()


# ---- what nobody knows -------------------------------------------------------------------------------------------------

def unknown(run):
    (trace,) = run.traces()
    data = trace.read_bytes()
    return list(gst.names(data, gst.segments(data), gst.SPACE_ENTRY).values())


def test_functions_that_nobody_knows_are_named_once(recorder):
    """A newer driver's functions reach the program as they are, and the trace says which they were, as first asked for."""
    asked = ["cuLaunchNew", 13000, 2, "cuInit", 2000, 0, "cuOther", 12000, 0, "cuLaunchNew", 13000, 2, "cuLaunchNew", 12000, 0,
             "cuOtherAgain", 12000, 1, "cuDeviceGetCount", 12000, 0, "cuNoSuchCall", 12000, 0]
    command = recorder.command("client_unknown", *asked)
    env = {"SIMGPU_EXTRA": "cuLaunchNew,cuOther,cuOtherAgain"}  # the last two are one function
    run = recorder.run(command, env=env)
    assert run.stdout == recorder.run(command, shim=False, env=env).stdout
    assert run.stdout.startswith("cuLaunchNew 0 801\ncuInit 0 0\ncuOther 0 600\n")
    assert unknown(run) == ["cuLaunchNew 13000 2", "cuOther 12000 0"]
    assert run.report()["losses"]["entry_points_unknown"] == 2


def test_info_says_how_many_more_there_were(recorder):
    """Of a trace that has the names of two, and counted three hundred: there is room for so many names, and records may be lost."""
    run = recorder.run(recorder.command("client_unknown", "cuLaunchNew", 13000, 2, "cuOther", 12000, 0),
                       env={"SIMGPU_EXTRA": "cuLaunchNew,cuOther,cuOtherAgain"})
    (trace,) = run.traces()
    data = bytearray(trace.read_bytes())
    data[UNKNOWN:UNKNOWN + 8] = (300).to_bytes(8, "little")
    trace.write_bytes(data)
    text = " ".join(recorder.gpushim("info", run.out).stdout.split())
    assert "300 driver functions unknown to this recorder: cuLaunchNew, cuOther and 298 more." in text, text


def test_nothing_is_unknown_in_a_driver_of_our_headers(recorder):
    run = recorder.run(recorder.command("entry_points_linked", "call", "lookup"))
    assert unknown(run) == []
    assert run.report()["losses"]["entry_points_unknown"] == 0


# ---- the lists ---------------------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def cuda_include(root):
    done = subprocess.run([root / "scripts" / "cuda-include.sh"], capture_output=True, text=True)
    if done.returncode:
        pytest.skip("no CUDA 13 headers")
    return done.stdout.strip()


def not_hooked(root):
    """[(name, reason)], {reason: what it says}"""
    text = (root / "shim" / "not_hooked.def").read_text()
    return re.findall(r"^PASS\((\w+), (\w+)\)$", text, re.M), dict(re.findall(r"^/\* ([A-Z_]+): (.{20,}) \*/$", text, re.M))


def test_every_name_in_the_headers_is_intercepted_or_left_for_a_reason(root, cuda_include):
    sys.path.insert(0, str(root / "tests" / "simgpu"))
    import generate
    in_headers = set(generate.prototypes(cuda_include))
    left, reasons = not_hooked(root)
    names = [name for name, _ in left]
    assert sorted(in_headers - hooked_names() - set(names)) == [], "new in the headers: a row in hooks.def or in not_hooked.def"
    assert sorted((hooked_names() | set(names)) - in_headers) == [], "no longer in the headers"
    assert sorted(hooked_names() & set(names)) == []
    assert len(names) == len(set(names))
    assert {reason for _, reason in left} == set(reasons)
    readme = (root / "README.md").read_text()
    assert f"the {len(hooked_names())} driver entry points" in readme


def test_new_hook_prints_a_row(root, cuda_include):
    def new_hook(*names):
        return subprocess.run([root / "scripts" / "new-hook.sh", *names], cwd="/", capture_output=True, text=True)

    row = "HOOK(cuMemGetInfo_v2, OTHER, (size_t *free, size_t *total), free, total)\n"
    assert new_hook("cuMemGetInfo_v2").stdout == row
    done = new_hook("cuNoSuchCall")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "new-hook.sh: the headers have no cuNoSuchCall\n")
    assert new_hook().returncode == 2
