# SPDX-License-Identifier: BSD-2-Clause
"""Stacks of C programs: the functions, in their order, whatever they are compiled with and wherever they are called from."""

import bisect
import os
import re
import shutil
import subprocess

import pytest
from stack_records import EXACT, LOOK, SILENCE, SITE, STALL, Stacks

# Enough for each moment of these short runs to be recorded, whatever else the machine does.
ALL = {"GPUSHIM_STACKS": "100%"}


class Functions:
    """Of an object file: which one an address is in."""

    def __init__(self, path):
        rows = [line.split() for line in subprocess.run(["nm", "-S", "--defined-only", path], capture_output=True, text=True, check=True)
                .stdout.splitlines()]
        found = sorted((int(row[0], 16), int(row[1], 16), row[3]) for row in rows if len(row) == 4 and row[2] in "tTwW")
        self.begins, self.rows = [row[0] for row in found], found

    def at(self, address):
        place = bisect.bisect_right(self.begins, address) - 1
        if place >= 0 and address < self.rows[place][0] + self.rows[place][1]:
            return self.rows[place][2]
        return None


@pytest.fixture(scope="module")
def run_stacks(recorder):
    """Runs stacks_linked CASE …; returns what it printed, its stacks, and a function that names a stack's frames (those with symbols)."""
    known = {}

    def name(frame):
        if frame.of is None or not os.path.exists(frame.of.path):
            return None
        if frame.of.path not in known:
            known[frame.of.path] = Functions(frame.of.path)
        return known[frame.of.path].at(frame.address())

    def names(stack):
        return [name for name in map(name, stack.frames) if name and name != "_start"]

    def run(*args, env=None, folder=None):
        done = recorder.run(recorder.command("stacks_linked", *args), folder=folder, env=ALL | (env or {}))
        assert (done.status, done.stderr) == (0, "")
        trace, = done.traces()
        return done.stdout, Stacks(trace.read_bytes()), names
    return run


def sites(stacks):
    """Of submissions, in their order."""
    return [at for at in sorted(stacks.of(SITE), key=lambda at: at.begin) if at.hook == "cuLaunchKernel"]


def test_functions_in_their_order(run_stacks):
    _, stacks, names = run_stacks("chain")
    site, = sites(stacks)
    assert names(site.stack) == ["submit", "inner", "middle", "outer", "main"]
    assert not site.stack.truncated()
    cost = stacks.costs[-1]
    assert cost.taken >= 1 and cost.stacks == len(stacks.stacks) and cost.failed == 0 and cost.budget_ppm == 1000000
    assert cost.taken_ticks > 0


def test_the_objects_are_what_is_on_disk(run_stacks, recorder):
    _, stacks, _ = run_stacks("chain")
    program, = [o for o in stacks.objects.values() if o.flags & 1]
    assert program.path == str(recorder.build / "workloads" / "stacks_linked")
    notes = subprocess.run(["readelf", "-n", program.path], capture_output=True, text=True, check=True).stdout
    assert f"Build ID: {program.build_id.hex()}" in notes
    assert program.file_bytes == os.path.getsize(program.path)
    for frame in sites(stacks)[0].stack.frames:
        assert frame.of.begin <= frame.at < frame.of.end and frame.of.path.startswith("/")


@pytest.mark.parametrize("depth", [10, 400])
def test_deep_recursion(run_stacks, depth):
    _, stacks, names = run_stacks("deep", depth)
    site, = sites(stacks)
    assert names(site.stack) == ["submit"] + ["deeper"] * (depth + 1) + ["main"]
    assert not site.stack.truncated()


def test_recursion_without_end_is_cut(run_stacks):
    _, stacks, names = run_stacks("deep", 20000)
    site, = sites(stacks)
    assert site.stack.truncated() and 500 <= len(site.stack.frames) <= 512
    assert set(names(site.stack)[1:]) == {"deeper"}


def test_through_a_signal_handler_on_a_stack_of_its_own(run_stacks):
    _, stacks, names = run_stacks("signal")
    site, = sites(stacks)
    found = names(site.stack)
    assert found[:2] == ["submit", "handler"] and found[-3:] == ["interrupted", "on_signal", "main"]
    assert EXACT in [frame.kind for frame in site.stack.frames] and not site.stack.truncated()


def test_of_several_threads_each_has_its_own(run_stacks):
    _, stacks, names = run_stacks("threads")
    found = sites(stacks)
    threads = {at.tid: names(at.stack) for at in found}
    assert sorted(threads.values()) == [["submit", f"thread_{where}"] for where in ("east", "north", "south", "west")]
    assert not any(at.stack.truncated() for at in found)


@pytest.mark.parametrize("kind", ["frameless", "pointers"])
def test_through_a_library(run_stacks, recorder, kind):
    """Without frame pointers by its tables, without tables by its frame pointers."""
    library = recorder.build / "workloads" / f"stacks_{kind}_plugin.so"
    _, stacks, names = run_stacks("library", library)
    site, = sites(stacks)
    assert names(site.stack) == ["submit", "plugin_inner", "plugin_middle", "plugin_outer", "through", "main"]
    assert not site.stack.truncated()
    assert str(library) in [o.path for o in stacks.objects.values()]


def test_a_library_in_the_place_of_another(run_stacks, recorder):
    """Under the same name, at the same addresses: two objects, told apart by their build-ids."""
    folder = recorder.new_folder()
    copies = [folder / "first.so", folder / "second.so"]
    for copy, kind in zip(copies, ("pointers", "frameless")):
        shutil.copy(recorder.build / "workloads" / f"stacks_{kind}_plugin.so", copy)
    name = folder / "library.so"
    _, stacks, _ = run_stacks("replaced", *copies, name, folder=folder)
    objects = [o for o in stacks.objects.values() if o.path == str(name)]
    assert len(objects) == 2 and objects[0].build_id != objects[1].build_id
    through = [[frame.of.id for frame in at.stack.frames if frame.of in objects] for at in sites(stacks)]
    assert through == [[objects[0].id] * 3, [objects[1].id] * 3]


def test_libraries_that_come_and_go(run_stacks, recorder):
    """One after another at the same place, while stacks of other threads are taken: each stack goes through the one that was there."""
    folder = recorder.new_folder()
    copies = [folder / "first.so", folder / "second.so"]
    for copy, kind in zip(copies, ("pointers", "frameless")):
        shutil.copy(recorder.build / "workloads" / f"stacks_{kind}_plugin.so", copy)
    name = folder / "library.so"
    _, stacks, names = run_stacks("reloaded", *copies, name, 200, folder=folder)
    build_ids = {by: re.search(r"Build ID: (\w+)", subprocess.run(["readelf", "-n", copy], capture_output=True, text=True, check=True).stdout).group(1)
                 for by, copy in zip(("by_the_first", "by_the_second"), copies)}
    seen = dict.fromkeys([*build_ids, "submits_deep"], 0)
    for at in stacks.of(SITE) + stacks.of(SILENCE):
        found = [found for found in names(at.stack) if not found.startswith("plugin_")]
        if at.hook != "cuLaunchKernel":
            continue
        assert not at.stack.truncated(), found
        if found[-1] == "submits_deep":
            assert found[0] == "submit" and set(found[1:-1]) == {"deeper"}
        else:
            by = found[2]
            assert found == ["submit", "through", by, "main"]
            assert [frame.of.build_id.hex() for frame in at.stack.frames if frame.of.path == str(name)] == [build_ids[by]] * 3
        seen[found[-1] if found[-1] in seen else found[2]] += 1
    assert min(seen.values()) >= 20, seen


def test_while_another_thread_is_in_the_loaders_list(run_stacks):
    """It has the loader's lock, and waits for one that is held around the driver call: nothing in the call may wait for the former."""
    _, stacks, names = run_stacks("listed")
    found = [names(at.stack) for at in stacks.of(SITE) + stacks.of(SILENCE)]
    assert ["submit", "inner", "middle", "outer", "on_listed", "main"] in found
    assert ["submit", "inner", "middle", "on_listed", "main"] in found


def test_more_libraries_than_have_a_place(run_stacks, recorder):
    """Those beyond 1024 are counted; their frames are in no object."""
    folder = recorder.new_folder()
    for i in range(1030):
        shutil.copy(recorder.build / "workloads" / "stacks_pointers_plugin.so", folder / f"{i}.so")
    _, stacks, names = run_stacks("crowd", folder, 1030)
    site, = sites(stacks)
    assert stacks.costs[-1].untracked > 1030 - 1024
    assert [frame.of for frame in site.stack.frames].count(None) == 3
    assert [name for name in names(site.stack) if not name.startswith("plugin_")] == ["submit", "through", "on_crowd", "main"]


def test_a_silence_names_what_the_thread_was_at(run_stacks):
    _, stacks, names = run_stacks("silence")
    looks = [names(at.stack) for at in stacks.of(LOOK)]
    asleep = [found for found in looks if "sleeps" in found]
    assert asleep and all(found[-3:] == ["sleeps", "on_silence", "main"] or found == ["sleeps"] for found in asleep)
    ends = [at for at in sorted(stacks.of(SILENCE), key=lambda at: at.begin) if names(at.stack)[:2] == ["submit", "on_silence"]]
    assert len(ends) == 2 and len({at.stack.id for at in ends}) == 2  # other statements of the same function


def test_a_call_that_waits(run_stacks):
    _, stacks, names = run_stacks("deep", 1, env={"SIMGPU_KERNEL_US": 20000, "SIMGPU_LATENCY_US": 5000})
    stalls = [at for at in stacks.of(STALL) if at.hook == "cuCtxSynchronize"]
    assert [names(at.stack) for at in stalls] == [["main"]]


def test_a_child_can_ask_the_loader(run_stacks):
    """Whatever a stack was taken under when its parent forked."""
    _, stacks, _ = run_stacks("forks", 400)
    assert stacks.costs[-1].taken > 100


@pytest.mark.parametrize("asked, ppm", [("on", 5000), ("2%", 20000), (".25", 2500), ("1.5%", 15000), ("900", 1000000), ("nonsense", 5000),
                                        ("-1", 5000)])
def test_how_much_they_may_cost(run_stacks, asked, ppm):
    _, stacks, _ = run_stacks("chain", env={"GPUSHIM_STACKS": asked})
    assert stacks.costs[-1].budget_ppm == ppm


def test_off_there_are_none(run_stacks):
    _, stacks, _ = run_stacks("chain", env={"GPUSHIM_STACKS": "off"})
    assert not stacks.at and not stacks.stacks and not stacks.objects and not stacks.costs
