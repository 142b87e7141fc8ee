# SPDX-License-Identifier: BSD-2-Clause
"""Files of other tools that are cut short, damaged or hostile, through the program itself: the exit status, one line with the place, and a
report of what precedes; and what the other commands make of such files."""

import gzip
import json
import os
import resource
import sqlite3
import subprocess

import pytest

import import_reference
import imported
from made_trace import made, write_kineto, write_nsys

FINE, USAGE, BAD, SYSTEM = 0, 2, 3, 4
PAGE = 4096


def run(gpushim, *words, **more):
    return subprocess.run([gpushim, *words], capture_output=True, text=True, timeout=280, **more)


def told(gpushim, path, text, status=BAD, command="report"):
    """One line that names the file and says so; what it printed."""
    done = run(gpushim, command, path)
    assert done.returncode == status, (done.returncode, done.stderr)
    lines = done.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith(f"gpushim: {path}: ") and text in lines[0], done.stderr
    return done.stdout


KERNEL = {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 10, "dur": 3, "args": {"device": 0, "stream": 7, "correlation": 1}}
LAUNCH = {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": 5, "dur": 2, "args": {"correlation": 1}}


def pairs(n):
    """A launch and its kernel of 3 us, every 20 us."""
    events = []
    for i in range(n):
        args = {"correlation": i + 1}
        events += [LAUNCH | {"ts": 20 * i + 5, "args": args}, KERNEL | {"ts": 20 * i + 10, "args": KERNEL["args"] | args}]
    return events


def as_text(events, head=""):
    return "{" + head + '"traceEvents": [\n' + ",\n".join(json.dumps(event) for event in events) + "\n]}\n"


@pytest.fixture
def kineto(tmp_path):
    """One event a line, and a line of text behind them."""
    path = tmp_path / "trace.json"
    path.write_text(as_text(pairs(10)))
    return path


# ---- cut short and damaged: Kineto -------------------------------------------------------------------------------------------

@pytest.mark.parametrize("kept", range(0, 10))
def test_cut_text_says_where_and_has_what_precedes(kept, gpushim, kineto):
    """Cut in the middle of a kernel: those before it count, and its launch does not end the time."""
    lines = kineto.read_text().splitlines(keepends=True)
    text = "".join(lines[:2 + 2 * kept]) + lines[2 + 2 * kept][:30]
    kineto.write_text(text)
    if kept == 0:
        told(gpushim, kineto, f"byte {len(text)}: it ends in the middle: 3 brackets are open")
        assert imported.report(gpushim, kineto, status=BAD)["devices"] == []
        return
    said = imported.report(gpushim, kineto, status=BAD)
    told(gpushim, kineto, f"byte {len(text)}: it ends in the middle: 3 brackets are open")
    (device,) = said["devices"]
    assert device["operations"] == kept
    assert device["compute_ns"] == 3000 * kept and device["idle_ns"] == 17000 * (kept - 1)


def test_what_is_no_json_in_the_middle(gpushim, kineto):
    text = kineto.read_text()
    at = text.index('"ts": 110')
    kineto.write_text(text[:at] + "\x01" + text[at:])
    told(gpushim, kineto, f"byte {at}: ")
    (device,) = imported.report(gpushim, kineto, status=BAD)["devices"]
    assert device["operations"] == 5 and device["compute_ns"] == 15000


def test_an_array_that_was_never_closed_is_no_damage(gpushim, tmp_path):
    """Chrome's form has it so, for programs that were killed."""
    path = tmp_path / "trace.json"
    path.write_text("[\n" + ",\n".join(json.dumps(event) for event in pairs(3)) + "\n")
    assert imported.report(gpushim, path)["devices"][0]["operations"] == 3


@pytest.mark.parametrize("damage, text", [
    (lambda b: b[:len(b) * 2 // 3], "the packed bytes end before what they hold does"),
    (lambda b: b[:len(b) // 2] + bytes([b[len(b) // 2] ^ 0xff]) * 64 + b[len(b) // 2 + 64:], ""),
    (lambda b: b + b"garbage", "something that is not packed follows what is"),
])
def test_packed(damage, text, gpushim, tmp_path):
    """The place is a byte of what is unpacked; a file that has something behind it lost nothing."""
    path = write_kineto(tmp_path / "trace.json.gz", made(3, steps=40), packed=True, phases="BE")
    whole = import_reference.read(path)
    path.write_bytes(damage(path.read_bytes()))
    told(gpushim, path, text)
    done = run(gpushim, "report", "--json", path)
    said = json.loads(done.stdout)
    imported.check_sound(said, whole)
    assert said["devices"][0]["operations"] > 100


@pytest.mark.parametrize("filling, text", [(b"{}," * 40_000, "it unpacks to more than a trace would"), (b" " * 100_000, "bytes and no end of a text")],
                         ids=["events", "spaces"])
def test_a_bomb(filling, text, gpushim, tmp_path):
    """100 MB and more in some 100 kB, behind two events: refused, in little memory."""
    path = tmp_path / "trace.json.gz"
    with gzip.open(path, "wb") as out:
        out.write(b'{"traceEvents": [' + b",".join(json.dumps(event).encode() for event in pairs(2)) + b",")
        for _ in range(1000):
            out.write(filling)
    assert path.stat().st_size < 1_000_000
    done = run(gpushim, "report", "--json", path, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29)))
    assert done.returncode == BAD and text in done.stderr, done.stderr
    assert json.loads(done.stdout)["devices"][0]["operations"] == 2


# ---- limits: Kineto ----------------------------------------------------------------------------------------------------------

def test_nesting(gpushim, tmp_path):
    """As deep as 512 it is read over; what is deeper ends the file."""
    path = tmp_path / "trace.json"
    for depth, status in ((500, FINE), (600, BAD)):
        events = [json.dumps(event) for event in pairs(3)]
        events.insert(4, '{"ph": "X", "args": ' + '{"a": [' * (depth // 2) + "]}" * (depth // 2) + "}")
        path.write_text('{"traceEvents": [' + ",".join(events) + "]}")
        assert imported.report(gpushim, path, status=status)["devices"][0]["operations"] == (3 if status == FINE else 2)
    told(gpushim, path, "values nest more than 512 deep")


def test_a_name_of_a_megabyte(gpushim, tmp_path):
    """It is cut off, and the pages stay narrow."""
    path = tmp_path / "trace.json"
    path.write_text(as_text([event | {"name": "k" * 1_000_000} if event["cat"] == "kernel" else event for event in pairs(3)]))
    assert imported.report(gpushim, path)["devices"][0]["operations"] == 3
    for words in (["report"], ["report", "--why", "0"], ["info"]):
        done = run(gpushim, *words, path, env=os.environ | {"COLUMNS": "80"})
        assert done.returncode == FINE and max(map(len, done.stdout.splitlines())) < 2000
    exported = run(gpushim, "export", path, "--chrome", "-", "--all")
    assert exported.returncode == FINE and len(json.loads(exported.stdout)["traceEvents"]) > 6


def test_a_text_beyond_all_measure(gpushim, tmp_path):
    path = tmp_path / "trace.json"
    path.write_text(as_text(pairs(2) + [KERNEL | {"name": "k" * (100 << 20)}]))
    told(gpushim, path, "bytes and no end of a text")
    assert imported.report(gpushim, path, status=BAD)["devices"][0]["operations"] == 2


def test_more_processes_than_there_can_be(gpushim, tmp_path):
    path = tmp_path / "trace.json"
    path.write_text(as_text([LAUNCH | {"pid": i + 1} for i in range(4200)]))
    assert told(gpushim, path, "more than 4096 processes") == ""


def test_numbers_that_mean_nothing(gpushim, tmp_path):
    """What has no place in time or on a device is left out, and the rest is as it was."""
    path = tmp_path / "trace.json"
    strange = [KERNEL | {"ts": ts, "dur": dur} for ts, dur in (("NaN", 1), (-1e300, 1), (1e300, 1), (10, -5), (10, 1e300), ("", ""), (None, None), ([], {}))]
    strange += [KERNEL | {"args": {"device": device, "stream": stream}} for device, stream in ((1 << 40, 7), (-1, 7))]
    path.write_text(as_text(pairs(10) + strange))
    done = run(gpushim, "report", "--json", path)
    assert done.returncode == FINE, done.stderr
    device = next(device for device in json.loads(done.stdout)["devices"] if device["device"] == 0)
    assert device["compute_ns"] == 30000 and device["idle_ns"] == 9 * 17000


@pytest.mark.parametrize("name", ["\x1b[31mred", "a\nb", "‮edoc", "\x00", "<script>alert(1)</script>"])
def test_names_of_strangers(name, gpushim, tmp_path):
    """A terminal gets none of their control characters, a page none of their code."""
    path = tmp_path / "trace.json"
    events = [event | {"name": name} if event["cat"] == "kernel" else event for event in pairs(5)]
    path.write_text(as_text([*events, {"ph": "X", "cat": "user_annotation", "name": name, "pid": 9, "tid": 9, "ts": 1, "dur": 150}]))
    for words in (["report"], ["report", "--why", "1"], ["info"], ["report", "--full"]):
        done = subprocess.run([gpushim, *words, path], capture_output=True, env={"LC_ALL": "C.UTF-8"})
        assert done.returncode == FINE
        assert all(line.isprintable() for line in done.stdout.decode().split("\n"))
    page = tmp_path / "page.html"
    assert run(gpushim, "report", path, "--html", page).returncode == FINE
    assert "<script>alert" not in page.read_text()


# ---- Nsight ------------------------------------------------------------------------------------------------------------------

@pytest.fixture
def nsys(tmp_path):
    """Work in the order of its begin, as Nsight writes it."""
    what = made(1, steps=40)
    what.work.sort(key=lambda work: work.begin)
    return write_nsys(tmp_path / "trace.sqlite", what)


def root_page(path, table):
    base = sqlite3.connect(path)
    (page,) = base.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", [table]).fetchone()
    base.close()
    return page


def test_a_cut_database(gpushim, nsys):
    data = nsys.read_bytes()
    whole = import_reference.read(nsys)
    kept = len(data) // PAGE * 3 // 4 * PAGE
    nsys.write_bytes(data[:kept])
    told(gpushim, nsys, f"byte {kept}: the file ends here: {len(data) - kept} of its {len(data)} bytes are missing")
    imported.check_sound(imported.report(gpushim, nsys, status=BAD), whole)


@pytest.mark.parametrize("table", ["CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME", "StringIds"])
def test_a_table_that_cannot_be_read(table, gpushim, nsys):
    """It is named, with the row, and with no byte: there is none. All commands say so."""
    data = bytearray(nsys.read_bytes())
    at = (root_page(nsys, table) - 1) * PAGE
    data[at:at + PAGE] = bytes(PAGE)
    nsys.write_bytes(data)
    for command in ("report", "info"):
        out = told(gpushim, nsys, f"{nsys}: {table} cannot be read", command=command)
        assert out and "byte 9" not in out


def test_a_page_in_the_middle(gpushim, nsys):
    """What precedes it in its table is there; the row is the last one that could be read."""
    data, whole = nsys.read_bytes(), import_reference.read(nsys)
    seen = 0
    for page in range(3, len(data) // PAGE, 4):
        nsys.write_bytes(data[:page * PAGE] + bytes(PAGE) + data[(page + 1) * PAGE:])
        done = run(gpushim, "report", "--json", nsys)
        if done.returncode == BAD and " cannot be read after row " in done.stderr and "StringIds" not in done.stderr:
            said = json.loads(done.stdout)
            if said["devices"]:
                imported.check_sound(said, whole)
                seen += 1
    assert seen >= 3


def test_a_database_of_something_else(gpushim, tmp_path):
    path = tmp_path / "a.sqlite"
    with sqlite3.connect(path) as base:
        base.execute("CREATE TABLE words (word TEXT)")
    base.close()
    assert told(gpushim, path, "this is no export of Nsight Systems: it has no table StringIds") == ""


def test_what_runs_in_a_database_does_not(gpushim, nsys, tmp_path):
    """A view in the place of a table would be the file's own program."""
    whole = import_reference.read(nsys)
    with sqlite3.connect(nsys) as base:
        base.execute("ALTER TABLE CUPTI_ACTIVITY_KIND_MEMSET RENAME TO hidden")
        base.execute("CREATE VIEW CUPTI_ACTIVITY_KIND_MEMSET AS SELECT * FROM hidden")
        (memsets,) = base.execute("SELECT count(*) FROM hidden").fetchone()
    base.close()
    assert memsets > 0
    assert imported.report(gpushim, nsys)["devices"][0]["operations"] == whole.devices[0].operations - memsets


@pytest.mark.parametrize("suffix, begin", [("-wal", b"x"), ("-journal", bytes.fromhex("d9d505f920a163d7"))])
def test_a_journal_beside_it(suffix, begin, gpushim, nsys):
    beside = nsys.with_name(nsys.name + suffix)
    beside.write_bytes(begin)
    told(gpushim, nsys, f"the {suffix} file beside it may hold changes that are not in it")
    assert beside.read_bytes() == begin


def test_a_journal_that_sqlite_left_behind(gpushim, nsys):
    whole = imported.report(gpushim, nsys)["devices"]
    with sqlite3.connect(nsys) as db:
        db.execute("PRAGMA journal_mode = PERSIST")
        db.execute("CREATE TABLE another (x)")
    db.close()
    assert nsys.with_name(nsys.name + "-journal").stat().st_size > 0
    assert imported.report(gpushim, nsys)["devices"] == whole


def test_a_log_behind_a_link(gpushim, nsys, tmp_path):
    """Newest rows that are only in the log of the file that the link leads to."""
    link = tmp_path / "link.sqlite"
    link.symlink_to(nsys)
    assert imported.report(gpushim, link)["devices"]
    db = sqlite3.connect(nsys)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL")
    db.commit()
    told(gpushim, link, f"{link}: the -wal file beside it may hold changes that are not in it")
    db.close()


# ---- nothing else is touched -------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("write", [write_kineto, write_nsys])
def test_nothing_is_written_but_what_is_asked_for(write, gpushim, tmp_path):
    """The trace, its folder and everybody's temporary folder are as they were, to the nanosecond of their change."""
    place, temporary, out = tmp_path / "in", tmp_path / "tmp", tmp_path / "out"
    for folder in (place, temporary, out):
        folder.mkdir()
    path = write(place / "trace", made(2))
    before = {p: (p.stat().st_mtime_ns, p.stat().st_ctime_ns, p.stat().st_size) for p in (place, temporary, path)}
    env = os.environ | {"TMPDIR": str(temporary)}
    assert run(gpushim, "report", path, cwd=out, env=env).returncode == FINE
    assert run(gpushim, "info", place, cwd=out, env=env).returncode == FINE
    assert run(gpushim, "export", path, "--sqlite", "run.sqlite", "--chrome", "run.json", cwd=out, env=env).returncode == FINE
    assert sorted(p.name for p in out.iterdir()) == ["run.json", "run.sqlite"]
    assert before == {p: (p.stat().st_mtime_ns, p.stat().st_ctime_ns, p.stat().st_size) for p in (place, temporary, path)}
    assert sorted(p.name for p in place.iterdir()) == ["trace"] and not list(temporary.iterdir())


def test_the_trace_itself_is_no_place_for_an_export(gpushim, kineto):
    before = kineto.read_bytes()
    done = run(gpushim, "export", kineto, "--chrome", kineto)
    assert done.returncode == USAGE and "is part of the recording; choose another name" in done.stderr
    assert kineto.read_bytes() == before


def test_kinds_do_not_mix(build, gpushim, kineto, root, tmp_path):
    subprocess.run([build / "tools/gst_write", root / "tests/golden/clean/trace.txt", tmp_path / "own"], check=True)
    done = run(gpushim, "report", kineto, tmp_path / "own")
    assert done.returncode == USAGE and "cannot be analysed together: their times are on different clocks" in done.stderr


# ---- the other commands ------------------------------------------------------------------------------------------------------

def test_export_to_chrome_and_back(gpushim, tmp_path):
    """What is exported is a Kineto trace again, of the same operations at the same times."""
    path = write_nsys(tmp_path / "trace.sqlite", made(4))
    again = tmp_path / "again.json"
    assert run(gpushim, "export", path, "--chrome", again, "--all").returncode == FINE
    first, second = imported.report(gpushim, path), imported.report(gpushim, again)
    for one, other in zip(first["devices"], second["devices"], strict=True):
        assert one["operations"] == other["operations"]
        for key in ("span_ns", "compute_ns", "comm_exposed_ns", "copy_exposed_ns", "idle_ns"):
            assert one[key] == other[key], key


def test_export_to_tables(gpushim, tmp_path):
    path = write_kineto(tmp_path / "trace.json", made(4))
    said = imported.report(gpushim, path)
    assert run(gpushim, "export", path, "--sqlite", tmp_path / "run.sqlite").returncode == FINE
    base = sqlite3.connect(tmp_path / "run.sqlite")
    (idle,) = base.execute("SELECT sum(end_ns - begin_ns) FROM gaps").fetchone()
    (gaps,) = base.execute("SELECT count(*) FROM gaps").fetchone()
    base.close()
    assert idle == said["devices"][0]["idle_ns"] and gaps == len(said["devices"][0]["gaps"])


def test_export_of_stacks_and_metrics(gpushim, tmp_path):
    path = write_kineto(tmp_path / "trace.json", made(4))
    (device,) = imported.report(gpushim, path)["devices"]
    folded = run(gpushim, "export", path, "--folded", "-").stdout
    assert sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines()) == device["idle_ns"]
    metrics = run(gpushim, "export", path, "--metrics", "-").stdout
    idle = [float(line.rsplit(" ", 1)[1]) for line in metrics.splitlines() if line.startswith("gpushim_idle_seconds") and 'cause="' in line]
    assert sum(idle) == pytest.approx(device["idle_ns"] / 1e9, rel=1e-9)


def test_why_names_the_place(gpushim, kineto):
    """The byte is that of the event's bracket in the file."""
    text = kineto.read_text()
    out = run(gpushim, "report", kineto, "--why", "0").stdout
    byte = int(out.split("cudaLaunchKernel took 2.0 us (trace.json byte ")[1].split(")")[0])
    assert json.loads(text[byte:].split("\n")[0].rstrip(",")) == LAUNCH | {"ts": 5}


def test_info(gpushim, tmp_path):
    path = tmp_path / "trace.json"
    path.write_text(as_text(pairs(10)))
    page = run(gpushim, "info", path, env=os.environ | {"COLUMNS": "200"}).stdout
    assert "By Kineto: a program, process 9 on an unnamed host: 10 calls of 1 thread to 1 stream of 1 device" in page
    assert "10 calls, 10 pieces of device work, 0 ranges, 0 of what threads were at" in " ".join(page.split())
    assert "\n  device       0\n" in page and "command" not in page, "what the file does not say"
