# SPDX-License-Identifier: BSD-2-Clause
"""Who held the device up, by the line: programs whose statements are known, recorded as they are, in C and in Python.

Where other work has the machine, the recorder looks late now and then: of several recordings one must show what is there to be seen."""

import collections
import json
import re
import shutil
import subprocess
import sys

import pytest
from machine import cpus_awake
from test_stacks_python import VERSIONS, interpreter

SOURCE = "call_sites_linked.c"
STEPS, SLEEP_NS, COMPUTE_NS = 6, 20_000_000, 10_000_000
ALL = {"GPUSHIM_STACKS": "100%"}  # each moment of these short runs
TRIES = 4


def settle(record, check):
    for left in range(TRIES, 0, -1):
        try:
            return check(record())
        except AssertionError:
            if left == 1:
                raise


def line_of(path, words):
    """The number of the one line with these words."""
    number, = (number for number, line in enumerate(path.read_text().splitlines(), 1) if words in line)
    return number


def pieces(report, function=None):
    """What code held the thread, piece by piece; of one function."""
    return [part for device in report["devices"] for gap in device["gaps"] for cause in gap["causes"]
            for part in cause.get("held", []) if function is None or part.get("function") == function]


def length(part):
    return part["end_ns"] - part["begin_ns"]


def held(report):
    """(function, line) → idle nanoseconds, over all gaps."""
    sums = collections.Counter()
    for part in pieces(report):
        sums[part.get("function"), part.get("line")] += length(part)
    return sums


@pytest.fixture(scope="module")
def source(root):
    return root / "tests/workloads" / SOURCE


class Recording:
    """Of call_sites_linked, or of a copy of it changed by a command."""

    def __init__(self, recorder, *change):
        folder = recorder.new_folder()
        self.program = folder / "call_sites"
        shutil.copy(recorder.command("call_sites_linked")[0], self.program)
        if change:
            subprocess.run([*change, self.program], check=True)
        self.run = recorder.run([str(self.program), str(STEPS)], folder=folder, env=ALL)
        assert (self.run.status, self.run.stderr) == (0, "")
        self.report = self.run.report()


def test_c_by_dwarf(recorder, source):
    """The read sleeps: seen there, in the function that is inlined, on its line; the value is waited for in step."""
    def check(made):
        sums = held(made.report)
        # Of how many sleeps there was a look is the machine's: an idle virtual CPU may wake up late. Where there was one, it stands for all of it.
        assert sums["wait_for_disk", line_of(source, "/* the sleep */")] > 0.8 * SLEEP_NS, sums
        asleep = max(pieces(made.report, "wait_for_disk"), key=length)
        assert asleep["file"] == str(source) and asleep["inlined"] and asleep["own"] and asleep["by"] == "look"
        frames = next(s for s in made.report["stacks"] if s["stack"] == asleep["stack"])["frames"]
        names = [(f["function"], f.get("line")) for f in frames[asleep["frame"]:]]
        assert names[:3] == [("wait_for_disk", line_of(source, "/* the sleep */")), ("read_batch", line_of(source, "/* the read */")),
                             ("main", line_of(source, "read_batch();"))]
        assert "libc" in frames[0]["module"], "it slept in libc, which is not the user's"
        lines = {part["line"] for part in pieces(made.report, "step")}
        assert lines and lines <= {line_of(source, "/* the value */"), line_of(source, "/* the launch */")}
    settle(lambda: Recording(recorder), check)


def test_c_that_computes(recorder, source):
    """Nobody sees the frames of a running thread. Before the first step of the loop the calls before and behind say that it was in main
    all the time; later on the loop comes to the same place again, and which function went round they do not say."""
    def check(made):
        between = [part for part in pieces(made.report, "main") if part["by"] == "between"]
        assert sum(map(length, between)) > 0.7 * COMPUTE_NS, between
        assert {(part["from_line"], part["line"]) for part in between} == {(line_of(source, "/* the first step */"), line_of(source, "/* the step */"))}
        behind = [part for part in pieces(made.report) if part["by"] == "next-call"]
        assert sum(map(length, behind)) > 0.7 * (STEPS - 1) * COMPUTE_NS, behind
        assert {(part["function"], part["line"]) for part in behind} == {("step", line_of(source, "/* the launch */"))}
    settle(lambda: Recording(recorder), check)


def test_sums(recorder):
    """Call sites and folded stacks have all idle time, to the nanosecond; a stack's frames stand from the outermost in."""
    def check(made):
        idle = sum(device["idle_ns"] for device in made.report["devices"])
        assert sum(site["idle_ns"] for site in made.report["call_sites"]) == idle
        folded = recorder.gpushim("export", made.run.out, "--folded", "-").stdout
        assert sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines()) == idle
        assert re.search(r";main \(call_sites_linked\.c:\d+\);read_batch \(call_sites_linked\.c:\d+\);wait_for_disk \(call_sites_linked\.c:\d+\);"
                         r".*;\[host-sleep\] \d+$", folded, re.M), folded
    settle(lambda: Recording(recorder), check)


def test_c_stripped_of_debug_information(recorder):
    """By symbol, offset and build-id."""
    def check(made):
        looks = [part for part in pieces(made.report, "read_batch") if part["by"] == "look"]
        assert looks
        assert all("line" not in part and "file" not in part and 0 < part["offset"] < 200 for part in looks)
        assert re.fullmatch("[0-9a-f]{40}", looks[0]["build_id"])
        page = " ".join(recorder.gpushim("report", "--full", made.run.out).stdout.split())
        assert re.search(r"read_batch\+0x[0-9a-f]+ in call_sites \(build-id [0-9a-f]{40}\)", page), page
    settle(lambda: Recording(recorder, "strip", "-g"), check)


def test_c_stripped_of_all(recorder, source):
    """By address and build-id; with the debug file at hand by line again."""
    original = recorder.command("call_sites_linked")[0]
    symbols = subprocess.run(["nm", "-S", original], capture_output=True, text=True, check=True).stdout
    begin, size = (int(n, 16) for n in re.search(r"^(\w+) (\w+) t read_batch$", symbols, re.M).groups())

    def check(made):
        looks = [part for part in pieces(made.report, "") if part["by"] == "look"]
        assert looks
        asleep = max(looks, key=length)
        assert asleep["module"] == str(made.program) and begin < asleep["address"] < begin + size
        debug = made.run.folder / "debug/.build-id" / asleep["build_id"][:2] / (asleep["build_id"][2:] + ".debug")
        debug.parent.mkdir(parents=True)
        subprocess.run(["objcopy", "--only-keep-debug", original, debug], check=True)
        found = pieces(made.run.report("--symbols", str(made.run.folder / "debug")), "wait_for_disk")
        assert {part["line"] for part in found} == {line_of(source, "/* the sleep */")}
    settle(lambda: Recording(recorder, "strip"), check)


def test_another_program_at_its_place(recorder):
    """Nothing of it is used, and the report says so."""
    made = Recording(recorder)
    shutil.copy(recorder.command("scenario_linked")[0], made.program)
    report = made.run.report()
    assert all(part.get("function") == "" for part in pieces(report) if part.get("module") == str(made.program))
    trouble = {o["path"]: o.get("trouble") for o in report["objects"]}
    assert trouble[str(made.program)] == "has changed since: nothing of it was used"
    page = " ".join(recorder.gpushim("report", "--full", made.run.out).stdout.split())
    assert "call_sites has changed since: nothing of it was used" in page


@pytest.fixture(scope="module")
def script(root):
    return root / "tests/workloads/train.py"


def train(recorder, *options, python=sys.executable):
    _, *command = recorder.command("train.py", "--steps", 8, "--workers", 1, *options)
    done = recorder.run([python, *command], env=ALL)
    assert (done.status, done.stderr) == (0, "")
    return done.report()


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("options, words, function, least_ns", [
    (["--slow-loader", 150], "place = ready.get()", "Loader.batches", 7 * 40_000_000),
    (["--sleep-ms", 25], "time.sleep(args.sleep_ms / 1000)", "Trainer.mistakes", 7 * 20_000_000),
], ids=["loader", "sleep"])
def test_python(recorder, script, version, options, words, function, least_ns):
    """File, line and function of the statement; it is the first of all call sites, and the longest gap's story names it."""
    python = interpreter(version)
    if not python:
        pytest.skip(f"no Python {version} here")

    def check(report):
        line = line_of(script, words)
        assert held(report)[function, line] > least_ns, held(report).most_common(5)
        site = report["call_sites"][0]
        assert (site["function"], site["line"], site["file"]) == (function, line, str(script)) and site["language"] == "python" and site["own"]
        gaps = [gap for device in report["devices"] for gap in device["gaps"]]
        longest = max(gaps, key=length)
        assert any(f"at train.py:{line} in {function}" in text for cause in longest["causes"] for text in cause["evidence"]), longest
    settle(lambda: train(recorder, *options, python=python), check)


def test_python_that_computes(recorder, script):
    """A loop of two lines, seen while it runs: more than half of what it held, and more than any other function."""
    def check(report):
        first = line_of(script, "while time.monotonic() < until:")
        functions = collections.Counter()
        for (function, line), ns in held(report).items():
            functions[function] += ns if function != "Trainer.mistakes" or line in (first, first + 1) else 0
        assert functions["Trainer.mistakes"] > 7 * 10_000_000 and functions.most_common(1)[0][0] == "Trainer.mistakes", functions
    with cpus_awake():
        settle(lambda: train(recorder, "--compute-ms", 20), check)


def test_servers_are_asked_only_if_the_user_asks(recorder, gpushim, tmp_path):
    """A debuginfod-find of our own stands for the servers."""
    made = Recording(recorder, "strip")
    original = recorder.command("call_sites_linked")[0]
    debug, asked, tool = tmp_path / "fetched", tmp_path / "asked", tmp_path / "bin/debuginfod-find"
    subprocess.run(["objcopy", "--only-keep-debug", original, debug], check=True)
    tool.parent.mkdir()
    tool.write_text(f'#!/bin/sh\necho "$@" >>{asked}\necho {debug}\n')
    tool.chmod(0o755)

    def lines(*options):
        env = recorder.environment(shim=False, PATH=f"{tool.parent}:/usr/bin:/bin")
        done = subprocess.run([gpushim, "report", made.run.out, "--json", *options], env=env, capture_output=True, text=True, check=True)
        return {frame["line"] for stack in json.loads(done.stdout)["stacks"] for frame in stack["frames"]
                if frame.get("module") == str(made.program) and "line" in frame}

    assert not lines() and not asked.exists()
    assert lines("--debuginfod")
    build_id, = {o["build_id"] for o in made.report["objects"] if o["path"] == str(made.program)}
    assert f"debuginfo {build_id}" in asked.read_text().splitlines()
