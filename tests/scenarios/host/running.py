# SPDX-License-Identifier: BSD-2-Clause
"""What several tests share: a program that runs already, and a collector that is told to follow it; when a test cannot be had."""

import functools
import subprocess

import lab
import pytest
from recording import end_with_the_tests


def skipped_where(*kinds):
    """A test that is skipped where one of these is raised."""
    def decorate(test):
        @functools.wraps(test)
        def act(**fixtures):
            try:
                test(**fixtures)
            except kinds as why:
                pytest.skip(str(why))
        return act
    return decorate


class Running:
    """A program under the recorder alone, and a collector beside it that was told to follow it."""

    def __init__(self, build, folder, plan, how="ebpf"):
        self.build, self.folder, self.how = build, folder, how
        env = {**lab.environment(build, folder, plan), "LD_PRELOAD": str(build / "libgpushim.so")}
        self.program = subprocess.Popen(lab.program(build, plan.command), cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True, preexec_fn=end_with_the_tests)
        self.collector, self.steps = None, 0

    def until_step(self, step):
        for line in self.program.stdout:
            self.steps += 1
            if line == f"step {step}\n":
                return
        raise AssertionError(f"it ended before step {step}")

    def all_steps(self):
        """How many it told of, when it has ended."""
        self.steps += sum(line.endswith("\n") for line in self.program.stdout)
        return self.steps

    def attach(self):
        self.collector = subprocess.Popen([str(self.build / "gpushim"), "host", "--probes", self.how, "-p", str(self.program.pid), "-o",
                                           str(self.folder / "gpushim-out")], cwd=self.folder, stdin=subprocess.DEVNULL, text=True,
                                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=end_with_the_tests)

    def ended(self):
        """(the program's status, the collector's)"""
        self.program.stdout.read()
        statuses = self.program.wait(timeout=60), self.collector.wait(timeout=30)
        return statuses

    def end(self):
        for process in (self.program, self.collector):
            if process:
                process.kill()
                process.wait()
