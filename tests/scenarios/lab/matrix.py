# SPDX-License-Identifier: BSD-2-Clause
"""What all runs come to: the confusion matrix, shares, and what falls short of what is asked for.

Shares are of true idle time. "Overall" is looked at twice: of all time together, and as the mean of the scenarios, in which a long one counts no
more than others; the worse of both is held to the threshold."""

from collections import Counter

import due_advice
import score

PROBED = {"overall": 0.95, "cause": 0.90, "mixture": 0.90, "unexplained": 0.03, "wrong": 0.02, "control": 0.01, "advice": 0.95}
BLIND = {"overall": 0.70, "wrong": 0.05}
ENOUGH_NS = 20_000_000  # a cause that was true for less of the time is not judged


class Total:
    """Of some runs."""

    def __init__(self, records, probed):
        self.probed = probed
        self.runs, self.true, self.right, self.wrong, self.queued, self.own, self.own_right = 0, 0, 0, 0, 0, 0, 0
        self.matrix, self.decades = Counter(), {}
        for record in records:
            self.add(record)

    def add(self, record):
        self.runs += 1
        for name in ("true", "right", "wrong", "queued", "own", "own_right"):
            setattr(self, name, getattr(self, name) + record[name])
        for true, given, ns in record["matrix"]:
            self.matrix[true, given] += ns
        for decade, (true, right) in record["decades"].items():
            mine = self.decades.setdefault(min(max(4, int(decade)), 8), [0, 0])
            mine[:] = mine[0] + true, mine[1] + right

    def share(self, what):
        return getattr(self, what) / self.true if self.true else 0.0

    def given(self, cause):
        return sum(ns for (_, given), ns in self.matrix.items() if given == cause) / (self.true or 1)

    def by_name(self):
        """Right, and by the cause's own name: not input-wait for an input's."""
        instead = sum(ns for (true, given), ns in self.matrix.items() if true in score.INPUT and given == "input-wait")
        return (self.right - instead * (not self.probed)) / (self.true or 1)

    def causes(self):
        return sorted({true for true, _ in self.matrix})

    def fine(self, cause):
        """What is right for it."""
        if cause == score.BETWEEN:
            return score.LOOP
        return (cause,) if self.probed or cause not in score.INPUT else (cause, "input-wait")

    def of(self, cause):
        """(ns true, of that right, of that wrong)"""
        row = {given: ns for (true, given), ns in self.matrix.items() if true == cause}
        right = sum(row.get(given, 0) for given in self.fine(cause))
        rest = sum(row.get(given, 0) for given in (*score.REST, score.NONE) if given not in self.fine(cause))
        return sum(row.values()), right, sum(row.values()) - right - rest


def by(records, key):
    found = {}
    for record in records:
        found.setdefault(record[key], []).append(record)
    return found


class Answer:
    """Of all runs of one way to watch. scenarios: by name, with kind."""

    def __init__(self, records, scenarios, how):
        self.how, self.probed = how, how != "none"
        self.limits = PROBED if self.probed else BLIND
        self.bad = [record for record in records if "failed" in record or "unsound" in record]
        self.left_out = [record for record in records if "left_out" in record]
        good = [record for record in records if "true" in record and record["scenario"] in scenarios]
        self.controls = by([record for record in good if scenarios[record["scenario"]].kind == "control"], "scenario")
        faults = [record for record in good if scenarios[record["scenario"]].kind != "control"]
        self.all = Total(faults, self.probed)
        self.scenarios = {name: Total(own, self.probed) for name, own in by(faults, "scenario").items()}
        self.mixtures = {name: total for name, total in self.scenarios.items() if scenarios[name].kind == "mixture"}
        self.advised = due_advice.rows(faults)
        self.seeds = {record["seed"] for record in good}

    def mean(self, what):
        return sum(total.share(what) for total in self.scenarios.values()) / (len(self.scenarios) or 1)

    def mean_given(self, cause):
        return sum(total.given(cause) for total in self.scenarios.values()) / (len(self.scenarios) or 1)

    def overall(self):
        """(of all time, mean of the scenarios)"""
        named = sum(total.by_name() for total in self.scenarios.values()) / (len(self.scenarios) or 1)
        own = {} if self.probed else {"right by the cause's own name": (self.all.by_name(), named)}
        return {"right": (self.all.share("right"), self.mean("right")), **own, "wrong": (self.all.share("wrong"), self.mean("wrong")),
                "unexplained": (self.all.given("unexplained"), self.mean_given("unexplained")),
                "input-wait": (self.all.given("input-wait"), self.mean_given("input-wait")),
                "in no gap": (self.all.given(score.NONE), self.mean_given(score.NONE))}

    def control(self, name):
        """Share of all its spans, and the worst run's."""
        runs = self.controls[name]
        claimed = sum(sum(run["control"]["claimed"].values()) for run in runs)
        return claimed / (sum(run["span"] for run in runs) or 1), max(run["control"]["share"] for run in runs)

    def against_controls(self):
        """[(control, seed, advice's id, share of the span), …] of those that are worth a mention."""
        return [(record["scenario"], record["seed"], name, share) for runs in self.controls.values() for record in runs
                for name, share in record["control"].get("advice", ()) if share > self.limits.get("control", 0.01)]

    def complaints(self):
        for record in self.bad:
            yield f"{record['scenario']}, seed {record['seed']}: {record.get('unsound') or record['failed']}"
        if not self.scenarios:
            return
        over = self.overall()
        if min(over["right"]) < self.limits["overall"]:
            yield f"overall: {min(over['right']):.1%} right, {self.limits['overall']:.0%} is asked for"
        for what in ("wrong", "unexplained"):
            if what in self.limits and max(over[what]) > self.limits[what]:
                yield f"overall: {max(over[what]):.1%} {what}, {self.limits[what]:.0%} is allowed"
        if not self.probed:
            return
        for cause in self.all.causes():
            true, right, _ = self.all.of(cause)
            if cause != score.BETWEEN and true >= ENOUGH_NS and right < self.limits["cause"] * true:
                yield f"{cause}: {right / true:.1%} right, {self.limits['cause']:.0%} is asked for"
        for name, total in self.mixtures.items():
            if total.share("right") < self.limits["mixture"]:
                yield f"mixture {name}: {total.share('right'):.1%} right, {self.limits['mixture']:.0%} is asked for"
        for name in self.controls:
            share, _ = self.control(name)
            if share > self.limits["control"]:
                yield f"control {name}: {share:.2%} of the span, {self.limits['control']:.0%} is allowed"
        for cause, row in self.advised.items():
            if row.said < self.limits["advice"] * row.due:
                yield f"advice against {cause}: in {row.said} of {row.due} runs, {self.limits['advice']:.0%} is asked for"
        for name, seed, advice, share in self.against_controls():
            yield f"control {name}, seed {seed}: advice {advice} for {share:.2%} of the span"

    def as_json(self):
        return {"how": self.how, "seeds": sorted(self.seeds), "runs": self.all.runs + sum(map(len, self.controls.values())),
                "true_idle_ns": self.all.true, "not_scored_no_cpu_ns": self.all.queued, "overall": self.overall(),
                "matrix": {cause: {given: ns for (true, given), ns in sorted(self.all.matrix.items()) if true == cause and ns}
                           for cause in self.all.causes()},
                "causes": {cause: dict(zip(("true_ns", "right_ns", "wrong_ns"), self.all.of(cause))) for cause in self.all.causes()},
                "decades": {str(decade): {"true_ns": true, "right_ns": right} for decade, (true, right) in sorted(self.all.decades.items())},
                "scenarios": {name: {"runs": total.runs, "true_ns": total.true, "right": total.share("right"), "wrong": total.share("wrong"),
                                     "fault_itself_right": total.own_right / (total.own or 1), "not_scored_no_cpu_ns": total.queued}
                              for name, total in self.scenarios.items()},
                "controls": {name: dict(zip(("share", "worst_run"), self.control(name))) for name in self.controls},
                "advice": {cause: {"ids": sorted(row.ids), "due": row.due, "said": row.said, "near": row.near(), "median": row.median()}
                           for cause, row in self.advised.items()},
                "missed": list(self.complaints()),
                "left_out": [[record["scenario"], record["seed"], record["left_out"]] for record in self.left_out]}
