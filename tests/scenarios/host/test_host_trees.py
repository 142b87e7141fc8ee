# SPDX-License-Identifier: BSD-2-Clause
"""Trees of processes: however deep the one sits that a device waits for, however many there are, wherever they came from or went, the report
finds it."""

import os
import shutil
import subprocess
import time

import lab
import pytest
import run_queue
import score
from faults import Plan
from janitor import Janitor
from machine import once_in
from recording import end_with_the_tests
from running import Running, skipped_where

MS = 1_000_000
TRIES = 3
RIGHT = lab.EACH  # of the time in which the main thread waited for a worker


or_skipped = skipped_where(run_queue.Holes)


def loader(**options):
    return Plan(["loader_linked", *(f"{name}={value}" for name, value in options.items())])


def run(build, disk, plan, how="ebpf"):
    """-> (score, report, spans)"""
    folder = disk / f"run-{len(list(disk.iterdir()))}"
    folder.mkdir()
    with Janitor() as janitor:
        made = lab.record(build, folder, plan, how, queue=lab.traced(janitor, folder))
    return score.score_run(folder), made, score.read_spans(folder / "spans.jsonl")


def links(report):
    """Every cause's chain in the report: (cause, its links)."""
    for device in report["devices"]:
        for gap in device["gaps"]:
            for cause in gap["causes"]:
                if cause.get("chain"):
                    yield cause, cause["chain"]


def check_right(result, cause, queued=0):
    """queued: ns without a CPU that the scheduler's trace could not tell of; no more of them count than the report says."""
    own = result.own - min(queued, result.claimed["cpu-contention"])
    assert own > 20 * MS, "the fault did not happen"
    assert result.own_right >= RIGHT * own, lab.row(cause, result)


def processes_of(chain):
    return list(dict.fromkeys(link["pid"] for link in chain))


def agrees(build, disk, plan, check=lambda result, report, spans: None, cause="input-preprocess"):
    def attempt():
        result, report, spans = run(build, disk, plan)
        check_right(result, cause)
        check(result, report, spans)
    once_in(TRIES, attempt)


@or_skipped
def test_three_processes_deep(build, disk, needs):
    """main ← pin thread ← worker ← its child ← that one's child, which computes."""
    needs("ebpf")

    def check(_, report, spans):
        deep = [chain for cause, chain in links(report) if cause["id"] == "input-preprocess" and len(processes_of(chain)) >= 4]
        assert deep, [processes_of(chain) for _, chain in links(report)]
        computing = {span.pid for span in spans if span.role == "worker"}
        assert all(processes_of(chain)[-1] in computing for chain in deep)
    agrees(build, disk, loader(workers=1, depth=3, batches=10), check)


@or_skipped
def test_workers_are_new_in_each_epoch(build, disk, needs):
    needs("ebpf")

    def check(_, report, spans):
        workers = {span.pid for span in spans if span.role == "worker"}
        named = {link["pid"] for cause, chain in links(report) for link in chain if cause["id"] == "input-preprocess"}
        assert len(workers) == 4 and workers <= named, (workers, named)
    agrees(build, disk, loader(workers=1, epochs=4, batches=5), check)


@or_skipped
def test_a_worker_is_killed(build, disk, needs):
    needs("ebpf")

    def check(_, report, spans):
        assert len({span.pid for span in spans if span.role == "worker"}) == 3  # two, and the one in the place of one of them
        assert not any(report["losses"].values())
    agrees(build, disk, loader(workers=2, batches=16, kill=4, work="sleep", ms=20), check, "host-sleep")


@or_skipped
def test_sixty_four_workers(build, disk, needs):
    """Each sleeps, as two CPUs compute for no more than two: the time is theirs, whichever of them it was."""
    needs("ebpf")

    def check(_, report, spans):
        assert len({span.pid for span in spans if span.role == "worker"}) == 64
    agrees(build, disk, loader(workers=64, batches=192, work="sleep", ms=400), check, "host-sleep")


def test_another_pid_namespace(build, disk, needs):
    """As in a container: the recorder's numbers are not the probes'."""
    needs("ebpf")
    unshare = shutil.which("unshare")
    if os.geteuid() != 0 or not unshare:
        pytest.skip("needs root and unshare(1), for a PID namespace")

    def attempt():
        folder = disk / f"ns-{len(list(disk.iterdir()))}"
        folder.mkdir()
        plan = loader(workers=1, depth=2, batches=10)
        command = [str(build / "gpushim"), "run", "--host", "ebpf", "--", unshare, "--pid", "--fork", "--kill-child", "--mount-proc",
                   *lab.program(build, plan.command)]
        done = subprocess.run(command, cwd=folder, env=lab.environment(build, folder, plan), stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=60, preexec_fn=end_with_the_tests)
        assert done.returncode == 0, done.stderr
        lab.report(build, folder)
        spans = score.read_spans(folder / "spans.jsonl")
        assert max(span.pid for span in spans) < 100, "they are in no namespace of their own"
        check_right(score.score_run(folder), "input-preprocess", sum(span.queued for span in spans))  # the scheduler's trace has other numbers
    once_in(TRIES, attempt)


# ---- attach -------------------------------------------------------------------------------------------------------------------

@or_skipped
def test_attach_to_what_runs(build, disk, needs):
    """From the moment on that it is followed, as well as from its begin."""
    needs("ebpf")

    def attempt():
        folder = disk / f"attach-{len(list(disk.iterdir()))}"
        folder.mkdir()
        with Janitor() as janitor:
            queue = lab.traced(janitor, folder)
            running = Running(build, folder, loader(workers=1, depth=2, batches=60))
            try:
                running.until_step(5)
                running.attach()
                running.until_step(30)
                watched = time.monotonic_ns()
                assert running.ended() == (0, 0), running.collector.stderr.read()
            finally:
                running.end()
            if queue:
                queue.write(folder / "waits.json")
        spans = [span for span in score.read_spans(folder / "spans.jsonl") if span.begin > watched]
        assert len({span.step for span in spans}) >= 20
        result = score.score(score.true_gaps(folder / "truth.json"), spans, lab.report(build, folder), run_queue.read(folder / "waits.json"))
        check_right(result, "input-preprocess")
    once_in(TRIES, attempt)
