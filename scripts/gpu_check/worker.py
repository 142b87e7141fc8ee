# SPDX-License-Identifier: BSD-2-Clause
"""A process that runs steps of a workload when it is told to: torch_worker.py, or, on the simulated driver and where there is no
PyTorch, the C program gpu_worker_linked, which has programs of the same shapes. Both read a command a line:

    prepare NAME        make it ready and warm                      {"ok": true}
    run NAME STEPS      one wait, at the end                        {"ns": …, "result": "…"}
    steps NAME STEPS    a wait after each                           {"marks": [CLOCK_MONOTONIC, STEPS + 1 of them], "result": "…"}
    profile             torch.profiler records from here on         {"ok": true}
    export FILE         … to here                                   {"ok": true}
    end

and answer with a JSON object a line, after a first one, {"ready": true}. {"error": …} is an answer too."""

import ctypes
import importlib.util
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
WORKLOADS = ("launch_bound", "transformer", "graphs", "compiled", "starved")


class WorkerError(Exception):
    pass


def has_torch():
    return importlib.util.find_spec("torch") is not None


def use_torch(args):
    return not args.simulated and has_torch()


def worker_command(args):
    if use_torch(args):
        return [sys.executable, str(HERE / "torch_worker.py")]
    for folder in ("workloads", "."):
        program = Path(args.bin) / folder / "gpu_worker_linked"
        if program.exists():
            return [str(program)]
    raise WorkerError("no PyTorch here, and gpu_worker_linked is not built")


def recording(args, level, out):
    """The variables of a run recorded at this level; with level "" of one that is not."""
    env = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD" and not name.startswith("GPUSHIM")}
    if level:
        env.update(LD_PRELOAD=str(Path(args.bin) / "libgpushim.so"), GPUSHIM_OUT=str(out), GPUSHIM_LOG="1", GPUSHIM_DEVICE=level)
    return env


LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1


def end_with_the_part():
    """Between fork and exec: a part that is killed leaves nobody behind."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Worker:
    """The process; every answer is waited for until a deadline, after which it is killed."""

    def __init__(self, command, env, errors):
        self.errors = Path(errors)
        with open(self.errors, "wb") as sink:
            self.process = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=sink, start_new_session=True,
                                            preexec_fn=end_with_the_part)
        self.buffer = b""

    def tell(self, line):
        try:
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise WorkerError(f"ended: {self.last_words()}") from None

    def answer(self, seconds):
        """Raises WorkerError where it ends, hangs or says so."""
        deadline = time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while b"\n" not in self.buffer:
                if not selector.select(max(0, deadline - time.monotonic())):
                    self.kill()
                    raise WorkerError(f"no answer in {seconds:.0f} s")
                chunk = os.read(self.process.stdout.fileno(), 1 << 16)
                if not chunk:
                    raise WorkerError(f"ended: {self.last_words()}")
                self.buffer += chunk
        line, _, self.buffer = self.buffer.partition(b"\n")
        said = json.loads(line)
        if "error" in said:
            raise WorkerError(said["error"])
        return said

    def ask(self, line, seconds=60):
        self.tell(line)
        return self.answer(seconds)

    def last_words(self):
        self.process.wait()
        text = self.errors.read_text(errors="replace").strip()
        return f"exit status {self.process.returncode}: {text[-600:]}"

    def end(self, seconds=30):
        """Ends it in peace, so that what it recorded is whole; returns its exit status."""
        try:
            self.tell("end")
            self.process.stdin.close()
            return self.process.wait(seconds)
        except (WorkerError, subprocess.TimeoutExpired):
            self.kill()
            return self.process.returncode

    def kill(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)  # its data loader too
        except ProcessLookupError:
            pass
        self.process.wait()


def report(binaries, out, seconds=60):
    """gpushim report --json."""
    run = subprocess.run([str(Path(binaries) / "gpushim-static"), "report", str(out), "--json"], capture_output=True, text=True, timeout=seconds)
    if run.returncode != 0:
        raise WorkerError(f"gpushim report: exit {run.returncode}: {run.stderr[-2000:]}")
    return json.loads(run.stdout)
