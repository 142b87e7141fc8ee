#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""get_traces.py FOLDER [--only TEXT]: fills a folder with the traces of traces.tsv, from the public repositories that have them.

GPUSHIM_TRACES=FOLDER then lets tests/imports/test_real_traces.py read them. What is there already is kept; each file is what it was
when the list was made (its SHA-256, or git's own hash of it), or is not put there. They stay their owners': none of it is ours to pass on."""

import argparse
import csv
import hashlib
import sys
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

LIST = Path(__file__).with_name("traces.tsv")


def rows():
    with open(LIST, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def is_sound(row, data):
    if row["sha256"].startswith("git:"):
        return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest() == row["sha256"][4:]
    return hashlib.sha256(data).hexdigest() == row["sha256"]


def place(folder, row):
    """Versions of one path lie beside each other, so the commit is in the name."""
    path = Path(row["path"])
    return folder / row["repository"] / path.parent / f"{row['commit'][:8]}-{path.name}"


def fetched(row):
    url = f"https://raw.githubusercontent.com/{row['repository']}/{row['commit']}/{urllib.parse.quote(row['path'])}"
    with urllib.request.urlopen(url, timeout=60) as answer:
        return answer.read()


def get(folder, row):
    """None, or why there is none."""
    path = place(folder, row)
    if path.exists() and is_sound(row, path.read_bytes()):
        return None
    try:
        data = fetched(row)
    except (urllib.error.URLError, OSError) as error:
        return str(error)
    if not is_sound(row, data):
        return "not the file that it was"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="rows whose repository or path has this text")
    options = parser.parse_args()
    wanted = [row for row in rows() if options.only in f"{row['repository']}/{row['path']}"]
    missing = 0
    for number, row in enumerate(wanted, 1):
        why = get(options.folder, row)
        missing += why is not None
        print(f"{number}/{len(wanted)} {row['repository']}/{row['path']}: {why or 'there'}", flush=True)
    print(f"{len(wanted) - missing} of {len(wanted)} traces are there")
    sys.exit(1 if missing else 0)


if __name__ == "__main__":
    main()
