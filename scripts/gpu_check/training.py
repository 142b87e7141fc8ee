# SPDX-License-Identifier: BSD-2-Clause
"""training.py --out FILE --steps N --profile FILE: a small seeded PyTorch training, convolutions and an MLP.

Writes every step's loss exactly (float.hex) and its CLOCK_MONOTONIC begin and end. Each step ends with a synchronise, so
that all its device work lies inside. --profile records the measured steps with torch.profiler."""

import os
import time

import part

WARM = 20
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # cuBLAS is deterministic only with it


def build(torch):
    nn = torch.nn
    return nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 128, 3, stride=2, padding=1), nn.ReLU(),
                         nn.Conv2d(128, 128, 3, stride=2, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(128 * 64, 512),
                         nn.ReLU(), nn.Linear(512, 10)).cuda()


def measure(args, result):
    try:
        import torch
    except ImportError:
        raise part.Skip("no torch") from None
    if not torch.cuda.is_available():
        raise part.Skip("torch finds no device")
    torch.manual_seed(1)
    torch.use_deterministic_algorithms(True)
    torch.backends.cudnn.benchmark = False
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False

    model = build(torch)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    images = torch.randn(8, 128, 3, 32, 32).pin_memory()
    labels = torch.randint(0, 10, (8, 128)).pin_memory()

    def step(number):
        begin = time.monotonic_ns()
        x = images[number % 8].cuda(non_blocking=True)
        y = labels[number % 8].cuda(non_blocking=True)
        loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        torch.cuda.synchronize()
        return begin, time.monotonic_ns(), loss

    steps, losses = [], []

    def run(count, first, wrap):
        for number in range(first, first + count):
            with wrap():
                begin, end, loss = step(number)
            losses.append(loss.item().hex())  # between the steps
            steps.append([begin, end])

    from contextlib import nullcontext
    run(WARM, 0, nullcontext)
    steps.clear()
    count = int(args.steps or 100)
    if args.profile:
        activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
        with torch.profiler.profile(activities=activities) as profiler:
            run(count, WARM, lambda: torch.profiler.record_function("gpu_check_step"))
        profiler.export_chrome_trace(args.profile)
    else:
        run(count, WARM, nullcontext)
    result.update(losses=losses, steps=steps)


if __name__ == "__main__":
    part.main(measure, ("--steps", "--profile"))
