# SPDX-License-Identifier: BSD-2-Clause
"""The last moments: a driver that does not answer, destructors that call it after ours ran, plugins that bring it along and go."""

import os
import subprocess
import sys
import time

import pytest
import survival

CC = os.environ.get("CC", "gcc")
SLOW_S = 5

SLOW_DRIVER = f"""
#include <unistd.h>
static void *const any = (void *)0x10000;
int cuInit(unsigned flags) {{ return (int)flags; }}
int cuCtxGetCurrent(void **context) {{ *context = any; return 0; }}
int cuCtxGetDevice(int *device) {{ *device = 0; return 0; }}
int cuCtxSetCurrent(void *context) {{ return !context; }}
int cuStreamGetCtx(void *stream, void **context) {{ *context = any; return !stream; }}
int cuEventCreate(void **event, unsigned flags) {{ *event = any; return (int)flags; }}
int cuEventRecord(void *event, void *stream) {{ return !event && !stream; }}
int cuEventQuery(void *event) {{ if (SLOW & 1) sleep({SLOW_S}); return !event; }}
int cuStreamQuery(void *stream) {{ if (SLOW & 2) sleep({SLOW_S}); return !stream; }}
int cuLaunchKernel(void *f) {{ return !f; }}
"""

LAUNCHES = """
import ctypes, time
cuda = ctypes.CDLL("libcuda.so.1")
any = ctypes.c_void_p(0x10000)
print(cuda.cuInit(0), sum(cuda.cuLaunchKernel(any, 1, 1, 1, 1, 1, 1, 0, any, None, None) for i in range(20)))
time.sleep(0.1)
"""

DESTRUCTOR = """
int cuCtxSynchronize(void);
void call(void);
void call(void) { for (int i = 0; i < 5; i++) cuCtxSynchronize(); }
__attribute__((destructor)) static void ends(void) { call(); }
"""

MAIN = """
int cuInit(unsigned flags);
void call(void);
int main(void) { call(); return cuInit(0); }
"""

PLUGIN = """
import ctypes, sys
close = ctypes.CDLL(None).dlclose
close.argtypes = [ctypes.c_void_p]
for turn in range(3):
    plugin = ctypes.CDLL(sys.argv[1])
    plugin.call()
    print(close(plugin._handle))
"""


def compile_c(source, *arguments):
    done = subprocess.run([CC, "-x", "c", "-", "-x", "none", *map(str, arguments)], input=source, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("slow", [1, 2], ids=["cuEventQuery", "cuStreamQuery"])
def test_exit_while_the_helper_is_in_the_driver(recorder, tmp_path, slow):
    """The end waits a tenth of a second for it, not as long as the driver takes."""
    compile_c(SLOW_DRIVER, "-shared", "-fPIC", f"-DSLOW={slow}", "-o", tmp_path / "libcuda.so.1")
    begin = time.monotonic()
    done = survival.run(recorder, [sys.executable, "-c", LAUNCHES], env={"LD_LIBRARY_PATH": tmp_path})
    assert survival.outcome(done) == (0, "0 0\n", "")
    assert time.monotonic() - begin < SLOW_S - 1
    assert survival.quickly_recorded_calls(done) == {"cuInit": 1, "cuLaunchKernel": 20}


@pytest.fixture
def plugin(recorder, tmp_path):
    """A library that names libcuda.so.1 and calls it in a destructor."""
    compile_c(DESTRUCTOR, "-shared", "-fPIC", "-o", tmp_path / "libends.so", f"-L{recorder.build / 'simgpu'}", "-Wl,--no-as-needed", "-l:libcuda.so.1")
    return tmp_path / "libends.so"


def test_destructor_behind_ours(recorder, plugin):
    """Ours runs first, as we are preloaded."""
    client = plugin.parent / "client"
    compile_c(MAIN, "-o", client, plugin, f"-L{recorder.build / 'simgpu'}", "-l:libcuda.so.1", f"-Wl,-rpath,{plugin.parent}")
    plain, done = survival.run(recorder, [str(client)], shim=False), survival.run(recorder, [str(client)])
    assert plain.status == 0 and survival.outcome(done) == survival.outcome(plain)
    assert survival.recorded_calls(done) == {"cuInit": 1, "cuCtxSynchronize": 10}


def test_plugin_that_brings_the_driver_and_goes(recorder, plugin):
    command = [sys.executable, "-c", PLUGIN, str(plugin)]
    plain, done = survival.run(recorder, command, shim=False), survival.run(recorder, command)
    assert plain.stdout == "0\n0\n0\n" and survival.outcome(done) == survival.outcome(plain)
    assert survival.recorded_calls(done) == {"cuCtxSynchronize": 30}
