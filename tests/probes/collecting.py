# SPDX-License-Identifier: BSD-2-Clause
"""Starts `gpushim host` and `gpushim run --host`, and looks at the processes that they make."""

import os
import struct
import subprocess
import sys
import time
from pathlib import Path

HEADER = struct.Struct("<8sIIQIIIIIIQQQQ64s64s64s512s2048sII")
HEADER_FIELDS = ("magic version check segment_bytes capacity clock level pid ppid cost start_ticks start_mono_ns start_real_ns process_start "
                 "run_id host shim exe cmdline machine kind").split()
COUNTERS_OFFSET, EXITED, LAST_TICKS = 4096, 7, 6
NOBODY = 65534
ORDINARY = {"user": NOBODY, "group": NOBODY, "extra_groups": []}


def header(path):
    row = dict(zip(HEADER_FIELDS, HEADER.unpack_from(path.read_bytes())))
    return {name: value.split(b"\0")[0].decode() if isinstance(value, bytes) and name != "magic" else value for name, value in row.items()}


def counters(path):
    return struct.unpack_from("<32Q", path.read_bytes(), COUNTERS_OFFSET)


def has_exited(path):
    return counters(path)[EXITED] == 1


def host_files(folder):
    return sorted(Path(folder).glob("*.host.gst"))


def status(pid, field):
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(line.split(":", 1)[1].strip() for line in lines if line.startswith(field + ":"))


def is_there(pid):
    try:
        return status(pid, "State")[0] not in "ZX"
    except FileNotFoundError:
        return False


def children(pid):
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += [int(child) for child in (task / "children").read_text().split()]
    return found


def named_child(pid, name):
    """A child of that process under this name; 0 none."""
    return next((child for child in children(pid) if status(child, "Name") == name), 0)


def until(what, seconds=10):
    """What `what()` says once that is something; fails where it never does."""
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end, "in vain"
        time.sleep(0.01)
    return found


CALL = 'import ctypes; ctypes.CDLL("libcuda.so.1").cuInit(0)\n'
READY = CALL + 'import sys; print("ready", flush=True); sys.stdin.readline(); print("done", flush=True); sys.exit(7)'


class Runs:
    def __init__(self, gpushim, recorder, folder):
        self.gpushim, self.recorder, self.folder, self.out = gpushim, recorder, folder, folder / "out"

    def command(self, text, *options):
        return [str(self.gpushim), "run", "-o", str(self.out), *options, "--", sys.executable, "-c", text]

    def environment(self, **more):
        return self.recorder.environment(shim=False, **more)

    def __call__(self, text, *options, **how):
        return subprocess.run(self.command(text, *options), env=self.environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=60, **how)

    def start(self, text, *options, **how):
        return subprocess.Popen(self.command(text, *options), env=self.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, **how)


class Host:
    """`gpushim host -p PID`, from the moment it follows."""

    def __init__(self, gpushim, pid, out, *options, **how):
        self.out = out
        place = ["-o", out] if out else []
        self.process = subprocess.Popen([gpushim, "host", "-p", str(pid), *place, *options], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                        text=True, **how)
        self.first = self.process.stderr.readline()

    @property
    def file(self):
        (path,) = host_files(self.out)
        return path

    def end(self):
        """Exit status, and all it said."""
        said = self.first + self.process.communicate(timeout=30)[1]
        return self.process.returncode, said


def environment_of(text):
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def open_to_all(folder):
    """So that an ordinary user reaches it."""
    for part in (folder, *folder.parents):
        if part.owner() == "root" and not part.stat().st_mode & 0o001 and os.geteuid() == 0:
            part.chmod(part.stat().st_mode | 0o011)
    folder.chmod(0o777)
    return folder
