# SPDX-License-Identifier: BSD-2-Clause
"""SIMGPU_SHARED under random programs, killed ones among them. The truth logs of all processes together must be one device's:
no two kernels of different processes at once, no engine with two copies at once, and in each stream one thing after the other."""

import json
import signal
import subprocess
import time
from collections import defaultdict
from typing import NamedTuple

import pytest

PROCESSES = 3
SECONDS = 100


class Op(NamedTuple):
    start: int
    end: int
    process: int
    op: str
    kind: str
    stream: int


def read_log(path, process):
    for line in path.read_text().splitlines():
        entry = json.loads(line)
        if "op" in entry:
            yield Op(entry["start_ns"], entry["end_ns"], process, entry["op"], entry["kind"], entry["stream"])


def collisions(ops, may_overlap):
    """Pairs that run at once and may not: each operation beside the one before it that ended last, of every process."""
    last = {}
    for op in sorted(ops):
        yield from ((other, op) for other in last.values() if other.end > op.start and not may_overlap(other, op))
        if op.process not in last or op.end > last[op.process].end:
            last[op.process] = op


def same_process(one, other):
    return one.process == other.process


def never(_one, _other):
    return False


def check_one_device(ops):
    for name in ("h2d", "d2h"):
        assert not list(collisions([op for op in ops if op.kind.startswith(name)], never)), name
    assert not list(collisions([op for op in ops if op.op == "kernel"], same_process))
    streams = defaultdict(list)
    for op in ops:
        streams[op.process, op.stream].append(op)
    for name, own in streams.items():
        assert not list(collisions(own, never)), f"process and stream {name}"


class Client:
    """client_linked on the shared device, running."""

    def __init__(self, recorder, folder, number, *args):
        self.log = folder / f"{number}.json"
        env = {"SIMGPU_SHARED": folder / "device", "SIMGPU_LOG": self.log}
        self.process = recorder.start(recorder.command("client_linked", *args), folder, shim=False, env=env, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE)

    def finish(self):
        self.output, errors = self.process.communicate(timeout=SECONDS)
        assert self.process.returncode == 0, errors
        return self.output


@pytest.mark.parametrize("seed", [1, 2])
def test_random_programs_share_one_device(recorder, seed):
    folder = recorder.new_folder()
    clients = [Client(recorder, folder, i, "--seed", seed * 10 + i, "--actions", 250, "--threads", 2) for i in range(PROCESSES)]
    shared = [client.finish() for client in clients]
    alone = [Client(recorder, recorder.new_folder(), 0, "--seed", seed * 10 + i, "--actions", 250, "--threads", 2).finish()
             for i in range(PROCESSES)]
    assert shared == alone  # the checksum of all data read back
    ops = [op for i, client in enumerate(clients) for op in read_log(client.log, i)]
    assert len({op.process for op in ops}) == PROCESSES and len(ops) > 1000
    check_one_device(ops)
    kernels = sorted(op for op in ops if op.op == "kernel")
    assert sum(a.process != b.process for a, b in zip(kernels, kernels[1:])) > 20  # they did meet


def test_killed_processes_disturb_nobody(recorder):
    """Ten are killed at any moment, in turn; the one that stays works on, and its data is right."""
    folder = recorder.new_folder()
    stays = Client(recorder, folder, 0, "--seed", 5, "--actions", 1500)
    victims = []
    for i in range(10):
        victims.append(Client(recorder, folder, 1 + i, "--seed", i, "--endless"))
        time.sleep(0.03 + 0.007 * i)
        victims[-1].process.send_signal(signal.SIGKILL)
    output = stays.finish()
    for victim in victims:
        assert victim.process.wait(SECONDS) == -signal.SIGKILL
        victim.process.communicate()
    alone = Client(recorder, recorder.new_folder(), 0, "--seed", 5, "--actions", 1500).finish()
    assert output == alone
    ops = list(read_log(stays.log, 0))
    for i, victim in enumerate(victims):
        if victim.log.exists():  # the last lines may be lost, a last one broken off
            text = victim.log.read_text()
            victim.log.write_text(text[:text.rfind("\n") + 1])
            ops += read_log(victim.log, 1 + i)
    check_one_device(ops)


def test_the_check_finds_a_collision():
    kernels = [Op(0, 10, 0, "kernel", "", 1), Op(5, 15, 0, "kernel", "", 2), Op(14, 20, 1, "kernel", "", 1)]
    assert list(collisions(kernels, same_process)) == [(kernels[1], kernels[2])]
    assert len(list(collisions(kernels, never))) == 2
