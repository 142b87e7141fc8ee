# SPDX-License-Identifier: BSD-2-Clause
"""Our threads in the program's process: they take none of its descriptors, and run where the process may, not where the thread that
started them was put."""

import os
import subprocess
from pathlib import Path

import pytest

OURS = {"gpushim", "gpushim-look", "gpushim-stock"}
APART = OURS - {"gpushim"}  # it makes driver calls, so it stays with the program's descriptors; it opens nothing


def test_no_descriptor_of_ours_is_ever_seen(recorder):
    """The lowest free descriptor is the expected one, tens of thousands of times, while threads come, launch and fall silent."""
    command = recorder.command("survive_threads_linked", "descriptors")
    env = {"SIMGPU_LOG": None}  # a file that the simulated driver opens
    plain, recorded = recorder.run(command, shim=False, env=env), recorder.run(command, env=env)
    assert plain.status == 0 and plain.stdout == "opens enough: 1, others than expected: 0\nend\n"
    assert (recorded.status, recorded.stdout, recorded.stderr) == (plain.status, plain.stdout, plain.stderr)
    report = recorded.report()
    assert report["losses"]["records_dropped"] == 0 and report["calls"]["cuLaunchKernel"] > 1000


class Task:
    def __init__(self, folder: Path):
        fields = (folder / "stat").read_text().rpartition(")")[2].split()
        status = dict(line.split(":\t", 1) for line in (folder / "status").read_text().splitlines() if ":\t" in line)
        self.name = (folder / "comm").read_text().strip()
        self.nice, self.policy = int(fields[16]), int(fields[38])
        self.cpus = status["Cpus_allowed_list"]
        self.descriptors = os.listdir(folder / "fd")


@pytest.fixture(scope="module")
def tasks(recorder):
    """The threads of a program whose first calls came from a thread that is pinned, nice, and of another policy."""
    command = recorder.command("survive_threads_linked", "placement")
    folder = recorder.new_folder()
    child = recorder.start(command, folder, env={"SURVIVE_PAUSE_MS": "60000"}, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        ready = child.stdout.readline()
        assert ready == "ready\n", ready + child.stderr.read()
        found = [Task(task) for task in Path(f"/proc/{child.pid}/task").iterdir()]
    finally:
        child.kill()
        child.communicate()
    return {task.name: task for task in found}


def test_all_of_our_threads_are_there(tasks):
    assert {name for name in tasks if name.startswith("gpushim")} == OURS


def test_our_threads_may_run_where_the_process_may(tasks):
    if os.cpu_count() < 2 or len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one CPU: everybody is pinned")
    (main,) = (task for name, task in tasks.items() if not name.startswith("gpushim"))
    assert {tasks[name].cpus for name in OURS} == {main.cpus}


def test_our_threads_have_the_ordinary_policy(tasks):
    assert tasks["gpushim"].policy == tasks["gpushim-look"].policy == os.SCHED_OTHER
    assert tasks["gpushim-stock"].policy == os.SCHED_BATCH  # its own choice


def test_our_threads_are_as_nice_as_the_process(tasks):
    if os.geteuid() != 0:
        pytest.skip("only root takes niceness back")
    assert {tasks[name].nice for name in OURS} == {os.getpriority(os.PRIO_PROCESS, 0)}


@pytest.mark.parametrize("name", sorted(APART))
def test_what_opens_files_has_no_descriptor_of_the_program(tasks, name):
    assert tasks[name].descriptors == []
