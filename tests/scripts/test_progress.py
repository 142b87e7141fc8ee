# SPDX-License-Identifier: BSD-2-Clause
"""How far long work is stands on the terminal, and nowhere else. The clock is ours, so that nothing here need take long."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import tempfile
import termios

import pytest

FAST = """#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
/* Each look at the clock finds it an eighth of a second on. */
int clock_gettime(clockid_t which, struct timespec *t)
{
	static long looks;
	int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
	int rc = real(which, t);
	if (which == CLOCK_MONOTONIC)
		t->tv_sec += ++looks / 8;
	return rc;
}
"""
LINE = re.compile(rb"\r(reading|placing the device's work|following threads, memory and steps|explaining gaps|writing the page|writing tables) (\d+) %( \d+ MB/s)?(?:, about (\d+) (s|min) left)?\033\[K")


@pytest.fixture(scope="module")
def trace(build, tmp_path_factory):
    path = tmp_path_factory.mktemp("progress") / "run.gst"
    subprocess.run([build / "tools/gst_big", path, "400", "400"], check=True, capture_output=True)
    return path


@pytest.fixture(scope="module")
def fast(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clock")
    (folder / "fast.c").write_text(FAST)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "fast.so", folder / "fast.c", "-ldl"], check=True)
    return str(folder / "fast.so")


def on_terminal(*command, status=0, columns=200, **variables):
    """What it prints on standard output, and on a terminal of so many columns as standard error."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen(command, stdout=out, stderr=follower, env={"LC_ALL": "C.UTF-8", **variables})
        os.close(follower)
        said = b""
        try:
            while chunk := os.read(leader, 65536):
                said += chunk
        except OSError:  # the other end closed
            pass
        os.close(leader)
        assert child.wait() == status
        out.seek(0)
        return out.read(), said


def test_a_terminal_is_told(gpushim, trace, fast):
    plain = subprocess.run([gpushim, "report", trace], capture_output=True, env={"LC_ALL": "C.UTF-8"}, check=True)
    out, said = on_terminal(gpushim, "report", trace, TERM="xterm", LD_PRELOAD=fast)
    assert out == plain.stdout and plain.stderr == b""
    assert said.endswith(b"\r\033[K"), "the line is taken back"
    shown = LINE.findall(said)
    assert len(shown) > 4 and not LINE.sub(b"", said).replace(b"\r\033[K", b""), "nothing else was said"
    order = {stage: i for i, stage in enumerate(dict.fromkeys(stage for stage, *_ in shown))}
    assert list(order)[0] == b"reading" and list(order)[-1] == b"explaining gaps"
    places = [(order[stage], int(part)) for stage, part, *_ in shown]
    assert places == sorted(places), "it goes on"
    assert all(bool(rate) == (stage == b"reading") for stage, _, rate, *_ in shown)
    assert max(part for _, part in places) <= 100


def test_tables_take_time_too(gpushim, trace, fast, tmp_path):
    said = on_terminal(gpushim, "export", trace, "--sqlite", str(tmp_path / "a"), TERM="xterm", LD_PRELOAD=fast)[1]
    shown = [(stage, int(part)) for stage, part, *_ in LINE.findall(said)]
    parts = [part for stage, part in shown if stage == b"writing tables"]
    assert shown[-1][0] == b"writing tables" and parts == sorted(parts) and parts[0] < 20 < 80 < parts[-1] <= 100
    assert said.endswith(b"\r\033[K") and not LINE.sub(b"", said).replace(b"\r\033[K", b"")


def test_the_page_is_told_of_too(gpushim, trace, fast, tmp_path):
    said = on_terminal(gpushim, "report", trace, "--html", tmp_path / "page.html", TERM="xterm", LD_PRELOAD=fast)[1]
    shown = LINE.findall(said)
    assert shown[-1][0] == b"writing the page" and said.endswith(b"\r\033[K")
    left = [int(left) * (60 if unit == b"min" else 1) for stage, _, _, left, unit in shown if stage in (b"explaining gaps", b"writing the page")]
    assert left[0] > left[-1], "the page was counted in from the beginning"


def test_a_small_window_is_not_overrun(gpushim, trace, fast):
    said = on_terminal(gpushim, "report", trace, columns=20, TERM="xterm", LD_PRELOAD=fast)[1]
    lines = [line.removesuffix(b"\033[K") for line in said.split(b"\r")[1:]]
    assert lines[0].startswith(b"reading ") and max(map(len, lines)) == 19


@pytest.mark.parametrize("term", ["dumb", ""])
def test_a_terminal_that_takes_nothing_back_is_not_told(gpushim, trace, fast, term):
    assert on_terminal(gpushim, "report", trace, TERM=term, LD_PRELOAD=fast)[1] == b""


def test_what_is_short_has_no_line(gpushim, root, build, tmp_path):
    subprocess.run([build / "tools/gst_write", root / "tests/golden/clean/trace.txt", tmp_path], check=True)
    assert on_terminal(gpushim, "report", str(tmp_path), TERM="xterm")[1] == b""


def test_info_tells_of_reading_alone(gpushim, trace, fast):
    said = on_terminal(gpushim, "info", trace, TERM="xterm", LD_PRELOAD=fast)[1]
    shown = LINE.findall(said)
    assert {stage for stage, *_ in shown} == {b"reading"} and said.endswith(b"\r\033[K")
    first, last = ((int(part), int(left)) for _, part, _, left, _ in (shown[0], shown[-1]))
    assert first[0] < 60 < 90 <= last[0] and last[1] <= 2, "when it has been read, it is over"


def test_an_error_has_a_line_of_its_own(gpushim, trace, fast, tmp_path):
    torn = tmp_path / "torn.gst"
    data = bytearray(trace.read_bytes())
    data[len(data) // 2 + 1000:len(data) // 2 + 1200] = b"\xff" * 200
    torn.write_bytes(data)
    said = on_terminal(gpushim, "report", torn, status=3, TERM="xterm", LD_PRELOAD=fast)[1]
    assert b"\r\033[Kgpushim: " in said and said.endswith(b"\r\n")
