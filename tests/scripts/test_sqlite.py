# SPDX-License-Identifier: BSD-2-Clause
"""export --sqlite: what its tables add up to is what report --json says, to the nanosecond; SQLite finds it sound, and DuckDB reads it."""

import json
import os
import resource
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
KINDS = ("bursts-launch-bound", "memory-framework", "steps-by", "ranks-straggler", "cupti-graph", "stacks-", "nccl", "nvtx-phases", "chain-input-storage",
         "four-devices", "copy-kinds", "host-function", "recycled", "advice-pinned-memory")


def goldens():
    """Cases of all kinds, and some of the others."""
    names = sorted(p.name for p in GOLDEN.iterdir() if (p / "trace.txt").exists())
    return [n for i, n in enumerate(names) if i % 25 == 0 or n.startswith(KINDS)]


class Run:
    def __init__(self, gpushim, folder, database):
        self.gpushim, self.folder, self.database = gpushim, folder, database
        done = subprocess.run([gpushim, "export", folder, "--sqlite", database], capture_output=True)
        assert (done.returncode, done.stderr) == (0, b"")
        self.report = json.loads(subprocess.run([gpushim, "report", folder, "--json"], capture_output=True, check=True).stdout)
        self.db = sqlite3.connect(database)
        self.db.row_factory = sqlite3.Row

    def rows(self, sql, *values):
        return [dict(row) for row in self.db.execute(sql, values)]

    def one(self, sql, *values):
        (row,) = self.db.execute(sql, values).fetchall()
        return row[0]


@pytest.fixture
def made(build, gpushim, tmp_path):
    def make(name, folder="run"):
        subprocess.run([build / "tools/gst_write", GOLDEN / name / "trace.txt", tmp_path / folder], check=True)
        return Run(gpushim, tmp_path / folder, tmp_path / f"{folder}.sqlite")

    return make


# ---- the same figures ------------------------------------------------------------------------------------------------------


def check_devices(run):
    assert [d["device"] for d in run.rows("SELECT device FROM devices")] == [d["device"] for d in run.report["devices"]]
    for d in run.report["devices"]:
        (row,) = run.rows("SELECT * FROM devices WHERE device = ?", d["device"])
        known = {**d, **{key.replace("-", "_") + "_ns": ns for part in ("copy", "comm") for key, ns in d[part].items()},
                 "rank": None if d["rank"] < 0 else d["rank"]}
        assert row == {key: known.get(key) for key in row}
        causes = {r["cause"]: r for r in run.rows("SELECT * FROM device_causes WHERE device = ?", d["device"])}
        assert {c: r["idle_ns"] for c, r in causes.items()} == d["causes"] and sum(r["idle_ns"] for r in causes.values()) == d["idle_ns"]
        if "unresolved_causes" in d:
            assert {c: r["unresolved_idle_ns"] for c, r in causes.items()} == d["unresolved_causes"]
        assert run.one("SELECT coalesce(sum(count), 0) FROM work w JOIN operations o USING (operation) WHERE w.device = ? AND w.kind != 'host-function'",
                       d["device"]) == d["operations"]
        observed = {c: sum(p["end_ns"] - p["begin_ns"] for g in d["gaps"] for p in g["causes"] if p["id"] == c and p["confidence"] == "observed")
                    for c in d["causes"]}
        assert {c: r["observed_ns"] for c, r in causes.items()} == observed


def check_gaps(run):
    gap = piece = 0
    for d in run.report["devices"]:
        for g in d["gaps"]:
            (row,) = run.rows("SELECT * FROM gaps WHERE gap = ?", gap)
            assert row["device"] == d["device"] and all(row[key] == g[key] for key in ("begin_ns", "end_ns", "begin_error_ns", "end_error_ns"))
            if row["work_after"] is not None:
                assert run.one("SELECT device FROM operations WHERE operation = ?", row["work_after"]) == d["device"]
            pieces = run.rows("SELECT * FROM gap_causes WHERE gap = ? ORDER BY piece", gap)
            assert [(p["cause"], p["begin_ns"], p["end_ns"], p["confidence"]) for p in pieces] == \
                [(c["id"], c["begin_ns"], c["end_ns"], c["confidence"]) for c in g["causes"]]
            for c in g["causes"]:
                check_piece(run, piece, c)
                piece += 1
            gap += 1
    for table, n in (("gaps", gap), ("gap_causes", piece)):
        assert run.one(f"SELECT count(*) FROM {table}") == n
    # Whichever way it is added up.
    assert run.rows("SELECT device, sum(end_ns - begin_ns) AS ns FROM gaps GROUP BY device") == \
        [{"device": d["device"], "ns": d["idle_ns"]} for d in sorted(run.report["devices"], key=lambda d: d["device"]) if d["gaps"]]
    assert {r["cause"]: r["idle_ns"] for r in run.rows("SELECT * FROM idle_by_cause")} == \
        {c: ns for c in {c for d in run.report["devices"] for c in d["causes"]} if (ns := sum(d["causes"][c] for d in run.report["devices"]))}


def check_piece(run, piece, c):
    assert [r["text"] for r in run.rows("SELECT text FROM evidence WHERE piece = ? ORDER BY line", piece)] == c["evidence"]
    links = run.rows("SELECT * FROM chain WHERE piece = ? ORDER BY level", piece)
    assert len(links) == len(c["chain"])
    for row, link in zip(links, c["chain"]):
        assert all(row[key] == link[key] for key in ("pid", "tid", "name", "state", "begin_ns", "end_ns", "woken_by"))
        assert (row["file"], row["first_offset"], row["bytes"]) == (link.get("file"), link.get("offset"), link.get("bytes"))
    held = run.rows("SELECT h.*, f.text AS f, s.text AS s, m.text AS m FROM held h LEFT JOIN strings f ON f.string = function "
                    "LEFT JOIN strings s ON s.string = file LEFT JOIN strings m ON m.string = module WHERE piece = ? ORDER BY h.begin_ns", piece)
    assert [(h["begin_ns"], h["end_ns"], h["how"], h["f"], h["s"], h["line"], h["from_line"], h["m"]) for h in held] == \
        [(h["begin_ns"], h["end_ns"], h["by"], h.get("function") or None, h.get("file"), h.get("line"), h.get("from_line"), h.get("module"))
         for h in c.get("held", [])]


def nonzero(causes):
    return {cause: ns for cause, ns in causes.items() if ns}


def check_steps(run):
    steps = run.rows("SELECT * FROM steps")
    assert len(steps) == len(run.report["steps"])
    excess = {(u["device"], o["index"]): o for u in run.report["steps_usual"] for o in u["outliers"]}
    for row, s in zip(steps, run.report["steps"]):
        o = excess.get((s["device"], s["index"]), {})
        assert row == {"device": s["device"], "step": s["index"], "name": s["name"], "kind": s["kind"], "found_by": s["by"], "begin_ns": s["begin_ns"],
                       "end_ns": s["end_ns"], "idle_ns": s["idle_ns"], "excess_ns": o.get("excess_ns"), "busy_excess_ns": o.get("busy_excess_ns")}
        causes = run.rows("SELECT cause, idle_ns FROM step_causes WHERE device = ? AND step = ?", s["device"], s["index"])
        assert {c["cause"]: c["idle_ns"] for c in causes} == nonzero(s["causes"])
    phases = run.rows("SELECT * FROM phases ORDER BY phase")
    assert [(p["device"], p["path"], p["idle_ns"], p["in_step"]) for p in phases] == \
        [(p["device"], " > ".join(p["path"]), p["idle_ns"], p["in_step"]) for p in run.report["phases"]]
    for row, p in zip(phases, run.report["phases"]):
        causes = run.rows("SELECT cause, idle_ns FROM phase_causes WHERE phase = ?", row["phase"])
        assert {c["cause"]: c["idle_ns"] for c in causes} == nonzero(p["causes"])


def check_memory(run):
    keys = ("device", "peak_allocated_bytes", "peak_reserved_bytes", "out_of_memory", "retries", "peak_allocated_ns", "peak_reserved_ns")
    rows = run.rows("SELECT * FROM memory")
    assert sorted([r[k] for k in keys] for r in rows) == sorted([m[k] for k in keys] for m in run.report["memory"])
    for m in run.report["memory"]:
        assert run.one("SELECT fragmentation FROM memory WHERE device = ?", m["device"]) == pytest.approx(m["fragmentation"], abs=1e-8)
        points = {tuple(r.values()) for r in run.rows("SELECT time_ns, allocated_bytes, reserved_bytes, largest_free_bytes FROM memory_points "
                                                      "WHERE device = ?", m["device"])}
        assert points >= {tuple(p) for p in m["course"]}
        assert max((p[1] for p in points), default=0) == m["peak_allocated_bytes"]
        stories = run.rows("SELECT * FROM memory_stories WHERE device = ? ORDER BY end_ns, begin_ns", m["device"])
        assert [(s["outcome"], s["begin_ns"], s["asked_bytes"], s["asked_from"], s["largest_free_bytes"]) for s in stories] == \
            [(s["outcome"], s["begin_ns"], s["asked_bytes"], s["asked_from"], s["largest_free_bytes"]) for s in m["stories"]]


def check_advice(run):
    rows = run.rows("SELECT * FROM advice ORDER BY number")
    assert [(r["advice"], r["cause"], r["device"], r["lost_ns"], r["recoverable_ns"], r["why"], r["text"]) for r in rows] == \
        [(a["id"], a["cause"], a["device"], a["lost_ns"], a["recoverable_ns"], a["why"], a["text"]) for a in run.report["advice"]]
    for row, a in zip(rows, run.report["advice"]):
        assert row["ceiling"] == pytest.approx(a["ceiling"], rel=1e-8)
        figures = run.rows("SELECT * FROM advice_figures WHERE number = ?", row["number"])
        found = {f["name"]: next(f[k] for k in ("count", "share", "text") if f[k] is not None) for f in figures}
        assert found == {k: pytest.approx(v, rel=1e-8) if isinstance(v, float) else v for k, v in a["figures"].items()}
    assert [(r["device"], r["loss"], r["lost_ns"], r["recoverable_ns"], r["next_loss"]) for r in run.rows("SELECT * FROM recoverable")] == \
        [(x["device"], x["id"], x["lost_ns"], x["recoverable_ns"], x["next"]) for x in run.report["recoverable"]]
    sites = run.rows("SELECT * FROM call_sites ORDER BY site")
    assert [(s["device"], s["idle_ns"], s["gaps"], s["longest_gap"], s["how"], s["function"], s["file"], s["line"]) for s in sites] == \
        [(s["device"], s["idle_ns"], s["gaps"], s["longest_gap"], s["by"], s.get("function"), s.get("file"), s.get("line"))
         for s in run.report["call_sites"]]
    for row, s in zip(sites, run.report["call_sites"]):
        assert {c["cause"]: c["idle_ns"] for c in run.rows("SELECT * FROM call_site_causes WHERE site = ?", row["site"])} == s["causes"]


def check_run(run):
    (row,) = run.rows("SELECT * FROM run")
    own = run.report["run"]
    assert all(row[key] == own[key] for key in ("host", "processes", "device_timing", "host_probes", "running", "cut_short", "end_unknown", "begins_late_ns"))
    losses = {r["kind"]: r["count"] for r in run.rows("SELECT * FROM losses")}
    assert losses == {k: v for k, v in run.report["losses"].items() if k != "entry_points"}
    cost = {r["part"]: r["ns"] for r in run.rows("SELECT * FROM overhead")}
    assert cost == {part: run.report["self"][part.replace("-", "_") + "_ns"] for part in ("calls", "injected", "attach", "own-threads")}
    counts = run.rows("SELECT * FROM call_counts")
    assert {r["name"]: r["calls"] for r in counts if r["calls"]} == nonzero(run.report["calls"])
    assert {r["name"]: r["injected"] for r in counts if r["injected"]} == nonzero(run.report["injected"])
    assert {r["name"]: r["times"] for r in run.rows("SELECT * FROM driver_calls")} == {n: k for n, k in run.report["calls"].items() if n.startswith("cu")}
    ranks = run.rows("SELECT * FROM ranks")
    assert [(r["device"], -1 if r["rank"] is None else r["rank"], r["operations"], r["came_last"], r["cost_ns"]) for r in ranks] == \
        [(r["device"], r["rank"], r["operations"], r["last"], r["cost_ns"]) for r in run.report["ranks"]["ranks"]]
    assert [(s["cause"], s["cost_ns"], s["late_ns"]) for s in run.rows("SELECT * FROM stragglers")] == \
        [(s["cause"], s["cost_ns"], s["late_ns"]) for s in run.report["ranks"]["stragglers"]]


def check_form(run):
    """Every value has the type its column declares: readers such as DuckDB go by that; every reference has what it refers to."""
    assert run.one("PRAGMA integrity_check") == "ok" and run.one("PRAGMA user_version") == 1 and run.one("PRAGMA application_id") == 0x67707368
    for (table,) in run.db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        for column in run.rows(f"PRAGMA table_info({table})"):
            types = {r[0] for r in run.db.execute(f'SELECT DISTINCT typeof("{column["name"]}") FROM {table}')}
            assert types <= {column["type"].lower()} | (set() if column["notnull"] or column["pk"] else {"null"}), (table, column["name"])
    for table, column, to, key in (("calls", "name", "strings", "string"), ("calls", "kernel", "strings", "string"), ("operations", "name", "strings", "string"),
                                   ("operations", "kind", "kinds", "kind"), ("operations", "call", "calls", "call"), ("operations", "stream", "streams", "stream"),
                                   ("calls", "process", "processes", "process"), ("processes", "clock", "clocks", "clock"), ("held", "file", "strings", "string"),
                                   ("gaps", "work_before", "operations", "operation"), ("gaps", "work_after", "operations", "operation")):
        assert run.one(f"SELECT count(*) FROM {table} WHERE {column} IS NOT NULL AND {column} NOT IN (SELECT {key} FROM {to})") == 0, (table, column)


def check(run):
    check_devices(run)
    check_gaps(run)
    check_steps(run)
    check_memory(run)
    check_advice(run)
    check_run(run)
    check_form(run)


@pytest.mark.parametrize("name", goldens())
def test_figures_are_the_reports(made, name):
    check(made(name))


@pytest.fixture(scope="module")
def recorded(recorder, gpushim, tmp_path_factory):
    run = recorder.run(recorder.command("train.py", "--steps", 20, "--workers", 1, "--slow-loader", 40, "--compute-ms", 3, "--checkpoint-every", 10))
    return Run(gpushim, run.out, tmp_path_factory.mktemp("sqlite") / "run.sqlite")


def test_figures_of_a_recorded_run(recorded):
    check(recorded)
    assert len(recorded.report["steps"]) >= 19 and recorded.one("SELECT count(*) FROM held") > 0


def test_launches_have_their_work(recorded):
    """By whole rows: which kernel, of which launch, how large."""
    rows = recorded.rows("SELECT w.name, n.text AS launched, c.blocks, c.threads, w.begin_ns, w.end_ns, c.begin_ns AS called_ns FROM work w "
                         "JOIN calls c ON c.call = w.call JOIN strings n ON n.string = c.kernel WHERE w.kind = 'kernel'")
    assert len(rows) > 100
    assert all(r["name"] == r["launched"] and r["blocks"] >= 1 and r["threads"] >= 1 and r["called_ns"] <= r["begin_ns"] <= r["end_ns"] for r in rows)


def test_operations_are_those_of_the_timeline(recorded):
    """Every piece of work: where the Chrome export draws it, how sure that is, how large it is."""
    done = subprocess.run([recorded.gpushim, "export", recorded.folder, "--all", "--chrome", "-"], capture_output=True, check=True)
    drawn = [e for e in json.loads(done.stdout)["traceEvents"] if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
    zero = min(e["ts"] for e in drawn)
    chrome = sorted((round(1000 * (e["ts"] - zero)), round(1000 * e["dur"]), e["args"].get("bytes"), round(1000 * e["args"].get("earlier_us", 0)),
                     round(1000 * e["args"].get("later_us", 0)), e["name"] if e["cat"] == "kernel" else None) for e in drawn)
    rows = recorded.rows("SELECT w.*, o.earlier_ns, o.later_ns FROM work w JOIN operations o USING (operation) WHERE w.kind != 'host-function'")
    first = min(r["begin_ns"] for r in rows)
    ours = sorted((r["begin_ns"] - first, r["length_ns"], r["bytes"], r["earlier_ns"] or 0, r["later_ns"] or 0, r["name"]) for r in rows)
    assert len(ours) == len(chrome) > 300
    assert [o for o, c in zip(ours, chrome) if o != c] == []


def test_kernels_bear_the_names_that_people_know(build, gpushim, tmp_path):
    symbol = "_ZN2at6native4copyIfEEvPKT_PS2_l"
    (tmp_path / "events").write_text((GOLDEN / "cause-allocator/trace.txt").read_text().replace("kernel=step", f"kernel={symbol}"))
    subprocess.run([build / "tools/gst_write", tmp_path / "events", tmp_path / "run"], check=True)
    run = Run(gpushim, tmp_path / "run", tmp_path / "db")
    whole = "void at::native::copy<float>(float const*, float*, long)"
    assert run.rows("SELECT text, symbol FROM strings WHERE symbol IS NOT NULL") == [{"text": whole, "symbol": symbol}]
    assert run.one("SELECT times FROM kernels WHERE name = ?", whole) == 2
    assert run.one("SELECT count(*) FROM calls c JOIN strings s ON s.string = c.kernel WHERE s.text = ?", whole) == 2


# ---- the file ----------------------------------------------------------------------------------------------------------------


def test_the_same_run_is_the_same_bytes(made, tmp_path):
    run = made("ranks-straggler")
    before = run.database.read_bytes()
    for way in ("again.sqlite", "-", "packed.sqlite.gz"):
        done = subprocess.run([run.gpushim, "export", run.folder, "--sqlite", way], capture_output=True, cwd=tmp_path, check=True)
        if way == "-":
            assert done.stdout == before
    assert (tmp_path / "again.sqlite").read_bytes() == before
    assert subprocess.run(["gzip", "-dc", tmp_path / "packed.sqlite.gz"], capture_output=True, check=True).stdout == before


@pytest.mark.parametrize("bytes_at_most", [100, 50_000, 200_000])
@pytest.mark.parametrize("name", ["a.sqlite", "a.sqlite.gz"])
def test_without_room_nothing_is_left(made, tmp_path, name, bytes_at_most):
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_at_most, bytes_at_most))

    run = made("cause-allocator")
    (tmp_path / "to").mkdir()
    (tmp_path / "tmp").mkdir()
    done = subprocess.run([run.gpushim, "export", run.folder, "--sqlite", tmp_path / "to" / name], capture_output=True, text=True, preexec_fn=limit,
                          env={"TMPDIR": str(tmp_path / "tmp")})
    assert done.returncode == 4 and done.stderr.count("\n") == 1 and ": cannot write: " in done.stderr
    assert os.listdir(tmp_path / "to") == os.listdir(tmp_path / "tmp") == []


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts")
def test_on_a_full_disk_it_says_so(made, tmp_path):
    run = made("cause-allocator")
    (tmp_path / "small").mkdir()
    script = f"mount -t tmpfs -o size=100k small {tmp_path}/small && {run.gpushim} export {run.folder} --sqlite {tmp_path}/small/a; echo $? $(ls -A {tmp_path}/small)"
    done = subprocess.run(["unshare", "-m", "bash", "-c", script], capture_output=True, text=True)
    if "mount:" in done.stderr or "unshare" in done.stderr:
        pytest.skip("cannot mount")
    assert (done.stdout, done.stderr) == ("4\n", f"gpushim: {tmp_path}/small/a: cannot write: No space left on device\n")


def test_what_is_no_place_for_it(made, tmp_path):
    run = made("cause-allocator")
    (file,) = run.folder.glob("*.gst")
    for place, status, why in ((tmp_path, 4, "Is a directory"), (tmp_path / "none/a", 4, "No such file or directory"), (file, 2, "is part of the recording"),
                               ("/dev/full", 4, "No space left on device")):
        done = subprocess.run([run.gpushim, "export", run.folder, "--sqlite", place], capture_output=True, text=True)
        assert done.returncode == status and why in done.stderr and len(done.stderr.splitlines()) == 1


def test_of_a_long_run_details_are_around_the_longest_gaps(build, gpushim, tmp_path):
    """Gaps and sums are whole all the same; --all has every row."""
    subprocess.run([build / "tools/gst_big", tmp_path / "big.gst", "50", "21000", "20"], check=True)
    rows = {}
    for args in ((), ("--all",)):
        done = subprocess.run([gpushim, "export", tmp_path / "big.gst", "--sqlite", tmp_path / "db", *args], capture_output=True, text=True)
        assert done.returncode == 0
        db = sqlite3.connect(tmp_path / "db")
        (rows[args],) = db.execute("SELECT (SELECT count(*) FROM operations), (SELECT count(*) FROM calls), (SELECT count(*) FROM gaps), "
                                   "(SELECT value FROM meta WHERE key = 'details'), (SELECT value FROM meta WHERE key = 'left_out')").fetchall()
        without = db.execute("SELECT count(*) FROM (SELECT * FROM gaps ORDER BY end_ns - begin_ns DESC, gap LIMIT 50) g "
                             "WHERE NOT EXISTS (SELECT 1 FROM operations o WHERE o.operation = g.work_after)").fetchone()[0]
        assert without == 0
        if not args:
            assert done.stderr.startswith(f"gpushim: {rows[args][4]} events that are not near the longest gaps were left out")
    assert (tmp_path / "db").stat().st_size / 1050000 < 124  # bytes a launch, its call and indexes included: Nsight's own, without any, has 124
    part, whole = rows[()], rows[("--all",)]
    assert whole[0] >= 1050000 and whole[3:] == ("all", "0") and part[3] == "around the longest gaps"
    assert part[2] == whole[2] > 0 and part[0] + part[1] + int(part[4]) >= whole[0] + whole[1] > 10 * (part[0] + part[1])


# ---- its description ---------------------------------------------------------------------------------------------------------


def described(db):
    """SQLITE.md's tables, as the database itself tells of them."""
    lines, views = [], {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'view'")}
    meanings = list(db.execute("SELECT item, meaning FROM documentation"))
    for item, meaning in meanings:
        if "." not in item and item not in views:
            lines += ["", f"**{item}**: {meaning}.", "", "| column | type | |", "|---|---|---|"]
        elif item not in views:
            table, column = item.split(".")
            (kind, required, key), = [(r[2], r[3], r[5]) for r in db.execute(f"PRAGMA table_info({table})") if r[1] == column]
            lines.append(f"| {column} | {kind}{', key' if key else '' if required else ', may be NULL'} | {meaning} |")
    lines += ["", "| view | |", "|---|---|"] + [f"| {item} | {meaning} |" for item, meaning in meanings if item in views]
    return "\n".join(lines) + "\n"


def test_the_description_is_true(made, root):
    page = (root / "analyzer/export/SQLITE.md").read_text()
    begin, end = "<!-- tables: begin -->\n", "<!-- tables: end -->"
    said = page[page.index(begin) + len(begin):page.index(end)]
    true = described(made("cause-allocator").db)
    if os.environ.get("WRITE_SQLITE_MD"):
        (root / "analyzer/export/SQLITE.md").write_text(page.replace(begin + said, begin + true))
    assert said == true


def test_questions_in_the_description_have_answers(recorded, root):
    """Each example is run, on a run that has an answer."""
    page = (root / "analyzer/export/SQLITE.md").read_text()
    examples = [block.split("```")[0] for block in page.split("```sql\n")[1:]]
    assert len(examples) >= 5
    for example in examples:
        assert recorded.db.execute(example).fetchall(), example


# ---- other readers -----------------------------------------------------------------------------------------------------------

DUCKDB = """
import duckdb, json, sys
db = duckdb.connect()
db.execute(f"LOAD '{sys.argv[1]}'")
db.execute(f"ATTACH '{sys.argv[2]}' AS run (TYPE sqlite, READ_ONLY)")
db.execute("USE run")
tables = [name for (name,) in db.execute("SELECT table_name FROM duckdb_tables() WHERE database_name = 'run' UNION ALL "
                                         "SELECT view_name FROM duckdb_views() WHERE database_name = 'run' AND NOT internal").fetchall()]
json.dump({"rows": {t: len(db.execute(f'SELECT * FROM "{t}"').fetchall()) for t in tables},
           "idle": dict(db.execute("SELECT device, sum(end_ns - begin_ns)::BIGINT FROM gaps GROUP BY device").fetchall()),
           "types": {t for (t,) in db.execute("SELECT DISTINCT data_type FROM duckdb_columns() WHERE database_name = 'run'").fetchall()}},
          sys.stdout, default=sorted)
"""


def test_duckdb_reads_it_as_it_is(build, recorded, tmp_path):
    if not (build / "setup-duckdb").exists():
        pytest.skip("DuckDB's reader is not installed (scripts/setup.sh duckdb)")
    (reader,) = (build / "duckdb").rglob("*.duckdb_extension")
    (tmp_path / "sqlite_scanner.duckdb_extension").symlink_to(reader)  # its entry point is called like the file
    done = subprocess.run([build / "duckdb/bin/python", "-c", DUCKDB, tmp_path / "sqlite_scanner.duckdb_extension", recorded.database],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    names = [r["name"] for r in recorded.rows("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")]
    assert seen["rows"] == {name: recorded.one(f"SELECT count(*) FROM {name}") for name in names} and len(names) > 40
    assert seen["idle"] == {str(d["device"]): d["idle_ns"] for d in recorded.report["devices"]}
    assert set(seen["types"]) >= {"BIGINT", "VARCHAR", "DOUBLE"}
