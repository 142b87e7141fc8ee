# SPDX-License-Identifier: BSD-2-Clause
"""What a wait was for, when it ended, and by whom."""

import os
import platform
import signal
import socket
import time

import pytest
from records import DISK, FAULT, INTERRUPT, IOWAIT, LAST, PREEMPTED, TASK, TIMER

CALLS = {"x86_64": {"read": 0, "pread64": 17, "poll": 7, "futex": 202, "recvfrom": 45, "clock_nanosleep": 230, "epoll_wait": 232, "wait4": 61,
                    "fsync": 74, "fadvise64": 221},
         "aarch64": {"read": 63, "pread64": 67, "poll": 73, "futex": 98, "recvfrom": 207, "clock_nanosleep": 115, "epoll_wait": 22, "wait4": 260,
                     "fsync": 82, "fadvise64": 223}}[platform.machine()]
NS = 1000000  # a millisecond


def length_ms(wait):
    return (wait.into - wait.out) / NS


def test_sleep_ends_by_its_timer(follow):
    run = follow("time.sleep(0.05)")
    wait = run.only(longer_ms=40, syscall=CALLS["clock_nanosleep"], by=TIMER)
    assert 50 <= length_ms(wait) < 150 and wait.waker == 0
    assert wait.out < wait.wake <= wait.into and wait.wake - wait.out >= 49 * NS


def test_futex_names_who_released_it(follow):
    run = follow("""
lock = threading.Lock()
lock.acquire()
def other():
    told("other", threading.get_native_id())
    time.sleep(0.05)
    lock.release()
thread = threading.Thread(target=other)
thread.start()
lock.acquire()
thread.join()
""")
    wait = run.only(longer_ms=40, syscall=CALLS["futex"])
    assert (wait.by, wait.waker) == (TASK, run.tid("other"))
    assert wait.arg > 4096  # the futex's address
    assert run.task(run.tid("other")).creator == run.tid()


@pytest.mark.parametrize("text, call", [
    ("import select; select.poll().poll(50)", "poll"),
    ("threading.Event().wait(0.05)", "futex"),
    ("import select; select.epoll().poll(0.05)", "epoll_wait"),
], ids=["poll", "futex", "epoll"])
def test_limit_of_time_is_a_timer(follow, text, call):
    wait = follow(text).only(longer_ms=40, syscall=CALLS[call])
    assert (wait.by, wait.waker) == (TIMER, 0)


@pytest.mark.parametrize("text, call", [
    ("p = select.poll(); p.register(clock, select.POLLIN); p.poll(None)", "poll"),
    ("p = select.epoll(); p.register(clock, select.EPOLLIN); p.poll(None)", "epoll_wait"),
], ids=["poll", "epoll"])
def test_no_limit_of_time_is_no_timer(follow, text, call):
    """-1 ms stand in an argument's lower half: woken by a clock of its own, an interrupt, and not because its time was up."""
    wait = follow(f"""
import ctypes, select, struct
libc = ctypes.CDLL(None)
clock = libc.timerfd_create(time.CLOCK_MONOTONIC, 0)
libc.timerfd_settime(clock, 0, struct.pack("4q", 0, 0, 0, 50000000), None)
{text}
""").only(longer_ms=30, syscall=CALLS[call])
    assert (wait.by, wait.waker) == (INTERRUPT, 0)


def test_pipe_names_its_writer(follow):
    run = follow("""
r, w = os.pipe()
told("inode", os.fstat(r).st_ino)
child = os.fork()
if not child:
    time.sleep(0.05)
    os.write(w, b"x")
    time.sleep(0.05)
    os._exit(0)
told("child", child)
os.read(r, 1)
os.waitpid(child, 0)
""")
    wait = run.only(longer_ms=30, syscall=CALLS["read"])
    assert (wait.by, wait.waker) == (TASK, run.tid("child"))
    assert wait.inode == int(run.told["inode"]) and run.trace.file(wait) == f"pipe:[{wait.inode}]"
    assert run.only(longer_ms=30, syscall=CALLS["wait4"]).waker == run.tid("child")


SOCKET = """
import socket
{make}
told("own", os.fstat(a.fileno()).st_ino)
told("other", os.fstat(b.fileno()).st_ino)
child = os.fork()
if not child:
    time.sleep(0.05)
    b.send(b"x")
    os._exit(0)
told("child", child)
a.recv(1)
"""


def test_unix_socket_names_both_ends(follow):
    run = follow(SOCKET.format(make="a, b = socket.socketpair()"))
    wait = run.only(longer_ms=30, syscall=CALLS["recvfrom"])
    assert (wait.by, wait.waker) == (TASK, run.tid("child"))
    assert run.trace.file(wait) == f"unix:[{run.told['own']}]:[{run.told['other']}]"


def test_connection_on_this_machine_names_the_sender(follow):
    """The packet is delivered in what looks like an interrupt, by its sender."""
    run = follow(SOCKET.format(make="""
server = socket.create_server(("127.0.0.1", 0))
a = socket.create_connection(server.getsockname())
b, _ = server.accept()
told("port", server.getsockname()[1])
"""))
    wait = run.only(longer_ms=30, syscall=CALLS["recvfrom"])
    assert (wait.by, wait.waker) == (TASK, run.tid("child"))
    assert run.trace.file(wait) == f"tcp:127.0.0.1:{run.told['port']}"


def test_sender_on_this_machine_that_is_not_of_the_tree(follow):
    server = socket.create_server(("127.0.0.1", 0))
    sender = os.fork()
    if not sender:
        peer, _ = server.accept()
        time.sleep(0.1)
        peer.send(b"x")
        time.sleep(0.1)
        peer.send(b"x")
        os._exit(0)
    run = follow(f"""
import socket
a = socket.create_connection({server.getsockname()})
a.recv(1)
a.recv(1)
""")
    os.waitpid(sender, 0)
    assert [(w.by, w.waker) for w in run.waits(longer_ms=50, syscall=CALLS["recvfrom"])] == [(TASK, sender)] * 2
    assert sender in {t.tid for t in run.trace.tasks}


def test_poll_of_one_socket_names_it(follow):
    """What Python's sockets do that have a time limit."""
    run = follow(SOCKET.format(make="a, b = socket.socketpair(); a.settimeout(5)"))
    wait = run.only(longer_ms=30, syscall=CALLS["poll"])
    assert (wait.by, wait.waker) == (TASK, run.tid("child"))
    assert run.trace.file(wait) == f"unix:[{run.told['own']}]:[{run.told['other']}]"


def test_preempted_by_another_on_its_cpu(follow):
    cpu = min(os.sched_getaffinity(0))
    run = follow(f"""
os.sched_setaffinity(0, [{cpu}])
child = os.fork()
end = time.monotonic() + 0.3
while time.monotonic() < end: pass
if not child: os._exit(0)
told("child", child)
os.waitpid(child, 0)
""", "--wait", "100")
    lost = [w for w in run.waits() if w.flags & PREEMPTED and w.syscall == -1]
    assert all(w.wake == w.out and w.waker == 0 for w in lost)
    assert sum(w.into - w.out for w in lost) > 80 * NS  # of 300, about half


def test_cold_read_names_file_and_offset(follow, cold):
    run = follow(f"""
fd = os.open("{cold}", os.O_RDONLY)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
before = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
for i in range(16):
    os.pread(fd, 262144, i << 20)
told("slept", resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw - before)
os.fsync(fd)
""", "--wait", "20")
    waits = [w for w in run.waits(syscall=CALLS["pread64"]) if w.flags & IOWAIT]
    assert waits and all(w.flags & DISK and w.by == INTERRUPT for w in waits)
    assert {run.trace.file(w) for w in waits} == {str(cold)}
    stat = cold.stat()
    assert {(w.inode, w.bytes, w.offset % (1 << 20)) for w in waits} == {(stat.st_ino, 262144, 0)}
    # The disk may be too quick for some; a long read may sleep twice.
    assert len({w.offset for w in waits}) >= min(8, int(run.told["slept"]) // 3)
    dev = os.major(stat.st_dev) << 20 | os.minor(stat.st_dev)
    assert {w.dev for w in waits} == {dev}
    requests = [r for r in run.trace.requests if r.inode == stat.st_ino and r.file_dev == dev]
    assert sum(r.bytes for r in requests) >= 8 * 262144
    assert all(r.queued <= r.issued <= r.done and r.tid == run.tid() and not r.flags & 1 for r in requests)
    assert all(r.offset % (1 << 20) < 262144 for r in requests)


def test_writing_on_a_cpu_is_on_record(follow, disk):
    """From the call's begin to its end, whole calls of 64 KiB and more, in pages, the file system's own among them; what waits in between is a wait's. Not what is computed, nor read."""
    name = disk / "written"
    run = follow(f"""
block = os.urandom(4 << 20)
fd = os.open("{name}", os.O_CREAT | os.O_RDWR)
small = os.open("{name}.small", os.O_CREAT | os.O_WRONLY)
null = os.open("/dev/null", os.O_WRONLY)
def timed(call):
    begin = time.monotonic_ns()
    call()
    return f"{{begin}} {{time.monotonic_ns()}}"
first = timed(lambda: os.write(fd, block))
os.fsync(fd)
begin = time.monotonic()
while time.monotonic() - begin < 0.02: pass
os.write(small, block[:30000])
os.fsync(small)
os.write(null, block)
second = timed(lambda: os.pwrite(fd, block[:131072], 8 << 20))
os.fsync(fd)
os.pwrite(fd, b"1", 1 << 20)
os.pread(fd, 1 << 20, 0)
told("first", first)
told("second", second)
""")
    if not run.trace.probes[0].watched & 1 << 14:
        pytest.skip("pages written are not watched by this kernel")
    written = [w for w in run.trace.written if w.tid == run.tid()]
    assert {run.trace.file(w) for w in written} == {str(name)} and {w.inode for w in written} == {name.stat().st_ino}
    spans = [[int(t) for t in run.told[call].split()] for call in ("first", "second")]
    parts = [[w for w in written if begin <= w.begin < w.end <= end] for begin, end in spans]
    assert sum(map(len, parts)) == len(written) and parts[0] and [w.bytes for w in parts[1]] == [131072]
    assert all(w.fd_kind == 1 and w.offset == 2**64 - 1 for w in written)
    # What of the call is in no record is a wait, or a piece between two of them.
    off = sum(w.into - w.out for w in run.waits() if spans[0][0] <= w.out < spans[0][1])
    if not off:
        assert sum(w.bytes for w in parts[0]) == 4 << 20
        assert sum(w.end - w.begin for w in parts[0]) >= 0.5 * (spans[0][1] - spans[0][0]) - NS


def test_read_by_position_has_its_offset(follow, cold):
    run = follow(f"""
f = open("{cold}", "rb", buffering=0)
f.seek(5 << 20)
f.read(1 << 20)
""", "--wait", "20")
    waits = [w for w in run.waits(syscall=CALLS["read"]) if w.flags & IOWAIT]
    assert waits and {(w.offset, w.bytes) for w in waits} == {(5 << 20, 1 << 20)}


def test_files_of_one_name_are_told_apart(follow, disk):
    """Each is closed, and its descriptor is the next one's, before the collector has looked; and one lies deep."""
    folders = [disk / f"worker{i}" for i in range(8)] + [disk.joinpath(*(f"deep{i}" for i in range(30)), side) for side in "ab"]
    paths = [folder / "data.bin" for folder in folders]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(os.urandom(1 << 20))
        fd = os.open(path, os.O_RDONLY)
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)
    inodes = {path.stat().st_ino: str(path) for path in paths}
    run = follow(f"""
for path in {[str(path) for path in paths + paths[:1]]}:
    fd = os.open(path, os.O_RDONLY)
    os.pread(fd, 1 << 20, 0)
    os.close(fd)
os.open("{paths[0]}", os.O_RDONLY)
time.sleep(0.1)
""", "--wait", "5")
    names = {(w.inode, run.trace.file(w)) for w in run.waits(syscall=CALLS["pread64"]) if w.inode in inodes}
    assert len(names) >= 5  # the disk may be too quick for some
    for inode, name in names:
        path = inodes[inode]
        assert name == path or (name.startswith("/...") and path.endswith(name[4:])), (name, path)


def test_fault_names_file_and_page(follow, cold):
    run = follow(f"""
import mmap
f = open("{cold}", "rb")
m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)
m.madvise(mmap.MADV_RANDOM)
for i in range(12):
    m[(i << 20) + 12288]
""", "--wait", "5")
    waits = [w for w in run.waits() if w.flags & FAULT and w.inode == cold.stat().st_ino]
    assert {run.trace.file(w) for w in waits} == {str(cold)}
    assert {w.offset % (1 << 20) for w in waits} == {12288} and len({w.offset for w in waits}) >= 6
    assert {w.syscall for w in waits} == {-1}


def test_fsync_waits_for_the_disk(follow, disk):
    run = follow(f"""
f = open("{disk}/out", "wb")
f.write(bytes(8 << 20))
f.flush()
os.fsync(f.fileno())
""", "--wait", "50")
    waits = [w for w in run.waits(syscall=CALLS["fsync"])]
    assert waits and {run.trace.file(w) for w in waits} == {f"{disk}/out"}
    assert any(r.flags & 1 and r.bytes >= 65536 for r in run.trace.requests)


def test_small_waits_are_summed_up(follow):
    run = follow("""
for i in range(400):
    time.sleep(0.0001)
""", "--wait", "20000")
    stalls = [s for s in run.trace.stalls if s.tid == run.tid() and s.syscall == CALLS["clock_nanosleep"]]
    assert 390 <= sum(s.count for s in stalls) <= 400
    assert sum(s.blocked_ns for s in stalls) >= 390 * 100000
    assert all(s.blocked_ns + s.queued_ns <= s.end - s.begin for s in stalls)
    assert len(stalls) > 50  # often enough to say when


def test_wait_that_lasts_is_written_at_the_end(follow):
    """The collector is told to end while the program still sleeps."""
    run = follow(f"""
import subprocess
def stop():
    time.sleep(0.1)
    os.kill(int([p for p in os.listdir("/proc") if p.isdigit() and host(p)][0]), {int(signal.SIGTERM)})
def host(p):
    try:
        words = open(f"/proc/{{p}}/cmdline").read().split("\\0")
    except OSError:
        return False
    return "host" in words and str(os.getpid()) in words
thread = threading.Thread(target=stop)
thread.start()
time.sleep(0.5)
""")
    wait = run.waits(longer_ms=50)[-1]
    assert wait.flags & LAST and wait.syscall == CALLS["clock_nanosleep"] and wait.wake == 0
    assert run.trace.probes[-1].end >= wait.into
