# SPDX-License-Identifier: BSD-2-Clause
"""Steps of PyTorch workloads on demand; worker.py tells the protocol. A command that fails is answered with its error, and the
process goes on."""

import hashlib
import json
import os
import sys
import time

WARM_STEPS = 5

# Before torch is imported: cuBLAS is deterministic only with it, and what torch.compile makes is made once for all processes.
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # no helper processes beside every one of ours


def digest(losses):
    """Of every step's loss, exactly."""
    return hashlib.sha256(" ".join(loss.float().item().hex() for loss in losses).encode()).hexdigest()[:16]


class Session:
    def __init__(self, torch, builders):
        self.torch, self.builders = torch, builders
        self.steps, self.profiler = {}, None

    def step_of(self, name):
        if name not in self.steps:
            self.steps[name] = self.builders[name](self.torch)
            for _ in range(WARM_STEPS):
                self.steps[name]()
            self.torch.cuda.synchronize()
        return self.steps[name]

    def prepare(self, name):
        self.step_of(name)
        return {"ok": True}

    def run(self, name, count):
        step = self.step_of(name)
        self.torch.cuda.synchronize()
        begin = time.monotonic_ns()
        losses = [step() for _ in range(int(count))]
        self.torch.cuda.synchronize()
        ns = time.monotonic_ns() - begin
        return {"ns": ns, "result": digest(losses[-1:])}

    def mark(self, name, count):
        step, marks = self.step_of(name), []
        self.torch.cuda.synchronize()
        marks.append(time.monotonic_ns())
        loss = None
        for _ in range(int(count)):
            loss = step()
            self.torch.cuda.synchronize()
            marks.append(time.monotonic_ns())
        return {"marks": marks, "result": digest([loss])}

    def profile(self):
        """The device's work and the calls that start it; without PyTorch's own operators, which would only slow the host. The context is there
        before, as CUPTI wants it, but nothing has run on the device: what ran before would be in our time and not in the profiler's."""
        self.torch.cuda.init()
        self.torch.cuda.synchronize()
        self.profiler = self.torch.profiler.profile(activities=[self.torch.profiler.ProfilerActivity.CUDA])
        self.profiler.__enter__()
        return {"ok": True}

    def export(self, path):
        self.torch.cuda.synchronize()
        self.profiler.__exit__(None, None, None)
        self.profiler.export_chrome_trace(path)
        return {"ok": True}

    def obey(self, words):
        commands = {"prepare": self.prepare, "run": self.run, "steps": self.mark, "profile": self.profile, "export": self.export}
        if not words or words[0] not in commands:
            return {"error": f"no such command: {' '.join(words)}"}
        return commands[words[0]](*words[1:])


def import_torch():
    import torch
    import torch.utils.data
    import torch.utils.deterministic
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = False  # it would launch a kernel for every empty tensor
    torch.backends.cudnn.benchmark = False
    return torch


def serve(session, commands, say):
    for line in commands:
        words = line.split()
        if words == ["end"]:
            return
        try:
            say(session.obey(words))
        except Exception as error:  # what one workload cannot do, others may
            say({"error": f"{' '.join(words)}: {type(error).__name__}: {str(error)[:500]}"})


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer

    def say(what):
        answers.write(json.dumps(what) + "\n")
        answers.flush()

    from torch_models import BUILDERS
    session = Session(import_torch(), BUILDERS)
    say({"ready": True})
    serve(session, sys.stdin, say)


if __name__ == "__main__":
    main()
