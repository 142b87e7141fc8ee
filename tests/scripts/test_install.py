# SPDX-License-Identifier: BSD-2-Clause
"""What `make install` puts where, and that it finds itself there. (Its own lines, but not by make: with other flags than those of this build it
would build everything anew.)"""

import os
import shutil
import subprocess

import pytest

FILES = """bin/gpushim
lib/gpushim/twin/libcuda.so
lib/gpushim/twin/libcuda.so.1
lib/libgpushim.so
share/bash-completion/completions/gpushim
share/man/man1/gpushim-diff.1
share/man/man1/gpushim-doctor.1
share/man/man1/gpushim-export.1
share/man/man1/gpushim-host.1
share/man/man1/gpushim-info.1
share/man/man1/gpushim-pack.1
share/man/man1/gpushim-report.1
share/man/man1/gpushim-run.1
share/man/man1/gpushim-unpack.1
share/man/man1/gpushim.1
share/zsh/site-functions/_gpushim""".split()


@pytest.fixture(scope="module")
def installed(root, build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("install")
    said = subprocess.run(["make", "-n", "install", f"BUILD={build}", f"DESTDIR={folder}", "PREFIX=/opt/gpushim"], cwd=root, text=True,
                          capture_output=True, check=True, env={**os.environ, "MAKEFLAGS": ""}).stdout
    lines = [line for line in said.splitlines()
             if line.startswith(("install ", "ln ")) or " help --man" in line or f"{build}/gpushim completion" in line]
    for line in lines:
        subprocess.run(["bash", "-ec", line], cwd=root, check=True)
    return folder / "opt/gpushim"


def test_what_is_where(installed):
    assert sorted(str(path.relative_to(installed)) for path in installed.rglob("*") if not path.is_dir()) == FILES
    for name in FILES:
        mode = (installed / name).stat().st_mode & 0o777
        assert mode == (0o755 if name.startswith(("bin/", "lib/")) else 0o644), name


def test_the_pages_and_completions_are_this_programs(installed):
    def said(*args):
        return subprocess.run([installed / "bin/gpushim", *args], capture_output=True, text=True, check=True).stdout
    for path in (installed / "share/man/man1").iterdir():
        command = path.stem.removeprefix("gpushim").removeprefix("-")
        assert path.read_text() == said("help", "--man", *([command] if command else []))
    assert (installed / "share/bash-completion/completions/gpushim").read_text() == said("completion", "bash")
    assert (installed / "share/zsh/site-functions/_gpushim").read_text() == said("completion", "zsh")


def test_man_finds_them(installed):
    if not shutil.which("man"):
        pytest.skip("there is no man")
    done = subprocess.run(["man", "-M", installed / "share/man", "-w", "gpushim-run"], capture_output=True, text=True)
    assert done.stdout.strip() == str(installed / "share/man/man1/gpushim-run.1"), done.stderr
