# SPDX-License-Identifier: BSD-2-Clause
"""Programs with one known mistake: the report says what to do about it, with the right figures; and nothing of a program without.

Counts, bytes and places are exact: they do not depend on the machine. Which loss is worth advice does, so one of three runs must be right."""

import json
import re

import pytest
from machine import on_a_busy_machine
from watching import why_not

STEPS = 12
MS = 1_000_000
COPIES = 8
COPY_BYTES = 16 << 20


def report(recorder, command, **how):
    run = recorder.run([str(part) for part in command], **how)
    assert run.status == 0, run.stderr
    return run.report(), run


def train(recorder, *options, **how):
    return report(recorder, recorder.command("train.py", "--steps", STEPS, "--checkpoint-every", 0, *options), **how)[0]


def lab(recorder, program, *options, level=None, realtime=False, **env):
    """A program of the laboratory of faults, alone. realtime: a healthy one that is given no CPU is not healthy."""
    env = {name: str(value) for name, value in env.items()}
    return report(recorder, [recorder.build / "host" / program, *options], env={**env, **({"GPUSHIM_DEVICE": level} if level else {})}, realtime=realtime)


def truth(run):
    """What the driver did, and how often each of its functions was called."""
    lines = [json.loads(line) for line in run.truth.read_text().splitlines()]
    return [line for line in lines if "op" in line], next(line["calls"] for line in lines if "calls" in line)


def advice(made, id):
    found = [a for a in made["advice"] if a["id"] == id]
    assert found, (id, [(a["id"], a["ceiling"]) for a in made["advice"]], made["recoverable"])
    return found[0]


def figures(made, id, **want):
    """Those of a piece of advice; the given ones must be so."""
    have = advice(made, id)["figures"]
    assert {name: have.get(name) for name in want} == want
    return have


def line_of(path, words):
    number, = (number for number, line in enumerate(path.read_text().splitlines(), 1) if words in line)
    return number


# The script makes its mistake behind each step but the last; the first ones may be left out: warm-up, which took far longer.
MISTAKES = range(STEPS - 3, STEPS)


@pytest.fixture
def script(root):
    return root / "tests/workloads/train.py"


# ---- nothing to say ------------------------------------------------------------------------------------------------------------------

@on_a_busy_machine
def test_without_mistake(recorder):
    assert train(recorder, realtime=True)["advice"] == []


@pytest.mark.parametrize("name", ["plain", "streams"])
@on_a_busy_machine
def test_healthy(name, recorder):
    made, _ = lab(recorder, "controls_linked", name, 300, realtime=True, SIMGPU_DEVICES=2)
    assert made["devices"] and made["advice"] == []


# ---- the host's mistakes -------------------------------------------------------------------------------------------------------------

@on_a_busy_machine
def test_allocations(recorder, script):
    """A hundred between two steps, and once a workspace of 4 MiB. What follows the last step is not of the device's time."""
    made = train(recorder, "--allocs", 100)
    n = advice(made, "allocations")["figures"]["allocs"]
    assert n in [100 * k + 1 for k in MISTAKES]
    have = figures(made, "allocations", frees=n, alloc_bytes=(n - 1) * (8 << 20) + (4 << 20))
    assert 0 < have["lost_ns"] <= have["calls_ns"] * 1.1
    assert have.get("site") in (None, f"train.py:{line_of(script, 'cuMemAlloc_v2')} in Device.alloc", f"train.py:{line_of(script, 'cuMemFree_v2')} in Device.free")
    assert "expandable_segments" not in advice(made, "allocations")["text"]  # it is no PyTorch


@on_a_busy_machine
def test_modules(recorder, script):
    """Forty between two steps; the kernels' own module is loaded before the first."""
    made = train(recorder, "--module-loads", 40)
    have = figures(made, "warm-up")
    assert have["loads"] in [40 * k for k in MISTAKES]
    assert have["calls_ns"] >= have["loads"] * 200_000  # each takes the simulated driver so long
    assert have.get("site") in (None, f"train.py:{line_of(script, 'cuModuleLoadData')} in Device.load")


@on_a_busy_machine
def test_sleep(recorder, script):
    made = train(recorder, "--sleep-ms", 20)
    have = figures(made, "no-sleep")
    assert have["gaps"] in MISTAKES
    assert 0.9 * have["gaps"] * 20 * MS <= have["lost_ns"] and 15 * MS <= have["longest_ns"]
    assert have["site"] == f"train.py:{line_of(script, 'time.sleep(args.sleep_ms')} in Trainer.mistakes"
    said = advice(made, "no-sleep")
    (device,) = made["devices"]
    (span,) = {loss["span_ns"] for loss in made["recoverable"]}  # the steps', where they are known
    assert said["next"] == "compute" and 0.9 * device["compute_ns"] < said["next_ns"] <= device["compute_ns"]
    assert abs(said["ceiling"] - (span / (span - have["lost_ns"]) - 1)) < 1e-4


@on_a_busy_machine
def test_slow_loader(recorder):
    """One worker sleeps 150 ms for a batch of which the device makes a step of 75 ms: two keep up, with a tenth in hand three."""
    if why_not(recorder.build, "ebpf"):
        pytest.skip(why_not(recorder.build, "ebpf"))
    command = [recorder.gpushim_path, "run", "--host", "ebpf", "--", *recorder.command(
        "train.py", "--steps", STEPS, "--checkpoint-every", 0, "--workers", 1, "--slow-loader", 150)]
    made, _ = report(recorder, command, shim=False)
    have = figures(made, "more-workers", workers=1)
    assert have["needed"] in (2, 3) and STEPS - 1 <= have["waits"] <= STEPS + 1
    assert have["work_ns"] >= (STEPS - 1) * 150 * MS and have["lost_ns"] > 0.5 * (STEPS - 1) * 75 * MS
    assert "no-sleep" not in {a["id"] for a in made["advice"]}  # it is the worker that sleeps


@on_a_busy_machine
def test_slow_loader_unseen(recorder):
    """Without host probes nobody knows what the worker did: no number of them is named."""
    made = train(recorder, "--workers", 1, "--slow-loader", 150)
    assert "needed" not in figures(made, "more-workers")
    assert any("not on record" in text for text in advice(made, "more-workers")["evidence"])


# ---- the device's ------------------------------------------------------------------------------------------------------------------

WAYS = {0: ("pinned-memory", "h2d-pageable"), 1: ("overlap-copies", "h2d-pinned"), 2: ("copies-to-host", "d2h-pageable"), 4: ("device-copies", "d2d")}


@pytest.mark.parametrize("way", WAYS)
@on_a_busy_machine
def test_copies(way, recorder, root):
    """One after each step, and nothing runs meanwhile."""
    id, kind = WAYS[way]
    size = COPY_BYTES * (16 if kind == "d2d" else 1)
    made, run = lab(recorder, "faults_linked", "copy", COPIES, LAB_WAY=way, LAB_BYTES=size)
    ran = [op for op in truth(run)[0] if op.get("kind") == kind]
    assert len(ran) == COPIES
    have = figures(made, id)
    assert have["copies"] in (COPIES - 1, COPIES) and have["bytes"] == have["copies"] * size  # the first may be warm-up: its pages are new
    assert 0 < have["exposed_ns"] <= made["devices"][0]["copy"]["copy-d2h" if kind.startswith("d2h") else f"copy-{kind}"]
    assert re.fullmatch(r"fault_copy\.c:\d+ in act_copy", have["site"])
    assert {a["id"] for a in made["advice"]} & {row for row, _ in WAYS.values()} == {id}


@on_a_busy_machine
def test_syncs(recorder):
    """After each of ten layers of a step, a value is read back."""
    made, run = lab(recorder, "faults_linked", "sync", 6, LAB_WAY=2, LAB_LAYER_US=60, LAB_ROUNDS=10)
    have = figures(made, "fewer-syncs")
    _, calls = truth(run)
    assert have["blocking"] <= sum(n for name, n in calls.items() if "Synchronize" in name or "Memcpy" in name)
    names = dict(re.findall(r"(\w+) x (\d+)", have["calls"]))
    assert sum(map(int, names.values())) == have["blocking"] and all(int(n) <= calls[name] for name, n in names.items())


@on_a_busy_machine
def test_launches(recorder):
    """Kernels of 4 us, and 10 us for each launch; what they take bursts tell."""
    made, _ = lab(recorder, "faults_linked", "launch", 10, level="bursts", LAB_TINY_US=4, LAB_LANES=1, LAB_EAGER_NS=500, LAB_LAUNCHES=2000,
                  SIMGPU_LAUNCH_NS=10_000)
    have = figures(made, "cuda-graphs")
    assert 10 * 2000 <= have["launches"] <= 10 * 2000 + 60 and 10_000 <= have["launch_ns"] <= 15_000
    have = figures(made, "bigger-batches")
    assert 3_500 <= have["kernel_ns"] <= 8_000
