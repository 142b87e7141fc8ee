# SPDX-License-Identifier: BSD-2-Clause
"""The test runner counts what really happened: a crash, a silent program and a hang are failures."""

import os
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
int main(void) { const struct CMUnitTest t[] = { %s }; (void)fine; (void)skipped; (void)wrong;
                 int rc = cmocka_run_group_tests(t, NULL, NULL); %s return rc; }
"""


@pytest.fixture
def run_check(root, tmp_path):
    """Builds the programs given as name=source into a build of their own, and runs check.py on it."""

    def run(**programs):
        (tmp_path / "unit").mkdir()
        for name, source in programs.items():
            subprocess.run(["cc", "-w", "-xc", "-", "-o", tmp_path / "unit" / f"test_{name}", "-lcmocka"], input=source, text=True, check=True)
        done = subprocess.run(["python3", root / "scripts/check.py", "--only", "unit"], capture_output=True, text=True,
                              env=dict(os.environ, BUILD=str(tmp_path)))
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
