# SPDX-License-Identifier: BSD-2-Clause
"""Several processes of one run on the same devices (SIMGPU_SHARED): one report, in which a device is idle when none of them uses it."""

import copy
import json

import pytest
import truth


def clients(recorder, actions, seeds):
    commands = [recorder.command("client_linked", "--actions", actions, "--seed", seed) for seed in seeds]
    return recorder.run_together(commands, env={"SIMGPU_SHARED": recorder.folder / f"device-{seeds[0]}"})


def pid_of(trace):
    return int(trace.stem.rsplit("-", 1)[1])


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_three_processes_on_one_device(recorder, seed):
    run = clients(recorder, 300, [10 * seed + n for n in range(3)])
    report = run.report()
    truth.check_sound(report, truth.Truth(run))
    assert report["run"]["processes"] == 3
    (device,) = report["devices"]
    submitters = {link["pid"] for gap in device["gaps"] for cause in gap["causes"] for link in cause["chain"][:1]}
    assert submitters <= {pid_of(trace) for trace in run.traces()}


@pytest.mark.parametrize("which", [0, 1])
def test_one_of_them_alone(recorder, which):
    """A report on one process: its device as that process saw it, with nothing of the others in it."""
    run = clients(recorder, 200, [20, 21])
    alone = copy.copy(run)
    alone.truths = [run.truths[which]]
    own = truth.Truth(alone)
    reports = [json.loads(recorder.gpushim("report", trace, "--json").stdout) for trace in run.traces()]
    (report,) = [one for one in reports if one["devices"][0]["operations"] == len(own.ops)]
    assert report["run"]["processes"] == 1
    truth.check_claims(report, own)
