# SPDX-License-Identifier: BSD-2-Clause
"""Libraries that are linked against an NCCL and loaded into one program: each of their calls leads to their own."""

import subprocess
import sys

from nccl_ranks import library_path
from nccl_records import Trace

PLUGIN = """
int ncclGetVersion(int *);
int ncclGroupStart(void);
int ncclGroupEnd(void);
int plugin(int *version) { return ncclGetVersion(version); }
int group(void) { return ncclGroupStart() || ncclGroupEnd(); }
"""
PLUGINS = """
import ctypes, sys
for folder in sys.argv[1:]:
    for turn in range(2):
        version = ctypes.c_int()
        print(ctypes.CDLL(folder + "/plugin.so").plugin(ctypes.byref(version)), version.value)
"""


def plugin(folder, build):
    """A library that is linked against NCCL."""
    source, library = folder / "plugin.c", folder / "plugin.so"
    source.write_text(PLUGIN)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-Wl,-rpath,$ORIGIN", build / "nccl" / "libnccl.so.2"], check=True)
    return library


def test_more_copies_than_are_told_apart(recorder, build):
    """Ten libraries, each linked against an NCCL of its own: those of the last two are called all the same, unrecorded."""
    folder = recorder.new_folder()
    own = [folder / str(i) for i in range(10)]
    for i, place in enumerate(own):
        place.mkdir()
        name = b"libnccl.so.%d\0" % i  # the loader tells libraries apart by it
        for source, target in ((plugin(folder, build), "plugin.so"), (build / "nccl" / "libnccl.so.2", name[:-1].decode())):
            (place / target).write_bytes(source.read_bytes().replace(b"libnccl.so.2\0", name))
    done = subprocess.run([sys.executable, "-c", PLUGINS, *own], cwd=folder, capture_output=True, text=True, timeout=60, check=True,
                          env=recorder.environment(shim=True, LD_LIBRARY_PATH=library_path(build), GPUSHIM_OUT=folder / "out"))
    assert (done.stdout.splitlines(), done.stderr) == (["0 22809"] * 20, "")
    (path,) = (folder / "out").rglob("*.gst")
    assert [call.name for call in Trace(path).calls] == ["ncclGetVersion"] * 16


UNLOADS = """
import ctypes, sys, time, _ctypes
library, other = ctypes.CDLL(sys.argv[1]), sys.argv[2]

def cost():
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        for _ in range(200):
            library.group()
        times.append(time.perf_counter() - begin)
    return min(times)

library.plugin(ctypes.byref(ctypes.c_int()))
before = cost()
for _ in range(300):
    _ctypes.dlclose(ctypes.CDLL(other)._handle)
    library.plugin(ctypes.byref(ctypes.c_int()))
print(cost() / before)
"""


def test_a_program_that_unloads_much(recorder, build):
    """Who calls NCCL is looked up anew after something was unloaded, but not at every call once that was often: 70 times as much."""
    folder = recorder.new_folder()
    (folder / "empty.c").write_text("int nothing;\n")
    subprocess.run(["cc", "-shared", "-o", folder / "empty.so", folder / "empty.c"], check=True)
    done = subprocess.run([sys.executable, "-c", UNLOADS, plugin(folder, build), folder / "empty.so"], cwd=folder, capture_output=True,
                          env=recorder.environment(shim=True, LD_LIBRARY_PATH=library_path(build), GPUSHIM_OUT=folder / "out"),
                          text=True, timeout=60, check=True)
    assert done.stderr == "" and float(done.stdout) < 15
