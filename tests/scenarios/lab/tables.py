# SPDX-License-Identifier: BSD-2-Clause
"""The answer as tables: Markdown, which a terminal shows as well."""

import due_advice
import score

SHOWN = 0.0005  # of a row; less is left empty
WAYS = {"ebpf": "With host probes (eBPF)", "perf": "With host probes (perf)", "proc": "With host probes (/proc)", "none": "Without probes"}
DECADES = {4: "shorter", 5: "0.1–1 ms", 6: "1–10 ms", 7: "10–100 ms", 8: "longer"}


def table(head, rows):
    lines = ["| " + " | ".join(row) + " |" for row in ([*head], ["---"] + ["---:"] * (len(head) - 1), *rows)]
    return "\n".join(lines) + "\n"


def percent(part, whole, digits=1):
    return f"{100 * part / whole:.{digits}f}" if whole else ""


def short(cause):
    return cause.replace("input-", "in-").replace("device-", "dev-").replace("contention", "cont.").replace("dependency", "dep.")


def matrix(total):
    """Percent of each cause's true idle time."""
    rows = [(cause, total.of(cause)[0]) for cause in total.causes()]
    shown = [given for given in dict.fromkeys([cause for cause, _ in rows] + sorted({given for _, given in total.matrix}))
             if any(ns and total.matrix[cause, given] >= SHOWN * ns for cause, ns in rows)]
    made = []
    for cause, ns in rows:
        cells = [total.matrix[cause, given] / ns if ns else 0 for given in shown]
        marked = [f"**{100 * cell:.1f}**" if given in total.fine(cause) and cell >= SHOWN else f"{100 * cell:.1f}" if cell >= SHOWN else ""
                  for given, cell in zip(shown, cells)]
        made.append([cause, f"{ns / 1e9:.1f}", *marked])
    return table(["true \\ given", "s", *map(short, shown)], made)


def overall(answer):
    rows = [[what, *(f"{100 * share:.2f}" for share in both)] for what, both in answer.overall().items()]
    return table(["% of true idle time", "of all time", "mean of the scenarios"], rows)


def decades(total):
    rows = [[DECADES[decade], f"{total.decades[decade][0] / 1e9:.2f}", percent(total.decades[decade][1], total.decades[decade][0])]
            for decade in sorted(DECADES) if decade in total.decades]
    return table(["a fault's length", "s", "% right"], rows)


def scenarios(answer):
    rows = [[name, str(total.runs), f"{total.true / 1e9:.2f}", percent(total.right, total.true), percent(total.wrong, total.true),
             percent(total.true - total.right - total.wrong, total.true), percent(total.own_right, total.own), f"{total.queued / 1e9:.2f}"]
            for name, total in answer.scenarios.items()]
    return table(["scenario", "runs", "s", "right", "wrong", "rest", "the fault itself", "no CPU, s"], rows)


def controls(answer):
    rows = [[name, str(len(answer.controls[name])), *(f"{100 * share:.2f}" for share in answer.control(name))] for name in answer.controls]
    return table(["control", "runs", "% of the span on a fault's cause", "worst run"], rows)


def advice(answer):
    rows = [[cause, ", ".join(sorted(row.ids)) or "–", str(row.due), str(row.said), percent(row.near(), row.said), f"{100 * row.median():.0f}"]
            for cause, row in answer.advised.items()]
    return table(["cause", "advice", "runs where due", "given", f"% within {100 * due_advice.NEAR:.0f} % of the truth",
                  "lost, % of the truth (median)"], rows)


def told(answer):
    parts = [f"## {WAYS[answer.how]}\n", overall(answer), f"### True × given, % of the true cause's idle time\n\n{matrix(answer.all)}"]
    if answer.all.decades:
        parts.append(f"### By length\n\n{decades(answer.all)}")
    parts.append(f"### By scenario\n\n{scenarios(answer)}")
    if answer.controls:
        parts.append(f"### Controls\n\n{controls(answer)}")
    if answer.advised:
        parts.append(f"### Advice\n\n{advice(answer)}")
    missed, asked = list(answer.complaints()), ", ".join(f"{what} {100 * limit:.0f}" for what, limit in answer.limits.items())
    found = "Missed:\n\n" + "\n".join(f"- {line}" for line in missed) if missed else "All of it met."
    parts.append(f"### Held to\n\nIn percent: {asked}. {found}\n")
    if answer.left_out:
        names = sorted({(record["scenario"], record["left_out"]) for record in answer.left_out})
        parts.append("### Left out\n\n" + "\n".join(f"- {name}: {why}" for name, why in names) + "\n")
    return "\n".join(parts)


def document(answers, about):
    where = f"`make scenarios SEEDS={about['seeds']}` at {about['commit']}, {about['date']}, on {about['machine']}."
    first = (f"# How often a cause is right\n\n{where}\n"
             "Programs on the simulated driver that leave their device idle for causes they write down themselves; each run's lengths,\n"
             "workers, streams and devices are its seed's. Rules were tuned on seeds 1–20. `loop` is what the program needs between a fault\n"
             f"and the device's work: {', '.join(score.LOOP)} are right there. Bold is right; `none`: in no gap of the report. How it is scored: "
             "[lab/README.md](lab/README.md).\n")
    return "\n".join([first, *map(told, answers)])
