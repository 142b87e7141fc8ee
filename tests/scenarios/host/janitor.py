# SPDX-License-Identifier: BSD-2-Clause
"""Undoes what a test did to the machine, however it ends: a process of its own that is told each thing before it is done, and does the
opposite of all of them, the last first, when its input ends, which it also does where the test is killed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path


class Janitor:
    """with Janitor() as janitor: janitor.later("rmgroup", path) …"""

    def __enter__(self):
        # In a session of its own: what is meant for the tests (Ctrl-C) is none of its business.
        self.process = subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, text=True, start_new_session=True)
        return self

    def later(self, act, *words):
        self.process.stdin.write("\t".join([act, *map(str, words)]) + "\n")
        self.process.stdin.flush()
        if self.process.stdin.closed or self.process.poll() is not None:
            raise RuntimeError("who cleans up is gone")

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(timeout=60)


def members(group):
    return [int(pid) for pid in (group / "cgroup.procs").read_text().split()]


def remove_group(group):
    """Whoever is still in it is ended: it belongs to the test."""
    for _ in range(200):
        try:
            for pid in members(group):
                os.kill(pid, signal.SIGKILL)
            group.rmdir()
            return
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.02)  # its last one is just going


def undo(act, words):
    if act == "rmgroup":
        remove_group(Path(words[0]))
    elif act == "umount":
        subprocess.run(["umount", "-l", words[0]], capture_output=True)
    elif act == "rmdir":
        Path(words[0]).rmdir()
    elif act == "swapoff":
        subprocess.run(["swapoff", words[0]], capture_output=True)
    elif act == "remove":
        Path(words[0]).unlink(missing_ok=True)
    elif act == "kill":
        try:
            os.kill(int(words[0]), signal.SIGKILL)
        except ProcessLookupError:
            pass


def main():
    done = [line.rstrip("\n").split("\t") for line in sys.stdin]
    for act, *words in reversed(done):
        try:
            undo(act, words)
        except OSError as error:
            print(f"janitor: {act} {' '.join(words)}: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
