# SPDX-License-Identifier: BSD-2-Clause
"""Several processes of one run on the same devices (SIMGPU_SHARED): one report, in which a device is idle when none of them uses it."""

import json
import subprocess

import pytest
import truth

SECONDS = 100
SWITCH = 25_000  # the simulated device takes 20 us from one process to the next


class Together(truth.Truth):
    """The truth of several processes as one."""

    def __init__(self, runs):
        alone = [truth.Truth(run) for run in runs]
        self.alone = alone
        self.ops = [op for one in alone for op in one.ops]
        self.host_functions = [op for one in alone for op in one.host_functions]

    def switches(self, device):
        """Idle time in which the device changes from one process to another that was ready for it. Pending work is taken to keep a device
        busy, and this is work of a kind."""
        ops = sorted((op.start, op.end, op.submit, number) for number, one in enumerate(self.alone) for op in one.ops if op.device == device)
        total, last_end, last = 0, None, None
        for start, end, submit, process in ops:
            if last_end is not None and start > last_end and process != last and submit < last_end:
                total += min(start - last_end, SWITCH)
            if last_end is None or end > last_end:
                last_end, last = end, process
        return total


class Part:
    """What truth.Truth reads of one of them."""

    def __init__(self, folder):
        self.truth, self.calls = folder / "truth.json", folder / "calls.txt"


def run_together(recorder, commands, **settings):
    folder = recorder.new_folder()
    settings = {"SIMGPU_SHARED": folder / "device", "GPUSHIM_OUT": folder / "gpushim-out", "GPUSHIM_RUN": "together", **settings}
    started = []
    for number, (command, env) in enumerate(commands):
        own = folder / str(number)
        own.mkdir()
        environment = recorder.environment(shim=True, SIMGPU_LOG=own / "truth.json", **settings, **env)
        started.append((own, subprocess.Popen([*command, "--calls", own / "calls.txt"], env=environment, stdin=subprocess.DEVNULL,
                                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)))
    for _, process in started:
        _, errors = process.communicate(timeout=SECONDS)
        assert process.returncode == 0, errors
    return folder, [Part(own) for own, _ in started]


def report_on(recorder, *paths):
    done = recorder.gpushim("report", *paths, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_three_processes_on_one_device(recorder, seed):
    client = recorder.command("client_linked", "--actions", 300)
    folder, parts = run_together(recorder, [([*client, "--seed", str(10 * seed + n)], {}) for n in range(3)])
    report, together = report_on(recorder, folder / "gpushim-out"), Together(parts)
    truth.conservation.check(report)
    truth.check_losses(report)
    assert report["run"]["processes"] == 3
    (device,) = report["devices"]
    assert device["operations"] == len(together.ops)
    truth.check_claims(report, together)
    true = together.idle(0)
    low = device["idle_ns"] - device["idle_error_ns"]
    high = device["idle_ns"] + device["idle_error_ns"] + device["unresolved_ns"]
    assert low <= true <= high + together.switches(0), (true, low, high, together.switches(0))
    assert {link["pid"] for gap in device["gaps"] for cause in gap["causes"] for link in cause["chain"][:1]} <= \
        {int(path.stem.rsplit("-", 1)[1]) for path in (folder / "gpushim-out").glob("*.gst")}


@pytest.mark.parametrize("which", [0, 1])
def test_one_of_them_alone(recorder, which):
    """A report on one process: its device as that process saw it, with nothing of the others in it."""
    client = recorder.command("client_linked", "--actions", 200)
    folder, parts = run_together(recorder, [([*client, "--seed", str(20 + n)], {}) for n in range(2)])
    own = truth.Truth(parts[which])
    for path in sorted((folder / "gpushim-out").glob("*.gst")):
        report = report_on(recorder, path)
        if sum(device["operations"] for device in report["devices"]) == len(own.ops):
            break
    assert report["run"]["processes"] == 1
    truth.check_claims(report, own)
