# SPDX-License-Identifier: BSD-2-Clause
"""Long runs in little room (shim/FORMAT.md, "Recycling"): the file stays within GPUSHIM_LIMIT, or what the disk has, the newest calls are
all there with every name they use, whenever the program is killed, and the program notices nothing."""

import json
import os
import random
import signal
import struct
import subprocess
import sys
import time

import conservation
import gst
import pytest

CALLS = 120000  # of 64 bytes: 7.5 MiB
LIMIT = 4 << 20
KILLS = int(os.environ.get("GPUSHIM_TEST_RECYCLE_KILLS", "30"))
REPORTS = 20
AT_ONCE = 2
KERNELS = 5
MEMSET = 3  # family

# Two threads, a stream each. All kernels are used at first, then never until the end.
CLIENT = f"""
import ctypes, mmap, struct, sys, threading
lib = ctypes.CDLL("libcuda.so.1")
context, memory, module = ctypes.c_void_p(), ctypes.c_uint64(), ctypes.c_void_p()
assert lib.cuInit(0) == 0 and lib.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert lib.cuCtxSetCurrent(context) == 0 and lib.cuMemAlloc_v2(ctypes.byref(memory), 4096) == 0
assert lib.cuModuleLoadData(ctypes.byref(module), b"x") == 0
memset = lib.cuMemsetD8Async
memset.argtypes = ctypes.c_uint64, ctypes.c_ubyte, ctypes.c_size_t, ctypes.c_void_p
kernels = []
for i in range({KERNELS}):
    kernels.append(ctypes.c_void_p())
    assert lib.cuModuleGetFunction(ctypes.byref(kernels[-1]), module, b"kernel_%d" % i) == 0
def launch_all(stream):
    for kernel in kernels:
        assert lib.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, None, None) == 0
def new_stream():
    stream = ctypes.c_void_p()
    assert lib.cuStreamCreate(ctypes.byref(stream), 1) == 0
    return stream
"""

LONG = CLIENT + """
def work(n):
    assert lib.cuCtxSetCurrent(context) == 0
    stream = new_stream()
    launch_all(stream)
    for _ in range(n):
        memset(memory, 0, 16, stream)
    launch_all(stream)
    assert lib.cuStreamSynchronize(stream) == 0
n = int(sys.argv[1])
other = threading.Thread(target=work, args=(n // 4,))
other.start()
work(n - n // 4)
other.join()
print("done")
"""

ENDLESS = CLIENT + """
stream = new_stream()
launch_all(stream)
with open(sys.argv[1], "r+b") as f:
    counter = mmap.mmap(f.fileno(), 8)
n = len(kernels)
while True:
    memset(memory, 0, 16, stream)
    n += 1
    counter[:] = n.to_bytes(8, "little")
"""


def run_long(recorder, shim=True, **env):
    run = recorder.run([sys.executable, "-c", LONG, str(CALLS)], shim=shim, env=env)
    assert (run.status, run.stdout, run.stderr) == (0, "done\n", "")
    return run


def check_names(data, parts, calls):
    hooks, kernels = gst.names(data, parts, gst.SPACE_HOOK), gst.names(data, parts, gst.SPACE_KERNEL)
    streams = {struct.unpack_from("<I", data, record.offset + 8)[0] for record in gst.valid(data, parts) if record.type == gst.STREAM}
    assert {call.hook for call in calls} <= set(hooks)
    assert {call.stream for call in calls} - {0xFFFFFFFF} <= streams
    assert {call.name for call in calls if hooks[call.hook] == "cuLaunchKernel"} <= set(kernels)
    return kernels


def check_newest(data):
    """From the instant on that the file names, each stream's submissions are without a hole. {stream: (first, last)}, the calls."""
    parts = gst.segments(data)
    assert struct.unpack_from("<I", data, 8) == (2,)
    count = gst.counters(data)
    assert count.segments_recycled > 0 and count.definitions_lost == 0
    calls = list(gst.recorded(data, parts))
    newest = {}
    for call in calls:
        if call.flags & gst.SUBMISSION and call.end > count.recycled_until:
            newest.setdefault(call.stream, []).append(call.seq)
    for stream, numbers in newest.items():
        numbers.sort()
        assert numbers == list(range(numbers[0], numbers[-1] + 1)), f"stream {stream}"
    assert any(part.kept for part in parts)
    return {stream: (numbers[0], numbers[-1]) for stream, numbers in newest.items()}, calls, parts, count


def true_counts(run):
    """Operations of each stream, by the simulated driver."""
    counts = {}
    for line in run.truth.read_text().splitlines():
        entry = json.loads(line)
        if "stream" in entry:
            counts[entry["stream"]] = counts.get(entry["stream"], 0) + 1
    return sorted(counts.values())


def check_long(run, room):
    (path,) = run.traces()
    data = path.read_bytes()
    assert path.stat().st_blocks * 512 <= room and len(data) <= room
    newest, calls, parts, count = check_newest(data)
    most = max(newest.values(), key=lambda numbers: numbers[1])
    assert {last for _, last in newest.values()} <= set(true_counts(run)), "the last of each stream, by the driver's own log"
    assert most[1] == max(true_counts(run))
    assert most[1] - most[0] > 3 * 4000, "most of the room is for the newest"
    assert len(set(check_names(data, parts, calls).values())) == KERNELS
    assert count.records_dropped == 0
    assert len(calls) + count.calls_recycled >= CALLS


def test_a_long_run_keeps_its_newest_calls(recorder):
    run = run_long(recorder, GPUSHIM_LIMIT=LIMIT)
    check_long(run, LIMIT)


def test_the_least_limit(recorder):
    """A smaller one is raised to it: a thread of the program's, the recorder's, and what is kept."""
    run = run_long(recorder, GPUSHIM_LIMIT=1000)
    (path,) = run.traces()
    data = path.read_bytes()
    assert len(data) <= gst.SEGMENTS + 4 * gst.SEGMENT_BYTES
    newest, calls, parts, count = check_newest(data)
    assert max(last for _, last in newest.values()) == max(true_counts(run))
    assert len(set(check_names(data, parts, calls).values())) == KERNELS


def test_a_full_disk_is_a_limit(recorder, tmp_path):
    room = 3 << 20
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={room}", "tmpfs", small], capture_output=True).returncode:
        pytest.skip("cannot mount a small disk")
    try:
        run = run_long(recorder, GPUSHIM_OUT=small)
        run.out = small
        check_long(run, room)
    finally:
        subprocess.run(["umount", small], check=True)


# No file system here has quotas: what allocates says so.
QUOTA = """
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>
int posix_fallocate(int fd, off_t at, off_t bytes)
{
	return at + bytes > 3 << 20 ? EDQUOT : syscall(SYS_fallocate, fd, 0, at, bytes) ? errno : 0;
}
"""


def test_a_quota_is_a_limit(recorder, tmp_path):
    library = tmp_path / "quota.so"
    done = subprocess.run([os.environ.get("CC", "gcc"), "-shared", "-fPIC", "-x", "c", "-o", library, "-"], input=QUOTA, text=True,
                          capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    run = run_long(recorder, LD_PRELOAD=f"{library}:{recorder.shim}")
    check_long(run, 3 << 20)
    info = recorder.gpushim("info", run.out).stdout
    assert "because the disk quota was used up" in " ".join(info.split()), info


def test_reports_beside_it(recorder):
    """While segments are given up under the reader: each answer is whole, and a later one knows of no fewer calls."""
    folder, seen = recorder.new_folder(), 0
    (folder / "counter").write_bytes(bytes(8))
    child = recorder.start([sys.executable, "-c", ENDLESS, str(folder / "counter")], folder, env={"GPUSHIM_OUT": folder / "out", "GPUSHIM_LIMIT": "2M"})
    try:
        while struct.unpack("<Q", (folder / "counter").read_bytes())[0] < 60000:
            assert child.poll() is None, f"the client ended by itself: {child.returncode}"
            time.sleep(0.005)
        for _ in range(REPORTS):
            done = recorder.gpushim("report", "--json", folder / "out")
            assert done.returncode == 0 and done.stderr == "", done.stderr
            answer = json.loads(done.stdout)
            conservation.check(answer)
            losses = answer["losses"]
            calls = sum(answer["calls"].values()) + losses["calls_recycled"]
            assert losses["segments_recycled"] > 0 and losses["records_dropped"] == 0 and calls > seen, losses
            seen = calls
        assert child.poll() is None
    finally:
        child.kill()
        child.wait()


def check_killed(folder, counter):
    (path,) = (folder / "out").iterdir()
    data = path.read_bytes()
    (returned,) = struct.unpack("<Q", counter.read_bytes())
    newest, calls, parts, count = check_newest(data)
    if not newest:  # killed when all but the newest call had just been given up
        assert all(call.end <= count.recycled_until for call in calls)
        return
    ((_, last),) = newest.values()
    assert returned <= last <= returned + 1, f"{returned} had returned, {last} are recorded"
    assert len(set(gst.names(data, parts, gst.SPACE_HOOK).values())) > 300
    assert len(gst.names(data, parts, gst.SPACE_KERNEL)) == KERNELS
    check_names(data, parts, calls)
    assert count.records_dropped == 0


def test_killed_while_it_gives_up_segments(recorder):
    rng = random.Random(3)
    for _ in range(0, KILLS, AT_ONCE):
        running = []
        for _ in range(AT_ONCE):
            folder = recorder.new_folder()
            counter = folder / "counter"
            counter.write_bytes(bytes(8))
            command = [sys.executable, "-c", ENDLESS, str(counter)]
            running.append((folder, counter, recorder.start(command, folder, env={"GPUSHIM_OUT": folder / "out", "GPUSHIM_LIMIT": "2M"})))
        try:
            for _, counter, child in running:
                while struct.unpack("<Q", counter.read_bytes())[0] < 40000:
                    assert child.poll() is None, f"the client ended by itself: {child.returncode}"
                    time.sleep(0.005)
            time.sleep(rng.uniform(0, 0.1))
        finally:
            for _, _, child in running:
                child.send_signal(signal.SIGKILL)
                child.wait()
        for folder, counter, _ in running:
            check_killed(folder, counter)
            next((folder / "out").iterdir()).unlink()
