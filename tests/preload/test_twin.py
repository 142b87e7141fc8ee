# SPDX-License-Identifier: BSD-2-Clause
"""RTLD_DEEPBIND: a library loaded with it finds the driver past whatever is preloaded. The twin, the recorder under the driver's own
name, is what such a library finds. Everything else must be as with libgpushim.so."""

import os
import sys

import gst
import pytest

ROUTES = ["linked", "dlsym", "lookup", "short"]  # the last one opens libcuda.so

pytestmark = pytest.mark.skipif(bool(os.environ.get("SAN")), reason="a sanitizer's runtime does not stand RTLD_DEEPBIND")


@pytest.fixture(scope="module")
def twin(build):
    path = build / "twin" / "libcuda.so.1"
    assert path.exists(), f"{path} is not built: make"
    return path


def calls_of(run):
    """What the program says it called: "name result" lines; those with # are other things it found."""
    assert run.status == 0, run.stderr
    return [(name, int(result)) for name, result in (line.split() for line in run.stdout.splitlines() if line[0] != "#")]


def recorded(run):
    """The calls of the only trace."""
    (trace,) = run.traces()
    return list(gst.calls(trace.read_bytes()))


@pytest.fixture(scope="module")
def plain(recorder):
    """What the program does without any of us, by arguments."""
    answers = {}

    def ask(*args):
        if args not in answers:
            answers[args] = recorder.run(recorder.command("client_deepbind", *args), shim=False)
        return answers[args]
    return ask


@pytest.mark.parametrize("route", ROUTES)
def test_deepbind_passes_by_what_is_preloaded(recorder, plain, route):
    """The limit that is documented, and the reason for the twin."""
    run = recorder.run(recorder.command("client_deepbind", "deep", route))
    assert run.stdout == plain("deep", route).stdout and calls_of(run)
    assert not run.out.exists()


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("how", ["deep", "plain"])
def test_deepbind(recorder, plain, twin, how, route):
    run = recorder.run(recorder.command("client_deepbind", how, route), env={"LD_PRELOAD": twin})
    assert run.stdout == plain(how, route).stdout
    assert recorded(run) == calls_of(run)
    assert run.report()["devices"][0]["operations"] == 4


@pytest.mark.parametrize("order", [["twin", "shim"], ["shim", "twin"]])
def test_both_preloaded_record_once(recorder, plain, twin, shim, order):
    preload = " ".join(str({"twin": twin, "shim": shim}[name]) for name in order)
    run = recorder.run(recorder.command("client_deepbind", "deep", "lookup"), env={"LD_PRELOAD": preload})
    assert run.stdout == plain("deep", "lookup").stdout
    assert recorded(run) == calls_of(run)


@pytest.mark.parametrize("shim_too", [False, True])
@pytest.mark.parametrize("route", ROUTES)
def test_in_front_on_the_library_path(recorder, build, plain, twin, shim, route, shim_too):
    """Not preloaded, but found first."""
    env = {"LD_LIBRARY_PATH": f"{twin.parent}:{build / 'simgpu'}", "LD_PRELOAD": shim if shim_too else None}
    run = recorder.run(recorder.command("client_deepbind", "deep", route), env=env)
    assert run.stdout == plain("deep", route).stdout
    assert recorded(run) == calls_of(run)


def test_off(recorder, plain, twin):
    run = recorder.run(recorder.command("client_deepbind", "deep", "dlsym"), env={"LD_PRELOAD": twin, "GPUSHIM": "off"})
    assert (run.status, run.stdout) == (0, plain("deep", "dlsym").stdout)
    assert not run.out.exists()


# ---- every name --------------------------------------------------------------------------------------------------------

def test_every_row_by_every_route(recorder, twin):
    """As with libgpushim.so, where every function is found; the two bear different names."""
    command = recorder.command("entry_points_linked", "where")
    shim, ours = recorder.run(command), recorder.run(command, env={"LD_PRELOAD": twin})
    assert (ours.status, ours.stderr) == (0, "")
    assert ours.stdout == shim.stdout.replace("libgpushim.so:", "libcuda.so.1:")


@pytest.mark.parametrize("route", ["direct", "lookup"])
def test_every_row_is_recorded_with_its_result(recorder, twin, route):
    command = recorder.command("entry_points_linked", "call", route)
    run = recorder.run(command, env={"LD_PRELOAD": twin})
    assert run.stdout == recorder.run(command, shim=False).stdout
    assert recorded(run) == calls_of(run)


def test_every_name_that_is_passed_on(recorder, twin):
    """Linked, so that the calls go through the twin's own functions: the driver's answers, also for float arguments and many."""
    command = recorder.command("passed_on_linked")
    run = recorder.run(command, env={"LD_PRELOAD": twin})
    plain = recorder.run(command, shim=False)
    assert (run.status, run.stdout) == (plain.status, plain.stdout) == (0, run.stdout)
    assert len(run.stdout.splitlines()) > 250


# ---- which driver ------------------------------------------------------------------------------------------------------

MISSING = {"hooked": "cuStreamCopyAttributes", "passed on": "cuStreamGetPriority"}
HAS = """
import ctypes
lib = ctypes.CDLL("libcuda.so.1")
for name in {names!r}:
    try:
        print(name, ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint)((name, lib))(0))
    except AttributeError as error:
        print(error)
"""


def respelt(name):
    """Another name with the same hash in an ELF file's table of names."""
    return name[:-2] + chr(ord(name[-2]) + 1) + chr(ord(name[-1]) - 33)


@pytest.fixture(scope="module")
def other_driver(build, tmp_path_factory):
    """A driver that lacks two names we know and has two that we do not: their functions, respelt in its table of names."""
    folder = tmp_path_factory.mktemp("other")
    data = (build / "simgpu" / "libcuda.so.1").read_bytes()
    for name in MISSING.values():
        assert data.count(b"\0" + name.encode() + b"\0") >= 1
        data = data.replace(b"\0" + name.encode() + b"\0", b"\0" + respelt(name).encode() + b"\0")
    (folder / "libcuda.so.1").write_bytes(data)
    return folder


@pytest.mark.parametrize("which", ["shim", "twin"])
def test_the_driver_decides_what_there_is(recorder, twin, other_driver, which):
    """What it lacks looks absent, with the loader's own words; what only it has is found."""
    names = ["cuInit", *MISSING.values(), "cuNoSuchCall", *map(respelt, MISSING.values())]
    command, env = [sys.executable, "-c", HAS.format(names=names)], {"LD_LIBRARY_PATH": other_driver}
    plain = recorder.run(command, shim=False, env=env)
    kinds = [line.split()[-2] for line in plain.stdout.splitlines()]
    assert kinds == ["cuInit", "symbol:", "symbol:", "symbol:", *map(respelt, MISSING.values())]
    run = recorder.run(command, env={**env, "LD_PRELOAD": twin} if which == "twin" else env)
    assert (run.stdout, run.stderr) == (plain.stdout, plain.stderr)
    assert recorded(run) == [("cuInit", 0)]


def test_linked_against_what_the_driver_lacks(recorder, twin, other_driver):
    """Where the loader would have ended the program, the twin has a function that says so."""
    command, env = recorder.command("passed_on_linked"), {"LD_LIBRARY_PATH": other_driver}
    assert "undefined symbol: cuStreamGetPriority" in recorder.run(command, shim=False, env=env).stderr
    run = recorder.run(command, env={**env, "LD_PRELOAD": twin})
    assert run.status == 0
    assert "\ncuStreamGetPriority 801\ncuStreamGetPriority_ptsz 3\n" in run.stdout


def test_the_driver_by_its_path(recorder, build, twin):
    driver = build / "simgpu" / "libcuda.so.1"
    env = {"LD_PRELOAD": twin, "LD_LIBRARY_PATH": None, "GPUSHIM_CUDA": driver}
    run = recorder.run(recorder.command("client_deepbind", "deep", "linked"), env=env)
    assert recorded(run) == calls_of(run)
    assert ("cuInit", 0) in recorded(run)


@pytest.mark.parametrize("path", ["/nonexistent/libcuda.so.1", "libm.so.6", "twin"])
def test_no_driver(recorder, twin, path):
    """Every call fails as in the toolkit's stub library, also where the path given is none, no driver, or the twin itself."""
    env = {"LD_PRELOAD": twin, "GPUSHIM_CUDA": twin if path == "twin" else path}
    run = recorder.run([sys.executable, "-c", HAS.format(names=["cuInit"])], env=env)
    assert (run.status, run.stdout, run.stderr) == (0, "cuInit 34\n", "")


def test_a_copy_of_the_twin_is_not_taken_for_the_driver(recorder, build, twin, tmp_path):
    (tmp_path / "libcuda.so.1").write_bytes(twin.read_bytes())
    env = {"LD_PRELOAD": twin, "LD_LIBRARY_PATH": f"{tmp_path}:{twin.parent}:{build / 'simgpu'}"}
    run = recorder.run([sys.executable, "-c", HAS.format(names=["cuInit"])], env=env)
    assert (run.status, run.stdout, run.stderr) == (0, "cuInit 0\n", "")
    assert recorded(run) == [("cuInit", 0)]
