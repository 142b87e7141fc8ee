# SPDX-License-Identifier: BSD-2-Clause
"""bench_used.py: what a command takes; for scripts/bench-*."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path


class Used:
    """What a command took: wall clock and CPU seconds, the most memory it had, the most of its own."""

    def __init__(self, *command, out=subprocess.DEVNULL, may_be=(0,), **variables):
        begin = time.monotonic()
        child = subprocess.Popen(command, stdout=out, env={**os.environ, **variables})
        self.anonymous, self.ended = 0, threading.Event()
        watch = threading.Thread(target=self.watch, args=(child.pid,))
        watch.start()
        _, status, usage = os.wait4(child.pid, 0)
        self.wall_s, self.cpu_s, self.peak = time.monotonic() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024
        child.returncode = os.waitstatus_to_exitcode(status)
        self.ended.set()
        watch.join()
        if child.returncode not in may_be:
            sys.exit(f"{Path(sys.argv[0]).name}: {' '.join(map(str, command))}: exit status {child.returncode}")

    def watch(self, pid):
        over = False
        while not over:
            try:
                lines = Path(f"/proc/{pid}/status").read_text().splitlines()
            except OSError:
                return
            for line in lines:
                if line.startswith("RssAnon:"):
                    self.anonymous = max(self.anonymous, int(line.split()[1]) * 1024)
            over = self.ended.wait(0.01)
