#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""results.py CHECK.json: what gpu-check measured, as tests/gpu/results/<date>-<gpu>.md beside the JSON itself, and as the table in the
README (between its two marks) and in tests/gpu/results/README.md. What was simulated or made in a hurry is printed and goes nowhere;
--print does that to any file. --keep-simulated writes a dry run's page too, under a name and a title that say so, and into no table."""

import argparse
import json
import re
import shutil
import sys
from pathlib import Path

from bounds import said

ROOT = Path(__file__).resolve().parent.parent.parent
BEGIN, END = "<!-- gpu-check: begin -->", "<!-- gpu-check: end -->"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]) + "\n" if rows else "Nothing.\n"


def micro(ns):
    return "–" if ns is None else f"{ns / 1000:.2f}"


def percent(value, digits=2):
    return "–" if value is None else f"{value:+.{digits}f} %"


def number(value):
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "–" if value is None else f"{value:.3f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def slowdown_cell(figure):
    if not figure:
        return "–"
    return percent(figure["percent"]) + (f" ({percent(figure['low'])} to {percent(figure['high'])})" if figure["low"] is not None else " (one pair)")


def result_of(check, name):
    return check["parts"].get(name, {}).get("result", {})


def slowdown_table(check):
    workloads = result_of(check, "slowdown").get("workloads", {})
    levels = ["none", "host", "edges", "bursts", "cupti", "auto"]
    rows = [[name, micro((figures["step_ns"] or {}).get("median"))] + [slowdown_cell(figures["levels"].get(level)) for level in levels]
            for name, figures in workloads.items()]
    return table(["workload", "step, us", *levels], rows)


def idle_rows(check):
    for workload, levels in result_of(check, "idle").get("runs", {}).items():
        for level, run in levels.items():
            if "whole" not in run:
                steps = run["apart"]
                yield [workload, level, run["device_timing"], micro((steps["step_ns"] or {}).get("median")),
                       micro((steps.get("reference_ns") or {}).get("median")) + " (apart)", micro((steps["ours_ns"] or {}).get("median")), "–", "–", "–", "–"]
                continue
            whole, steps = run["whole"], run["steps"] or {}
            yield [workload, level, run["device_timing"], micro((steps.get("step_ns") or {}).get("median")),
                   micro((steps.get("reference_ns") or {}).get("median")), micro((steps.get("ours_ns") or {}).get("median")),
                   percent(whole["difference_percent"]), number(whole["proven_interval_holds"]), number(whole.get("estimate_holds")),
                   number(whole["comparable"])]


def idle_table(check):
    return table(["workload", "level", "came to", "step, us", "reference's idle, us", "proven, us", "difference, of step time", "in our interval",
                  "in the estimate's", "comparable"], list(idle_rows(check)))


def costs_table(check):
    samples = result_of(check, "costs").get("samples", {})
    return table(["what, us", "median", "p90", "p99", "most", "n"],
                 [[name.removesuffix("_ns"), *(micro(figures[key]) for key in ("median", "p90", "p99", "max")), figures["n"]]
                  for name, figures in samples.items() if figures])


def met_cell(bound):
    text = "**not met**" if bound["met"] is False else said(bound)
    return f"{text}: {bound['why']}" if bound["why"] else text


def bounds_table(check):
    return table(["bound", "limit", "measured", ""], [[bound["name"], f"{number(bound['limit'])} {bound['unit']}".strip(),
                                                       f"{number(bound['value'])} {bound['unit']}".strip(), met_cell(bound)] for bound in check["bounds"]])


def found_lines(check):
    """The parts that are no table, a line each."""
    conformance, probes, pointers = (result_of(check, name) for name in ("conformance", "host_probes", "pointers"))
    if pointers:
        yield f"Pointers: {pointers.get('equal')} equal an export, {pointers.get('other')} another's, {pointers.get('unequal')} none."
    if probes:
        refused = ", ".join(f"{kind} {said}" for group in ("programs", "maps", "perf") for kind, said in probes.get(group, {}).items() if said != "ok")
        yield f"Host probes: {probes.get('level')}; refused: {refused or 'nothing'}."
    for name in ("allocator", "nccl"):
        result = result_of(check, name)
        if result:
            told = {key: value for key, value in result.items() if key in ("seen", "all_seen", "counted", "library", "recorded")}
            yield f"{name}: {json.dumps(told)}."
    if conformance:
        yield f"Conformance list: {conformance.get('rows')} rows, {conformance.get('differ')} differ from what it says:"
        yield from (f"    {line}" for line in conformance.get("differ_documented", []) + conformance.get("differ_guessed", []))
    for name, part in check["parts"].items():
        if part["status"] != "ok":
            yield f"Part `{name}`: {part['status']}: {(part['reason'].splitlines() or [''])[0]}."
        for what, why in (part["result"].get("failed") or {}).items():
            yield f"Part `{name}`, {what}: {str(why).splitlines()[0] if why else ''}."


SIMULATED = ("**Simulated: no GPU has run any of this.** A driver made of software, on the host's processor, stood for NVIDIA's, its log for CUPTI. What "
             "is true of the host (the recorder's own work) is measured; what is a device's is what that driver was told to take.\n")


def kind_of(check):
    return "simulated driver, no GPU" if check["simulated"] else "GPU"


def how_measured(check):
    slow = result_of(check, "slowdown")
    return (f"Slowdown: {slow.get('program')} programs, resident processes that take turns in blocks of {slow.get('block_seconds')} s, with and without the "
            "recorder; mean and 95 % interval; `none` is a second process without it: how far processes differ by themselves. "
            f"Idle: of one run that both watched; the reference is {result_of(check, 'idle').get('reference')}.")


def page(check):
    environment = result_of(check, "environment")
    torch = environment.get("torch") or {}
    facts = [["kind", kind_of(check)], ["GPU", check["gpu"]], ["driver", check["driver"]], ["date", check["date"]], ["commit", check["commit"]],
             ["kernel", f"{environment.get('kernel')}{' (gVisor)' if environment.get('gvisor') else ''}"], ["PyTorch", torch.get("version")],
             ["seconds", check["seconds"]]]
    parts = [f"# {check['gpu']}, {check['date'][:10]}\n", *[SIMULATED] * check["simulated"], table(["", ""], facts), "## Bounds\n", bounds_table(check), "## Slowdown\n", how_measured(check) + "\n",
             slowdown_table(check), "## Idle time beside the reference's\n", idle_table(check), "## Costs and allowances\n", costs_table(check),
             "## Also\n", "\n".join(found_lines(check)) + "\n"]
    return "\n".join(parts)


def file_name(check):
    if check["simulated"]:
        return f"simulated-{check['date'][:10]}"
    gpu = re.sub(r"[^a-z0-9]+", "-", (check["gpu"] or "unknown").lower()).strip("-")
    return f"{check['date'][:10]}-{gpu.removeprefix('nvidia-')}"


def readme_table(check, link):
    """Few lines: the bounds, and where the rest stands."""
    met = [bound for bound in check["bounds"] if bound["met"] is not None]
    return (f"{check['gpu']}, driver {check['driver']}, {check['date'][:10]}, commit {(check['commit'] or '?')[:10]}; "
            f"{sum(bound['met'] for bound in met)} of {len(met)} measured bounds met; everything: [{link.rsplit('/', 1)[-1]}]({link}).\n\n" + slowdown_table(check) + "\n"
            + bounds_table(check))


def between_marks(text, new):
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit("the README has lost the marks that the table stands between")
    return f"{before}{BEGIN}\n{new}{END}{after}"


def publish(check, source, root):
    """Writes everything, of what was simulated the page and its JSON alone; returns the page's path."""
    folder, name = root / "tests/gpu/results", file_name(check)
    target = folder / f"{name}.md"
    target.write_text(page(check))
    if source.resolve() != (folder / f"{name}.json").resolve():
        shutil.copyfile(source, folder / f"{name}.json")
    if check["simulated"]:
        return target
    for readme, link in ((root / "README.md", f"tests/gpu/results/{name}.md"), (folder / "README.md", f"{name}.md")):
        readme.write_text(between_marks(readme.read_text(), readme_table(check, link)))
    return target


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("check", type=Path)
    parser.add_argument("--print", action="store_true", dest="only_print")
    parser.add_argument("--keep-simulated", action="store_true")
    args = parser.parse_args()
    check = json.loads(args.check.read_text())
    if args.only_print or check["quick"] or (check["simulated"] and not args.keep_simulated):
        print(page(check))
        return 0
    print(publish(check, args.check, ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
