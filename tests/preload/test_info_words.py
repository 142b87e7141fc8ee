# SPDX-License-Identifier: BSD-2-Clause
"""What `info` says in words of real recordings: a clean one, one within a limit, one that was killed, one on a full disk. Numbers, times and
names are masked."""

import os
import re
import subprocess
import sys

import pytest

CLIENT = """
import ctypes, os, resource, signal, sys, time
lib = ctypes.CDLL("libcuda.so.1")
context, memory = ctypes.c_void_p(), ctypes.c_uint64()
assert lib.cuInit(0) == 0 and lib.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert lib.cuCtxSetCurrent(context) == 0 and lib.cuMemAlloc_v2(ctypes.byref(memory), 4096) == 0
lib.cuMemsetD8Async.argtypes = ctypes.c_uint64, ctypes.c_ubyte, ctypes.c_size_t, ctypes.c_void_p
stream = ctypes.c_void_p()
assert lib.cuStreamCreate(ctypes.byref(stream), 1) == 0
for i in range(int(sys.argv[1])):
    assert lib.cuMemsetD8Async(memory, 0, 16, stream) == 0
assert lib.cuStreamSynchronize(stream) == 0
if sys.argv[2:] == ["poor"]:
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, limit[1]))
    for i in range(10000):
        lib.cuMemsetD8Async(memory, 0, 16, stream)
    resource.setrlimit(resource.RLIMIT_NOFILE, limit)
    for i in range(60000):
        lib.cuMemsetD8Async(memory, 0, 16, stream)
if sys.argv[2:3] == ["ask"]:
    del os.environ["LD_PRELOAD"]
    assert os.system(" ".join(sys.argv[3:])) == 0
if sys.argv[2:] == ["die"]:
    os.kill(os.getpid(), signal.SIGKILL)
"""

RECORDED = "recorded COMMAND, process N on HOST: N driver calls of 1 thread to 1 stream of 1 device, in TIME, WHEN. "


def words(recorder, out):
    done = recorder.gpushim("info", out)
    assert done.returncode == 0, done.stderr
    return masked(done.stdout)


def masked(page):
    """The sentences, masked."""
    assert max(map(len, page.split("\n")[1:])) <= 80
    text = " ".join(page.split("\n\n")[0].split("\n", 1)[1].split())
    text = re.sub(r"recorded .*?, process \d+ on .*?: ", "recorded COMMAND, process N on HOST: ", text)
    text = re.sub(r"(begun|from) \d{4}-\d\d-\d\d [\d:]+( to [\d:]+)? UTC", "WHEN", text)
    text = re.sub(r"[\d.]+ (ns|us|ms|s|min \d+ s)( after its begin)?(?=[ .,:])|\d\d:\d\d:\d\d", "TIME", text)
    text = re.sub(r"[\d,]+(?= (driver calls|records|calls|definitions))", "N", text)
    return text


def run(recorder, *args, **env):
    return recorder.run([sys.executable, "-c", CLIENT, *map(str, args)], env=env)


def test_clean(recorder):
    done = run(recorder, 100)
    assert done.status == 0, done.stderr
    assert words(recorder, done.out) == (
        RECORDED + "lost Nothing: no record was dropped, the file is whole, and the process ended regularly. trust Trust it.")


def test_commands_are_shown_without_the_folder_of_their_program(recorder):
    folder = recorder.new_folder()
    for name in "ab":
        assert recorder.run([sys.executable, "-c", CLIENT, "1"], folder=folder, env={"GPUSHIM_RUN": name}).status == 0
    page = recorder.gpushim("info", folder / "gpushim-out").stdout
    program = re.escape(os.path.basename(sys.executable))
    assert len(re.findall(rf"^ +[01]  .* 1  {program} -c", page, re.M)) == 2, page
    assert len(re.findall(rf"^  recorded     {program} -c", page, re.M)) == 2, page


def test_recycled(recorder):
    done = run(recorder, 60000, GPUSHIM_LIMIT=2 << 20)
    assert done.status == 0, done.stderr
    assert words(recorder, done.out) == (
        RECORDED + "lost The first TIME were given up to stay within 2.0 MiB: N records, N calls among them. "
        "What remains, the last TIME, is complete. trust Trust it from TIME on.")


def test_a_moment_without_descriptors_is_not_why_records_are_given_up(recorder):
    done = run(recorder, 100, "poor", GPUSHIM_LIMIT=2 << 20)
    assert done.status == 0, done.stderr
    text = words(recorder, done.out)
    assert "were given up to stay within 2.0 MiB" in text, text


def test_still_running(recorder):
    """What was given up before then is not nothing."""
    folder = recorder.new_folder()
    ask = ["ask", recorder.gpushim_path, "info", folder / "gpushim-out", ">", folder / "page"]
    done = recorder.run([sys.executable, "-c", CLIENT, "60000", *map(str, ask)], folder=folder, env={"GPUSHIM_LIMIT": 2 << 20})
    assert done.status == 0, done.stderr
    text = masked((folder / "page").read_text())
    assert "is complete. It is still running: this is how it stood when it was read. trust " in text, text
    assert "Nothing" not in text


def test_killed(recorder):
    done = run(recorder, 100, "die")
    assert done.status == -9
    assert words(recorder, done.out) == (
        RECORDED + "lost The end: no regular one (killed, or gone through _exit or exec) at TIME: at most the call it was in is missing. "
        "trust Trust it. Its last moments may be missing.")


def test_disk_full(recorder, tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={2 << 20}", "tmpfs", small], capture_output=True).returncode:
        pytest.skip("cannot mount a small disk")
    try:
        done = run(recorder, 60000, GPUSHIM_OUT=small)
        assert done.status == 0, done.stderr
        assert words(recorder, small) == (
            RECORDED + "lost The first TIME were given up because the disk was full: N records, N calls among them. "
            "What remains, the last TIME, is complete. trust Trust it from TIME on.")
    finally:
        subprocess.run(["umount", small], check=True)
