# SPDX-License-Identifier: BSD-2-Clause
"""Runs the ranks of a program that uses NCCL, each on its own simulated device, with our stand-in for the library (tests/nccl), and holds
what they left: what they printed, the stand-in's log of their calls, the simulated driver's log of their kernels, their traces."""

import json
import os
import subprocess
from pathlib import Path

from recording import SECONDS

RANKS = 4
COLLECTIVES = ("AllReduce", "Broadcast", "Reduce", "AllGather", "ReduceScatter", "AlltoAll", "Gather", "Scatter")


def read_lines(path):
    """The objects of a log; a last line that SIGKILL broke off is left out."""
    text = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in text[:text.rfind("\n") + 1].splitlines()]


class Rank:
    """One process, running or ended."""

    def __init__(self, folder, number, process):
        self.folder, self.number, self.process = folder, number, process
        self.pid = process.pid

    def finish(self):
        self.stdout, self.stderr = self.process.communicate(timeout=SECONDS)
        self.status = self.process.returncode

    def log(self):
        return read_lines(self.folder / f"nccl-{self.number}.json")

    def calls(self, own=False):
        """The program's calls in the order of their begin; own: the library's to itself."""
        return sorted((line for line in self.log() if "call" in line and line["inner"] == own), key=lambda line: line["begin_ns"])

    def kernels(self):
        """What the stand-in launched."""
        return [line for line in self.log() if "kernel" in line]

    def ran(self):
        """What the device ran: the truth's kernels that are NCCL's."""
        return [op for op in read_lines(self.folder / f"truth-{self.number}.json") if "ncclDevKernel" in op.get("name", "")]

    def traces(self):
        return sorted((self.folder / f"out-{self.number}").rglob("*.gst"))


class Ranks:
    """A case of the clients (tests/nccl/clients), started at once on all ranks."""

    def __init__(self, recorder, program, case, ranks=RANKS, shim=False, options=(), env=None, together=False):
        self.recorder, self.folder = recorder, recorder.new_folder()
        (self.folder / "tmp").mkdir()
        self.out = self.folder / "out"
        self.ranks = []
        for number in range(ranks):
            command = [*map(str, program_command(recorder, program)), case, "--rank", str(number), "--ranks", str(ranks), "--id",
                       str(self.folder / "id"), *map(str, options)]
            process = recorder.start(command, self.folder, shim=shim, env={**self.settings(number, together), **(env or {})},
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.ranks.append(Rank(self.folder, number, process))

    def settings(self, number, together):
        out = self.out if together else self.folder / f"out-{number}"
        return {"LD_LIBRARY_PATH": library_path(self.recorder.build), "SIMGPU_DEVICES": RANKS, "TMPDIR": self.folder / "tmp",
                "SIMGPU_LOG": self.folder / f"truth-{number}.json", "NCCL_STANDIN_LOG": self.folder / f"nccl-{number}.json",
                "GPUSHIM_OUT": out, "GPUSHIM_RUN": "ranks"}

    def finish(self):
        """Waits for all; each must have ended well."""
        for rank in self.ranks:
            rank.finish()
        assert [rank.status for rank in self.ranks] == [0] * len(self.ranks), [rank.stderr for rank in self.ranks]
        return self

    def printed(self):
        return [rank.stdout for rank in self.ranks]


def program_command(recorder, program):
    if program.endswith(".py"):
        return recorder.command(program)
    path = recorder.build / "nccl" / program
    assert path.exists(), f"{path} is not built: make tests"
    return [path]


def library_path(build: Path):
    return os.pathsep.join(str(build / folder) for folder in ("nccl", "simgpu"))
