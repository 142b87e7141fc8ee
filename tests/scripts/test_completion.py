# SPDX-License-Identifier: BSD-2-Clause
"""Completion, by the shells themselves: what bash and zsh offer is what the program takes."""

import os
import pty
import re
import select
import shutil
import subprocess
import time

import pytest

COMMANDS = ["run", "host", "report", "diff", "export", "info", "pack", "unpack", "doctor"]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs.txt").touch()
    (tmp_path / "rank 0.gst").touch()
    for name in ("a.pt.trace.json", "a.pt.trace.json.gz", "a.sqlite", "a.gpk", "a.gz"):
        (tmp_path / name).touch()
    return tmp_path


@pytest.fixture
def offers(gpushim, folder):
    """The words of a line, the last to be completed → what bash offers."""
    script = folder / "completion.bash"
    script.write_text(subprocess.run([gpushim, "completion", "bash"], capture_output=True, text=True, check=True).stdout)

    def ask(*words):
        program = f'. {script}; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _gpushim; printf "%s\\n" "${{COMPREPLY[@]}}"'
        done = subprocess.run(["bash", "--norc", "-c", program, "bash", "gpushim", *words], capture_output=True, text=True, cwd=folder)
        assert done.returncode == 0 and not done.stderr, done.stderr
        return [line for line in done.stdout.split("\n") if line]  # bash sorts when it shows them
    return ask


def options(gpushim, command):
    text = subprocess.run([gpushim, command, "--help"], capture_output=True, text=True, check=True).stdout
    return ["--" + name for name in re.findall(r"^  (?:-\w, |    )--([\w-]+)", text, re.M)]


def test_commands(offers):
    assert offers("") == [*COMMANDS, "help", "--help", "--version"]
    assert offers("re") == ["report"] and offers("help", "d") == ["diff", "doctor"] and offers("completion", "") == ["bash", "zsh"]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option(gpushim, offers, command):
    assert offers(command, "-") == [*options(gpushim, command), "--help"]


def test_values(offers):
    assert offers("run", "--host", "p") == ["perf", "proc"] and offers("run", "--host", "=", "r") == ["require"]
    assert offers("host", "--probes", "") == ["ebpf", "perf", "proc"] and offers("report", "-r", "") == ["all", "last"]
    assert sorted(offers("report", "--html", "ru")) == ["runs", "runs.txt"] and offers("report", "--html", "=") == offers("report", "-H", "")
    assert offers("report", "--symbols", "ru") == ["runs"] and offers("host", "--pid", "") == []


def test_paths_are_directories_and_traces(offers):
    assert offers("report", "r") == ["runs", "rank 0.gst"] and offers("info", "runs", "ra") == ["rank 0.gst"] and offers("doctor", "") == []


def test_other_tools_traces(offers):
    """Where they are read; what makes archives and what opens them takes nothing else."""
    for command in ("report", "export", "info"):
        assert sorted(offers(command, "a.")) == ["a.gpk", "a.pt.trace.json", "a.pt.trace.json.gz", "a.sqlite"]
    assert offers("pack", "a.") == [] and offers("pack", "r") == ["runs", "rank 0.gst"] and offers("unpack", "a.") == ["a.gpk"]


def test_the_program_of_run(offers):
    assert "printf" in offers("run", "--", "print") and "printf" in offers("run", "-o", "out", "--html=x", "print")
    assert offers("run", "--", "cat", "runs.") == ["runs.txt"] and offers("run", "-o", "out", "cat", "--html", "runs.") == ["runs.txt"]
    assert offers("run", "--host", "=", "off", "--", "cat", "-") == []


def test_bash_has_it(gpushim):
    program = f'eval "$({gpushim} completion bash)"; complete -p gpushim'
    done = subprocess.run(["bash", "--norc", "-c", program], capture_output=True, text=True)
    assert done.stdout == "complete -F _gpushim gpushim\n" and not done.stderr


def test_no_other_shell(gpushim):
    done = subprocess.run([gpushim, "completion", "fish"], capture_output=True, text=True)
    assert done.returncode == 2 and "one for bash and one for zsh" in done.stderr and not done.stdout
    assert subprocess.run([gpushim, "completion"], capture_output=True).returncode == 2


def test_shellcheck(gpushim, tmp_path):
    if not shutil.which("shellcheck"):
        pytest.skip("there is no shellcheck")
    (tmp_path / "gpushim").write_text(subprocess.run([gpushim, "completion", "bash"], capture_output=True, text=True, check=True).stdout)
    done = subprocess.run(["shellcheck", "-s", "bash", "-S", "warning", tmp_path / "gpushim"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


class Zsh:
    """An interactive zsh with nobody's settings but ours, on a terminal."""

    def __init__(self, gpushim, folder):
        (folder / "functions").mkdir()
        source = subprocess.run([gpushim, "completion", "zsh"], capture_output=True, text=True, check=True).stdout
        (folder / "functions/_gpushim").write_text(source)
        leader, follower = pty.openpty()
        self.fd, self.seen = leader, ""
        env = {"PATH": f"{gpushim.parent}:/usr/bin:/bin", "TERM": "dumb", "HOME": str(folder), "LC_ALL": "C.UTF-8"}
        self.child = subprocess.Popen(["zsh", "-f", "-i"], stdin=follower, stdout=follower, stderr=follower, env=env, cwd=folder, start_new_session=True)
        os.close(follower)
        self.send("PS1='> '; unsetopt zle_bracketed_paste; fpath=($PWD/functions $fpath); autoload -U compinit; compinit -u -D; "
                  "show() { print -r -- \"[$BUFFER]\"; BUFFER=; }; zle -N show; bindkey '^X' show; LISTMAX=1000; print rea''dy\n")
        self.until("ready")

    def send(self, text):
        self.seen = ""
        os.write(self.fd, text.encode())

    def until(self, *words, seconds=60):
        end = time.monotonic() + seconds
        while not all(word in self.seen for word in words):
            ready = select.select([self.fd], [], [], max(0, end - time.monotonic()))[0]
            assert ready, f"no {words} in {self.seen!r}"
            self.seen += os.read(self.fd, 65536).decode(errors="replace")
        return self.seen

    def close(self):
        self.child.kill()
        self.child.wait()
        os.close(self.fd)


def test_zsh(gpushim, folder):
    """By typing: a word completes itself, lists show, and what excludes each other is not offered twice."""
    if not shutil.which("zsh"):
        pytest.skip("there is no zsh")
    zsh = Zsh(gpushim, folder)
    try:
        for line, completed in (("gpushim rep", "gpushim report "), ("gpushim report --adv", "gpushim report --advice "),
                                ("gpushim run --host req", "gpushim run --host require "), ("gpushim run --host=req", "gpushim run --host=require "),
                                ("gpushim report --symbols ru", "gpushim report --symbols runs/"), ("gpushim report rank", "gpushim report rank\\ 0.gst "),
                                ("gpushim help doc", "gpushim help doctor "), ("gpushim report --json --advi", "gpushim report --json --advi")):
            zsh.send(line + "\t\x18")
            assert f"[{completed}]" in zsh.until("]"), (line, zsh.seen)
        zsh.send("gpushim info --\t\t")
        zsh.until("--run", "--help")
    finally:
        zsh.close()
