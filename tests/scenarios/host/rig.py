# SPDX-License-Identifier: BSD-2-Clause
"""What a fault needs of the machine: a slow disk, a group with a limit, swap, mounts, somebody who sends late. All of it goes away with
the test (janitor.py). Missing says why something cannot be had here."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

GROUPS = Path("/sys/fs/cgroup")
MIB = 1 << 20


class Missing(Exception):
    """This machine does not allow it; the text says what."""


def need_root(what):
    if os.geteuid() != 0:
        raise Missing(f"needs root, to {what}")


class Group:
    """A control group: v1 (one controller of its own hierarchy) or v2, whichever the machine has."""

    def __init__(self, janitor, controller):
        need_root("make control groups")
        name = f"gpushim-lab-{os.getpid()}"
        v1, v2 = GROUPS / controller, GROUPS / "cgroup.controllers"
        if (v1 / "cgroup.procs").exists():
            self.path, self.version = v1 / name, 1
        elif v2.exists() and {"blkio": "io"}.get(controller, controller) in v2.read_text().split():
            self.path, self.version = GROUPS / f"{name}-{controller}", 2
            self.write_to(GROUPS / "cgroup.subtree_control", "+" + {"blkio": "io"}.get(controller, controller))
        else:
            raise Missing(f"needs the control groups' {controller} controller")
        janitor.later("rmgroup", self.path)
        try:
            self.path.mkdir(exist_ok=True)
        except OSError as error:
            raise Missing(f"needs to make control groups: {error}") from error
        os.chmod(self.path / "cgroup.procs", 0o666)  # so that a program of another user puts itself in

    @staticmethod
    def write_to(path, value):
        try:
            path.write_text(str(value))
        except OSError as error:
            raise Missing(f"needs to set {path.name} of a control group: {error}") from error

    def set(self, name, value):
        self.write_to(self.path / name, value)

    def procs(self):
        return str(self.path / "cgroup.procs")


def disk_of(path):
    """major:minor of the whole disk under this file."""
    number = os.stat(path).st_dev
    device = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    if not device.exists():
        raise Missing(f"needs a disk, and {path} is on none")
    device = device.resolve()
    return ((device.parent if (device / "partition").exists() else device) / "dev").read_text().strip()


def throttled_disk(janitor, folder, read=None, write=None):
    """A group in which that folder's disk gives and takes so many bytes a second."""
    disk, group = disk_of(folder), Group(janitor, "blkio")
    if group.version == 1:
        for way, rate in (("read", read), ("write", write)):
            if rate:
                group.set(f"blkio.throttle.{way}_bps_device", f"{disk} {rate}")
    else:
        group.set("io.max", f"{disk} rbps={read or 'max'} wbps={write or 'max'}")
    return group


def quota(janitor, quota_us, period_us):
    if not shutil.which("taskset"):
        raise Missing("needs taskset")
    group = Group(janitor, "cpu")
    if group.version == 1:
        group.set("cpu.cfs_period_us", period_us)
        group.set("cpu.cfs_quota_us", quota_us)
    else:
        group.set("cpu.max", f"{quota_us} {period_us}")
    return group


def little_memory(janitor, limit):
    group = Group(janitor, "memory")
    group.set("memory.limit_in_bytes" if group.version == 1 else "memory.max", limit)
    return group


def swap(janitor, folder, size):
    """As there is none by default."""
    need_root("switch swap on")
    file = folder / "swap"
    with open(file, "wb") as out:
        for _ in range(size // MIB):
            out.write(bytes(MIB))  # no holes
    os.chmod(file, 0o600)
    janitor.later("remove", file)
    janitor.later("swapoff", file)
    for command in (["mkswap", str(file)], ["swapon", str(file)]):
        try:
            done = subprocess.run(command, capture_output=True, text=True)
        except FileNotFoundError as error:
            raise Missing(f"needs {command[0]}") from error
        if done.returncode != 0:
            raise Missing(f"needs swap: {done.stderr.strip()}")


def data_file(folder, size, name="train-000.tar"):
    """On the disk, not in the cache."""
    file = folder / name
    with open(file, "wb") as out:
        for _ in range(size // MIB):
            out.write(os.urandom(MIB))
        out.flush()
        os.fsync(out.fileno())
        os.posix_fadvise(out.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return file


def overlay(janitor, lower, folder):
    """As containers have their files: what is in `lower`, through another file system."""
    need_root("mount an overlay")
    upper, work, merged = (folder / name for name in ("upper", "work", "merged"))
    for path in (upper, work, merged):
        path.mkdir()
    janitor.later("umount", merged)
    done = subprocess.run(["mount", "-t", "overlay", "overlay", "-o", f"lowerdir={lower},upperdir={upper},workdir={work}", str(merged)],
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise Missing(f"needs overlayfs: {done.stderr.strip()}")
    return merged


def slow_fs(janitor, build, source, folder, delay_ms):
    """A FUSE file system that takes so long for each read (tests/fuse/slow_fs.c)."""
    need_root("mount a FUSE file system")
    program, control, mount = build / "fuse" / "slow_fs", folder / "control", folder / "fuse"
    if not program.exists():
        raise Missing("needs libfuse3's headers, when the tests are built")
    mount.mkdir()
    control.write_text(f"read delay {delay_ms}\n")
    janitor.later("umount", mount)
    server = subprocess.Popen([str(program), str(source), str(control), str(folder / "fuse.log"), str(mount)],
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    janitor.later("kill", server.pid)
    for _ in range(300):
        if os.path.ismount(mount):
            return mount, server
        if server.poll() is not None:
            break
        time.sleep(0.01)
    raise Missing("needs FUSE mounts")


SENDER = """
import ctypes, os, signal, socket, struct, sys, time
ctypes.CDLL(None).prctl(1, signal.SIGKILL)
size = int(sys.argv[1])
listening = socket.create_server(("127.0.0.1", 0))
print(listening.getsockname()[1], flush=True)
peer, _ = listening.accept()
while late := peer.recv(8, socket.MSG_WAITALL):
    time.sleep(struct.unpack("=q", late)[0] / 1e9)
    peer.sendall(bytes(size))
"""


def sender(janitor, size):
    """(port, process): is asked with a delay in ns, and answers so late with so many bytes."""
    process = subprocess.Popen([sys.executable, "-c", SENDER, str(size)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               text=True)
    janitor.later("kill", process.pid)
    return int(process.stdout.readline()), process


def competitors(janitor, build, cpu, count):
    """Other people's programs, which want this CPU all the time."""
    started = []
    for _ in range(count):
        started.append(subprocess.Popen([str(build / "host" / "spin_linked"), str(cpu)], stdin=subprocess.DEVNULL,
                                        env={"LD_LIBRARY_PATH": str(build / "simgpu")}))
        janitor.later("kill", started[-1].pid)
    return started
