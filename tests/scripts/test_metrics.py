# SPDX-License-Identifier: BSD-2-Clause
"""export --metrics: what OpenMetrics' own parser reads out of it is what report --json says."""

import json
import math
import re
import subprocess
from decimal import Decimal
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as older_format

GOLDEN = Path(__file__).resolve().parent.parent / "golden"


class Run:
    def __init__(self, gpushim, folder):
        self.text = subprocess.run([gpushim, "export", folder, "--metrics", "-"], capture_output=True, check=True).stdout.decode()
        self.report = json.loads(subprocess.run([gpushim, "report", folder, "--json"], capture_output=True, check=True).stdout)
        self.families = {f.name: f for f in openmetrics(self.text)}
        # The parser makes doubles of the values; these are exact.
        self.values = {}
        for line in self.text.splitlines():
            if not line.startswith("#"):
                name, labels, value = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)", line).groups()
                key = (name, tuple(sorted(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels or ""))))
                assert key not in self.values
                self.values[key] = Decimal(value)

    def ns(self, name, /, **labels):
        return self.value(name, **labels) * 10**9

    def value(self, name, /, **labels):
        found = [value for (n, l), value in self.values.items() if n == "gpushim_" + name and labels.items() <= dict(l).items()]
        assert len(found) == 1, (name, labels, found)
        return found[0]


def made(build, gpushim, folder, text):
    (folder / "events").write_text(text)
    subprocess.run([build / "tools/gst_write", folder / "events", folder / "run"], check=True)
    return Run(gpushim, folder / "run")


def goldens():
    """Cases of all kinds, and every tenth of the others."""
    names = sorted(p.name for p in GOLDEN.iterdir() if (p / "trace.txt").exists())
    kinds = ("bursts-launch-bound", "memory", "steps", "ranks", "cupti")
    return [n for i, n in enumerate(names) if i % 20 == 0 or n.startswith(kinds)]


@pytest.mark.parametrize("name", goldens())
def test_values_are_the_reports(build, gpushim, tmp_path, name):
    run = made(build, gpushim, tmp_path, (GOLDEN / name / "trace.txt").read_text())
    for d in run.report["devices"]:
        of = {"device": str(d["device"]), "uuid": d["uuid"]}
        if d["rank"] >= 0:
            of["rank"] = str(d["rank"])
        for cause, ns in d["causes"].items():
            assert run.ns("idle_seconds_total", cause=cause, **of) == ns
        for kind, ns in d["copy"].items():
            assert run.ns("copy_seconds_total", kind=kind.removeprefix("copy-"), **of) == ns
        for kind, ns in d["comm"].items():
            assert run.ns("comm_seconds_total", kind=kind.removeprefix("comm-"), **of) == ns
        for metric, key in (("observed_seconds_total", "span_ns"), ("compute_seconds_total", "compute_ns"), ("startup_idle_seconds_total", "startup_ns"),
                            ("shutdown_idle_seconds_total", "shutdown_ns"), ("idle_error_seconds", "idle_error_ns"),
                            ("unresolved_seconds_total", "unresolved_ns")):
            assert run.ns(metric, **of) == d[key]
        assert run.value("operations_total", **of) == d["operations"] and run.value("gaps_total", **of) == len(d["gaps"])
        assert run.value("device_info", name=d["name"], **of) == 1
        for metric in ("likely_idle", "likely_idle_low", "likely_idle_high", "unresolved_idle", "unresolved_idle_low", "unresolved_idle_high"):
            if metric + "_ns" in d:
                assert run.ns(metric + "_seconds", **of) == d[metric + "_ns"]
            else:
                assert not any(n == f"gpushim_{metric}_seconds" and of.items() <= dict(l).items() for n, l in run.values)
        steps = [s for s in run.report["steps"] if s["device"] == d["device"] and s["kind"] == "step"]
        assert run.value("steps_total", **of) == len(steps)
        for metric, lengths in (("gap_seconds", [g["end_ns"] - g["begin_ns"] for g in d["gaps"]]), ("step_idle_seconds", [s["idle_ns"] for s in steps]),
                                ("step_duration_seconds", [s["end_ns"] - s["begin_ns"] for s in steps])):
            assert run.ns(metric + "_sum", **of) == sum(lengths) and run.value(metric + "_count", **of) == len(lengths)
            buckets = [(float(dict(l)["le"]), v) for (n, l), v in run.values.items() if n == f"gpushim_{metric}_bucket" and of.items() <= dict(l).items()]
            assert [v for _, v in buckets] == [sum(x <= round(le * 1e9) if math.isfinite(le) else True for x in lengths) for le, _ in buckets]
            assert [le for le, _ in buckets] == sorted(le for le, _ in buckets) and len(buckets) == 23
    for m in run.report["memory"]:
        of = {"device": str(m["device"])}
        assert run.value("memory_peak_allocated_bytes", **of) == m["peak_allocated_bytes"]
        assert run.value("memory_peak_reserved_bytes", **of) == m["peak_reserved_bytes"]
        assert float(run.value("memory_fragmentation_ratio", **of)) == pytest.approx(m["fragmentation"], abs=1e-8)
        assert run.value("out_of_memory_total", **of) == m["out_of_memory"]
    for key, n in run.report["losses"].items():
        if f"gpushim_{key}_total" in [n for n, _ in run.values]:
            assert run.value(key + "_total") == n
    own = run.report["self"]
    for part, key in (("calls", "calls_ns"), ("injected", "injected_ns"), ("attach", "attach_ns"), ("own-threads", "own_threads_ns")):
        assert run.ns("overhead_seconds_total", part=part) == own[key]
    assert float(run.value("overhead_ratio")) == pytest.approx(own["share_of_wall"], rel=1e-8)
    assert run.value("processes") == run.report["run"]["processes"]
    assert run.value("run_info", host=run.report["run"]["host"], device_timing=run.report["run"]["device_timing"],
                     host_probes=run.report["run"]["host_probes"]) == 1


def test_every_family_says_what_it_is(build, gpushim, tmp_path):
    """Names as Prometheus has them: the unit last, counters _total; and the format before OpenMetrics, which textfile collectors read, has it all."""
    run = made(build, gpushim, tmp_path, (GOLDEN / "cause-allocator/trace.txt").read_text())
    assert run.text.endswith("\n# EOF\n")
    for family in run.families.values():
        assert family.documentation.endswith((".", "always 1.")) and family.type in ("counter", "gauge", "histogram")
        unit = family.name.rsplit("_", 1)[1]
        assert family.unit == (unit if unit in ("seconds", "bytes", "ratio") else "")
        for sample in family.samples:
            suffix = sample.name[len(family.name):]
            assert suffix in {"counter": ["_total"], "gauge": [""], "histogram": ["_bucket", "_sum", "_count"]}[family.type]
    older = {(s.name, tuple(sorted(s.labels.items()))): s.value for f in older_format(run.text) for s in f.samples}
    newer = {(s.name, tuple(sorted(s.labels.items()))): s.value for f in run.families.values() for s in f.samples}
    assert {k: float(v) for k, v in newer.items()} == older and len(older) > 100


def test_names_from_the_trace_stay_within_their_label(build, gpushim, tmp_path):
    text = (GOLDEN / "cause-allocator/trace.txt").read_text()
    assert not re.search(r"^device .*name=", text, re.M)
    name = 'H"200\\n}_1 \\'
    (line,) = re.findall(r"^device 0.*$", text, re.M)
    run = made(build, gpushim, tmp_path, text.replace(line, f"{line} name={name.replace(' ', '')}"))
    (device,) = run.report["devices"]
    assert '"' in device["name"] and "\\" in device["name"]
    (sample,) = run.families["gpushim_device_info"].samples
    assert sample.labels["name"] == device["name"]


def test_a_million_seconds_lose_no_nanosecond(build, gpushim, tmp_path):
    text = """process 100 exited=1 end=90000001300000000ns
thread 100 main
device 0
stream 1
launch t=1000us..1002us stream=1 seq=1 kernel=a
sync-stream t=1005us..4010us stream=1 seq=1
launch t=90000001234567891ns..90000001234569891ns stream=1 seq=2 kernel=b
sync-stream t=90000001234571891ns..90000001235567891ns stream=1 seq=2
"""
    run = made(build, gpushim, tmp_path, text)
    (device,) = run.report["devices"]
    assert device["span_ns"] > 2**53 and run.ns("observed_seconds_total") == device["span_ns"]
    assert sum(v for (n, _), v in run.values.items() if n == "gpushim_idle_seconds_total") * 10**9 == device["idle_ns"]
