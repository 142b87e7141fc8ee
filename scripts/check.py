#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""check.py [--all] [--only unit|pytest|scripts] [-k NAME]: runs the tests and ends with "N passed, N failed".

    unit     every cmocka program in $BUILD/unit
    pytest   every tests/**/test_*.py, with $BUILD/venv
    scripts  every scripts/check-*.sh (exit 0 passed, 77 skipped, else failed); --all adds scripts/ci-*.sh

A program that crashes, runs out of time or reports no case is a failure. Details go to $BUILD/check/.

A case that failed is run once more when everything else is over, alone, as a machine that is busy elsewhere can upset what looks at times.
If it passes then, it has passed, and is listed by name. None is where more than REPEATS_MAX failed; nor is a failure that no
machine explains (may_be_noise): a crash, a hang, what a sanitizer found, a claim that is not true. Where a hypervisor takes the CPUs away
for others, a time tells nothing: then more are repeated, and more than once, until one had the machine (REPEATS_MAX_ROBBED, TRIES_ROBBED).
"""

import argparse
import functools
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tests" / "scenarios"))

from stolen import stolen_ticks  # noqa: E402

BUILD = (ROOT / os.environ.get("BUILD", "build")).resolve()
LOGS = BUILD / "check"
SLOWER = 5 if os.environ.get("SAN") else 1  # sanitizers
UNIT_SECONDS = 120 * SLOWER
UNIT_AT_ONCE = os.cpu_count() if os.environ.get("SAN") else 1  # what is slowed tells little of times: those that fail for it are repeated, alone
PYTEST_CASE_SECONDS = 300
PYTEST_SECONDS = 45 * 60
SCRIPT_SECONDS = 30 * 60

REPEATS_MAX = 5
REPEATS_MAX_ROBBED = 25
TRIES_ROBBED = 6
ROBBED_TICKS_A_SECOND = 3 * os.cpu_count()  # 3 %: it was so all along
REPEATED = "passed only when repeated, alone: "

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"

# Tests raise Unsound (tests/scenarios/conservation.py) where a report says what is not so; a program of tests/unit prints "unsound: why".
NO_NOISE = re.compile(r"\b[Uu]nsound\b|Sanitizer|runtime error: |Timeout \(>|TimeoutExpired|\bSIG(SEGV|BUS|ABRT|ILL|FPE)\b|Segmentation fault"
                      r"|(assert |exit status |\()-(4|6|7|8|11)\b")  # and a program that ended by one of these


def may_be_noise(text):
    return not NO_NOISE.search(text)


class Case:
    """What one came to. again: runs it alone; what that came to: (outcome, text). None: it is not to be repeated."""

    def __init__(self, name, outcome, text, again):
        self.name, self.outcome, self.text, self.again = name, outcome, text, again


class Results:
    def __init__(self):
        self.cases = []
        self.begin = time.monotonic(), stolen_ticks()
        self.repeated = []  # (name, text of the first failure) of those that passed then

    def add(self, name, outcome, text="", again=None):
        self.cases.append(Case(name, outcome, text, again))

    def count(self, outcome):
        return sum(1 for case in self.cases if case.outcome == outcome)

    def repeats_max(self):
        seconds, ticks = time.monotonic() - self.begin[0], stolen_ticks() - self.begin[1]
        return REPEATS_MAX_ROBBED if ticks > ROBBED_TICKS_A_SECOND * max(seconds, 1) else REPEATS_MAX

    def repeat(self):
        """Once everything else is over."""
        failed, most = [case for case in self.cases if case.outcome == FAILED], self.repeats_max()
        if len(failed) + len(self.repeated) > most:
            print(f"more than {most} failed: none is repeated", flush=True)
            return
        for case in failed:
            if not case.again or not may_be_noise(case.text):
                continue
            begin = time.monotonic()
            outcome, text = case.again()
            tell(outcome == PASSED, f"again, alone: {case.name}", outcome, time.monotonic() - begin)
            if outcome == PASSED:
                self.repeated.append((case.name, case.text))
                case.outcome = PASSED
            else:
                case.text += f"\nand again, alone:\n{text}"

    def print_end(self):
        for case in self.cases:
            if case.outcome == SKIPPED:
                print(f"skipped: {case.name}: {first_line(case.text) or 'no reason given'}")
        for name, text in self.repeated:
            print(f"\n{REPEATED}{name}: {first_line(text) or 'no message'}\n{indent(tail(text, 20))}")
        for case in self.cases:
            if case.outcome == FAILED:
                print(f"\nFAILED: {case.name}\n{indent(excerpt(case.text))}")
        line = f"{self.count(PASSED)} passed, {self.count(FAILED)} failed"
        if self.count(SKIPPED):
            line += f", {self.count(SKIPPED)} skipped"
        print(line, flush=True)


def undisturbed(again, what):
    """What it comes to while nobody takes the CPUs away, or passes all the same; the last, where that was never so."""
    for _ in range(TRIES_ROBBED):
        before = stolen_ticks()
        outcome, text = again(what)
        if outcome == PASSED or not may_be_noise(text) or stolen_ticks() == before:
            break
    return outcome, text


def first_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0] if lines else ""


def tail(text, lines=60):
    kept = text.rstrip().splitlines()
    return "\n".join((["…"] if len(kept) > lines else []) + kept[-lines:])


# Where a program says what failed: this runner itself (a script may run it), cmocka, pytest, a compiler or make, a sanitizer, a fuzzer.
SAYS_WHAT = re.compile(r"^(FAIL\b|FAILED\b|E  +\S|qemu: )|\[  (ERROR   |FAILED  )\]|\b(fatal )?error: |\bERROR: |: warning: |\*\*\* |"
                       r"Sanitizer: |^SUMMARY: |runtime error: |^ ?(Traceback|[A-Za-z]*(Error|Exception)\b)|Assertion .*failed|not in the house style|no end after")
WORDS_OF_A_CASE = 4  # lines of its text, behind "FAILED: name"
CULPRITS_MAX = 40


def culprits(lines):
    """The lines that say what failed."""
    left = 0
    for line in lines:
        if line.startswith("FAILED: "):
            left = WORDS_OF_A_CASE
            yield line
        elif left and line.startswith("    "):
            left -= 1
            yield line
        else:
            left = 0
            if SAYS_WHAT.search(line):
                yield line


def excerpt(text, lines=60):
    """How it ended, what failed, and the last lines: of a whole script's output these alone need not say why."""
    kept = text.rstrip().splitlines()
    if len(kept) <= lines:
        return "\n".join(kept)
    said = list(dict.fromkeys(line[:300] for line in culprits(kept[1:-lines])))
    more = ["…"] if len(said) > CULPRITS_MAX else []
    return "\n".join([kept[0], *said[:CULPRITS_MAX], *more, "…", *kept[-lines:]])


def indent(text):
    return "\n".join("    " + line for line in text.splitlines())


def environment():
    env = dict(os.environ, BUILD=str(BUILD), PYTHONDONTWRITEBYTECODE="1")
    for name in ("LD_PRELOAD", "MAKEFLAGS", "MFLAGS", "MAKELEVEL", "CHECK"):
        env.pop(name, None)
    for name in [n for n in env if n.startswith(("GPUSHIM", "SIMGPU_")) and n != "GPUSHIM_NO_SYSTEM_CUDA"]:
        env.pop(name)
    env.setdefault("UBSAN_OPTIONS", "print_stacktrace=1")
    return env


class Ending:
    """Asked to end (`timeout make check`): what runs is ended, and no more is started. Not while this thread, which gets the signal, starts
    a program, which nobody would end then."""
    asked, running, lock, here = False, set(), threading.RLock(), threading.local()

    @classmethod
    def ask(cls, *_):
        cls.asked = True
        if not getattr(cls.here, "starts", False):
            cls.end_all()

    @classmethod
    def end_all(cls):
        with cls.lock:
            for group in cls.running:
                kill_group(group)
        sys.exit(143)

    @classmethod
    def start(cls, *command, **how):
        cls.here.starts = True
        with cls.lock:
            if not cls.asked:
                child = subprocess.Popen(*command, start_new_session=True, **how)
                cls.running.add(child.pid)
        cls.here.starts = False
        if cls.asked:
            cls.end_all()
        return child

    @classmethod
    def end(cls, child):
        """It, and whatever it left behind."""
        kill_group(child.pid)
        child.wait()
        with cls.lock:
            cls.running.discard(child.pid)


def kill_group(group):
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass


def run(command, seconds, log, env, stream=False):
    """Runs it in its own process group. Returns (exit status or None when out of time, output)."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(log, "wb") as out:
        child = Ending.start(command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=None if stream else out, stderr=subprocess.STDOUT)
        try:
            status = child.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            Ending.end(child)
    return status, log.read_text(errors="replace")


def ending(status, seconds):
    if status is None:
        return f"no end after {seconds} s"
    if status < 0:
        return f"killed by {signal.Signals(-status).name}"
    return f"exit status {status}"


def tell(ok, name, note, seconds):
    print(f"{'ok  ' if ok else 'FAIL'} {name}: {note} ({seconds:.1f} s)", flush=True)


# cmocka writes one file per group. Read by pattern: two groups of one name end up in one file, which is no XML then.
CASE = re.compile(r'<testcase name="([^"]*)"[^>]*>(.*?)(?=<testcase |\Z)', re.S)


def unit_cases(folder):
    for path in sorted(folder.glob("*.xml")):
        for name, body in CASE.findall(path.read_text(errors="replace")):
            if "<failure" in body or "<error" in body:
                yield name, FAILED, re.sub(r"<[^>]*CDATA\[|\]\]>|</?[a-z]+[^>]*>", "", body).strip()
            else:
                yield name, SKIPPED if "<skipped" in body else PASSED, ""


def run_program(program, folder):
    """(exit status or None, output, its cases)"""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    env = dict(environment(), CMOCKA_MESSAGE_OUTPUT="xml", CMOCKA_XML_FILE=str(folder / "%g.xml"))
    status, output = run([str(program)], UNIT_SECONDS, folder / "output", env)
    return status, output, list(unit_cases(folder))


def repeat_program(program):
    """The whole of it: cases of one program may depend on each other."""
    status, output, cases = run_program(program, LOGS / "again" / program.name)
    if status == 0 and cases and all(outcome != FAILED for _, outcome, _ in cases):
        return PASSED, ""
    return FAILED, f"{ending(status, UNIT_SECONDS)}\n{output}\n" + "\n".join(text for _, outcome, text in cases if outcome == FAILED)


def add_program(results, program, seconds, status, output, cases):
    name = f"unit/{program.name}"
    # A status beyond the number of failed cases is a crash or a sanitizer's doing.
    reported = status is not None and 0 <= status <= sum(outcome == FAILED for _, outcome, _ in cases) and may_be_noise(output)
    again = functools.cache(functools.partial(undisturbed, repeat_program, program)) if reported else None
    for case, outcome, text in cases:
        # cmocka keeps no reason for a skip; a test that prints "skip: why" gets it listed.
        if outcome == SKIPPED:
            text = first_line("\n".join(re.findall(r"^skip: (.*)", output, re.M)))
        elif outcome == FAILED:
            text = f"{text}\n{tail(output, 20)}"
        results.add(f"{name}: {case}", outcome, text, again)
    failed = [case for case in cases if case[1] == FAILED]
    if not cases:
        results.add(name, FAILED, f"{ending(status, UNIT_SECONDS)}, no case reported\n{output}")
    elif status != 0 and not failed:
        results.add(name, FAILED, f"{ending(status, UNIT_SECONDS)} after its cases\n{output}")
    tell(cases and status == 0, name, f"{len(cases)} cases", seconds)


def timed_program(program):
    begin = time.monotonic()
    result = run_program(program, LOGS / "unit" / program.name)
    return time.monotonic() - begin, *result


def run_unit(results, pattern):
    programs = [p for p in sorted((BUILD / "unit").glob("test_*")) if os.access(p, os.X_OK) and pattern in p.name]
    with ThreadPoolExecutor(UNIT_AT_ONCE) as pool:
        for program, result in zip(programs, pool.map(timed_program, programs)):
            add_program(results, program, *result)


def pytest_cases(report):
    """(file and name, outcome, text) of each. A file that cannot even be read has no name."""
    for case in ET.parse(report).getroot().iter("testcase"):
        bad = case.find("failure") if case.find("failure") is not None else case.find("error")
        skip = case.find("skipped")
        where = case.get("classname", "").replace(".", "/"), case.get("name")
        if bad is not None:
            yield *where, FAILED, f"{bad.get('message', '')}\n{bad.text or ''}"
        elif skip is not None:
            yield *where, SKIPPED, skip.get("message", "")
        else:
            yield *where, PASSED, ""


def pytest(arguments, name, seconds):
    """Exit status or None, and the report's path, which may not be there."""
    report = LOGS / f"{name}.xml"
    report.parent.mkdir(parents=True, exist_ok=True)
    report.unlink(missing_ok=True)
    python = BUILD / "venv" / "bin" / "python"
    command = [str(python), "-m", "pytest", "--rootdir=tests", "-p", "no:cacheprovider", "-q", "--tb=short",
               f"--timeout={PYTEST_CASE_SECONDS}", f"--basetemp={LOGS / 'tmp'}", f"--junitxml={report}", *arguments]
    status, _ = run(command, seconds, LOGS / f"{name}.log", environment(), stream=True)
    return status, report


def repeat_pytest(node):
    status, report = pytest([node], "again", 2 * PYTEST_CASE_SECONDS)
    cases = list(pytest_cases(report)) if report.exists() else []
    if status == 0 and len(cases) == 1 and cases[0][2] == PASSED:
        return PASSED, ""
    return FAILED, f"{ending(status, 2 * PYTEST_CASE_SECONDS)}\n" + "\n".join(text for *_, text in cases)


def run_pytest(results, pattern):
    files = [path for path in (ROOT / "tests").rglob("test_*.py")]
    if not files:
        return
    if os.environ.get("SAN"):  # they preload the shim into programs that lack the sanitizer's runtime
        results.add("pytest", SKIPPED, "a sanitizer build runs the unit tests only")
        return
    begin = time.monotonic()
    status, report = pytest(["tests"] + (["-k", pattern] if pattern else []), "pytest", PYTEST_SECONDS)
    if not report.exists():
        results.add("pytest", FAILED, f"{ending(status, PYTEST_SECONDS)}, no report")
        return
    number = 0
    for file, name, outcome, text in pytest_cases(report):
        number += 1
        path = ROOT / "tests" / f"{file}.py"
        again = functools.partial(undisturbed, repeat_pytest, f"tests/{file}.py::{name}") if file and path.is_file() else None
        results.add(f"{file}: {name}", outcome, text, again)
    if number == 0 and not pattern:
        results.add("pytest", FAILED, f"{len(files)} files, no case")
    elif status not in (0, 1, 5):
        results.add("pytest", FAILED, ending(status, PYTEST_SECONDS))
    tell(status in (0, 5), "pytest", f"{number} cases", time.monotonic() - begin)


def run_scripts(results, pattern, kinds):
    for script in sorted(path for kind in kinds for path in (ROOT / "scripts").glob(f"{kind}-*.sh")):
        if pattern not in script.name:
            continue
        name, begin = f"scripts/{script.name}", time.monotonic()
        status, output = run(["bash", str(script)], SCRIPT_SECONDS, LOGS / f"{script.name}.log", environment())
        outcome = {0: PASSED, 77: SKIPPED}.get(status, FAILED)
        results.add(name, outcome, output if status in (0, 77) else f"{ending(status, SCRIPT_SECONDS)}\n{output}")
        if outcome == PASSED:  # one that runs tests repeats them itself, alone
            results.repeated += [(f"{name}: {case}", text) for case, text in re.findall(rf"^{REPEATED}(.*?): (?=\S)(.*)$", output, re.M)]
        tell(outcome != FAILED, name, outcome, time.monotonic() - begin)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="also lint, sanitizers and fuzzers, as CI does")
    parser.add_argument("--only", choices=("unit", "pytest", "scripts"))
    parser.add_argument("-k", dest="pattern", default="", help="only what has this in its name")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, Ending.ask)  # so that run() ends what it started
    results = Results()
    if options.only in (None, "unit"):
        run_unit(results, options.pattern)
    if options.only in (None, "scripts"):
        run_scripts(results, options.pattern, ("check", "ci") if options.all else ("check",))
    if options.only in (None, "pytest"):
        run_pytest(results, options.pattern)
    results.repeat()
    results.print_end()
    return 1 if results.count(FAILED) or not results.cases else 0


if __name__ == "__main__":
    sys.exit(main())
