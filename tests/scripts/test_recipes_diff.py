# SPDX-License-Identifier: BSD-2-Clause
"""The recipes for CI: their shell steps run, in their order, up to the exit status, with stand-ins for gh and curl; a program on the simulated
driver is the training."""

import os
import re
import shutil
import subprocess
import sys

import pytest
from diff_outputs import junit
from machine import once_in
from test_recipes import options

PROGRAM = """import os
length, steps = open("length").read().split()
os.environ.update(LAB_SHORT=length, LAB_LAYERS="6")
os.execv(os.environ["FAULTS"], ["faults_linked", "sleep", steps])
"""
STUBS = {"gh": '#!/bin/bash\nprintf "%s\\n" "$@" >"$LOG/gh"\ncp idle-check/comment.md "$LOG/posted.md"\n',
         "curl": '#!/bin/bash\nprintf "%s\\n" "$@" >"$LOG/curl"\ncp idle-check/comment.md "$LOG/posted.md"\n'}
HEALTHY, FAULTY = 20_000, 8_000_000  # ns of sleep in a step


@pytest.fixture
def ci(root, build, gpushim, shim, recorder):
    """A repository and its base, each with a program that sleeps for so long in each step."""
    def make(base, new, steps=40, baseline=False):
        top = recorder.new_folder()
        for folder in (top, top / "base", top / "ci", top / "path"):
            folder.mkdir(exist_ok=True)
        for name, text in STUBS.items():
            (top / "path" / name).write_text(text)
            (top / "path" / name).chmod(0o755)
        (top / "path/gpushim").symlink_to(gpushim)
        (top / "path/python").symlink_to(sys.executable)
        shutil.copy(root / "scripts/recipes/idle-check.sh", top / "ci")
        for folder, length in ((top, new), (top / "base", base)):
            (folder / "train.py").write_text(PROGRAM)
            (folder / "length").write_text(f"{length} {steps}")
        env = recorder.environment(shim=False, PATH=f"{top}/path:{os.environ['PATH']}", LOG=top, GPUSHIM_LIBRARY=shim, GPUSHIM_HOST="off", FAULTS=build / "host/faults_linked",
                                   RUNS=2, FAIL_ON="idle>+20%", GITHUB_ENV=top / "env", GH_TOKEN="x", PR=7, GITLAB_TOKEN="x", CI_API_V4_URL="https://example.com/api/v4",
                                   CI_PROJECT_ID=1, CI_MERGE_REQUEST_IID=7, BASELINE="gpushim-baseline.json")
        if baseline:
            done = subprocess.run(["bash", top / "ci/idle-check.sh", "python", "train.py"], cwd=top / "base", env={**env, "RUNS": "1", "OUT": str(top / "kept")}, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            shutil.move(top / "base/gpushim-baseline.json", top)
        return top, env
    return make


def yaml_of(root, name):
    return pytest.importorskip("yaml").safe_load((root / "scripts/recipes" / name).read_text())


def shell(script, top, env):
    return subprocess.run(["bash", "-eo", "pipefail", "-c", script], cwd=top, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)


def github(root, top, env):
    """Step after step, until one fails, as a runner does: what is written to $GITHUB_ENV is there in the next one."""
    said = ""
    for step in yaml_of(root, "github-actions.yml")["jobs"]["idle"]["steps"]:
        if "run" not in step:
            continue
        if (top / "env").exists():
            env = env | dict(line.split("=", 1) for line in (top / "env").read_text().splitlines())
        done = shell(step["run"], top, env)
        said += done.stdout + done.stderr
        if done.returncode:
            return done.returncode, said
    return 0, said


def gitlab(root, top, env):
    """-> the script's exit status, as GitLab's one shell runs its lines; and whether the job fails."""
    job = yaml_of(root, "gitlab-ci.yml")["idle time"]
    done = shell("\n".join(job["script"]), top, env)
    return done.returncode, done.returncode not in (0, *job["allow_failure"]["exit_codes"]), done.stderr


CASES = {"worse": (HEALTHY, FAULTY, 40, 1), "same": (HEALTHY, HEALTHY, 40, 0), "better": (FAULTY, HEALTHY, 40, 0), "too few steps": (HEALTHY, FAULTY, 6, 5)}


@pytest.mark.parametrize("case", CASES)
def test_github(root, ci, case):
    base, new, steps, status = CASES[case]

    def attempt():
        top, env = ci(base, new, steps)
        failed, said = github(root, top, env)
        assert f"STATUS={status}\n" == (top / "env").read_text(), said
        assert failed == (1 if status == 1 else 0) and ("::warning" in said) == (status == 5), said
        assert (top / "gh").read_text().splitlines()[:3] == ["pr", "comment", "7"]
        assert re.match(r"### `[+~?x-]` ", (top / "posted.md").read_text())
        junit((top / "idle-check/idle.xml").read_bytes())
        assert (top / "idle-check/idle.html").read_text().startswith("<!DOCTYPE html>")
    once_in(3, attempt)


@pytest.mark.parametrize("case", CASES)
def test_gitlab(root, ci, case):
    base, new, steps, status = CASES[case]

    def attempt():
        top, env = ci(base, new, steps, baseline=True)
        given, fails, said = gitlab(root, top, env)
        assert given == status and fails == (status == 1), said
        failures = sum(int(suite.get("failures")) for suite in junit((top / "idle-check/idle.xml").read_bytes()))
        assert (failures > 0) == (status == 1)
        assert "body@idle-check/comment.md" in (top / "curl").read_text()
    once_in(3, attempt)


def test_without_a_baseline_one_is_made(root, ci):
    top, env = ci(HEALTHY, HEALTHY, 40)
    assert gitlab(root, top, env)[:2] == (0, False)
    assert (top / "gpushim-baseline.json").exists() and "there was no gpushim-baseline.json" in (top / "posted.md").read_text()


def test_a_program_that_fails_is_no_regression(root, ci):
    top, env = ci(HEALTHY, HEALTHY, 40)
    (top / "length").write_text("20000 -1")
    status, said = github(root, top, env)
    assert status == 4, said


def test_options_are_there(root, gpushim):
    text = (root / "scripts/recipes/idle-check.sh").read_text()
    for command in ("run", "report", "diff"):
        used = {word for line in re.findall(rf"gpushim {command} .*|options\+?=\(.*|sides=\(.*" if command == "diff" else rf"gpushim {command} .*", text) for word in re.findall(r"--[a-z][\w-]*", line)}
        assert used <= options(gpushim, command), (command, used)


def test_shellcheck(root):
    if not shutil.which("shellcheck"):
        pytest.skip("there is no shellcheck")
    done = subprocess.run(["shellcheck", "-s", "bash", "-S", "warning", root / "scripts/recipes/idle-check.sh"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
