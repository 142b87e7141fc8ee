# SPDX-License-Identifier: BSD-2-Clause
"""Does the driver answer as the conformance list (tests/conformance/*.txt) says? On the simulated driver every row must hold; on a
real one each row that differs is a finding about the list: a documented rule we read wrongly, or a guess that was wrong.

Prints a line for each row that differs and `N rows, M differ`. --rows names another folder or file."""

import json
import select
import subprocess
import sys
from pathlib import Path

import part
import rows

HERE = Path(__file__).resolve().parent
LIST = HERE.parent.parent / "tests/conformance"
ROW_SECONDS = 20  # a call that takes longer hangs


class Replayed:
    """What became of the rows."""

    def __init__(self):
        self.count, self.documented, self.guessed, self.skipped = 0, [], [], []

    def take(self, line):
        if "skipped" in line:
            self.skipped.append(f"{line['skipped']}: {line['reason']}")
        elif "ok" in line:
            self.count += 1
            if not line["ok"]:
                self.differs(line["place"], line["text"], line["expected"], line["got"], line["sure"])

    def differs(self, place, text, expected, got, sure):
        call = text.partition("=")[0].rstrip(" ?")
        (self.documented if sure else self.guessed).append(f"{place}: {call}: {got}, expected {expected}{'' if sure else ' (a guess)'}")


def read_lines(child):
    """Its lines as they come; None when it has been silent for too long."""
    buffer = b""
    while True:
        ready, _, _ = select.select([child.stdout], [], [], ROW_SECONDS)
        if not ready:
            yield None
            return
        chunk = child.stdout.read1(65536)
        if not chunk:
            return
        *lines, buffer = (buffer + chunk).split(b"\n")
        for line in lines:
            yield json.loads(line)


def run_child(path, cases, first, replayed):
    """Runs cases from `first` on in one process; returns how many were begun."""
    child = subprocess.Popen([sys.executable, str(HERE / "replay.py"), str(path), str(first)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
    done, where, silent = 0, None, False
    for line in read_lines(child):
        if line is None:
            silent = True
            child.kill()
            break
        where = line.get("begin", where)
        if "place" in line:
            where = None
        if "case" in line:
            done += 1
        replayed.take(line)
    errors = child.communicate()[1].decode(errors="replace").strip()
    if child.returncode == 0 and not silent:
        return done
    got = f"no return in {ROW_SECONDS} s" if silent else f"killed by signal {-child.returncode}" if child.returncode < 0 else errors[-300:]
    ended = cases[first + done] if first + done < len(cases) else cases[-1]
    calls = [row for row in ended.rows if row.kind == "call"]
    row = next((row for row in calls if row.place == where), None)
    if row:
        replayed.count += 1
        replayed.skipped += [f"{later.place}: after that" for later in calls[calls.index(row) + 1:]]
    replayed.differs(where or ended.place, row.text if row else "between rows", "it returns", got, row.sure if row else True)
    return done + 1


def replay(path, replayed):
    cases = rows.parse_file(path)
    at = 0
    while at < len(cases):
        at += max(1, run_child(path, cases, at, replayed))


def measure(args, result):
    place = Path(args.rows) if args.rows else LIST
    files = sorted(place.glob("*.txt")) if place.is_dir() else [place]
    replayed, per_file = Replayed(), {}
    for path in files:
        before = replayed.count
        replay(path, replayed)
        per_file[path.stem] = replayed.count - before
        result.update(rows=replayed.count, differ=len(replayed.documented) + len(replayed.guessed), differ_documented=replayed.documented,
                      differ_guessed=replayed.guessed, skipped=replayed.skipped, files=per_file)
        result.save()
    for line in replayed.documented + replayed.guessed:
        print(line)
    print(f"{result.get('rows', 0)} rows, {result.get('differ', 0)} differ")


if __name__ == "__main__":
    part.main(measure, ("--rows",))
