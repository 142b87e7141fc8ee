# SPDX-License-Identifier: BSD-2-Clause
"""Seeds for fuzz_baseline: baselines by hand, one for each thing that may be in one, what may not, and what comes of them when they are damaged."""

import json

SCHEMA = "gpushim.baseline/1"
CAUSES = ["input-wait", "sync-bubble", "launch-bound", "unexplained"]


def typical(compute=80_000_000, comm=0, copy=1_000_000, n=100, errors=50_000.5, **causes):
    """Names of causes have _ for a hyphen."""
    idle = {name.replace("_", "-"): ns for name, ns in causes.items()}
    leaves = {"compute": compute, "comm": comm, "copy": copy, **idle}
    rows = ["step", "idle", *(name for name, ns in leaves.items() if ns)]
    return {"step": sum(leaves.values()), "idle": sum(idle.values()), "leaves": leaves, "errors": {row: errors for row in rows}, "tail_ns": 12345, "tail_error_ns": 99.5, "n": n, "blocks": n}


def site(where, ns, gaps=1.0, cause="input-wait"):
    return {"where": where, "idle_ns": ns, "gaps": gaps, "causes": {cause: ns}}


def gap(key, ns, cause="input-wait", before="gemm", after="copy host to device, pinned", lines=()):
    return {"before": before, "after": after, "key": key, "per_step": 1.25, "ns_per_step": ns, "causes": {cause: ns}, "number": 7, "longest_ns": 2 * ns, "lines": list(lines)}


def kernel(name, per_step=10.0, ns=0, moved=0.0):
    return {"name": name, "per_step": per_step, "ns_per_step": ns, "has_ns": ns > 0, "bytes_per_step": moved}


def device(number=0, step=None, **more):
    step = step or typical(input_wait=9_000_000)
    return {"number": number, "rank": 4294967295, "name": "H100", "uuid": "GPU-1", "n_steps": 100, "n_warm_up": 3, "by_ranges": True, "step_name": "step#",
            "typical": step, "blurred_ns": 1000, "unresolved_ns": 0, **more}


def run(*devices, **more):
    return {"path": "base", "kind": "gpushim", "timing": "edges", "probes": "ebpf", "index": 0, "count": 1, "facts": [{"name": "gpu", "value": "H100"}],
            "devices": list(devices) or [device()], **more}


def text(*runs, **more):
    return json.dumps({"schema": SCHEMA, "runs": list(runs), **more}).encode()


LINES = ["  +0.0 us       ######       10.2 ms   98.1 %  input-wait, inferred", "      thread 100 was found in read of pipe:[7]", "\x1b[31m </script> \u202e"]
KERNELS = [kernel("gemm", 40, 7_000_000), kernel("void f<int, 4>(float*)", 1.5), kernel("memset", 2, 0, 512.0), kernel("")]
CLASSES = [{"key": 1 << 63, "words": "412 launches, 3 copies", "typical": typical(n=70)}, {"key": 0, "words": "of many kinds", "typical": typical(n=30, launch_bound=5)}]
MEMORY = {"known": True, "peak_allocated": 1 << 30, "peak_reserved": 1 << 31, "fragmentation": 0.25, "out_of_memory": 0}
FULL = {"classes": CLASSES, "kernels": KERNELS, "sites": [site("load (train.py:41)", 9_000_000), site("[before] step (train.py:60)", 3)],
        "gaps": [gap(1, 8_000_000, lines=LINES), gap(2, 500_000, "sync-bubble", "", "")], "memory": MEMORY}
SLOW = typical(input_wait=29_000_000)

VALID = {
    "least": text({}),
    "device-least": text({"devices": [{}]}),
    "one": text(run()),
    "full": text(run(device(**FULL))),
    "same-twice": text(run(), run()),
    "slower": text(run(), run(device(step=SLOW))),
    "faster": text(run(device(step=SLOW)), run()),
    "two-a-side": text(run(), run(device(step=typical(input_wait=9_100_000))), run(device(step=SLOW)), run(device(step=typical(input_wait=28_000_000)))),
    "five-a-side": text(*(run(device(step=typical(input_wait=9_000_000 + 70_000 * (i % 5) + (5_000_000 if i > 4 else 0)))) for i in range(10))),
    "classes": text(run(device(classes=CLASSES)), run(device(classes=CLASSES[::-1]))),
    "classes-others": text(run(device(classes=CLASSES)), run(device(classes=[{"key": 5, "words": "x", "typical": typical()}]))),
    "class-twice": text(run(device(classes=[CLASSES[0], CLASSES[0]], n_steps=140))),
    "kernels": text(run(device(kernels=KERNELS)), run(device(kernels=[kernel("gemm", 80, 14_000_000), kernel("new", 3)]))),
    "kernels-many": text(run(device(kernels=[kernel(f"k{i}", i) for i in range(260)]))),
    "kernel-twice": text(run(device(kernels=KERNELS + KERNELS))),
    "sites": text(run(device(sites=FULL["sites"])), run(device(sites=[site("load (train.py:43)", 29_000_000)]))),
    "sites-moved": text(run(device(sites=[site(f"f (a.py:{i})", 900_000) for i in range(9)])), run(device(sites=[site(f"f (a.py:{i})", 1_900_000) for i in range(3, 14)]))),
    "gaps": text(run(device(gaps=FULL["gaps"])), run(device(gaps=[gap(1, 28_000_000, lines=LINES), gap(3, 9)]))),
    "gaps-many": text(run(device(gaps=[gap(i, 1000 * i) for i in range(40)]))),
    "lines-many": text(run(device(gaps=[gap(1, 2, lines=["x"] * 20)]))),
    "memory": text(run(device(memory=MEMORY)), run(device(memory={**MEMORY, "peak_allocated": 1 << 33, "out_of_memory": 2}))),
    "memory-large": text(run(device(memory={**MEMORY, "peak_allocated": 1 << 56, "fragmentation": 1e9}))),
    "cut": text(run(cut="x.gst: byte 4176: record of 65535 bytes, 120 left")),
    "facts": text(run(facts=[{"name": n, "value": v} for n, v in (("gpu", "A100"), ("driver", "550"), ("host", "a"), ("", ""))]), run()),
    "other-kind": text(run(), run(kind="kineto")),
    "other-timing": text(run(), run(timing="host")),
    "other-probes": text(run(), run(probes="none")),
    "other-devices": text(run(), run(device(), device(1))),
    "eight-devices": text(*(run(*(device(i, rank=i) for i in range(8))) for _ in range(2))),
    "ranks-turned": text(run(device(0, rank=0), device(1, rank=1)), run(device(0, rank=1), device(1, rank=0))),
    "no-steps": text(run(device(step=typical(n=1), n_steps=0)), run(device(step=typical(n=1), n_steps=0))),
    "few-steps": text(run(device(step=typical(n=3)))),
    "no-errors": text(run(device(step=typical(errors=0))), run(device(step=typical(errors=0, input_wait=1)))),
    "errors-large": text(run(device(step=typical(errors=7e16))), run(device(step=typical(errors=1e-300)))),
    "numbers-large": text(run(device(step=typical(compute=1 << 55, copy=1 << 55)))),
    "zero-step": text(run(device(step=typical(0, 0, 0)))),
    "newer-keys": text(run(device(later={"typical": [1, {"step": []}]}), x=[[]]), made_by={"a": [None, True, -1e5]}),
    "newer-cause": text(run(device(step=typical(gremlins=5, elves=7)))),
    "names-hostile": text(run(device(name="\x1b[2J</script>", kernels=[kernel("`|\n<b>&]]>")], sites=[site("a|b", 5)]), path="\u202e\"'")),
    "name-long": text(run(path="p" * 4096)),
    "keys-twice": b'{"schema":"gpushim.baseline/1","schema":"gpushim.baseline/1","runs":[{"devices":[{"typical":{"step":1},"typical":{"step":0}}],"devices":[]}],"runs":[{}]}'.replace(b'"step":1', b'"step":0'),
    "spaces": json.dumps(json.loads(text(run(device(**FULL)))), indent=1).encode(),
    "schema-last": json.dumps({"runs": [run()], "schema": SCHEMA}).encode(),
}

REFUSED = {
    "nothing": b"",
    "no-object": b"[]",
    "number": b"7 ",
    "no-schema": b'{"runs":[{}]}',
    "no-runs": text(),
    "newer-version": text(run()).replace(b"baseline/1", b"baseline/2"),
    "other-schema": text(run()).replace(b"baseline/1", b"report/1"),
    "step-does-not-sum": text(run()).replace(b'"step": 90', b'"step": 91'),
    "idle-does-not-sum": text(run()).replace(b'"idle": 9', b'"idle": 8'),
    "site-does-not-sum": text(run(device(sites=[{**site("f", 5), "idle_ns": 6}]))),
    "gap-does-not-sum": text(run(device(gaps=[{**gap(1, 5), "ns_per_step": 6}]))),
    "numbers-negative": text(run(device(step=typical(compute=-5)))),
    "classes-of-no-steps": text(run(device(classes=CLASSES, n_steps=0))),
    "classes-of-too-many-steps": text(run(device(classes=CLASSES, n_steps=99))),
    "number-too-large": text(run(device(step=typical(compute=1 << 57)))),
    "number-no-int": text(run(device(blurred_ns=1.5))),
    "double-too-large": text(run(device(kernels=[kernel("k", 1e300)]))),
    "list-as-object": text(run(device(kernels={}))),
    "object-as-list": text(run(device(typical=[]))),
    "text-too-long": text(run(path="p" * 4097)),
    "text-with-zero": text(run(path="a\0b")),
    "deep": text({"x": [[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]}),
    "run-no-object": text(7),
    "runs-many": text(*[{}] * 300),
    "trailing": text(run()) + b"{}",
    "cut-short": text(run(device(**FULL)))[:-200],
    "no-utf-8": text(run()).replace(b"H100", b"\xff\xed\xa0\x80"),
}


def seeds():
    """Name and content."""
    yield from VALID.items()
    yield from REFUSED.items()
