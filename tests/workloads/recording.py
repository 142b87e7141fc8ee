# SPDX-License-Identifier: BSD-2-Clause
"""Runs a program on the simulated driver, with or without the shim, and holds what came of it."""

import ctypes
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

WORKLOADS = Path(__file__).resolve().parent
SECONDS = 120  # a run that takes longer hangs

# tinygrad, with kernels of its own making in PTX and nothing kept from one run for the next.
TINYGRAD = {"DEV": "CUDA:PTX", "CACHELEVEL": 0, "SIMGPU_KERNEL_US": 300}
TINYGRAD_MODES = {"eager": {"JIT": 0}, "replay": {"JIT": 2}, "graph": {"JIT": 1}}  # what a step is: see tinygrad_train.py

LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1


def end_with_the_tests():
    """Between fork and exec: however the test run ends, its programs, some of them endless, do not outlive it."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def ask_for_realtime():
    end_with_the_tests()
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(10))
    except OSError:
        pass  # the checks then rest on their repetitions


class RunFiles:
    """What a run leaves in its folder. truths: the simulated driver's logs, one for each of several processes."""

    def __init__(self, folder, truths=None):
        self.folder = folder
        self.out = folder / "gpushim-out"
        self.truth = folder / "truth.json"
        self.truths = truths or [self.truth]
        self.calls = folder / "calls.txt"


class Run(RunFiles):
    """A finished program, or several, and the files they left."""

    def __init__(self, recorder, folder, done, truths=None):
        super().__init__(folder, truths)
        self.recorder = recorder
        self.status, self.stdout, self.stderr = done.returncode, done.stdout, done.stderr

    def traces(self):
        return sorted(self.out.glob("*.gst"))

    def report(self, *options):
        """The whole report; the trace must be a good one."""
        done = self.recorder.gpushim("report", self.out, "--json", *options)
        assert done.returncode == 0, f"report: exit status {done.returncode}: {done.stderr}"
        return json.loads(done.stdout)


class Recorder:
    """Makes runs, each in a folder of its own."""

    def __init__(self, build: Path, shim: Path, gpushim: Path, folder: Path):
        self.build, self.shim, self.gpushim_path, self.folder = build, shim, gpushim, folder
        self.count = 0

    def new_folder(self):
        self.count += 1
        folder = self.folder / f"run-{self.count}"
        folder.mkdir(parents=True)
        return folder

    def command(self, name, *args):
        """A program of this folder: train.py, or a C program by its name."""
        if name.endswith(".py"):
            return [sys.executable, str(WORKLOADS / name), *map(str, args)]
        program = self.build / "workloads" / name
        assert program.exists(), f"{program} is not built: make workloads"
        return [str(program), *map(str, args)]

    def environment(self, shim=True, **changes):
        """libcuda.so.1 is simgpu; the shim is preloaded on request. A change to None takes a variable away."""
        drop = ("GPUSHIM", "SIMGPU_", "LD_PRELOAD", "LD_LIBRARY_PATH", "CUDA_")
        env = {name: value for name, value in os.environ.items() if not name.startswith(drop)}
        env.update(LD_LIBRARY_PATH=str(self.build / "simgpu"), PYTHONDONTWRITEBYTECODE="1")
        if shim:
            env["LD_PRELOAD"] = str(self.shim)
        for name, value in changes.items():
            env.pop(name, None)
            if value is not None:
                env[name] = str(value)
        return env

    def start(self, command, folder, shim=True, env=None, **how):
        """Starts it in this folder, without input, and without output unless `how` (Popen's) says otherwise."""
        how = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "text": True, "preexec_fn": end_with_the_tests, **how}
        return subprocess.Popen(command, cwd=folder, env=self.environment(shim, **(env or {})), stdin=subprocess.DEVNULL, **how)

    def run(self, command, shim=True, folder=None, env=None, realtime=False):
        """Runs it to its end, in its own folder, with the truth written down. realtime: ahead of everything else on this machine,
        where that is allowed, so that a bound shows what the method can do and not who else had the CPU."""
        folder = folder or self.new_folder()
        settings = {"SIMGPU_LOG": folder / "truth.json", "GPUSHIM_OUT": folder / "gpushim-out", **(env or {})}
        done = subprocess.run(command, cwd=folder, env=self.environment(shim, **settings), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=SECONDS,
                              preexec_fn=ask_for_realtime if realtime else end_with_the_tests)
        return Run(self, folder, done)

    def run_together(self, commands, env=None):
        """Several programs at the same time, recorded as one run, each with its own log of the truth. They print in their order."""
        folder = self.new_folder()
        settings = {"GPUSHIM_OUT": folder / "gpushim-out", "GPUSHIM_RUN": "together", **(env or {})}
        truths = [folder / f"truth-{i}.json" for i in range(len(commands))]
        started = [self.start(command, folder, env={"SIMGPU_LOG": truth, **settings}, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                   for command, truth in zip(commands, truths)]
        printed = [process.communicate(timeout=SECONDS) for process in started]
        done = subprocess.CompletedProcess(commands, max(abs(process.returncode) for process in started),
                                           "".join(out for out, _ in printed), "".join(err for _, err in printed))
        return Run(self, folder, done, truths)

    def run_client(self, name, *args, **how):
        """A C client that also writes down its own calls."""
        folder = self.new_folder()
        return self.run(self.command(name, *args, "--calls", folder / "calls.txt"), folder=folder, **how)

    def run_tinygrad(self, mode, *args, env=None, **how):
        return self.run(self.command("tinygrad_train.py", *args), env={**TINYGRAD, **TINYGRAD_MODES[mode], **(env or {})}, **how)

    def gpushim(self, *args):
        return subprocess.run([str(self.gpushim_path), *map(str, args)], env=self.environment(shim=False), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=SECONDS)


def hooked_names():
    """The calls the shim records: the rows of hooks.def."""
    rows = (WORKLOADS.parent.parent / "shim" / "hooks.def").read_text().splitlines()
    return {row.split("(", 1)[1].split(",", 1)[0].strip() for row in rows if row.startswith(("HOOK(", "HOOKX("))}
