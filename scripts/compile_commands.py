#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Reads what `make -n V=1` would run, prints compile_commands.json."""

import json
import os
import shlex
import sys

entries = []
for line in sys.stdin.read().replace("\\\n", " ").splitlines():
    try:
        words = shlex.split(line)
    except ValueError:  # a shell loop, not a compiler
        continue
    if "-c" in words and "-o" in words and words[-1].endswith((".c", ".S")) and "$" not in words[-1]:
        entries.append({"directory": os.getcwd(), "file": words[-1], "output": words[words.index("-o") + 1], "arguments": words})
json.dump(entries, sys.stdout, indent=1)
print()
