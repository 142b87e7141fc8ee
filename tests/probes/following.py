# SPDX-License-Identifier: BSD-2-Clause
"""Runs small programs under a collector, from their beginning; what it recorded of them."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from records import Trace

PRELUDE = """
import os, resource, sys, threading, time
def told(name, value): os.write(1, f"{name}={value}\\n".encode())  # whole, whoever else writes
print(f"pid={os.getpid()}", flush=True)
sys.stdin.readline()
"""


class Run:
    """A program that has run under a collector: its records, and what it told."""

    def __init__(self, trace, told, stderr):
        self.trace, self.told, self.stderr = trace, told, stderr

    def tid(self, name="pid"):
        return int(self.told[name])

    def waits(self, tid=None, longer_ms=0, **fields):
        """Its waits of at least that length, in order."""
        tid = self.tid() if tid is None else tid
        return [w for w in self.trace.waits if w.tid == tid and w.into - w.out >= longer_ms * 1000000
                and all(getattr(w, name) == value for name, value in fields.items())]

    def only(self, *args, **fields):
        found = self.waits(*args, **fields)
        assert len(found) == 1, found
        return found[0]

    def task(self, tid, flags=0):
        return next(t for t in self.trace.tasks if t.tid == tid and t.flags & flags == flags)


def as_user(user):
    return {} if user is None else {"user": user, "group": user, "extra_groups": []}


class Follow:
    def __init__(self, gpushim, folder):
        self.gpushim, self.folder = gpushim, folder

    def collector(self, pid, *options, gpushim=None, **as_user):
        """A collector that follows, and its folder; its first line says so."""
        out = Path(tempfile.mkdtemp(dir=self.folder))
        if as_user:
            os.chown(out, as_user["user"], as_user["group"])
        command = [gpushim or self.gpushim, "host", "-p", str(pid), "-o", out, "--probes", "ebpf", *options]
        return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **as_user), out

    def __call__(self, text, *options, gpushim=None, user=None, program_user=None):
        """Runs PRELUDE + text as a program, from its beginning under a collector that is there by the time text begins."""
        python = sys.executable if user is None else shutil.which("python3", path="/usr/bin:/bin:/usr/local/bin")
        if not python:
            pytest.skip("no Python that every user may run")
        program = subprocess.Popen([python, "-c", PRELUDE + text], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                   **as_user(program_user or user))
        told = [program.stdout.readline()]
        host, out = self.collector(program.pid, *options, gpushim=gpushim, **as_user(user))
        said = [host.stderr.readline()]
        try:
            if "following" in said[0]:
                told += program.communicate("\n", timeout=60)[0].splitlines()
            said += host.communicate(timeout=60)[1].splitlines(keepends=True)
        finally:
            program.kill()
            host.kill()
            program.wait()
        assert "following" in said[0], "".join(said)
        assert program.returncode == 0
        (file,) = out.glob("*.host.gst")
        return Run(Trace(file), dict(line.strip().split("=", 1) for line in told if "=" in line), "".join(said))

    def beside(self, program, *options, gpushim=None, **as_user):
        """Follows one that runs already and waits for a line, to its end. said: what the collector said."""
        host, out = self.collector(program.pid, *options, gpushim=gpushim, **as_user)
        try:
            said = host.stderr.readline()
            program.communicate("\n", timeout=60)
            said += host.communicate(timeout=60)[1]
        finally:
            program.kill()
            host.kill()
        assert host.returncode == 0, said
        (file,) = out.glob("*.host.gst")
        trace = Trace(file)
        trace.said = said
        return trace
