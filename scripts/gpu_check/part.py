# SPDX-License-Identifier: BSD-2-Clause
"""One part of the check: a program that writes what it knows so far to the file named by its --out, so that a part that
runs out of time still leaves what it measured."""

import argparse
import json
import os
import statistics
import sys


class Skip(Exception):
    """This part cannot run here; the text says why."""


def spread(values):
    """Median with its spread; None where nothing was measured."""
    if not values:
        return None
    return {"median": statistics.median(values), "min": min(values), "max": max(values), "n": len(values)}


class Result(dict):
    """What is known so far; save() puts it on disk whole or not at all."""

    def __init__(self, path):
        super().__init__()
        self.path = path

    def save(self):
        with open(self.path + ".new", "w") as out:
            json.dump(self, out)
        os.replace(self.path + ".new", self.path)


def main(measure, options=()):
    """Runs measure(args, result). Exit status 0, or 77 with the reason on the last line where it raises Skip. Every part is given the
    folder of the binaries, one to work in, how long it may take, and whether it is a dry run or a quick one."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    for name in ("--bin", "--work", "--seconds"):
        parser.add_argument(name, default="")
    parser.add_argument("--simulated", action="store_true")
    parser.add_argument("--quick", action="store_true")
    for name in options:
        parser.add_argument(name, default="")
    args = parser.parse_args()
    result = Result(args.out)
    try:
        measure(args, result)
    except Skip as why:
        print(why)
        sys.exit(77)
    result.save()
