# SPDX-License-Identifier: BSD-2-Clause
"""Does the shim record NCCL on this machine? All-reduces of one rank, by the library that PyTorch brings, and what the report says of
them; the same without the shim first, as it must come out the same. In the dry run the tests' stand-in plays NCCL."""

import ctypes.util
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import part
from worker import recording, report

CALLS = 20
HERE = Path(__file__).resolve().parent


def installed():
    """Where wheels put it."""
    for name in ("nvidia.nccl", "torch"):
        try:
            spec = importlib.util.find_spec(name)
        except ModuleNotFoundError:
            continue
        for folder in (spec.submodule_search_locations or []) if spec else []:
            yield from sorted(Path(folder).glob("lib/libnccl.so.2"))


def find_library(args):
    if args.simulated:
        path = Path(args.bin) / "nccl/libnccl.so.2"
        if not path.exists():
            raise part.Skip("the stand-in for NCCL is not built")
        return str(path)
    found = next(iter(installed()), None) or ctypes.util.find_library("nccl")
    if not found:
        raise part.Skip("no libnccl.so.2")
    return str(found)


def one_rank(args, library, level, out):
    run = subprocess.run([sys.executable, str(HERE / "nccl_one_rank.py"), library, str(CALLS)], env=recording(args, level, out),
                         capture_output=True, text=True, timeout=float(args.seconds or 60) / 2)
    if run.returncode:
        raise RuntimeError(f"exit {run.returncode} {'under the shim' if level else 'without the shim'}: {run.stderr[-1000:]}")
    return json.loads(run.stdout.splitlines()[-1])


def measure(args, result):
    library = find_library(args)
    result.update(library=Path(library).name, calls=CALLS, without=one_rank(args, library, "", ""))
    result.save()
    out = Path(args.work) / "nccl-out"
    result["recorded"] = one_rank(args, library, "auto", out)
    info = subprocess.run([str(Path(args.bin) / "gpushim-static"), "info", str(out)], capture_output=True, text=True, timeout=30).stdout
    calls = report(args.bin, out)["calls"]
    result.update(seen={name: count for name, count in calls.items() if name.startswith("nccl")},
                  info=[line.strip() for line in info.splitlines() if "nccl" in line.lower()])
    result["all_seen"] = result["seen"].get("ncclAllReduce") == CALLS


if __name__ == "__main__":
    part.main(measure)
