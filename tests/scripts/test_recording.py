# SPDX-License-Identifier: BSD-2-Clause
"""However a test run ends, the programs it started end with it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import recording

# A program that goes on for ever, and how many processes it is.
PROGRAMS = {
    "client": (("client_dlopen", "--endless"), 1),
    "workers": (("train.py", "--steps", 100000, "--workers", 2), 3),
    "namespace": (("client_dlopen", "--endless"), 2),
}
UNSHARE = ["unshare", "--pid", "--fork", "--kill-child"]
# Starts a program as a test does, says its number, and waits to be killed.
TEST_RUN = f"""
import sys, time
from pathlib import Path
sys.path.insert(0, {str(recording.WORKLOADS)!r})
import recording
build, shim, folder, *command = sys.argv[1:]
child = recording.Recorder(Path(build), Path(shim), None, Path(folder)).start(command, folder)
print(child.pid, flush=True)
time.sleep(60)
"""


def descendants(pid):
    """Its process and all below it."""
    found = [pid]
    for one in found:
        found += map(int, Path(f"/proc/{one}/task/{one}/children").read_text().split())
    return found


def lives(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def until(condition):
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_killed_test_run_leaves_nothing_behind(recorder, name):
    program, processes = PROGRAMS[name]
    command = recorder.command(*program)
    if name == "namespace":
        if subprocess.run([*UNSHARE, "true"], capture_output=True).returncode:
            pytest.skip("no PID namespace can be made here")
        command = [*UNSHARE, *command]
    folder = recorder.new_folder()
    run = subprocess.Popen([sys.executable, "-c", TEST_RUN, recorder.build, recorder.shim, folder, *command], stdout=subprocess.PIPE)
    try:
        first = int(run.stdout.readline())
        until(lambda: list(folder.glob("gpushim-out/[!.]*.gst")) and len(descendants(first)) == processes)
        pids = descendants(first)
        assert all(map(lives, pids))
    finally:
        run.kill()
        run.communicate()
    try:
        until(lambda: not any(map(lives, pids)))
    finally:
        for pid in filter(lives, pids):
            os.kill(pid, signal.SIGKILL)
