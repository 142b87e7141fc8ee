# SPDX-License-Identifier: BSD-2-Clause
"""Every figure that one of our outputs shows, by what it is a figure of: {("device", 0, "idle_ns"): 1234}. From JSON, from the Chrome export and from
SQLite whole; from the text report as it is written there, rounded: {…: "1.2 us"}."""

import base64
import json
import re
import sqlite3
import zlib
from collections import defaultdict
from decimal import Decimal

PARTS = ("span_ns", "compute_ns", "comm_exposed_ns", "copy_exposed_ns", "idle_ns")
PEAKS = ("peak_allocated_bytes", "peak_reserved_bytes")


# ---- numbers as people read them: analyzer/tools/text.c ------------------------------------------------------------------------------

def duration(ns):
    for below, unit, per in ((1000, "ns", 1), (999.95e3, "us", 1e3), (999.95e6, "ms", 1e6)):
        if abs(ns) < below:
            return f"{ns / per:.0f} {unit}" if unit == "ns" else f"{ns / per:.1f} {unit}"
    return f"{ns / 1e9:.2f} s" if abs(ns) < 1000e9 else f"{ns / 1e9:.0f} s"


def size(count):
    value, units = float(count), ["B", "KiB", "MiB", "GiB", "TiB"]
    while value >= 1023.95 and len(units) > 1:
        value /= 1024
        units.pop(0)
    return f"{value:.0f} B" if units[0] == "B" else f"{value:.1f} {units[0]}"


def percent(part, whole):
    return f"{part * 100 / whole if whole > 0 else 0:.1f} %"


# ---- report --json --------------------------------------------------------------------------------------------------------------

def of_report(report, gaps=True):
    made, number = {}, 0
    for k, device in enumerate(report["devices"]):
        for part in (*PARTS, "unresolved_ns", "startup_ns", "shutdown_ns", "operations"):
            made["device", k, part] = device[part]
        for group in ("causes", "copy", "comm"):
            for one, ns in device[group].items():
                made["device", k, group, one] = ns
        for gap in device["gaps"] if gaps else ():
            made["gap", number, "begin_ns"], made["gap", number, "end_ns"] = gap["begin_ns"], gap["end_ns"]
            for one, ns in by_cause(gap).items():
                made["gap", number, "causes", one] = ns
            number += 1
    for step in report.get("steps", ()):
        key = "step", step["device"], step["index"]
        made.update({(*key, name): step[name] for name in ("begin_ns", "end_ns", "idle_ns")})
        made.update({(*key, "causes", one): ns for one, ns in step["causes"].items() if ns})
    for one in report["memory"]:
        made.update({("memory", one["device"], peak): one[peak] for peak in PEAKS})
    made["records_dropped",] = report["losses"]["records_dropped"]
    return made


def by_cause(gap):
    sums = defaultdict(int)
    for piece in gap["causes"]:
        sums[piece["id"]] += piece["end_ns"] - piece["begin_ns"]
    return {one: ns for one, ns in sums.items() if ns}


# ---- text -----------------------------------------------------------------------------------------------------------------------

TIME, SHARE = r"([0-9.]+ (?:ns|us|ms|s))", r"([0-9.]+) %"
BAR = r"[▏▎▍▌▋▊▉█▒▓░]*"
ROW = re.compile(rf"^ +([a-z][a-z0-9, -]*?) +{BAR} *{TIME} +{SHARE}(?: +{SHARE})?$")
DEVICE = re.compile(rf"^device +(\d+) .*? {TIME}, idle {SHARE}")
LISTED = re.compile(rf"^ +(\d+) .*?{BAR} +{TIME} +{SHARE}$")
GAP = re.compile(rf"^ +(\d+)(?: dev\d+)? +{TIME} +{TIME} +(?:±|\+-) ")
BRIEF_GAP = re.compile(rf"^ +(\d+)(?: dev\d+)? +{TIME}  [a-z]")  # of a narrow screen
PARTS_IN_WORDS = {"compute": "compute_ns", "communication": "comm_exposed_ns", "copies, memsets": "copy_exposed_ns", "idle": "idle_ns"}
COMM_IN_WORDS = {"wait for ranks": "comm-wait", "transfer": "comm-transfer", "unsplit": "comm-unsplit"}


def of_text(text, report):
    """What is written, by what it is of; device "all" where several are added up. Only the labels are told by: whatever figure is there is taken."""
    numbers = {device["device"]: k for k, device in enumerate(report["devices"])}
    causes, copies = report["devices"][0]["causes"], report["devices"][0]["copy"]
    made, device = {}, None
    for line in text.splitlines():
        if found := DEVICE.match(line):
            device = numbers[int(found[1])]
            made["device", device, "span_ns"], made["device", device, "idle share"] = found[2], f"{found[3]} %"
        elif re.match(r"^all \d+ devices", line):
            device = "all"
        elif device is None and (found := LISTED.match(line)):
            made["device", numbers[int(found[1])], "span_ns"], made["device", numbers[int(found[1])], "idle share"] = found[2], f"{found[3]} %"
        elif line and line[0] not in " " and not DEVICE.match(line) and line.split()[0] in ("ranks", "steps", "idle", "longest", "memory", "what", "how"):
            device = "over" if device is not None else None
        if device not in (None, "over") and (found := ROW.match(line)):
            key = key_of(found[1], causes, copies)
            assert key, f"what is {found[1]!r}?"
            made["device", device, *key], made["device", device, *key, "share"] = found[2], f"{found[3]} %"
        if found := GAP.match(line):
            made["gap", int(found[1]), "at"], made["gap", int(found[1]), "length"] = found[2], found[3]
        elif found := BRIEF_GAP.match(line):
            made["gap", int(found[1]), "length"] = found[2]
        if found := re.match(r"^ +device (\d+) +allocated at most ([0-9.]+ \w+), reserved ([0-9.]+ \w+)", line):
            made["memory", int(found[1]), PEAKS[0]], made["memory", int(found[1]), PEAKS[1]] = found[2], found[3]
        if found := re.match(r"^  losses +([0-9,]+) records dropped", line):
            made["records_dropped",] = found[1]
    return made


def key_of(label, causes, copies):
    if label in PARTS_IN_WORDS:
        return (PARTS_IN_WORDS[label],)
    if label in COMM_IN_WORDS:
        return "comm", COMM_IN_WORDS[label]
    one = label.replace(" ", "-")
    return ("causes", one) if one in causes else ("copy", one) if one in copies else None


def as_text(report):
    """What the text report may write of it."""
    whole, made, starts = of_report(report), {}, {}
    for k, device in [*enumerate(report["devices"]), ("all", None)]:
        span = whole["device", k, "span_ns"] if device else sum(one["span_ns"] for one in report["devices"])
        keys = [key[2:] for key in whole if key[:2] == ("device", 0) and key[2] != "operations"]
        for key in keys:
            ns = whole["device", k, *key] if device else sum(whole["device", i, *key] for i in range(len(report["devices"])))
            made["device", k, *key], made["device", k, *key, "share"] = duration(ns), percent(ns, span)
        made["device", k, "idle share"] = made["device", k, "idle_ns", "share"]
    number = 0
    for device in report["devices"]:
        for gap in device["gaps"]:
            made["gap", number, "at"], made["gap", number, "length"] = duration(gap["begin_ns"] - device["begin_ns"]), duration(gap["end_ns"] - gap["begin_ns"])
            number += 1
    made |= {key: size(value) for key, value in whole.items() if key[0] == "memory"}
    made["records_dropped",] = f"{whole['records_dropped',]:,}"
    return made


def rates(report):
    """By device: how much faster the clock that all is drawn on goes than the device's host's."""
    clocks = report["ranks"]["clocks"] if "ranks" in report else []
    of = {rank["device"]: clocks[rank["clock"]] for rank in report["ranks"]["ranks"]} if clocks else {}
    return [1 + of[device["device"]]["drift_ppm"] * 1e-6 if device["device"] in of else 1 for device in report["devices"]]


# ---- export --chrome --all ---------------------------------------------------------------------------------------------------------

def us_as_ns(text):
    return int(Decimal(text) * 1000)


def of_chrome(path, report):
    """Gaps with their pieces, steps, memory; times from the first event on: what lies between two of them is the same as in the report."""
    trace = json.loads(path.read_text(), parse_float=Decimal)
    made, pieces, ends = {}, defaultdict(lambda: defaultdict(int)), defaultdict(list)
    devices = {device["device"]: k for k, device in enumerate(report["devices"])}
    peaks = defaultdict(int)
    for event in trace["traceEvents"]:
        args = event.get("args", {})
        if event.get("cat") == "idle":
            begin, length = us_as_ns(event["ts"]), us_as_ns(event["dur"])
            pieces[args["gap"]][args["cause"]] += length
            ends[args["gap"]] += [begin, begin + length]
            made["gap", args["gap"], "device"] = devices[event["pid"]]
            made["gap", args["gap"], "length"] = us_as_ns(args["gap_us"])
        elif event.get("ph") == "C" and event["name"] == "memory":
            peaks[event["pid"]] = max(peaks[event["pid"]], args["allocated"])
    for number, causes in pieces.items():
        made["gap", number, "drawn"] = max(ends[number]) - min(ends[number])
        made["gap", number, "begin"] = min(ends[number])
        made.update({("gap", number, "causes", one): ns for one, ns in causes.items() if ns})
        device = made["gap", number, "device"]
        for one, ns in causes.items():
            for key in (("device", device, "causes", one), ("device", device, "idle_ns")):
                made[key] = made.get(key, 0) + ns
    made.update({("memory", device, PEAKS[0]): peak for device, peak in peaks.items()})
    return made


# ---- the page: its data -----------------------------------------------------------------------------------------------------------

DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.S)


def page_data(path):
    (data,) = DATA.findall(path.read_text())
    return json.loads(data)



def column(packed):
    """analyzer/html/html_pack.h"""
    raw, values, value, shift = zlib.decompress(base64.b64decode(packed["z"])), [], 0, 0
    if packed["t"] == "u8":
        return list(raw)
    for byte in raw:
        value, shift = value | (byte & 127) << shift, shift + 7
        if byte < 128:
            values.append(-(value + 1) // 2 if packed["t"] == "zigzag" and value % 2 else value // 2 if packed["t"] == "zigzag" else value)
            value, shift = 0, 0
    total = 0
    return [total := total + value for value in values] if packed["t"] == "delta" else values


def of_page(data):
    """Of the packed columns: the idle lanes, and the steps; times from the page's zero."""
    made, drawn = {}, defaultdict(list)
    for lane in data["lanes"]:
        if lane["kind"] != "idle":
            continue
        items = {key: column(value) for key, value in lane["items"].items() if key in "bdkg"}
        for begin, length, kind, gap in zip(*(items[key] for key in "bdkg"), strict=True):
            drawn[gap - 1].append((begin, begin + length))
            one = data["classes"][kind]["id"]
            for key in (("device", lane["device"], "idle_ns"), ("device", lane["device"], "causes", one), ("gap", gap - 1, "causes", one)):
                made[key] = made.get(key, 0) + length
            made["gap", gap - 1, "device"] = lane["device"]
    for gap, pieces in drawn.items():
        made["gap", gap, "begin"], made["gap", gap, "drawn"] = pieces[0][0], sum(end - begin for begin, end in pieces)
    for device in data.get("steps", ()):
        columns = {key: column(device[key]) for key in "bdi"}
        for index, (begin, length, idle) in enumerate(zip(*(columns[key] for key in "bdi"), strict=True)):
            made["step", device["device"], index] = begin, length, idle
        for one, packed in device["causes"].items():
            made.update({("step", device["device"], index, "causes", one): ns for index, ns in enumerate(column(packed)) if ns})
    return made


# ---- export --metrics: OpenMetrics text -----------------------------------------------------------------------------------------------

SAMPLE = re.compile(r'^(\w+)(?:\{(.*)\})? ([0-9.]+)$')
OF_DEVICE = {"gpushim_observed_seconds_total": ("span_ns",), "gpushim_compute_seconds_total": ("compute_ns",), "gpushim_unresolved_seconds_total": ("unresolved_ns",),
             "gpushim_startup_idle_seconds_total": ("startup_ns",), "gpushim_shutdown_idle_seconds_total": ("shutdown_ns",),
             "gpushim_operations_total": ("operations",), "gpushim_idle_seconds_total": ("causes", "cause"), "gpushim_copy_seconds_total": ("copy", "kind"),
             "gpushim_comm_seconds_total": ("comm", "kind")}
OF_MEMORY = {"gpushim_memory_peak_allocated_bytes": PEAKS[0], "gpushim_memory_peak_reserved_bytes": PEAKS[1]}


def of_metrics(text, report):
    numbers, made = {str(device["device"]): k for k, device in enumerate(report["devices"])}, {}
    for name, labels, value in (found.groups() for found in map(SAMPLE.match, text.splitlines()) if found):
        label = dict(re.findall(r'(\w+)="([^"]*)"', labels or ""))
        if name in OF_DEVICE:
            part, *by = OF_DEVICE[name]
            exact = int(Decimal(value) * (10**9 if "seconds" in name else 1))
            words = [word for one in by for word in [label[one]]]
            if part in ("copy", "comm"):
                words = [word if word in report["devices"][0][part] else f"{part}-{word}" for word in words]
            made["device", numbers[label["device"]], part, *words] = exact
        elif name in OF_MEMORY:
            made["memory", int(label["device"]), OF_MEMORY[name]] = int(Decimal(value))
        elif name == "gpushim_records_dropped_total":
            made["records_dropped",] = int(Decimal(value))
    return made


# ---- export --sqlite: SQLITE.md --------------------------------------------------------------------------------------------------------

def of_sqlite(path, report):
    numbers, made = {device["device"]: k for k, device in enumerate(report["devices"])}, {}
    with sqlite3.connect(path) as base:
        base.row_factory = sqlite3.Row
        for row in base.execute("SELECT * FROM devices"):
            where = "device", numbers[row["device"]]
            made |= {(*where, part): row[part] for part in (*PARTS, "unresolved_ns", "startup_ns", "shutdown_ns", "operations")}
            for group in ("copy", "comm"):
                made |= {(*where, group, one): row[one.replace("-", "_") + "_ns"] for one in report["devices"][0][group]}
        for device, cause, ns in base.execute("SELECT device, cause, idle_ns FROM device_causes"):
            made["device", numbers[device], "causes", cause] = ns
        for gap, begin, end in base.execute("SELECT gap, begin_ns, end_ns FROM gaps"):
            made["gap", gap, "begin_ns"], made["gap", gap, "end_ns"] = begin, end
        for gap, cause, ns in base.execute("SELECT gap, cause, sum(end_ns - begin_ns) FROM gap_causes GROUP BY 1, 2"):
            made |= {("gap", gap, "causes", cause): ns} if ns else {}
        for device, step, *values in base.execute("SELECT device, step, begin_ns, end_ns, idle_ns FROM steps"):
            made |= {("step", device, step, name): value for name, value in zip(("begin_ns", "end_ns", "idle_ns"), values)}
        for device, step, cause, ns in base.execute("SELECT * FROM step_causes"):
            made |= {("step", device, step, "causes", cause): ns} if ns else {}
        for device, *peaks in base.execute("SELECT device, peak_allocated_bytes, peak_reserved_bytes FROM memory"):
            made |= {("memory", device, name): value for name, value in zip(PEAKS, peaks)}
        made["records_dropped",] = base.execute("SELECT count FROM losses WHERE kind = 'records_dropped'").fetchone()[0]
    return made
