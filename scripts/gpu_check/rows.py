# SPDX-License-Identifier: BSD-2-Clause
"""The conformance list's language: text files of cases, each a sequence of calls with the result the driver must give.

    case NAME [alone] [bare] [needs EXPRESSION]
        alone   in a process of its own: its end leaves a state nobody else can use
        bare    as alone, and nothing has been called before: no cuInit, no context
        needs   only where this holds; `devices` is their number, attribute(NAME) asks device 0
    let NAME = EXPRESSION
    struct NAME TYPE FIELD=EXPRESSION, …     a zeroed struct of structs.py; NAME is its address
    sleep MILLISECONDS
    [on THREAD:] CALL(ARGUMENT, …)  = RESULT [or RESULT]…  [, CHECK]…    what the documentation says
    [on THREAD:] CALL(ARGUMENT, …) ?= RESULT [or RESULT]…  [, CHECK]…    what we believe: a real driver will tell

An argument is an expression, or &NAME[:TYPE]: the driver writes there (and finds there what NAME was), NAME is what it wrote.
TYPE is u64 (the default: handles, addresses, sizes), u32, int, float, text, raw16. A CHECK is an expression that must hold; `took` is
the call's wall time in milliseconds. CALL is the exported name (cuMemAlloc_v2), or launch(KERNEL, STREAM): cuLaunchKernel with
one thread. Results and enumerators go by their names in cuda.h, CUDA_ERROR_ left out. `#` begins a comment, to the end of the line.
What a case finds: replay.py."""

import re
from dataclasses import dataclass, field
from pathlib import Path

CALL = re.compile(r"(?:on (?P<thread>\w+): *)?(?P<call>\w+)\((?P<arguments>.*)\)\s*(?P<sure>\??)=\s*(?P<rest>[A-Z].*)")
OUT = re.compile(r"&(\w+)(?::(\w+))?")
CASE = re.compile(r"case (?P<name>[\w-]+)(?P<flags>(?: alone| bare)*)(?: needs (?P<needs>.*))?")


class Bad(Exception):
    """A line that is not of the language."""


@dataclass
class Row:
    place: str  # file:line
    text: str
    kind: str  # call, let, struct, sleep
    thread: str = ""
    call: str = ""
    arguments: str = ""
    sure: bool = True
    results: list = field(default_factory=list)
    checks: list = field(default_factory=list)
    name: str = ""
    value: str = ""


@dataclass
class Case:
    name: str
    place: str
    alone: bool
    bare: bool
    needs: str
    rows: list


def split(text, by=","):
    """At the separators outside brackets and quotes."""
    parts, depth, quoted, part = [], 0, False, ""
    for c in text:
        if c == '"':
            quoted = not quoted
        elif not quoted:
            depth += (c in "([{") - (c in ")]}")
            if c == by and depth == 0:
                parts.append(part.strip())
                part = ""
                continue
        part += c
    return [p for p in parts + [part.strip()] if p]


def strip_comment(line):
    return split(line, "#")[0] if line.strip() and not line.lstrip().startswith("#") else ""


def parse_line(line, place):
    if match := re.fullmatch(r"let (\w+) = (.*)", line):
        return Row(place, line, "let", name=match[1], value=match[2])
    if match := re.fullmatch(r"struct (\w+) (\w+)(?: (.*))?", line):
        fields = [part.partition("=") for part in split(match[3] or "")]
        return Row(place, line, "struct", name=match[1], call=match[2], checks=[(name.strip(), value.strip()) for name, _, value in fields])
    if match := re.fullmatch(r"sleep (\d+)", line):
        return Row(place, line, "sleep", value=match[1])
    if match := CALL.fullmatch(line):
        result, *checks = split(match["rest"])
        arguments = OUT.sub(lambda out: f'out("{out[1]}", "{out[2] or "u64"}")', match["arguments"])
        return Row(place, line, "call", match["thread"] or "", match["call"], arguments, not match["sure"], result.split(" or "), checks)
    raise Bad(f"{place}: not a row: {line}")


def parse_text(text, name):
    cases = []
    for number, line in enumerate(text.splitlines(), 1):
        place, line = f"{name}:{number}", strip_comment(line).strip()
        if not line:
            continue
        if match := CASE.fullmatch(line):
            bare = " bare" in match["flags"]
            cases.append(Case(match["name"], place, bare or " alone" in match["flags"], bare, match["needs"] or "", []))
        elif not cases:
            raise Bad(f"{place}: a row before the first case")
        else:
            cases[-1].rows.append(parse_line(line, place))
    names = [case.name for case in cases]
    if len(set(names)) != len(names):
        raise Bad(f"{name}: two cases of one name: {sorted(n for n in names if names.count(n) > 1)[0]}")
    return cases


def parse_file(path):
    return parse_text(Path(path).read_text(), Path(path).name)
