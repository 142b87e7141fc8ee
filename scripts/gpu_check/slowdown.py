# SPDX-License-Identifier: BSD-2-Clause
"""Does the shim change a training, and what does it cost? Runs alternate, so that drift hits both alike."""

import shutil
from pathlib import Path

import part
from recorded_run import report, step_ns, train

PAIRS = 5
STEPS = 200


def measure(args, result):
    shim = Path(args.bin) / "libgpushim.so"
    out = Path(args.work) / "slowdown-out"
    without, with_shim, ratios, same = [], [], [], []
    train(args.work, 20)  # fills caches on disk; raises Skip where there is no torch
    reference = None
    for pair in range(PAIRS):
        shutil.rmtree(out, ignore_errors=True)
        runs = {}
        for shimmed in (False, True) if pair % 2 == 0 else (True, False):
            runs[shimmed] = train(args.work, STEPS, shim=shim if shimmed else "", out=out)
        reference = reference or runs[False]["losses"]
        without.append(step_ns(runs[False]))
        with_shim.append(step_ns(runs[True]))
        ratios.append(with_shim[-1] / without[-1])
        same.append(runs[True]["losses"] == reference and runs[False]["losses"] == reference)
        result.update(pairs=len(ratios), steps=STEPS, losses_equal=all(same), last_loss=reference[-1],
                      step_without_ns=part.spread(without), step_with_ns=part.spread(with_shim), ratio=part.spread(ratios))
        result.save()
    summary = report(args.bin, out)
    result.update({name: summary.get(name) for name in ("losses", "self", "calls", "injected")})


if __name__ == "__main__":
    part.main(measure, ("--bin", "--work"))
