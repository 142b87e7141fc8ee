# SPDX-License-Identifier: BSD-2-Clause
"""The ways that need no privileges: switches by perf_event_open, looks at /proc. The same programs, the same questions; looks alone know times
to some milliseconds only."""

import ctypes
import os
import platform
import struct
import subprocess
import sys

import pytest
from following import Follow
from records import DISK, FAULT, LAST, LOOKED, PREEMPTED
from test_ebpf_waits import CALLS
from watching import why_not

MS = 1000000
READS, WRITES = 1, 2
EXEC, THERE = 16, 2
PIPE, SOCKET = 2, 3
SWITCH, SYSCALL, PIPES, PRESSURE = 0, 10, 11, 12
NOBODY = 65534


@pytest.fixture(params=["perf", "proc"])
def how(request):
    return request.param


@pytest.fixture
def follow(gpushim, build, tmp_path, how):
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)  # ordinary users record below it
    why = why_not(build, how)
    if why:
        pytest.skip(why)
    runs = Follow(gpushim, tmp_path)
    return lambda text, *options, **more: runs(text, "--probes", how, *options, **more)


def blocked_ms(run, tid=None, **fields):
    """All that the task waited, short waits included, where these fields are so."""
    tid = run.tid() if tid is None else tid
    waits = [w.into - w.out for w in run.waits(tid, **fields) if not w.flags & LAST]
    stalls = [s.blocked_ns for s in run.trace.stalls if s.tid == tid and all(getattr(s, k) == v for k, v in fields.items())]
    return (sum(waits) + sum(stalls)) / MS


def queued_ms(run, tid=None):
    """All that it was runnable without a CPU."""
    tid = run.tid() if tid is None else tid
    waits = [w.into - w.wake for w in run.waits(tid) if w.wake and not w.flags & LAST]
    return (sum(waits) + sum(s.queued_ns for s in run.trace.stalls if s.tid == tid)) / MS


def test_a_sleep(follow, how):
    run = follow("time.sleep(0.2); time.sleep(0.05); time.sleep(0.2)")
    (begin, end) = (run.trace.probes[0], run.trace.probes[-1])
    assert begin.end == 0 and end.end > end.begin == begin.begin
    assert begin.how == {"perf": 2, "proc": 3}[how] and begin.root == run.tid() and begin.watched >> SWITCH & 1
    lengths = [(w.into - w.out) / MS for w in run.waits(longer_ms=30, syscall=CALLS["clock_nanosleep"]) if not w.flags & LAST]
    assert len(lengths) == 3, lengths
    wide = 1 if how == "perf" else 25
    assert 50 - wide < lengths[1] < 100 + wide and 200 - wide < lengths[0] < 250 + wide, lengths
    assert all(bool(w.flags & LOOKED) == (how == "proc") for w in run.trace.waits)


def test_a_pipe_and_who_holds_its_ends(follow):
    run = follow("""
told("inode", os.fstat((ends := os.pipe())[0]).st_ino)
worker = os.fork()
if not worker:
    os.close(ends[0])
    for _ in range(4):
        time.sleep(0.08)
        os.write(ends[1], b"x")
    os._exit(0)
told("worker", worker)
os.close(ends[1])
while os.read(ends[0], 1): pass
os.waitpid(worker, 0)
""")
    inode = int(run.told["inode"])
    waits = [w for w in run.waits(longer_ms=40, syscall=CALLS["read"]) if not w.flags & LAST]
    assert len(waits) == 4
    for w in waits:
        assert w.inode == inode and run.trace.file(w) == f"pipe:[{inode}]" and w.fd_kind == PIPE and w.bytes == 1
    ends = {(e.pid, e.flags) for e in run.trace.pipe_ends if e.inode == inode}
    # At the fork either has both; each closes one before it is looked at a first time, or after.
    assert any(pid == run.tid() and flags & READS for pid, flags in ends)
    assert any(pid == run.tid("worker") and flags & WRITES for pid, flags in ends)
    assert run.task(run.tid("worker")).creator == run.tid()


def test_what_is_polled_for(follow):
    run = follow("""
import select
told("inode", os.fstat((ends := os.pipe())[0]).st_ino)
def later():
    time.sleep(0.15)
    os.write(ends[1], b"x")
threading.Thread(target=later).start()
poll = select.poll()
poll.register(ends[0], select.POLLIN)
poll.poll(5000)
epoll = select.epoll()
epoll.register(os.pipe()[0], select.EPOLLIN)
epoll.poll(0.1)
""")
    (wait,) = [w for w in run.waits(longer_ms=80, syscall=CALLS["poll"]) if not w.flags & LAST]
    assert wait.inode == int(run.told["inode"]) and wait.fd_kind == PIPE
    (wait,) = [w for w in run.waits(longer_ms=60, syscall=CALLS["epoll_wait"]) if not w.flags & LAST]
    assert wait.fd_kind == PIPE and run.trace.file(wait).startswith("pipe:[")


def test_a_socket_and_its_peer(follow):
    run = follow("""
import socket
near, far = socket.socketpair()
told("near", os.fstat(near.fileno()).st_ino)
told("far", os.fstat(far.fileno()).st_ino)
def later():
    time.sleep(0.15)
    far.send(b"x")
threading.Thread(target=later).start()
near.recv(1)
""")
    near, far = int(run.told["near"]), int(run.told["far"])
    (wait,) = [w for w in run.waits(longer_ms=80, syscall=CALLS["recvfrom"]) if not w.flags & LAST]
    assert run.trace.file(wait) == f"unix:[{near}]:[{far}]" and wait.fd_kind == SOCKET and wait.inode == near


def test_a_tcp_connection(follow):
    run = follow("""
import socket
there = socket.create_server(("127.0.0.1", 0))
near = socket.create_connection(there.getsockname())
far, _ = there.accept()
told("port", there.getsockname()[1])
told("far", os.fstat(far.fileno()).st_ino)
def later():
    time.sleep(0.15)
    far.send(b"x")
threading.Thread(target=later).start()
near.recv(1)
""")
    (wait,) = [w for w in run.waits(longer_ms=80, syscall=CALLS["recvfrom"]) if not w.flags & LAST]
    assert run.trace.file(wait) == f"tcp:127.0.0.1:{run.told['port']}"
    # The other end is told of where somebody waits.
    (told,) = {(e.pid, e.peer) for e in run.trace.pipe_ends if e.inode == wait.inode and e.peer}
    assert told == (run.tid(), int(run.told["far"]))


def test_reads_of_a_cold_file(follow, cold):
    """What a fast disk takes is too short to be looked at each time; where anything is said it has to be right."""
    run = follow(f"""
fd = os.open("{cold}", os.O_RDONLY)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
stat = lambda: int(open("/proc/self/schedstat").read().split()[0])
begin, ran = time.monotonic_ns(), stat()
for round in range(20):
    for at in range(0, 16 << 20, 1 << 18):
        os.pread(fd, 1 << 16, at)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    if time.monotonic_ns() - begin > 1500000000: break
told("slept", time.monotonic_ns() - begin - (stat() - ran))
""")
    named = [r for r in run.trace.waits + run.trace.stalls if r.tid == run.tid() and run.trace.file(r) == str(cold)]
    reads = [r for r in named if r.syscall == CALLS["pread64"]]
    assert {r.syscall for r in named} <= {CALLS["pread64"], CALLS["fadvise64"]}
    if not reads:  # to give pages up waits for other CPUs: that may be met where no read is
        pytest.skip("this disk is too fast: never met at it")
    exact = [r for r in reads if r.offset != 2**64 - 1]
    assert all(r.offset % (1 << 18) == 0 and r.offset < 16 << 20 for r in exact)
    assert all(r.dev and r.inode == os.stat(cold).st_ino for r in named)
    # Summed up, it is about all that the program slept.
    slept = int(run.told["slept"]) / MS
    assert blocked_ms(run, inode=os.stat(cold).st_ino) < slept + 50


def test_major_faults(follow, cold, how):
    if how == "proc":
        pytest.skip("looks do not tell where in a file")
    run = follow(f"""
import mmap
fd = os.open("{cold}", os.O_RDONLY)
memory = mmap.mmap(fd, 0, prot=mmap.PROT_READ)
memory.madvise(mmap.MADV_RANDOM)
before = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
for at in range(0, 16 << 20, 1 << 16):
    memory[at]
told("slept", resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw - before)
time.sleep(0.05)
""")
    faults = [r for r in run.trace.waits + run.trace.stalls if r.tid == run.tid() and r.flags & FAULT and run.trace.file(r) == str(cold)]
    # The kernel may have kept some of the file's pages, and a fast disk has others there before anybody sleeps.
    seen, slept = sum(r.count if r in run.trace.stalls else 1 for r in faults), int(run.told["slept"])
    assert 0.8 * slept <= seen <= 256 and (seen or not slept)
    assert all(r.syscall == -1 and r.offset < 16 << 20 and r.offset % (1 << 16) == 0 for r in faults)
    offsets = [r.offset for r in faults if r in run.trace.waits]
    assert offsets == sorted(offsets)
    assert all(r.inode == os.stat(cold).st_ino and r.dev for r in faults)


def test_a_cpu_that_is_shared(follow, how):
    run = follow("""
cpu = max(os.sched_getaffinity(0))
os.sched_setaffinity(0, {cpu})
other = os.fork()
if not other:
    end = time.monotonic() + 0.8
    while time.monotonic() < end: pass
    os._exit(0)
sched = lambda: [int(n) for n in open("/proc/self/schedstat").read().split()]
before, end = sched(), time.monotonic() + 0.6
while time.monotonic() < end: pass
after = sched()
told("delay", after[1] - before[1])
os.waitpid(other, 0)
""")
    truth = int(run.told["delay"]) / MS
    assert truth > 100
    assert abs(queued_ms(run) - truth) < 40 + truth / 10, (queued_ms(run), truth)
    if how == "perf":
        preempted = [w for w in run.waits(longer_ms=1) if w.flags & PREEMPTED]
        assert preempted and all(w.wake == w.out and w.syscall == -2 for w in preempted)


def test_a_futex_and_a_thread_of_its_own(follow):
    run = follow("""
lock = threading.Lock()
lock.acquire()
def other():
    told("other", threading.get_native_id())
    time.sleep(0.15)
    lock.release()
thread = threading.Thread(target=other)
thread.start()
lock.acquire()
thread.join()
""")
    (wait,) = [w for w in run.waits(longer_ms=80, syscall=CALLS["futex"]) if not w.flags & LAST]
    assert wait.arg and not wait.file
    other = run.task(run.tid("other"))
    assert (other.pid, other.own_pid, other.own_tid) == (run.tid(), run.tid(), run.tid("other"))
    assert other.start_ns == run.task(run.tid()).start_ns


def test_exec_is_the_same_task(follow):
    run = follow("""
pid = os.fork()
if not pid:
    time.sleep(0.1)
    os.execlp("sleep", "sleep", "0.2")
told("child", pid)
os.waitpid(pid, 0)
""")
    child = run.tid("child")
    assert run.task(child, EXEC).name == "sleep"
    assert [e.tid for e in run.trace.ends].count(child) == 1
    lengths = [(w.into - w.out) / MS for w in run.waits(child, 80, syscall=CALLS["clock_nanosleep"]) if not w.flags & LAST]
    assert len(lengths) == 2


def test_64_workers(follow):
    run = follow("""
ends = os.pipe()
workers = []
for _ in range(64):
    pid = os.fork()
    if not pid:
        os.close(ends[1])
        os.read(ends[0], 1)
        os._exit(0)
    workers.append(pid)
time.sleep(1.5)
os.close(ends[1])
for pid in workers: os.waitpid(pid, 0)
told("workers", " ".join(map(str, workers)))
""")
    workers = [int(pid) for pid in run.told["workers"].split()]
    for pid in workers:
        assert run.task(pid).creator == run.tid()
        assert [e.tid for e in run.trace.ends].count(pid) == 1
        (wait,) = [w for w in run.waits(pid, longer_ms=150) if not w.flags & LAST]
        assert wait.syscall == CALLS["read"] and wait.fd_kind == PIPE
    assert run.trace.probes[-1].tasks_lost == 0 and run.trace.probes[-1].events_lost == 0


def test_many_that_come_and_go(follow, how):
    run = follow("""
for _ in range(300):
    pid = os.fork()
    if not pid: os._exit(0)
    os.waitpid(pid, 0)
thread = threading.Thread(target=time.sleep, args=(0.1,))
thread.start(); thread.join()
""")
    tasks, ends = [t.tid for t in run.trace.tasks if not t.flags & EXEC], [e.tid for e in run.trace.ends]
    assert sorted(tasks) == sorted(ends)
    if how == "perf":
        assert len(tasks) == 302


def test_a_tree_that_runs_already(build, gpushim, tmp_path, how):
    program = subprocess.Popen([sys.executable, "-c", """
import os, threading, time
for _ in range(4): threading.Thread(target=time.sleep, args=(1.2,)).start()
if not os.fork(): time.sleep(0.8); os._exit(0)
time.sleep(1)
os.wait()
"""])
    try:
        subprocess.run(["sleep", "0.3"])
        if why := why_not(build, how):
            pytest.skip(why)
        trace = Follow(gpushim, tmp_path).beside(program, "--probes", how)
    finally:
        program.kill()
    there = [t for t in trace.tasks if t.flags & THERE and not t.flags & EXEC]
    assert len(there) == 6 and len({t.pid for t in there}) == 2
    for task in there:
        (wait, *_) = [w for w in trace.waits if w.tid == task.tid and not w.flags & LAST]
        assert wait.out == trace.probes[0].begin and wait.syscall == CALLS["clock_nanosleep"]


def test_pressure_is_told_throughout(follow):
    run = follow("time.sleep(1)")
    if not run.trace.probes[0].watched >> PRESSURE & 1:
        pytest.skip("this kernel tells none")
    rows = run.trace.pressures
    assert 6 <= len(rows) <= 12
    assert all(a.end == b.begin for a, b in zip(rows, rows[1:]))
    assert all(90 * MS < r.end - r.begin < 400 * MS for r in rows)
    known = [r for r in rows if r.io_some_us != 2**32 - 1]
    assert all(r.io_full_us <= r.io_some_us + 1000 and r.io_some_us <= (r.end - r.begin) / 1000 + 5000 for r in known)


def test_a_quota_that_is_used_up(follow, how):
    """Of an own group of version 1 or 2, whichever may be made here."""
    group = None
    for top, limit in (("/sys/fs/cgroup/cpu", (("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", "5000"))),
                       ("/sys/fs/cgroup", (("cpu.max", "5000 100000"),))):
        try:
            os.mkdir(f"{top}/probes-{os.getpid()}")
            group = f"{top}/probes-{os.getpid()}"
            for name, value in limit:
                with open(f"{group}/{name}", "w") as file:
                    file.write(value)
            break
        except OSError:
            if group:
                os.rmdir(group)
            group = None
    if not group:
        pytest.skip("no control group for CPU time may be made here")
    try:
        run = follow(f"""
open("{group}/cgroup.procs", "w").write(str(os.getpid()))
time.sleep(0.2)
total = lambda: next(int(n) * (1000 if name == "throttled_usec" else 1) for name, n in map(str.split, open("{group}/cpu.stat"))
                     if name in ("throttled_usec", "throttled_time"))
before, end = total(), time.monotonic() + 1
while time.monotonic() < end: pass
told("throttled", total() - before)
open("{os.path.dirname(group)}/cgroup.procs", "w").write(str(os.getpid()))
""")
    finally:
        os.rmdir(group)
    truth = int(run.told["throttled"]) / MS
    told = sum(r.throttled_ns for r in run.trace.waits + run.trace.stalls if r.tid == run.tid()) / MS
    assert truth > 300
    assert abs(told - truth) < truth * (0.15 if how == "perf" else 0.3), (told, truth)
    assert sum(r.throttled_us for r in run.trace.pressures if r.throttled_us != 2**32 - 1) > 200000


def test_an_ordinary_user(follow, how):
    if os.geteuid() != 0:
        pytest.skip("is one already")
    run = follow("time.sleep(0.1); time.sleep(0.1)", user=NOBODY)
    assert len([w for w in run.waits(longer_ms=60, syscall=CALLS["clock_nanosleep"]) if not w.flags & LAST]) == 2
    assert run.trace.probes[0].watched >> SYSCALL & 1 and run.trace.probes[0].watched >> PIPES & 1


def forbid(*numbers):
    """Those system calls fail with EPERM from here on, in what is executed as well: a container's profile."""
    libc = ctypes.CDLL(None)
    code = struct.pack("HBBI", 0x20, 0, 0, 0)  # the call's number
    for number in numbers:
        code += struct.pack("HBBI", 0x15, 0, 1, number) + struct.pack("HBBI", 0x06, 0, 0, 0x00050001)
    code += struct.pack("HBBI", 0x06, 0, 0, 0x7FFF0000)
    buffer = ctypes.create_string_buffer(code)
    program = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(buffer))
    libc.prctl(38, 1, 0, 0, 0)
    libc.prctl(22, 2, ctypes.c_char_p(program))


def test_a_container_that_forbids_it(gpushim, tmp_path):
    """Neither bpf(2) nor perf_event_open: looks are what is left, and why is said when asked for the other."""
    calls = {"x86_64": (298, 321), "aarch64": (241, 280)}[platform.machine()]
    for options, code in (((), 0), (("--probes", "perf"), 4)):
        with subprocess.Popen(["sleep", "0.3"]) as program:
            done = subprocess.run([gpushim, "host", "-p", str(program.pid), "-o", tmp_path, *options], capture_output=True, text=True,
                                  timeout=60, preexec_fn=lambda: forbid(*calls))
        assert done.returncode == code, done.stderr
        assert ("by proc" if code == 0 else "seccomp") in done.stderr


def test_it_costs_little(follow):
    run = follow("""
for _ in range(40): threading.Thread(target=time.sleep, args=(2.5,), daemon=True).start()
def busy():
    while True: time.sleep(0.002)
for _ in range(4): threading.Thread(target=busy, daemon=True).start()
time.sleep(2.5)
os._exit(0)
""")
    took_ms = float(run.stderr.split("it took ")[1].split(" ms")[0])
    span_ms = (run.trace.probes[-1].end - run.trace.probes[0].begin) / MS
    assert took_ms < span_ms * 0.04 + 20, (took_ms, span_ms)  # 2 %, once its pace is found


def test_a_round_of_thousands_is_spread_over_several(follow, how):
    """No more time than is meant for it: who was not looked at is the next time, and the file says how far apart two looks are."""
    if how == "perf":
        pytest.skip("it looks only at those that it is told about")
    run = follow("""
threading.stack_size(1 << 16)
done = threading.Event()
threads = []
try:
    for _ in range(3000):
        threads.append(threading.Thread(target=done.wait, daemon=True))
        threads[-1].start()
except RuntimeError:
    threads.pop()
told("threads", len(threads))
time.sleep(4)
os._exit(0)
""")
    threads = int(run.told["threads"])
    if threads < 3000:
        pytest.skip(f"only {threads} threads may be made here")
    last = run.trace.probes[-1]
    assert last.tasks_lost == 0
    assert last.period_ns > 100 * MS  # more than a round's rest ever is
    # Those that were made while the first were met are met within a second.
    waited = {w.tid for w in run.trace.waits if w.into - w.out > 100 * MS and w.syscall == CALLS["futex"]}
    assert len(waited) >= 3000


def test_disk_state_is_told(follow, disk):
    run = follow(f"""
fd = os.open("{disk}/out.bin", os.O_RDWR | os.O_CREAT)
for _ in range(10):
    os.write(fd, os.urandom(1 << 20) * 8)
    os.fsync(fd)
""")
    waits = [w for w in run.waits(longer_ms=2, syscall=CALLS["fsync"])]
    if not waits:
        pytest.skip("a disk so fast that nothing was to be seen")
    assert all(run.trace.file(w) == f"{disk}/out.bin" for w in waits)
    assert any(w.flags & DISK for w in waits)
