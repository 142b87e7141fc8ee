# SPDX-License-Identifier: BSD-2-Clause
"""Can a preloaded library see PyTorch's caching allocator at work? gpu_allocator_plugin.so defines the function that it reports each block
to, and counts; a program that makes a known number of blocks says what there must be."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import part
from worker import has_torch

BLOCKS, BLOCK_BYTES = 10, 3 << 20
REPORT = "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"
OUT_OF_MEMORY = "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE"
PROGRAM = f"""
import torch
blocks = [torch.empty({BLOCK_BYTES}, dtype=torch.uint8, device="cuda") for _ in range({BLOCKS})]
most = torch.cuda.memory_allocated()
del blocks
torch.cuda.synchronize()
print(most)
"""


def find_plugin(binaries):
    for folder in ("workloads", "."):
        plugin = Path(binaries) / folder / "gpu_allocator_plugin.so"
        if plugin.exists():
            return plugin
    raise part.Skip("gpu_allocator_plugin.so is not built")


def named_in(library, names):
    """Which of these names stand in the library's strings: defined there, or called from there."""
    content = Path(library).read_bytes() if Path(library).exists() else b""
    return {name: b"\0" + name.encode() + b"\0" in content for name in names}


def torch_libraries():
    folder = Path(importlib.util.find_spec("torch").origin).parent / "lib"
    return {name: named_in(folder / name, (REPORT, OUT_OF_MEMORY)) for name in ("libc10.so", "libc10_cuda.so")}


def count_blocks(command, plugin, work, seconds):
    """What the plugin counted in this program, and what the program printed."""
    told = Path(work) / "allocator.json"
    told.unlink(missing_ok=True)
    env = dict(os.environ, LD_PRELOAD=str(plugin), GPU_CHECK_ALLOCATOR=str(told))
    run = subprocess.run(command, env=env, capture_output=True, text=True, timeout=seconds)
    if run.returncode:
        raise RuntimeError(f"exit {run.returncode}: {run.stderr[-1000:]}")
    return json.loads(told.read_text()), run.stdout.strip()


def judge(counted, blocks, bytes_each):
    """Seen where every block was reported, taken and given back."""
    return counted["allocations"] >= blocks and counted["frees"] >= blocks and counted["allocated_bytes"] >= blocks * bytes_each


def measure(args, result):
    plugin = find_plugin(args.bin)
    if args.simulated or not has_torch():
        raise part.Skip("no PyTorch" if not has_torch() else "dry run")
    result["names"] = torch_libraries()
    result.save()
    counted, printed = count_blocks([sys.executable, "-c", PROGRAM], plugin, args.work, float(args.seconds or 60) - 2)
    result.update(counted=counted, torch_says_bytes=int(printed.splitlines()[-1]), seen=judge(counted, BLOCKS, BLOCK_BYTES))


if __name__ == "__main__":
    part.main(measure)
