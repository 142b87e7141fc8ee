# SPDX-License-Identifier: BSD-2-Clause
"""The manual: every command has a page that man reads without a complaint, whose options are those that there are, and which help prints as well."""

import os
import pty
import re
import shutil
import subprocess

import pytest

COMMANDS = ["run", "host", "report", "diff", "export", "info", "pack", "unpack", "doctor"]
PAGES = [["gpushim"], *([command] for command in COMMANDS)]


@pytest.fixture
def output(gpushim):
    def run(*args, **env):
        done = subprocess.run([gpushim, *args], capture_output=True, text=True, env={"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin", **env})
        assert done.returncode == 0 and not done.stderr, done.stderr
        return done.stdout
    return run


def test_help_lists_every_command(output):
    listed = re.findall(r"^  (\w+) +\S", output("help"), re.M)
    assert listed == COMMANDS and output("help") == output("--help")


@pytest.mark.parametrize("page", PAGES)
def test_man_reads_it(output, tmp_path, page):
    if not shutil.which("mandoc"):
        pytest.skip("there is no mandoc")
    (tmp_path / "page.1").write_text(output("help", "--man", *page))
    done = subprocess.run(["mandoc", "-T", "lint", "-W", "style", tmp_path / "page.1"], capture_output=True, text=True)
    said = [line for line in done.stdout.splitlines() if "lower case character" not in line and "longer than" not in line]
    assert not said


@pytest.mark.parametrize("page", PAGES)
def test_the_same_words_on_a_terminal_and_by_man(output, tmp_path, page):
    if not shutil.which("mandoc"):
        pytest.skip("there is no mandoc")
    (tmp_path / "page.1").write_text(output("help", "--man", *page))
    by_man = subprocess.run(["mandoc", "-T", "utf8", tmp_path / "page.1"], capture_output=True, text=True, check=True).stdout
    by_man = re.sub(".\b", "", by_man).splitlines()[1:-1]
    assert " ".join(output("help", *page).split()) == " ".join(" ".join(by_man).split())


@pytest.mark.parametrize("command", COMMANDS)
def test_its_options_are_those_that_there_are(output, command):
    known = re.findall(r"^  (?:-\w, |    )--([\w-]+)", output(command, "--help"), re.M)
    page = output("help", command)
    assert known and re.findall(r"^    (?:-\w, )?--([\w-]+)", page.split("\nOPTIONS\n")[1].split("\n\n")[0], re.M) == [*known, "help"]
    for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "EXAMPLES", "SEE ALSO"):
        assert f"\n{section}\n" in page


@pytest.mark.parametrize("page", PAGES)
def test_examples_are_of_options_that_there_are(output, page):
    """Each --name behind gpushim in a page is an option of that command."""
    lines = [line for line in output("help", *page).splitlines() if re.match(r"^ {8}\S", line) and "gpushim " in line]
    assert lines
    for line in lines:
        command, rest = re.search(r"gpushim (\w+)(.*)", line).groups()
        known = set(re.findall(r"--([\w-]+)", output(command, "--help")))
        assert set(re.findall(r" --([\w-]+)", re.split(r" -- | \| ", rest)[0])) <= known, line


def test_every_cause_is_explained(output, root):
    rows = re.findall(r"^CAUSE(?:_RULE)?\((\w+)", (root / "analyzer/cause/causes.def").read_text(), re.M)
    told = re.findall(r"^    ([a-z][a-z-]+)\n {12}\S", output("help", "report").split("\nCAUSES\n")[1].split("\n\n")[0], re.M)
    assert told == [row.replace("_", "-") for row in rows] and len(told) > 20


def test_the_variables_are_those_of_the_readme(output, root):
    rows = re.findall(r"^\| `(GPUSHIM\w*)` \|", (root / "README.md").read_text(), re.M)
    assert re.findall(r"^    (GPUSHIM\w*)$", output("help", "gpushim"), re.M) == rows and len(rows) > 8


def test_no_line_is_longer_than_the_terminal(output):
    assert max(map(len, output("help").splitlines())) <= 80
    for page in PAGES:
        for columns in (80, 140):
            lines = [line for line in output("help", *page, COLUMNS=str(columns)).splitlines() if not line.startswith(" " * 8)]
            assert max(map(len, lines)) <= min(columns, 100)
        if page != ["gpushim"]:
            usage, rows = output(*page, "--help").split("\n\n  ", 1)
            assert max(map(len, rows.splitlines())) <= 80


def on_a_terminal(*command, env):
    leader, follower = pty.openpty()
    child = subprocess.Popen(command, stdout=follower, env=env)
    os.close(follower)
    text = b""
    try:
        while chunk := os.read(leader, 65536):
            text += chunk
    except OSError:
        pass
    os.close(leader)
    return child.wait(), text.decode().replace("\r\n", "\n")


def test_on_a_terminal_man_shows_the_page_that_is_installed(gpushim, tmp_path):
    for folder in ("bin", "share/man/man1", "path"):
        (tmp_path / folder).mkdir(parents=True)
    program = tmp_path / "bin/gpushim"
    shutil.copy(gpushim, program)
    page = tmp_path / "share/man/man1/gpushim-info.1"
    page.write_text(".TH X 1\n")
    man = tmp_path / "path/man"
    man.write_text('#!/bin/sh\n[ "$REFUSES" ] && exit 1\necho "man: $*"\n')
    man.chmod(0o755)
    env = {"PATH": f"{tmp_path}/path:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "NO_COLOR": "1"}
    assert on_a_terminal(program, "help", "info", env=env) == (0, f"man: {tmp_path}/bin/../share/man/man1/gpushim-info.1\n")
    status, text = on_a_terminal(program, "help", "info", env={**env, "REFUSES": "1"})
    assert status == 0 and text.startswith("\nNAME\n    gpushim-info - ")
    status, text = on_a_terminal(program, "help", "report", env=env)
    assert status == 0 and text.startswith("\nNAME\n    gpushim-report - "), "no page is installed"
