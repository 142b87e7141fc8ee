#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""layers.py [TREE]: data flows one way. A file includes its own folder and what the lists below allow, nothing else;
the analyzer's library neither prints nor exits, and no two of its files have one name."""

import re
import sys
from collections import Counter
from fnmatch import fnmatch
from pathlib import Path

# Of the shim, the analyzer sees the file format only; what moves a trace serves both.
FORMAT = ["shim/format.h", "shim/format_host.h"]
# What of the shim serves the host probes, too: it knows nothing of the rest.
SHARED = [f"shim/{name}.h" for name in ("cgroup", "cgroup_cpu", "elsewhere", "file_copy", "file_system", "layout", "lines", "local_dir", "pages", "process_info", "proc_text", "rename_new", "run_dir", "short_slices")]

# Walls between folders: files → what they may include from other folders.
FOLDERS = [
    ("shim/probes/*", FORMAT + SHARED + ["shim/*.def"]),
    ("shim/*", []),
    ("analyzer/cmd/cmd_run_probes.*", FORMAT + ["shim/probes/*"]),
    ("analyzer/cmd/cmd_run_adopt.c", FORMAT + ["shim/file_copy.h", "shim/rename_new.h"]),
    ("analyzer/cmd/cmd_unpack.c", FORMAT + ["shim/rename_new.h", "shim/run_dir.h"]),
    ("analyzer/doctor/doctor_record.c", FORMAT + ["shim/network_fs.def"]),
    ("analyzer/cmd/cmd_doctor.c", FORMAT + ["shim/probes/*"]),
    ("analyzer/cmd/cmd_host.c", FORMAT + ["shim/probes/*"]),
    ("analyzer/cmd/cmd_probes.*", FORMAT + ["shim/probes/*", "shim/bytes.h"]),
    ("analyzer/cause/cause_chain_file.c", FORMAT + ["shim/network_fs.def"]),
    ("analyzer/*", FORMAT),
    ("tests/simgpu/*", []),
    ("tests/workloads/entry_points_linked.c", ["shim/*.def", "tests/unit/cudart13_requests.def"]),  # these two go through the lists
    ("tests/workloads/passed_on_linked.c", ["shim/*.def"]),
    ("tests/workloads/random_calls.c", ["tests/workloads/random_calls/*"]),
    ("tests/workloads/*", []),
]

# The analyzer's folders, in the order data takes. A file includes its own folder, those of its row, and those above it. main.c comes last.
STAGES = ["tools", "symbols", "read pack", "trace", "host", "import", "run", "timeline", "chain", "memory", "gap cause", "steps", "ranks", "summary",
          "advice", "report", "export", "html", "diff", "doctor", "cmd"]

# In the analyzer's library (all but main.c and cmd/, and what only ever runs in a child of its own, which has to end).
# Writing to a FILE that was handed in is fine.
FORBIDDEN = re.compile(r"(?<![A-Za-z0-9_.>])(?:(?:v?printf|puts|putchar|perror|exit|_exit|_Exit|abort|errx?|warnx?)\s*\(|(?:stdout|stderr)\b)")

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)
NOT_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:[^"\\\n]|\\.)*"', re.S)


def folder_of(name):
    """A wall is around it; the analyzer is one, and shim/arch and shim/twin belong to shim."""
    parent = Path(name).parent
    if parent.parts[0] == "analyzer":
        return Path("analyzer")
    return parent.parent if parent.name in ("arch", "twin") else parent


def stage_of(name):
    """Of a file of the analyzer; None: its folder has no row."""
    if name == "analyzer/main.c":
        return len(STAGES)
    return next((number for number, row in enumerate(STAGES) if Path(name).parts[1] in row.split()), None)


def resolve(tree, file, target):
    """The included file from the top of the tree; None for one that is generated."""
    for place in (file.parent / target, tree / target, tree / "analyzer" / target, tree / "shim" / target):
        if place.exists():
            return str(place.resolve().relative_to(tree))
    return None


def check_include(name, target):
    if folder_of(name) != folder_of(target):
        allowed = next((may for pattern, may in FOLDERS if fnmatch(name, pattern)), None)
        if allowed is not None and not any(fnmatch(target, pattern) for pattern in allowed):
            return f"may not include {target}"
    elif name.startswith("analyzer/"):
        mine, theirs = stage_of(name), stage_of(target)
        if mine is not None and theirs is not None and theirs > mine:
            return f"includes {target}, which comes later"
    return None


def check_library(name, text):
    base = Path(name).name
    if not fnmatch(name, "analyzer/*.c") or stage_of(name) in (stage_of("analyzer/cmd/"), stage_of("analyzer/main.c")):
        return
    if base in ("symbols_child.c", "demangle_child.c", "doctor_child.c"):
        return
    code = NOT_CODE.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)
    for match in FORBIDDEN.finditer(code):
        yield code.count("\n", 0, match.start()) + 1, f"library code prints or exits: {match.group().strip()}"


def same_names(files):
    """An archive has one object of each name, and a quoted include the nearest file."""
    seen = Counter(p.name for p in files if "analyzer" in p.parts and p.suffix in (".c", ".h", ".def"))
    return [f"analyzer: {n} files are named {name}" for name, n in sorted(seen.items()) if n > 1]


def main():
    tree = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent).resolve()
    complaints = []
    files = [p for top in ("shim", "analyzer", "tests/simgpu", "tests/workloads") for p in (tree / top).rglob("*")]
    for file in sorted(p for p in files if p.suffix in (".c", ".h", ".S", ".def")):
        name, text = str(file.relative_to(tree)), file.read_text()
        for match in INCLUDE.finditer(text):
            target = resolve(tree, file, match.group(1))
            why = check_include(name, target) if target else None
            if why:
                complaints.append(f"{name}:{text.count(chr(10), 0, match.start(1)) + 1}: {why}")
        if name.startswith("analyzer/") and stage_of(name) is None:
            complaints.append(f"{name}: is in no folder of scripts/layers.py")
        complaints += [f"{name}:{line}: {why}" for line, why in check_library(name, text)]
    complaints += same_names(files)
    print("\n".join(complaints) or "layers: fine")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
