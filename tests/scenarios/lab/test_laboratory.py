# SPDX-License-Identifier: BSD-2-Clause
"""The laboratory in short: a few of its scenarios, with a seed each, held to what all of them are held to by `make scenarios`, with some room for a
machine that is busy elsewhere. What it says at length is in MATRIX.md."""

import json
import os
import shutil
import subprocess

import faults
import lab
import matrix
import pytest
import runs
import score
from machine import once_in
from scenarios import all_scenarios
from watching import why_not

STEPS = 10
MS = 1_000_000
SCENARIOS = all_scenarios()


def run(build, disk, name, how, seed=3):
    """Its record."""
    made = runs.run(build, SCENARIOS[name], seed, how, disk / f"{name}-{how}", STEPS)
    assert "true" in made or "left_out" in made, made
    return {"scenario": name, "seed": seed, **made}


def check(build, disk, names, how, right, wrong):
    def attempt():
        answer = matrix.Answer([run(build, disk, name, how) for name in names], SCENARIOS, how)
        if not answer.scenarios:
            pytest.skip(str([made["left_out"] for made in answer.left_out]))
        told = {name: (total.share("right"), total.share("wrong")) for name, total in answer.scenarios.items()}
        assert all(total.true > 20 * MS for total in answer.scenarios.values()), "the fault did not happen"
        assert min(share for share, _ in told.values()) >= right and answer.mean("wrong") <= wrong, told
    once_in(3, attempt)


@pytest.fixture(scope="module")
def probes(build):
    if reason := why_not(build, "ebpf"):
        pytest.skip(f"--host ebpf: {reason}")


@pytest.mark.parametrize("names", [("sleep", "lock", "decode"), ("two-in-a-gap", "three-in-turns")])
def test_with_probes(build, disk, probes, names):
    check(build, disk, names, "ebpf", right=0.9, wrong=0.05)


def test_without_probes(build, disk):
    """By the recorder's own looks and the thread's accounts: a read, mapped pages, a futex whose holder computes, one behind a loader, no CPU."""
    check(build, disk, ("read", "mmap", "fuse", "lock", "worker-read", "contention"), "none", right=0.7, wrong=0.1)


def test_pythons_lock_without_probes(build, disk):
    """The interpreter is asked who has it."""
    if not os.path.exists(lab.PYTHON):
        pytest.skip(f"no {lab.PYTHON}")
    version = subprocess.check_output([lab.PYTHON, "-c", "import sys; print(*sys.version_info[:2])"], text=True).split()
    if not (3, 11) <= tuple(map(int, version)) <= (3, 13):
        pytest.skip(f"the layout of Python {'.'.join(version)} is not known")
    check(build, disk, ("gil",), "none", right=0.7, wrong=0.1)


@pytest.mark.parametrize("name", ["plain", "streams", "copied-beside"])
def test_controls(build, disk, name):
    def attempt():
        made = run(build, disk, name, "none")
        if "left_out" in made:
            pytest.skip(made["left_out"])
        assert made["control"]["share"] <= matrix.PROBED["control"], made["control"]["claimed"]
    once_in(3, attempt)


# ---- what a seed draws ------------------------------------------------------------------------------------------------------------------------

def spans_of(build, folder, fault, seed, steps, **env):
    folder.mkdir(exist_ok=True)
    settings = {**os.environ, "LD_LIBRARY_PATH": str(build / "simgpu"), "SEED": str(seed), "LAB_STEPS": str(steps), "LAB_SHORT": "20000",
                "LAB_LONG": "20000000", "LAB_TRUTH": str(folder / f"spans-{seed}-{len(list(folder.iterdir()))}"),
                "SIMGPU_LOG": str(folder / "truth.json"), **env}
    done = subprocess.run([str(build / "host/faults_linked"), fault, str(steps)], env=settings, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return score.read_spans(settings["LAB_TRUTH"]), score.true_gaps(folder / "truth.json")


def drawn(build, tmp_path, seed):
    """How much each step reads, of 100 MB for each second of its length: what was drawn, whatever the machine does."""
    file = tmp_path / "data"
    file.write_bytes(bytes(8 << 20))
    settings = {"LAB_FILE": str(file), "LAB_RATE": "100000000"}
    return [span.bytes for span in spans_of(build, tmp_path, "warm", seed, 12, **settings)[0] if span.role == "main"]


def test_lengths_are_of_all_three_decades(build, tmp_path):
    """Each of twelve steps has its own twelfth of the logarithm, in whole pages."""
    for twelfth, size in enumerate(sorted(drawn(build, tmp_path, 1))):
        low, high = (20_000 * 1000 ** (at / 12) / 10 for at in (twelfth, twelfth + 1))
        assert low <= size <= high + 4096


def test_the_order_is_the_seeds(build, tmp_path):
    first = drawn(build, tmp_path, 1)
    assert first == drawn(build, tmp_path, 1) != drawn(build, tmp_path, 2) and first != sorted(first)


def test_a_mixture_in_a_gap_has_all_of_them_in_each(build, tmp_path):
    spans, gaps = spans_of(build, tmp_path, "sleep+lock+worker", 5, 6, LAB_MIX="gap")
    main = [span for span in spans if span.role == "main"]
    for step in range(6):
        own = [span for span in main if span.step == step]
        assert {span.cause for span in own} == {"host-sleep", "host-lock", "input-preprocess"}
        around = [gap for gap in gaps if gap[0] <= min(span.begin for span in own) and max(span.end for span in own) <= gap[1]]
        assert len(around) == 1
    orders = {tuple(span.cause for span in sorted(main, key=lambda span: span.begin) if span.step == step) for step in range(6)}
    assert len(orders) > 1


def test_a_mixture_in_turns_has_one_in_each(build, tmp_path):
    spans, _ = spans_of(build, tmp_path, "sleep+lock", 5, 8)
    main = sorted((span for span in spans if span.role == "main"), key=lambda span: span.begin)
    assert [span.step for span in main] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert all({main[i].cause, main[i + 1].cause} == {"host-sleep", "host-lock"} for i in range(0, 8, 2))


def test_several_devices_and_streams(build, disk, probes):
    """All of them are scored."""
    def plan(place):
        made = faults.linked(place, "sleep")
        made.env.update(LAB_DEVICES=2, SIMGPU_DEVICES=2, LAB_STREAMS=3)
        return made

    def attempt():
        result, report, _, _, _ = runs.once(build, SCENARIOS["sleep"].__class__("sleep", plan, "cause", "host"), 1, "ebpf", disk / "two", STEPS)
        slept = json.loads((disk / "two/spans.jsonl").read_text().splitlines()[0])
        assert len(report["devices"]) == 2 and slept["cause"] == "host-sleep"
        assert result.share("right") > 0.9 and result.own > 1.9 * sum(
            span.end - span.begin for span in score.read_spans(disk / "two/spans.jsonl") if span.role == "main" and span.end - span.begin > MS)
    once_in(3, attempt)


def test_a_report_that_does_not_add_up_is_told(build, disk, monkeypatch):
    real = lab.report

    def forged(*args):
        made = real(*args)
        made["devices"][0]["causes"]["host-sleep"] += 1
        return made
    monkeypatch.setattr(lab, "report", forged)
    made = runs.run(build, SCENARIOS["sleep"], 1, "none", disk / "forged", 3)
    assert "idle and its causes" in made["unsound"]
    answer = matrix.Answer([{"scenario": "sleep", "seed": 1, **made}], SCENARIOS, "none")
    assert any("idle and its causes" in line for line in answer.complaints())


# ---- what samples say of a path ---------------------------------------------------------------------------------------------------------------

FIFO = """
import os, sys, threading, time
sys.path.append(sys.argv[1])
from train import Device
device = Device()
kernel = device.load(["step__2000us"])["step__2000us"]
path = sys.argv[2]
os.mkfifo(path)
def feed():
    with open(path, "wb", buffering=0) as out:
        for _ in range(50):
            time.sleep(0.02)
            out.write(bytes(100))
threading.Thread(target=feed).start()
with open(path, "rb", buffering=0) as batches:
    for _ in range(50):
        device.launch(kernel)
        device.synchronize()
        batches.read(100)
    device.launch(kernel)
    device.synchronize()
"""


# A queue's reader waits in a futex for the thread that reads the pipe; a third one computes all the time, without the interpreter's lock.
SPINNER = """
import hashlib, os, queue, sys, threading, time
sys.path.append(sys.argv[1])
from train import Device
device = Device()
kernel = device.load(["step__2000us"])["step__2000us"]
take, give = os.pipe()
batches, data, over = queue.Queue(), bytes(1 << 22), False
def feed():
    for _ in range(50):
        time.sleep(0.02)
        os.write(give, bytes(100))
def hand_on():
    for _ in range(50):
        batches.put(os.read(take, 100))
def spin():
    while not over:
        hashlib.sha256(data)
threads = [threading.Thread(target=work) for work in (feed, hand_on, spin)]
for thread in threads:
    thread.start()
for _ in range(50):
    device.launch(kernel)
    device.synchronize()
    batches.get()
device.launch(kernel)
device.synchronize()
over = True
for thread in threads:
    thread.join()
"""


def causes_of(build, root, folder, program, *args):
    """Of a Python program, without host probes."""
    (folder / "program.py").write_text(program)
    shutil.rmtree(folder / "gpushim-out", ignore_errors=True)  # of an attempt before
    command = [str(build / "gpushim"), "run", "--host", "off", "--", lab.PYTHON if os.path.exists(lab.PYTHON) else "python3",
               str(folder / "program.py"), str(root / "tests/workloads"), *args]
    done = subprocess.run(command, cwd=folder, env=lab.environment(build, folder, faults.Plan(["program.py"])), capture_output=True, text=True,
                          timeout=60)
    assert done.returncode == 0, done.stderr
    return lab.report(build, folder)["devices"][0]["causes"]


def test_a_named_pipe_is_no_disk(build, root, tmp_path):
    """The first look at an interpreter takes long, as its code is learnt: there are some after it."""
    def attempt():
        (tmp_path / "batches").unlink(missing_ok=True)
        causes = causes_of(build, root, tmp_path, FIFO, str(tmp_path / "batches"))
        assert causes["input-wait"] > 100 * MS and causes["input-storage"] < 5 * MS, causes
    once_in(3, attempt)


def test_who_spins_has_no_lock(build, root, tmp_path):
    def attempt():
        causes = causes_of(build, root, tmp_path, SPINNER)
        assert causes["host-lock"] < 5 * MS and causes["unexplained"] + causes["input-wait"] > 100 * MS, causes
    once_in(3, attempt)
