# SPDX-License-Identifier: BSD-2-Clause
"""Every route to a driver call leads through the shim; nothing else that dlsym does changes."""

import os
import sys

import pytest
from recording import hooked_names

SHIM, DRIVER = "libgpushim.so", "libcuda.so.1"
NAME_OF = {"cuMemAlloc": "cuMemAlloc_v2"}  # what a lookup gives under another name


def lines(run):
    assert run.status == 0, run.stderr
    return run.stdout.splitlines()


@pytest.fixture(scope="module")
def without(recorder):
    return lines(recorder.run(recorder.command("symbols_linked"), shim=False))


@pytest.fixture(scope="module")
def recorded(recorder):
    return lines(recorder.run(recorder.command("symbols_linked")))


def test_every_route_leads_to_the_shim(without, recorded):
    """Where the driver's function was found without the shim, the shim's is found; where none was, none."""
    hooked, wrong = hooked_names(), []
    for plain, line in zip(without, recorded):
        ours = plain.endswith(f" {DRIVER}") and NAME_OF.get(plain.split()[1], plain.split()[1]) in hooked
        expected = plain.removesuffix(DRIVER) + SHIM if ours else plain
        if line != expected:
            wrong.append(f"without {plain!r}, with {line!r}, expected {expected!r}")
    assert not wrong, "\n".join(wrong)
    assert len(without) == len(recorded)
    assert sum(line.endswith(SHIM) for line in recorded) >= 20


def test_off_leads_to_the_driver(recorder, without):
    """Preloaded but off: the shim's exported functions may be found first; everything else as without."""
    off = lines(recorder.run(recorder.command("symbols_linked"), env={"GPUSHIM": "off"}))
    assert [line.replace(SHIM, DRIVER) for line in off] == without


@pytest.mark.parametrize("find", [
    'ctypes.CDLL("libcuda.so.1")',
    'ctypes.CDLL("libcuda.so")',
    'ctypes.CDLL("libcuda.so.1", mode=ctypes.RTLD_GLOBAL)',
    'ctypes.CDLL(ctypes.util.find_library("cuda") or "libcuda.so.1")',
    'ctypes.cdll.LoadLibrary("libcuda.so.1")',
    'ctypes.PyDLL("libcuda.so.1")',
])
def test_ctypes(recorder, find):
    program = f"import ctypes, ctypes.util\nlib = {find}\nprint(lib.cuInit(0), lib['cuInit'](0))"
    run = recorder.run([sys.executable, "-c", program])
    assert (run.status, run.stdout, run.stderr) == (0, "0 0\n", "")
    assert run.report()["calls"]["cuInit"] == 2


def test_no_driver(recorder):
    """Where there is no driver, the program's own error comes through."""
    command, env = recorder.command("client_dlopen"), {"LD_LIBRARY_PATH": None}
    plain = recorder.run(command, shim=False, env=env)
    if plain.status == 0 or "libcuda" not in plain.stderr:
        pytest.skip("this machine has a driver")
    run = recorder.run(command, env=env)
    assert (run.status, run.stdout, run.stderr) == (plain.status, plain.stdout, plain.stderr)
    assert not run.out.exists()


@pytest.mark.skipif(bool(os.environ.get("SAN")), reason="a sanitizer's runtime has no second namespace")
@pytest.mark.parametrize("which", ["shim", "twin"])
def test_another_namespace_and_names_that_only_look_alike(recorder, build, which):
    """A driver that dlmopen brings is another one: it works, unrecorded, and what dlsym and dlerror say is as without us."""
    command = recorder.command("client_namespace")
    twin = build / "twin" / "libcuda.so.1"
    plain = recorder.run(command, shim=False)
    assert plain.stdout.endswith("none, no error\n0, other 0, two drivers\n"), plain.stderr
    run = recorder.run(command, env={"LD_PRELOAD": twin} if which == "twin" else None)
    said = run.stdout.replace(str(twin), str(build / "simgpu" / "libcuda.so.1"))  # whose handle it is
    assert (run.status, said, run.stderr) == (0, plain.stdout, "")
    assert run.report()["calls"]["cuInit"] == 1
