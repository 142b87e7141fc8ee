# SPDX-License-Identifier: BSD-2-Clause
"""The sums that hold exactly in every report, whatever the trace."""

import functools


class Unsound(Exception):
    """No matter of the machine: not to be tried again, here or by scripts/check.py, which knows it by its name."""


def each_time(check):
    """What this asserts holds for every run, within once_in as well."""
    @functools.wraps(check)
    def insist(*args, **how):
        try:
            return check(*args, **how)
        except AssertionError as error:
            raise Unsound(str(error)) from error
    return insist


@each_time
def check_device(device):
    where = f"device {device['device']}"
    parts = device["compute_ns"] + device["comm_exposed_ns"] + device["copy_exposed_ns"] + device["idle_ns"]
    assert device["span_ns"] == device["end_ns"] - device["begin_ns"], where
    assert device["span_ns"] == parts, f"{where}: span {device['span_ns']}, its parts {parts}"
    assert device["idle_ns"] == sum(device["causes"].values()), f"{where}: idle and its causes"
    assert device["copy_exposed_ns"] == sum(device["copy"].values()), f"{where}: copies and their kinds"
    assert device["comm_exposed_ns"] == sum(device["comm"].values()), f"{where}: communication and its parts"
    assert device["startup_ns"] + device["shutdown_ns"] <= device["idle_ns"], where
    assert min(device["causes"].values(), default=0) >= 0, where
    assert device["idle_error_ns"] >= 0 and device["unresolved_ns"] >= 0, where


@each_time
def check_gaps(device):
    causes, last_end = dict.fromkeys(device["causes"], 0), device["begin_ns"]
    for gap in device["gaps"]:
        where = f"gap at {gap['begin_ns']}"
        assert last_end <= gap["begin_ns"] < gap["end_ns"] <= device["end_ns"], f"{where}: not in time order, or outside the span"
        last_end = at = gap["begin_ns"]
        for cause in gap["causes"]:
            assert cause["begin_ns"] == at < cause["end_ns"], f"{where}: its causes do not tile it"
            at = cause["end_ns"]
            causes[cause["id"]] += cause["end_ns"] - cause["begin_ns"]
        assert at == gap["end_ns"], f"{where}: its causes do not reach its end"
        last_end = gap["end_ns"]
    assert causes == device["causes"], "the gaps' causes do not sum to the device's"


@each_time
def check(report):
    """Holds for a report with every gap in it (no --top)."""
    for device in report["devices"]:
        check_device(device)
        check_gaps(device)
    for step in report["steps"]:
        assert step["idle_ns"] == sum(step["causes"].values()), f"step {step['index']}"
