# SPDX-License-Identifier: BSD-2-Clause
"""The gpushim program as scripts call it: what goes where, and the exit status."""

import gzip
import json
import os
import re
import resource
import signal
import subprocess
from pathlib import Path

import pytest

GOLDEN = Path(__file__).resolve().parent.parent / "golden"

RUN = """process {pid} exited=1 start={start} end={end} run={run}
thread 10 main
device 0
stream 1
launch t={start_us}us..{start_us}5us stream=1 seq=1 kernel=k
"""


@pytest.fixture
def call(gpushim):
    def run(*args, **env):
        return subprocess.run([gpushim, *args], capture_output=True, text=True, env={"LC_ALL": "C.UTF-8", **env})

    return run


@pytest.fixture
def write(build, tmp_path):
    """Events → a run directory."""

    def make(text, name="run"):
        (tmp_path / "events").write_text(text)
        subprocess.run([build / "tools/gst_write", tmp_path / "events", tmp_path / name], check=True)
        return tmp_path / name

    return make


@pytest.fixture
def allocator(write):
    return write((GOLDEN / "cause-allocator/trace.txt").read_text())


def test_help_and_version(call):
    done = call("help")
    assert done.returncode == 0 and "report" in done.stdout and not done.stderr
    done = call("--version")
    assert done.returncode == 0 and done.stdout.startswith("gpushim ")
    for command in ("report", "export", "info"):
        done = call(command, "--help")
        assert done.returncode == 0 and done.stdout.startswith(f"usage: gpushim {command} PATH")
        assert call("help", command).stdout.startswith(f"\nNAME\n    gpushim-{command} - ")
    assert call("help", "nonsense").returncode == 2


@pytest.mark.parametrize("command", ["report", "export", "info", "run"])
def test_a_letter_is_one_option(call, command):
    letters = re.findall(r"^ +-(\w), --", call(command, "--help").stdout, re.M)
    assert letters and len(set(letters)) == len(letters)


@pytest.mark.parametrize("args", [(), ("nonsense",), ("report",), ("report", "x", "--nonsense"), ("report", "x", "--why", "-1"),
                                  ("report", "x", "--top"), ("export", "x"), ("export", "--chrome", "y")])
def test_usage_errors(call, args):
    done = call(*args)
    assert done.returncode == 2 and not done.stdout and done.stderr.strip()


def test_an_unknown_command_gets_a_hint(call):
    done = call("nonsense")
    assert done.stderr == "gpushim: there is no command nonsense\ntry: gpushim help\n"


def test_a_path_that_is_not_there(call, tmp_path):
    done = call("report", tmp_path / "none")
    assert done.returncode == 3 and done.stderr == f"gpushim: {tmp_path}/none: cannot open: No such file or directory\n"
    (tmp_path / "file").touch()
    assert call("report", tmp_path / "file" / "none").returncode == 3


def test_a_path_that_the_system_refuses(call, tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    done = call("report", tmp_path / "loop")
    assert done.returncode == 4 and "Too many levels of symbolic links" in done.stderr


def test_a_directory_without_a_trace(call, tmp_path):
    done = call("report", tmp_path)
    assert done.returncode == 3 and done.stderr == f"gpushim: {tmp_path}: no .gst file in this directory, and no trace of another tool\n"


def test_json_has_every_story(call, allocator):
    done = call("report", allocator, "--json", "--why", "0")
    assert done.returncode == 2 and done.stderr == "gpushim: report: --json and --why exclude each other\ntry: gpushim report --help\n" and not done.stdout


def test_offsets_tell_calls_apart(call, allocator):
    """Two calls of one millisecond are not both at 2.0 ms."""
    lines = call("report", allocator, "--why", "0").stdout.split("what thread")[1].splitlines()[1:]
    offsets = [line.split(" us")[0].strip() for line in lines if " us" in line and "cu" in line]
    assert len(offsets) > 1 and len(set(offsets)) == len(offsets)
    assert all(re.fullmatch(r"[+-][\d,]+\.\d", offset) for offset in offsets)
    begins = [float(offset.replace(",", "")) for offset in offsets]
    assert begins == sorted(begins)

def test_what_is_no_trace(call, tmp_path):
    (tmp_path / "x.gst").write_text("no trace " * 1000)
    done = call("report", tmp_path / "x.gst")
    assert done.returncode == 3 and done.stderr.startswith("gpushim: ") and not done.stdout


def test_why_beyond_the_last_gap(call, allocator):
    done = call("report", allocator, "--why", "99")
    assert done.returncode == 2 and "there is no gap 99" in done.stderr


def test_top_shortens_the_listing_not_the_sums(call, allocator):
    few = json.loads(call("report", "--json", "--top", "0", allocator).stdout)
    every = json.loads(call("report", "--json", allocator).stdout)
    assert few["devices"][0]["gaps"] == [] and len(every["devices"][0]["gaps"]) == 1
    assert few["devices"][0]["causes"] == every["devices"][0]["causes"]


def test_several_runs(call, write):
    text = ""
    for number, start in enumerate((0, 5)):
        text += RUN.format(pid=100 + number, start=f"{start}s", end=f"{start + 1}s", run=f"r{number}", start_us=start * 1000000 + 1)
        ends_us = start * 1000000 + 900 * (number + 1)
        text += f"usage t={start * 1000000 + 21}us\nsync-stream t={start * 1000000 + 20}us..{ends_us}us stream=1 seq=1\nusage t={ends_us + 1}us\n"
    folder = write(text)
    last = call("report", "--json", folder)
    assert last.returncode == 0 and "2 runs" in last.stderr and "number 1" in last.stderr
    first = call("report", "--json", "--run", "0", folder)
    assert first.returncode == 0 and not first.stderr
    both = call("report", "--json", "--run", "all", folder)
    assert both.returncode == 0
    spans = [sum(d["span_ns"] for d in json.loads(done.stdout)["devices"]) for done in (first, last, both)]
    assert spans[0] < spans[1] < spans[2]
    assert call("report", "--run", "2", folder).returncode == 2


def test_no_device_work(call, write):
    folder = write("process 100 exited=1\nthread 10 main\nalloc t=1ms..2ms pointer=1 bytes=1\n")
    done = call("report", folder)
    assert done.returncode == 0 and "no device work was recorded" in done.stdout
    done = call("report", "--json", folder)
    assert done.returncode == 0 and json.loads(done.stdout)["devices"] == []
    done = call("export", folder, "--chrome", "-")
    assert done.returncode == 0 and json.loads(done.stdout)["traceEvents"]


def test_export_packs_by_name(call, allocator, tmp_path):
    plain, packed = tmp_path / "t.json", tmp_path / "t.json.gz"
    assert call("export", allocator, "--chrome", plain).returncode == call("export", allocator, "--chrome", packed).returncode == 0
    assert gzip.decompress(packed.read_bytes()) == plain.read_bytes()
    assert call("export", allocator, "--chrome", tmp_path / "none/t.json.gz").returncode == 4


@pytest.mark.parametrize("name", ["t.json", "t.json.gz"])
def test_an_export_that_finds_no_room_says_so(gpushim, allocator, tmp_path, name):
    def little_room():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))

    done = subprocess.run([gpushim, "export", allocator, "--chrome", tmp_path / name], capture_output=True, text=True,
                          preexec_fn=little_room)
    assert done.returncode == 4 and done.stderr == f"gpushim: {tmp_path}/{name}: cannot write: File too large\n"


def test_damage(call, allocator):
    """What precedes is reported; one line names file, byte and fact."""
    (file,) = allocator.glob("*.gst")
    data = bytearray(file.read_bytes())
    record = 270336 + 64
    for _ in range(5):
        record += int.from_bytes(data[record + 2:record + 4], "little")
    data[record + 2] ^= 0x40
    file.write_bytes(data)
    for args in (("report",), ("report", "--json"), ("info",), ("export", "--chrome", "-")):
        done = call(*args, allocator)
        assert done.returncode == 3 and done.stdout
        assert done.stderr.count("\n") == 1 and f"byte {record}: " in done.stderr and file.name in done.stderr


def test_colour_is_for_terminals(call, allocator):
    assert "\033" not in call("report", allocator).stdout


@pytest.mark.parametrize("no_colour", ["", "1"])
def test_colour_on_a_terminal(gpushim, allocator, no_colour):
    import pty

    leader, follower = pty.openpty()
    child = subprocess.Popen([gpushim, "report", allocator], stdout=follower, env={"NO_COLOR": no_colour, "TERM": "xterm"})
    os.close(follower)
    text = b""
    try:
        while chunk := os.read(leader, 65536):
            text += chunk
    except OSError:  # the other end closed
        pass
    os.close(leader)
    assert child.wait() == 0
    assert (b"\033[" in text) == (no_colour == "")


def test_a_closed_pipe_ends_quietly(gpushim, allocator):
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([gpushim, "report", allocator], stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert done.returncode == 4 and done.stderr == ""


def test_ascii_where_the_locale_is(call, allocator):
    done = call("report", allocator, LC_ALL="C")
    assert done.stdout.isascii() and "###" in done.stdout


@pytest.mark.parametrize("columns", [20, 80, 100, 140, 1000])
def test_lines_fit(call, allocator, columns):
    for args in (("report",), ("report", "--why", "0"), ("info",)):
        lines = call(*args, allocator, COLUMNS=str(columns)).stdout.split("\n")
        if args != ("info",):
            lines = lines[1:]
        assert max(map(len, lines)) <= min(max(columns, 80), 140)


def test_info_says_what_stands_against_trust(call, allocator, write):
    done = call("info", allocator)
    assert done.returncode == 0 and "  trust        Trust it.\n" in done.stdout
    done = call("info", write((GOLDEN / "losses-lower-confidence/trace.txt").read_text(), "lossy"))
    assert "3 records were dropped" in done.stdout


@pytest.mark.parametrize("one, other", [("--json", "--steps"), ("--full", "--why=0"), ("--advice", "--trust"), ("-t", "-j")])
def test_pages_exclude_each_other(call, allocator, one, other):
    done = call("report", allocator, one, other)
    assert done.returncode == 2 and not done.stdout and " exclude each other\ntry: gpushim report --help\n" in done.stderr
    assert call("report", allocator, one, one).returncode == 0


def test_html_alone_and_beside_another(call, allocator, tmp_path):
    page = tmp_path / "page.html"
    done = call("report", allocator, "--html", page)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    alone = page.read_text()
    done = call("report", allocator, "--html", "-")
    assert done.returncode == 0 and done.stdout == alone and "</html>" in alone
    page.unlink()
    done = call("report", allocator, "--json", "--html", page)
    assert json.loads(done.stdout)["schema"] == "gpushim.report/1" and page.read_text() == alone
    done = call("report", allocator, "--json", "--html", "-")
    assert done.returncode == 2 and "two reports would be written to standard output" in done.stderr and not done.stdout


def test_html_is_not_written_over_the_recording(call, allocator, tmp_path):
    (trace,) = allocator.glob("*.gst")
    before = trace.read_bytes()
    done = call("report", allocator, "--html", trace)
    assert done.returncode == 2 and "is part of the recording" in done.stderr and trace.read_bytes() == before
    done = call("report", allocator, "--html", tmp_path / "none/page.html")
    assert done.returncode == 4 and "cannot write: No such file or directory" in done.stderr
