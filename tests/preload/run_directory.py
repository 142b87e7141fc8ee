# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of the run directory share: a program that makes so many calls, what must be recorded of it, and where files are."""

import json
import os
import stat
import sys

import pytest

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be another user or to mount")

CALLS = 3000
PREFIX = f"""
import ctypes, glob, os, resource, shutil, signal, socket, sys, time
out = os.environ.get("GPUSHIM_OUT", "")
host = socket.gethostname()
lib = ctypes.CDLL("libcuda.so.1")
memory = ctypes.c_uint64()
def start():
    context = ctypes.c_void_p()
    assert lib.cuInit(0) == 0 and lib.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert lib.cuCtxSetCurrent(context) == 0 and lib.cuMemAlloc_v2(ctypes.byref(memory), 4096) == 0
def work(n={CALLS}):
    for _ in range(n):
        lib.cuMemsetD8_v2(memory, 0, ctypes.c_size_t(16))
"""
WORK = PREFIX + "start(); work(); print('end')\n"


def run(recorder, program, **how):
    """With the shim; it must end as it does without."""
    done = recorder.run([sys.executable, "-c", program], **how)
    assert (done.status, done.stdout) == (0, "end\n"), done.stderr
    return done


def truth_calls(done):
    return json.loads(done.truth.read_text().splitlines()[-1])["calls"]


def assert_all_recorded(done, *options):
    report = done.report(*options)
    assert report["losses"]["records_dropped"] == 0
    assert report["calls"]["cuMemsetD8_v2"] == truth_calls(done)["cuMemsetD8_v2"] == CALLS


def files_below(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir())


def mode(path):
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.fixture
def mounted(tmp_path):
    """mount(OPTION…): a tmpfs of its own."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to mount")
    places = []

    def mount(options):
        place = tmp_path / f"mounted-{len(places)}"
        place.mkdir()
        if os.system(f"mount -t tmpfs -o {options} none {place} 2>/dev/null"):
            pytest.skip("mounting is not allowed here")
        places.append(place)
        return place

    yield mount
    for place in places:
        os.system(f"umount -l {place}")
