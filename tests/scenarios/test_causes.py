# SPDX-License-Identifier: BSD-2-Clause
"""A training script with one known mistake: the report must name it, and give it about the time it really takes.

Shares are of the idle time inside the span. The margins leave room for what the script loses elsewhere (loss read back, a
checkpoint, a module loaded late), not for a wrong answer. A neighbour that takes the CPU from the script makes idle time of another cause: so
one of three runs must be within them."""

import pytest
from conservation import check
from machine import on_a_busy_machine
from truth import each_time

MS = 1_000_000
STEPS = 20


@each_time
def record(recorder, *options):
    run = recorder.run(recorder.command("train.py", "--steps", STEPS, "--checkpoint-every", 0, *options))
    assert run.status == 0, run.stderr
    report = run.report()
    check(report)
    (device,) = report["devices"]
    return device


def share(device, cause):
    return device["causes"][cause] / device["idle_ns"]


def told(device):
    return {cause: f"{ns / device['idle_ns']:.1%}" for cause, ns in device["causes"].items() if ns}


@pytest.fixture(scope="module")
def sound(recorder):
    """Without any mistake."""
    return record(recorder)


def test_without_mistake(sound):
    """Its device is busy nearly all the time."""
    assert sound["idle_ns"] < 0.1 * sound["span_ns"], told(sound)


@on_a_busy_machine
def test_slow_loader(recorder):
    """One worker that needs 150 ms for a batch which the device works off in about 75 ms."""
    device = record(recorder, "--workers", 1, "--slow-loader", 150)
    assert device["causes"]["input-wait"] >= 0.5 * (STEPS - 3) * 75 * MS, told(device)
    assert share(device, "input-wait") > 0.85, told(device)


@on_a_busy_machine
def test_sleep(recorder):
    device = record(recorder, "--sleep-ms", 20)
    slept = (STEPS - 1) * 20 * MS  # the last is after the device's last work
    assert 0.9 * slept <= device["causes"]["host-sleep"] <= 1.3 * slept, told(device)
    assert share(device, "host-sleep") > 0.8, told(device)


@on_a_busy_machine
def test_compute(recorder):
    device = record(recorder, "--compute-ms", 20)
    computed = (STEPS - 1) * 20 * MS
    assert 0.8 * computed <= device["causes"]["host-compute"] <= 1.2 * computed, told(device)
    assert share(device, "host-compute") > 0.7, told(device)


@on_a_busy_machine
def test_item_each_layer(recorder, sound):
    """Twelve read-backs a step, after each of which the device is idle until the next launch arrives. Part of that time the host
    provably computes: the interpreter on its way from the read-back to the launch; where others take its CPU, the rest is theirs."""
    device = record(recorder, "--item-each-layer")
    assert share(device, "sync-bubble") > 0.3, told(device)
    assert share(device, "sync-bubble") + share(device, "host-compute") > 0.8 * (1 - share(device, "cpu-contention")), told(device)
    assert device["causes"]["sync-bubble"] > 2 * sound["causes"]["sync-bubble"], (told(device), told(sound))


@on_a_busy_machine
def test_allocations(recorder):
    """An allocation of 8 MiB takes the simulated driver 60 us."""
    device = record(recorder, "--allocs", 100)
    allocated = (STEPS - 1) * 100 * 60_000
    assert device["causes"]["allocator"] >= 0.8 * allocated, told(device)
    assert share(device, "allocator") > 0.6, told(device)


@on_a_busy_machine
def test_module_loads(recorder):
    """A module load takes the simulated driver 200 us."""
    device = record(recorder, "--module-loads", 40)
    loaded = (STEPS - 1) * 40 * 200_000
    assert device["causes"]["module-load"] >= 0.9 * loaded, told(device)
    assert share(device, "module-load") > 0.7, told(device)
