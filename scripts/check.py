#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""check.py [--all] [--only unit|pytest|scripts] [-k NAME]: runs the tests and ends with "N passed, N failed".

    unit     every cmocka program in $BUILD/unit
    pytest   every tests/**/test_*.py, with $BUILD/venv
    scripts  every scripts/check-*.sh (exit 0 passed, 77 skipped, else failed); --all adds scripts/ci-*.sh

A program that crashes, runs out of time or reports no case is a failure. Details go to $BUILD/check/.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = (ROOT / os.environ.get("BUILD", "build")).resolve()
LOGS = BUILD / "check"
SLOWER = 5 if os.environ.get("SAN") else 1  # sanitizers
UNIT_SECONDS = 120 * SLOWER
PYTEST_CASE_SECONDS = 300
PYTEST_SECONDS = 45 * 60
SCRIPT_SECONDS = 20 * 60

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


class Results:
    """What every case came to: (name, outcome, text)."""

    def __init__(self):
        self.cases = []

    def add(self, name, outcome, text=""):
        self.cases.append((name, outcome, text))

    def count(self, outcome):
        return sum(1 for case in self.cases if case[1] == outcome)

    def print_end(self):
        for name, outcome, text in self.cases:
            if outcome == SKIPPED:
                print(f"skipped: {name}: {first_line(text) or 'no reason given'}")
        for name, outcome, text in self.cases:
            if outcome == FAILED:
                print(f"\nFAILED: {name}\n{indent(tail(text))}")
        line = f"{self.count(PASSED)} passed, {self.count(FAILED)} failed"
        if self.count(SKIPPED):
            line += f", {self.count(SKIPPED)} skipped"
        print(line, flush=True)


def first_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0] if lines else ""


def tail(text, lines=60):
    kept = text.rstrip().splitlines()
    return "\n".join((["…"] if len(kept) > lines else []) + kept[-lines:])


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


def run(command, seconds, log, env, stream=False):
    """Runs it in its own process group. Returns (exit status or None when out of time, output)."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(log, "wb") as out:
        child = subprocess.Popen(command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, start_new_session=True,
                                 stdout=None if stream else out, stderr=subprocess.STDOUT)
        try:
            status = child.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            try:  # whatever it left behind
                os.killpg(child.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            child.wait()
    return status, log.read_text(errors="replace")


def ending(status, seconds):
    if status is None:
        return f"no end after {seconds} s"
    if status < 0:
        return f"killed by {signal.Signals(-status).name}"
    return f"exit status {status}"


def tell(ok, name, note, begin):
    print(f"{'ok  ' if ok else 'FAIL'} {name}: {note} ({time.monotonic() - begin:.1f} s)", flush=True)


# cmocka writes one file per group. Read by pattern: two groups of one name end up in one file, which is no XML then.
CASE = re.compile(r'<testcase name="([^"]*)"[^>]*>(.*?)(?=<testcase |\Z)', re.S)


def unit_cases(folder):
    for path in sorted(folder.glob("*.xml")):
        for name, body in CASE.findall(path.read_text(errors="replace")):
            if "<failure" in body or "<error" in body:
                yield name, FAILED, re.sub(r"<[^>]*CDATA\[|\]\]>|</?[a-z]+[^>]*>", "", body).strip()
            else:
                yield name, SKIPPED if "<skipped" in body else PASSED, ""


def run_unit(results, pattern):
    for program in sorted((BUILD / "unit").glob("test_*")):
        if not os.access(program, os.X_OK) or pattern not in program.name:
            continue
        name, begin = f"unit/{program.name}", time.monotonic()
        folder = LOGS / "unit" / program.name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        env = dict(environment(), CMOCKA_MESSAGE_OUTPUT="xml", CMOCKA_XML_FILE=str(folder / "%g.xml"))
        status, output = run([str(program)], UNIT_SECONDS, folder / "output", env)
        cases = list(unit_cases(folder))
        for case, outcome, text in cases:
            # cmocka keeps no reason for a skip; a test that prints "skip: why" gets it listed.
            if outcome == SKIPPED:
                text = first_line("\n".join(re.findall(r"^skip: (.*)", output, re.M)))
            elif outcome == FAILED:
                text = f"{text}\n{tail(output, 20)}"
            results.add(f"{name}: {case}", outcome, text)
        failed = [case for case in cases if case[1] == FAILED]
        if not cases:
            results.add(name, FAILED, f"{ending(status, UNIT_SECONDS)}, no case reported\n{output}")
        elif status != 0 and not failed:
            results.add(name, FAILED, f"{ending(status, UNIT_SECONDS)} after its cases\n{output}")
        tell(cases and status == 0, name, f"{len(cases)} cases", begin)


def run_pytest(results, pattern):
    files = [path for path in (ROOT / "tests").rglob("test_*.py")]
    if not files:
        return
    if os.environ.get("SAN"):  # they preload the shim into programs that lack the sanitizer's runtime
        results.add("pytest", SKIPPED, "a sanitizer build runs the unit tests only")
        return
    begin, report = time.monotonic(), LOGS / "pytest.xml"
    report.parent.mkdir(parents=True, exist_ok=True)
    report.unlink(missing_ok=True)
    python = BUILD / "venv" / "bin" / "python"
    command = [str(python), "-m", "pytest", "tests", "--rootdir=tests", "-p", "no:cacheprovider", "-q", "--tb=short",
               f"--timeout={PYTEST_CASE_SECONDS}", f"--basetemp={LOGS / 'tmp'}", f"--junitxml={report}"]
    if pattern:
        command += ["-k", pattern]
    status, _ = run(command, PYTEST_SECONDS, LOGS / "pytest.log", environment(), stream=True)
    if not report.exists():
        results.add("pytest", FAILED, f"{ending(status, PYTEST_SECONDS)}, no report")
        return
    number = 0
    for case in ET.parse(report).getroot().iter("testcase"):
        number += 1
        name = f"{case.get('classname', '').replace('.', '/')}: {case.get('name')}"
        bad = case.find("failure") if case.find("failure") is not None else case.find("error")
        skip = case.find("skipped")
        if bad is not None:
            results.add(name, FAILED, f"{bad.get('message', '')}\n{bad.text or ''}")
        elif skip is not None:
            results.add(name, SKIPPED, skip.get("message", ""))
        else:
            results.add(name, PASSED)
    if number == 0 and not pattern:
        results.add("pytest", FAILED, f"{len(files)} files, no case")
    elif status not in (0, 1, 5):
        results.add("pytest", FAILED, ending(status, PYTEST_SECONDS))
    tell(status in (0, 5), "pytest", f"{number} cases", begin)


def run_scripts(results, pattern, kinds):
    for script in sorted(path for kind in kinds for path in (ROOT / "scripts").glob(f"{kind}-*.sh")):
        if pattern not in script.name:
            continue
        name, begin = f"scripts/{script.name}", time.monotonic()
        status, output = run(["bash", str(script)], SCRIPT_SECONDS, LOGS / f"{script.name}.log", environment())
        outcome = {0: PASSED, 77: SKIPPED}.get(status, FAILED)
        results.add(name, outcome, output if status in (0, 77) else f"{ending(status, SCRIPT_SECONDS)}\n{output}")
        tell(outcome != FAILED, name, outcome, begin)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="also lint, sanitizers and fuzzers, as CI does")
    parser.add_argument("--only", choices=("unit", "pytest", "scripts"))
    parser.add_argument("-k", dest="pattern", default="", help="only what has this in its name")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that run() ends what it started: `timeout make check`
    results = Results()
    if options.only in (None, "unit"):
        run_unit(results, options.pattern)
    if options.only in (None, "scripts"):
        run_scripts(results, options.pattern, ("check", "ci") if options.all else ("check",))
    if options.only in (None, "pytest"):
        run_pytest(results, options.pattern)
    results.print_end()
    return 1 if results.count(FAILED) or not results.cases else 0


if __name__ == "__main__":
    sys.exit(main())
