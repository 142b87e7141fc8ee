#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""constants.py CUDA_INCLUDE > constants.txt: the values, by cuda.h, of every result and of each enumerator in the conformance list.
The machine that replays it has no headers."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIST = HERE.parent.parent / "tests/conformance"
HEAD = "# SPDX-License-Identifier: BSD-2-Clause\n# Made by constants.py from CUDA 13.0's cuda.h, for the conformance list.\n"


def used(texts):
    return {name for text in texts for name in re.findall(r"\bCU(?:DA)?_[A-Z0-9_]+\b", text)}


def values(include, texts):
    header = (Path(include) / "cuda.h").read_text()
    results = set(re.findall(r"\b(CUDA_(?:SUCCESS|ERROR_\w+))\s*=", header))
    constants = set(re.findall(r"^[\s,]*(CU\w+)\s*(?:[=,/]|$)", header, re.M)) | set(re.findall(r"#define\s+(CU\w+)\s", header))
    names = sorted(used(texts) & constants | results)
    prints = "".join(f'\tprintf("%s %lld\\n", "{name}", (long long){name});\n' for name in names)
    source = f"#include <cuda.h>\n#include <stdio.h>\nint main(void)\n{{\n{prints}\treturn 0;\n}}\n"
    with tempfile.TemporaryDirectory() as folder:
        built = subprocess.run(["cc", "-w", "-xc", "-", "-I", str(include), "-o", f"{folder}/print"], input=source, text=True, capture_output=True)
        if built.returncode:
            raise SystemExit(built.stderr)
        return subprocess.run([f"{folder}/print"], capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    sys.stdout.write(HEAD + values(sys.argv[1], [path.read_text() for path in sorted(LIST.glob("*.txt"))]) + "# end\n")
