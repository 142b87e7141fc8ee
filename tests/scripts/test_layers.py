# SPDX-License-Identifier: BSD-2-Clause
"""The layer check finds what it is there for. Each case is a tree of one or two files."""

import subprocess

import pytest

CASES = {
    "the analyzer may include the format": ({"analyzer/read/reader.c": '#include "shim/format.h"', "shim/format.h": ""}, None),
    "the analyzer may include nothing else of the shim": (
        {"analyzer/read/reader.c": '#include "shim/ring.h"', "shim/ring.h": ""}, "analyzer/read/reader.c:1: may not include shim/ring.h"),
    "the shim includes nothing of the analyzer": (
        {"shim/ring.c": '#include "analyzer/tools/error.h"', "analyzer/tools/error.h": ""}, "shim/ring.c:1: may not include analyzer/tools/error.h"),
    "simgpu knows nothing of the shim": (
        {"tests/simgpu/op.c": '#include "shim/ring.h"', "shim/ring.h": ""}, "tests/simgpu/op.c:1: may not include shim/ring.h"),
    "a folder may include itself": ({"analyzer/timeline/gaps.c": '#include "timeline.h"', "analyzer/timeline/timeline.h": ""}, None),
    "a later folder may include an earlier one": ({"analyzer/cause/cause.c": '#include "timeline/timeline.h"', "analyzer/timeline/timeline.h": ""}, None),
    "an earlier folder may not include a later one": (
        {"analyzer/timeline/gaps.c": '\n#include "cause/cause.h"', "analyzer/cause/cause.h": ""},
        "analyzer/timeline/gaps.c:2: includes analyzer/cause/cause.h, which comes later"),
    "folders of one row include each other": (
        {"analyzer/read/a.c": '#include "pack/b.h"', "analyzer/pack/b.h": '#include "read/a.h"', "analyzer/read/a.h": ""}, None),
    "every folder of the analyzer has a place": ({"analyzer/new/newcomer.c": ""}, "analyzer/new/newcomer.c: is in no folder of scripts/layers.py"),
    "every module of the analyzer has a folder": ({"analyzer/newcomer.c": ""}, "analyzer/newcomer.c: is in no folder of scripts/layers.py"),
    "no two files of the analyzer have one name": (
        {"analyzer/read/a.h": "", "analyzer/trace/a.h": ""}, "analyzer: 2 files are named a.h"),
    "library code does not print": (
        {"analyzer/timeline/gaps.c": 'void f(void)\n{\n\tprintf("x");\n}\n'}, "analyzer/timeline/gaps.c:3: library code prints or exits: printf("),
    "library code does not exit": (
        {"analyzer/timeline/gaps.c": "void f(void) { exit(1); }"}, "analyzer/timeline/gaps.c:1: library code prints or exits: exit("),
    "library code does not choose stderr": ({"analyzer/timeline/gaps.c": 'void f(void) { fputs("x", stderr); }'}, "prints or exits: stderr"),
    "a FILE that was handed in is fine": (
        {"analyzer/timeline/gaps.c": 'void f(FILE *o) { fprintf(o, "printf("); snprintf(b, 1, "x"); /* exit(1) */ }'}, None),
    "commands print and exit": ({"analyzer/cmd/cmd_info.c": 'void f(void) { printf("x"); exit(2); }'}, None),
    "main exits": ({"analyzer/main.c": "int main(void) { exit(2); }"}, None),
}


@pytest.mark.parametrize("case", CASES)
def test_layers(root, tmp_path, case):
    files, complaint = CASES[case]
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    run = subprocess.run([root / "scripts/check-layers.sh", tmp_path], capture_output=True, text=True)
    if complaint is None:
        assert (run.returncode, run.stdout) == (0, "layers: fine\n")
    else:
        assert run.returncode == 1
        assert complaint in run.stdout
