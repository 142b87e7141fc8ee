# SPDX-License-Identifier: BSD-2-Clause
"""The report of one screen: what fits it, in which words, at which width; and that an option has whatever is cut."""

import json
import re
import subprocess
from pathlib import Path

import pytest

GOLDEN = Path(__file__).resolve().parent.parent / "golden"


@pytest.fixture
def page(build, gpushim, tmp_path):
    """A golden trace's name → the lines of its report; more: events behind it; options: the command's."""
    def make(name, *options, more="", columns=80):
        text, out = tmp_path / "trace.txt", tmp_path / "out"
        text.write_text((GOLDEN / name / "trace.txt").read_text() + more)
        subprocess.run([build / "tools/gst_write", text, out], check=True)
        done = subprocess.run([gpushim, "report", out, *options], capture_output=True, text=True, check=True,
                              env={"LC_ALL": "C.UTF-8", "COLUMNS": str(columns)})
        return done.stdout.splitlines()
    return make


def after(lines, begin):
    """The lines of the part that begins so, up to the next empty one."""
    (at,) = [i for i, line in enumerate(lines) if line.startswith(begin)]
    part = lines[at + 1:]
    return part[:part.index("")] if "" in part else part


@pytest.mark.parametrize("name", ["cause-input-wait", "chain-input-storage", "ranks-straggler", "nvtx-phases", "stacks-python", "steps-by-launches"])
def test_it_fits_one_screen(page, name):
    assert len(page(name)) <= (60 if name.startswith("ranks") else 50)
    assert max(map(len, page(name, columns=80))) <= 80 < max(map(len, page(name, columns=140))) <= 140


def test_a_chain_in_one_line_by_width(page):
    """What each was at; on a wide page also when; who they are, in full."""
    gap = {columns: after(page("chain-input-storage", columns=columns), "longest gaps") for columns in (80, 140)}
    assert gap[80] == ["       0    7.5 ms  input-storage 76 %  futex ← read ← pread64 train-000.tar"]
    assert gap[140] == ["       0    1.5 ms    7.5 ms  ± 1 ms    input-storage 76 %  futex ← read ← pread64 train-000.tar"]
    lines = page("chain-input-storage", "--full")
    assert any("thread 100 in futex ← pt_pin[101] in read pipe:[7] ←" in line for line in lines), lines


def test_where_there_is_no_chain_the_place_is_told(page):
    assert after(page("stacks-python"), "longest gaps")[0].endswith("at train.py:41 in load_batch")


def test_each_gap_is_one_line_of_the_figures_of_json(page):
    lines = after(page("nvtx-phases"), "longest gaps")
    (device,) = json.loads("\n".join(page("nvtx-phases", "--json")))["devices"]
    lengths = {number: gap["end_ns"] - gap["begin_ns"] for number, gap in enumerate(device["gaps"])}
    told = {int(line.split()[0]): float(line.split()[1]) for line in lines}
    assert told == {number: length / 1000 for number, length in lengths.items()} and len(lines) == 5


def test_top_sets_how_many(page):
    assert len(after(page("nvtx-phases", "--top", "2"), "longest gaps  2 of 5")) == 2
    assert not [line for line in page("nvtx-phases", "--top", "0") if line.startswith("longest gaps")]


def test_copies_are_one_row_and_each_kind_with_full(page):
    short, full = page("copy-kinds"), page("copy-kinds", "--full")
    assert [line.split("  ")[1] for line in short if line.startswith("  cop")] == ["copies, memsets"]
    assert len([line for line in full if line.startswith("  copy ")]) > 1



MANY = ("allocator", "checkpoint", "host-compute", "host-sleep", "input-wait", "launch-bound", "module-load", "sync-bubble")


def test_causes_that_are_cut_are_summed_up(build, gpushim, tmp_path):
    """A process each with a device of its own: of the causes of all five rows, and a row for the others."""
    for number, cause in enumerate(MANY):
        text = (GOLDEN / f"cause-{cause}/trace.txt").read_text()
        text = text.replace("process 100", f"process {100 + number} run=one").replace("device 0\n", f"device 0 uuid={number + 1}\n", 1)
        (tmp_path / "trace.txt").write_text(text)
        subprocess.run([build / "tools/gst_write", tmp_path / "trace.txt", tmp_path / "out"], check=True)
    short, full, made = (subprocess.run([gpushim, "report", tmp_path / "out", option], capture_output=True, text=True, check=True).stdout
                         for option in ("--top=3", "--full", "--json"))
    causes = {}
    for device in json.loads(made)["devices"]:
        for cause, ns in device["causes"].items():
            causes[cause] = causes.get(cause, 0) + ns
    some = sorted((ns for ns in causes.values() if ns), reverse=True)
    assert len(some) > 6
    rows = after(short.splitlines(), "  why idle")
    assert len(rows) == 6 and rows[5].startswith(f"  {len(some) - 5} more ")
    whole = sum(some)
    assert rows[5].endswith(f"{100 * sum(some[5:]) / whole:.1f} %"), (rows, some)
    rows = after(full.splitlines(), "  why idle")
    assert [row.split()[0] for row in rows[:len(some)]] == [c for c, ns in sorted(causes.items(), key=lambda c: -c[1]) if ns]


def test_of_many_devices_the_idlest(build, gpushim, tmp_path):
    """Twelve, of which the n-th is idle n times as long: the last eight, in their order, and one line for the others."""
    for number in range(12):
        until = 2000 + 1000 * number
        (tmp_path / "trace.txt").write_text(
            f"process {100 + number} exited=1 end=90ms run=one\nthread 100 main\ndevice 0 uuid={number + 1}\nstream 1\n"
            "launch t=1000us..1002us stream=1 seq=1 kernel=step\nsync-stream t=1005us..1990us stream=1 seq=1\n"
            f"launch t={until}us..{until}.5us stream=1 seq=2 kernel=step\nsync-stream t={until + 1}us..{until + 900}us stream=1 seq=2\n")
        subprocess.run([build / "tools/gst_write", tmp_path / "trace.txt", tmp_path / "out"], check=True)
    short, full, made = (subprocess.run([gpushim, "report", tmp_path / "out", option], capture_output=True, text=True, check=True).stdout
                         for option in ("--top=3", "--full", "--json"))
    share = {device["device"]: device["idle_ns"] / device["span_ns"] for device in json.loads(made)["devices"]}
    rows = after(short.splitlines(), "  devices ")
    idlest = sorted(sorted(share, key=share.get)[-8:])
    assert [int(row.split()[0]) for row in rows[:8]] == idlest and rows[8:] == ["  and 4 more that were idle less: --full"]
    assert [int(row.split()[0]) for row in after(full.splitlines(), "  devices ")] == list(range(12))


def test_advice_in_full_and_alone(page):
    lines, alone = page("chain-input-storage"), page("chain-input-storage", "--advice")
    short = after(lines, "what to do")
    assert short[0].startswith("      98.3 %  storage: faster or local storage") and len(short) <= 8
    assert alone[0] == "what to do  and what it can give at most" and alone[1].startswith("  storage  at most 98.3 % faster")
    assert any(line.startswith("    -> faster or local storage") for line in alone)
    full = page("chain-input-storage", "--full")
    assert "\n".join(alone) in "\n".join(full)


def test_trust_in_two_lines_and_in_full(page):
    lines = page("losses-lower-confidence")
    (at,) = [i for i, line in enumerate(lines) if line.startswith("trust   idle ")]
    words = " ".join(" ".join(lines[at:]).split())
    assert "not whole: 3 records dropped" in words and "nothing lost" not in words and words.endswith("more: --trust")
    assert "not recorded: who kept threads waiting (no host probes)" in words
    alone = page("losses-lower-confidence", "--trust")
    assert alone[0] == "how far to trust this" and "\n".join(alone) in "\n".join(page("losses-lower-confidence", "--full"))
    whole = " ".join(page("chain-input-storage"))
    assert "nothing lost; our own cost" in whole and "not whole" not in whole and "not recorded" not in whole


def test_refused_memory_is_not_passed_over(page):
    words = " ".join(" ".join(page("memory-framework")).split())
    assert "memory device 0: allocated at most 20.0 MiB, reserved 40.0 MiB of 16.0 GiB; out of memory 1 time: --full" in words
    assert any(line.startswith("  out of memory on device 0") for line in page("memory-framework", "--full"))


@pytest.mark.parametrize("term, colorterm, code", [("xterm", "", "\033[33m"), ("xterm-256color", "", "\033[38;5;166m"), ("xterm", "truecolor", "\033[38;5;166m")])
def test_colours_that_the_terminal_has(build, gpushim, tmp_path, term, colorterm, code):
    subprocess.run([build / "tools/gst_write", GOLDEN / "cause-input-wait/trace.txt", tmp_path / "out"], check=True)
    done = subprocess.run(["script", "-qec", f"{gpushim} report {tmp_path / 'out'}", "/dev/null"], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, env={"LC_ALL": "C.UTF-8", "TERM": term, "COLORTERM": colorterm, "PATH": "/usr/bin:/bin"})
    assert done.returncode == 0 and code in done.stdout
