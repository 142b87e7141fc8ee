# SPDX-License-Identifier: BSD-2-Clause
"""The test runner counts what really happened: a crash, a silent program and a hang are failures, and what passes only when it is repeated,
alone, is said to be that."""

import os
import shutil
import subprocess
import time

import pytest

CMOCKA = """
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
static void fine(void **s) { (void)s; }
static void skipped(void **s) { (void)s; puts("skip: no device"); skip(); }
static void wrong(void **s) { (void)s; assert_int_equal(1, 2); }
static int times(const char *file) { FILE *f = fopen(file, "a+"); fputc('x', f); int n = (int)ftell(f); fclose(f); return n; }
static void upset(void **s) { (void)s; assert_int_equal(times(TMP "/upset"), 2); } /* once */
static void robbed(void **s) { (void)s; int n = times(TMP "/robbed");
	if (n < 4) { FILE *f = fopen(TMP "/stat", "w"); fprintf(f, "cpu 0 0 0 0 0 0 0 %%d 0 0\\n", n * 1000000); fclose(f); }
	assert_int_equal(n, RIGHT); }
static void untrue(void **s) { (void)s; int n = times(TMP "/untrue"); if (n == 1) puts("unsound: a gap that is none"); assert_int_equal(n, 2); }
int main(void) { const struct CMUnitTest t[] = { %s }; (void)fine; (void)skipped; (void)wrong; (void)upset; (void)untrue; (void)robbed;
                 int rc = cmocka_run_group_tests(t, NULL, NULL); %s return rc; }
"""


@pytest.fixture
def run_check(root, tmp_path):
    """Builds the programs given as name=source into a build of their own, and runs check.py on it."""

    def run(right=0, **programs):
        (tmp_path / "unit").mkdir()
        (tmp_path / "stat").write_text("cpu 0 0 0 0 0 0 0 0 0 0\n")
        for name, source in programs.items():
            subprocess.run(["cc", "-w", f"-DRIGHT={right}", f'-DTMP="{tmp_path}"', "-xc", "-", "-o", tmp_path / "unit" / f"test_{name}", "-lcmocka"],
                           input=source, text=True, check=True)
        done = subprocess.run(["python3", root / "scripts/check.py", "--only", "unit"], capture_output=True, text=True,
                              env=dict(os.environ, BUILD=str(tmp_path), CHECK_PROC_STAT=str(tmp_path / "stat")))
        return done.returncode, done.stdout.splitlines()

    return run


def test_all_fine(run_check):
    status, lines = run_check(a=CMOCKA % ("cmocka_unit_test(fine)", ""))
    assert (status, lines[-1]) == (0, "1 passed, 0 failed")


def test_skips_are_counted_with_their_reason(run_check):
    status, lines = run_check(a=CMOCKA % ("cmocka_unit_test(fine), cmocka_unit_test(skipped)", ""))
    assert (status, lines[-1]) == (0, "1 passed, 0 failed, 1 skipped")
    assert "skipped: unit/test_a: skipped: no device" in lines


def test_a_failed_case_is_named(run_check):
    status, lines = run_check(a=CMOCKA % ("cmocka_unit_test(fine), cmocka_unit_test(wrong)", ""))
    assert (status, lines[-1]) == (1, "1 passed, 1 failed")
    assert "FAILED: unit/test_a: wrong" in lines
    assert any("0x1 != 0x2" in line for line in lines)


def test_two_groups_of_one_program_are_both_counted(run_check):
    twice = "const struct CMUnitTest u[] = { cmocka_unit_test(wrong) }; rc += cmocka_run_group_tests(u, NULL, NULL);"
    status, lines = run_check(a=CMOCKA % ("cmocka_unit_test(fine)", twice))
    assert (status, lines[-1]) == (1, "1 passed, 1 failed")


def test_a_crash_is_a_failure(run_check):
    status, lines = run_check(a="int main(void) { __builtin_trap(); }", b=CMOCKA % ("cmocka_unit_test(fine)", ""))
    assert (status, lines[-1]) == (1, "1 passed, 1 failed")
    assert any("killed by SIG" in line for line in lines)


def test_a_program_without_cases_is_a_failure(run_check):
    status, lines = run_check(a="int main(void) { return 0; }")
    assert (status, lines[-1]) == (1, "0 passed, 1 failed")


def test_a_bad_end_after_good_cases_is_a_failure(run_check):
    status, lines = run_check(a=CMOCKA % ("cmocka_unit_test(fine)", "exit(9);"))
    assert (status, lines[-1]) == (1, "1 passed, 1 failed")


def test_nothing_to_run_is_a_failure(run_check):
    status, lines = run_check()
    assert (status, lines[-1]) == (1, "0 passed, 0 failed")


# ---- what failed once ---------------------------------------------------------------------------------------------------

REPEATED = "passed only when repeated, alone: "


def repeated(lines):
    return [line.removeprefix(REPEATED) for line in lines if line.startswith(REPEATED)]


def test_what_passes_when_repeated_has_passed_and_is_listed(run_check):
    status, lines = run_check(a=CMOCKA % ("cmocka_unit_test(fine), cmocka_unit_test(upset)", ""), b=CMOCKA % ("cmocka_unit_test(fine)", ""))
    assert (status, lines[-1]) == (0, "3 passed, 0 failed")
    (line,) = repeated(lines)
    assert line == "unit/test_a: upset: 0x1 != 0x2"
    (again,) = [i for i, one in enumerate(lines) if one.startswith("ok   again, alone: unit/test_a: upset")]
    assert again > [one.startswith("ok   unit/test_b") for one in lines].index(True), "when everything else is over"


def test_what_fails_again_has_failed(run_check):
    status, lines = run_check(a=CMOCKA % ("cmocka_unit_test(upset), cmocka_unit_test(wrong)", ""))
    assert (status, lines[-1]) == (1, "0 passed, 2 failed"), "the program fails again, whichever of its cases"
    assert repeated(lines) == [] and any("and again, alone:" in line for line in lines)


def test_what_is_not_true_is_not_repeated(run_check, tmp_path):
    status, lines = run_check(a=CMOCKA % ("cmocka_unit_test(untrue)", ""))
    assert (status, lines[-1]) == (1, "0 passed, 1 failed")
    assert repeated(lines) == [] and (tmp_path / "untrue").read_text() == "x"


@pytest.mark.parametrize("end", ["__builtin_trap();", 'fputs("WARNING: ThreadSanitizer: data race", stderr); exit(1);', "exit(66);"])
def test_a_crash_or_a_race_is_not_repeated(run_check, tmp_path, end):
    status, lines = run_check(a=CMOCKA % ("cmocka_unit_test(upset)", f"if (times(TMP \"/ends\") == 1) {{ {end} }}"))
    assert (status, repeated(lines)) == (1, []), lines
    assert (tmp_path / "ends").read_text() == "x"


def test_many_failures_are_no_noise(run_check, tmp_path):
    programs = {name: (CMOCKA % ("cmocka_unit_test(upset)", "")).replace("/upset", f"/upset-{name}") for name in "abcdef"}
    status, lines = run_check(**programs)
    assert (status, lines[-1]) == (1, "0 passed, 6 failed")
    assert repeated(lines) == [] and (tmp_path / "upset-a").read_text() == "x"


@pytest.mark.parametrize("right, ends", [(3, "1 passed, 0 failed"), (5, "0 passed, 1 failed")])
def test_a_failure_while_the_cpus_were_taken_away_says_nothing(run_check, tmp_path, right, ends):
    """In the first three runs they are. The fourth has them, and stands for itself."""
    status, lines = run_check(right, a=CMOCKA % ("cmocka_unit_test(robbed)", ""))
    assert (status, lines[-1], len((tmp_path / "robbed").read_text())) == (ends[0] == "0", ends, min(right, 4))


def test_many_may_fail_where_the_cpus_were_taken_away(run_check):
    robbed = {name: (CMOCKA % ("cmocka_unit_test(robbed)", "")).replace("/robbed", f"/robbed-{name}") for name in "abcdef"}
    status, lines = run_check(2, **robbed)
    assert (status, lines[-1], len(repeated(lines))) == (0, "6 passed, 0 failed", 6)


PYTHON = """
from pathlib import Path
import pytest
HERE = Path(__file__).parent
class Unsound(Exception):
    pass
def times(name):
    with open(HERE / name, "a+") as f:
        f.write("x")
        return f.tell()
def test_fine():
    times("fine")
"""
UPSET = """
@pytest.mark.parametrize("how", ["a-b", "c::d"])
def test_upset(how):
    assert times(how.replace(":", "-")) == 2, "the machine"
"""
UNTRUE = """
def test_untrue():
    if times("untrue") == 1:
        raise Unsound("a gap that is none")
"""
CRASHED = """
def test_crashed():
    assert [0, -11][times("crashed") == 1] == 0
"""


@pytest.fixture
def run_python(root, build, tmp_path):
    """A tree of its own, with this one file of tests."""
    def run(source):
        for folder in ("scripts", "build", "tests/some", "tests/scenarios"):
            (tmp_path / folder).mkdir(parents=True)
        for file in ("scripts/check.py", "tests/scenarios/stolen.py"):
            shutil.copy(root / file, tmp_path / file)
        (tmp_path / "build/venv").symlink_to(build / "venv")
        (tmp_path / "tests/some/test_it.py").write_text(source)
        done = subprocess.run(["python3", tmp_path / "scripts/check.py", "--only", "pytest"], capture_output=True, text=True,
                              env={**os.environ, "BUILD": str(tmp_path / "build")})
        return done.returncode, done.stdout.splitlines(), lambda name: len((tmp_path / "tests/some" / name).read_text())
    return run


def test_python_cases_are_repeated_by_their_names(run_python):
    status, lines, times = run_python(PYTHON + UPSET)
    assert (status, lines[-1]) == (0, "3 passed, 0 failed")
    assert [line.split(":")[0] for line in repeated(lines)] == ["some/test_it"] * 2
    assert (times("fine"), times("a-b"), times("c--d")) == (1, 2, 2)


@pytest.mark.parametrize("source, name", [(UNTRUE, "untrue"), (CRASHED, "crashed")])
def test_python_cases_that_no_machine_explains_are_not(run_python, source, name):
    status, lines, times = run_python(PYTHON + source)
    assert (status, lines[-1], repeated(lines), times(name)) == (1, "1 passed, 1 failed", [], 1)


def test_scripts_that_repeat_say_so(run_python, tmp_path):
    run_python(PYTHON)
    (tmp_path / "scripts/check-some.sh").write_text(f"echo '{REPEATED}unit/test_a: upset: 0x1 != 0x2'")
    done = subprocess.run(["python3", tmp_path / "scripts/check.py", "--only", "scripts"], capture_output=True, text=True,
                          env={**os.environ, "BUILD": str(tmp_path / "build")})
    assert (done.returncode, repeated(done.stdout.splitlines())) == (0, ["scripts/check-some.sh: unit/test_a: upset: 0x1 != 0x2"])
    assert done.stdout.splitlines()[-1] == "1 passed, 0 failed"


def script(tmp_path, root, output):
    """What check.py says of a script that printed this and failed."""
    (tmp_path / "scripts").mkdir()
    (tmp_path / "output").write_text(output)
    (tmp_path / "scripts" / "check-it.sh").write_text(f"cat {tmp_path}/output; exit 3\n")
    shutil.copy(root / "scripts/check.py", tmp_path / "scripts")
    (tmp_path / "tests").mkdir()
    shutil.copytree(root / "tests/scenarios", tmp_path / "tests/scenarios", ignore=shutil.ignore_patterns("*.c", "__pycache__"))
    done = subprocess.run(["python3", tmp_path / "scripts/check.py", "--only", "scripts"], capture_output=True, text=True,
                          env=dict(os.environ, BUILD=str(tmp_path / "build")))
    lines = done.stdout.splitlines()
    return [line.strip() for line in lines[lines.index("FAILED: scripts/check-it.sh") + 1:]]


@pytest.mark.parametrize("said", [
    ["FAIL unit/test_x: 4 cases (0.0 s)", "FAILED: unit/test_x: tree", "0x5 != 0x3", "tests/unit/test_x.c:115: error: Failure!"],
    ["==12==ERROR: AddressSanitizer: heap-use-after-free on address 0x1", "SUMMARY: AddressSanitizer: heap-use-after-free a.c:3 in f"],
    ["shim/a.c:12:3: error: no such thing", "make: *** [Makefile:3: a.o] Error 1"],
    ["WARNING: ThreadSanitizer: data race (pid=7)"],
    ["analyzer/a.c: not in the house style; make format"],
])
def test_what_a_script_says_of_its_failure_comes_first(root, tmp_path, said):
    text = [("    " if said[0].startswith("FAIL ") and i > 1 else "") + line for i, line in enumerate(said)]
    lines = script(tmp_path, root, "\n".join(["ok   it began"] * 100 + text + ["ok   and went on"] * 300) + "\n")
    assert lines[0] == "exit status 3"
    assert lines[1:len(said) + 2] == said + ["…"]
    assert lines[len(said) + 2:-1] == ["ok   and went on"] * 60


def test_what_a_script_says_in_few_words_is_all_there(root, tmp_path):
    assert script(tmp_path, root, "one\nFAIL two\nthree\n")[:4] == ["exit status 3", "one", "FAIL two", "three"]


def test_what_runs_ends_with_the_runner(root, tmp_path):
    (tmp_path / "unit").mkdir()
    (tmp_path / "unit/test_hangs").write_text(f"#!/bin/sh\necho $$ >{tmp_path}/pid.part\nmv {tmp_path}/pid.part {tmp_path}/pid\nexec sleep 60\n")
    (tmp_path / "unit/test_hangs").chmod(0o755)
    runner = subprocess.Popen(["python3", root / "scripts/check.py", "--only", "unit"], stdout=subprocess.DEVNULL,
                              env=dict(os.environ, BUILD=str(tmp_path)))
    while not (tmp_path / "pid").exists():
        time.sleep(0.01)
        assert runner.poll() is None
    runner.terminate()
    assert runner.wait(20) == 143
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
