# SPDX-License-Identifier: BSD-2-Clause
"""The PyTorch programs of gpu-check, as far as they can be tried without PyTorch: every script is Python, the worker keeps its protocol on a
stand-in for torch, and the allocator's plugin counts what a stand-in for libc10 reports."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("modules")

HERE = Path(__file__).resolve().parent

# A torch whose tensors are numbers and whose device is done at once: enough for torch_worker.py.
TORCH = '''
class Number(float):
    def float(self): return self
    def item(self): return float(self)
class Cuda:
    @staticmethod
    def init(): pass
    @staticmethod
    def synchronize(): pass
cuda = Cuda
class backends:
    class cudnn: benchmark = True
class profiler:
    class ProfilerActivity: CUDA = "cuda"
    class profile:
        def __init__(self, activities): assert activities == ["cuda"]
        def __enter__(self): return self
        def __exit__(self, *what): pass
        def export_chrome_trace(self, path): open(path, "w").write("[]")
def use_deterministic_algorithms(on, warn_only): assert on and warn_only
'''
MODELS = '''
def counting(torch):
    print("a library's own words")
    at = [0]
    def step():
        at[0] += 1
        return torch.Number(at[0] / 7)
    return step
def broken(torch):
    raise RuntimeError("no such kernel")
BUILDERS = {"launch_bound": counting, "graphs": counting, "compiled": broken}
'''


@pytest.fixture
def stub_worker(tmp_path, root):
    """torch_worker.py with stand-ins for torch and for the models."""
    from worker import Worker
    (tmp_path / "torch/utils").mkdir(parents=True)
    (tmp_path / "torch/__init__.py").write_text(TORCH)
    (tmp_path / "torch/utils/__init__.py").write_text("")
    (tmp_path / "torch/utils/data.py").write_text("")
    (tmp_path / "torch/utils/deterministic.py").write_text("fill_uninitialized_memory = True\n")
    (tmp_path / "torch_models.py").write_text(MODELS)
    main = f"import sys; sys.path[:0] = [{str(tmp_path)!r}]; sys.path.append({str(root / 'scripts/gpu_check')!r}); import torch_worker; torch_worker.main()"
    worker = Worker([sys.executable, "-c", main], {"PATH": "/usr/bin:/bin"}, tmp_path / "err")
    yield worker
    worker.kill()


def test_every_script_is_python(root):
    for path in sorted((root / "scripts/gpu_check").glob("*.py")):
        compile(path.read_text(), str(path), "exec")


def test_the_worker_keeps_the_protocol(stub_worker, tmp_path):
    assert stub_worker.answer(20) == {"ready": True}
    assert stub_worker.ask("profile") == {"ok": True}
    assert stub_worker.ask("prepare launch_bound") == {"ok": True}
    ran = stub_worker.ask("run launch_bound 10")
    assert ran["ns"] > 0 and len(ran["result"]) == 16
    marked = stub_worker.ask("steps launch_bound 3")
    assert len(marked["marks"]) == 4 and marked["marks"] == sorted(marked["marks"])
    assert stub_worker.ask(f"export {tmp_path}/k.json") == {"ok": True} and (tmp_path / "k.json").exists()
    assert stub_worker.end() == 0
    assert "a library's own words" in (tmp_path / "err").read_text()  # and not among the answers


def test_the_same_steps_give_the_same_result_and_others_another(stub_worker):
    stub_worker.answer(20)
    first, second = stub_worker.ask("run launch_bound 4"), stub_worker.ask("run graphs 4")
    assert first["result"] == second["result"] != stub_worker.ask("run graphs 1")["result"]


def test_what_one_workload_cannot_do_is_said_and_others_go_on(stub_worker):
    from worker import WorkerError
    stub_worker.answer(20)
    with pytest.raises(WorkerError, match="prepare compiled: RuntimeError: no such kernel"):
        stub_worker.ask("prepare compiled")
    with pytest.raises(WorkerError, match="no such command"):
        stub_worker.ask("dance")
    assert stub_worker.ask("prepare graphs") == {"ok": True}


def test_a_worker_that_dies_or_hangs_is_an_error_with_its_last_words(tmp_path):
    from worker import Worker, WorkerError
    dying = Worker([sys.executable, "-c", "import sys; sys.exit('out of luck')"], {}, tmp_path / "err")
    with pytest.raises(WorkerError, match="exit status 1: out of luck"):
        dying.answer(20)
    hanging = Worker([sys.executable, "-c", "import time; time.sleep(60)"], {}, tmp_path / "err2")
    with pytest.raises(WorkerError, match="no answer in 0 s"):
        hanging.answer(0.2)
    assert hanging.process.returncode == -9


def test_the_models_are_what_the_check_names(root):
    from torch_models import BUILDERS
    from worker import WORKLOADS
    assert tuple(BUILDERS) == WORKLOADS
    assert all(callable(build) for build in BUILDERS.values())


def test_a_training_step_does_its_parts_in_order():
    """forward, forget the gradients, backward, step; the loss stays where it is."""
    from torch_models import training_step
    order = []

    class Loss:
        def backward(self):
            order.append("backward")

        def detach(self):
            return "loss"

    class Optimizer:
        def zero_grad(self, set_to_none):
            order.append("zero")

        def step(self):
            order.append("step")

    class Torch:
        bfloat16 = "bf16"

        @staticmethod
        def autocast(device, dtype, enabled):
            from contextlib import nullcontext
            order.append(("autocast", enabled))
            return nullcontext()

    def loss_of(model, x):
        order.append(("forward", model, x))
        return Loss()

    assert training_step(Torch, "model", Optimizer(), lambda: (5,), loss_of, autocast=True)() == "loss"
    assert order == [("autocast", True), ("forward", "model", 5), "zero", "backward", "step"]


# ---- idle.py as it goes with PyTorch: a worker that writes a profile -------------------------------------------------------------

class ProfiledWorker:
    """Two steps of 100 us by our clock, a kernel of 60 us in each by the profiler's."""

    def __init__(self, command, env, errors):
        self.said = []
        self.level = env["GPUSHIM_DEVICE"]
        ProfiledWorker.asked = self.said

    def answer(self, seconds):
        return {"ready": True}

    def ask(self, line, seconds=60):
        self.said.append(line)
        command, *words = line.split()
        if command == "export":
            assert self.level != "cupti"  # which allows one subscriber
            waits = [(7.0, 1.0), (107.0, 1.5), (208.0, 0.0)]
            kernels = [(20.0, 60.0), (120.5, 60.0)]
            events = [{"ph": "X", "cat": "cuda_runtime", "name": "cudaDeviceSynchronize", "ts": at, "dur": dur} for at, dur in waits]
            events += [{"ph": "X", "cat": "kernel", "name": "k", "ts": at, "dur": dur, "args": {"device": 0}} for at, dur in kernels]
            Path(words[0]).write_text(json.dumps({"traceEvents": events}))
        return {"ok": True, "ns": 500_000, "marks": [1_000_000, 1_100_000, 1_200_000]}

    def end(self):
        pass

    kill = end


def test_idle_sets_our_steps_beside_the_profilers(modules, monkeypatch, tmp_path):
    """60 of each 100 us are busy; we say 61, and 40 between the kernels."""
    import idle
    import part
    report = {"run": {"device_timing": "edges"}, "injected": {}, "losses": {}, "devices": [
        {"begin_ns": 1_012_000, "end_ns": 1_173_000, "span_ns": 161_000, "idle_ns": 40_000, "idle_error_ns": 2_000, "unresolved_ns": 0, "operations": 2,
         "gaps": [{"begin_ns": 1_073_000, "end_ns": 1_112_000}]}]}
    monkeypatch.setattr(idle, "Worker", ProfiledWorker)
    monkeypatch.setattr(idle, "worker_command", lambda args: [])
    monkeypatch.setattr(idle, "use_torch", lambda args: True)
    monkeypatch.setattr(idle, "report", lambda binaries, out: report)
    monkeypatch.setattr(idle, "WORKLOADS", ("graphs",))
    args = type("Args", (), {"bin": str(tmp_path), "work": str(tmp_path), "seconds": "30", "simulated": False, "quick": False})()
    result = part.Result(str(tmp_path / "out.json"))
    idle.measure(args, result)
    assert result["failed"] == {} and (result["program"], result["reference"]) == ("pytorch", "kineto")
    edges, cupti = result["runs"]["graphs"]["edges"], result["runs"]["graphs"]["cupti"]
    assert edges["whole"]["comparable"] is True and edges["whole"]["reference_idle_ns"] == 40_500
    assert edges["whole"]["difference_percent"] == -0.25  # 0.5 of 200 us
    assert edges["steps"]["reference_ns"]["min"] == 39_500 and edges["steps"]["ours_ns"]["min"] == 39_000
    assert "whole" not in cupti and cupti["apart"]["reference_ns"] == edges["steps"]["reference_ns"]
    assert cupti["apart"]["reference_busy_ns"] == [60_000, 60_000] and cupti["apart"]["ours_busy_ns"]["min"] == 61_000
    assert cupti["losses"] == report["losses"]
    assert ProfiledWorker.asked == ["prepare graphs", "run graphs 5", "steps graphs 4000"]


# ---- the allocator's reports: libc10 and the library that calls it, as C ----------------------------------------------------

C10 = r"""
#include <stdint.h>
#include <stdio.h>
void report(void *p, int64_t bytes, uint64_t allocated, uint64_t reserved, uint16_t device)
        __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");
void report(void *p, int64_t bytes, uint64_t allocated, uint64_t reserved, uint16_t device)
{ printf("%ld %lu %lu %x\n", (long)bytes, (unsigned long)allocated, (unsigned long)reserved, device); }
"""
C10_CUDA = r"""
#include <stdint.h>
void report(void *p, int64_t bytes, uint64_t allocated, uint64_t reserved, uint16_t device)
        __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");
void take(int64_t bytes, uint64_t allocated) { report((void *)8, bytes, allocated, 1 << 20, 0x0001); }
"""
USER = "import ctypes; c10 = ctypes.CDLL('./libc10.so'); cuda = ctypes.CDLL('./libc10_cuda.so'); take = cuda.take; " \
       "take.argtypes = [ctypes.c_int64, ctypes.c_uint64]; [take(1000, 1000 * i) for i in (1, 2, 3)]; [take(-1000, 0) for _ in range(2)]"


def test_the_allocators_reports_are_counted_and_passed_on(build, sim_env, tmp_path, monkeypatch):
    import allocator
    plugin = build / "workloads/gpu_allocator_plugin.so"
    assert plugin.exists(), f"{plugin} is not built: make workloads"
    for name, text, needs in (("libc10", C10, []), ("libc10_cuda", C10_CUDA, ["-L.", "-lc10", "-Wl,-rpath,$ORIGIN"])):
        (tmp_path / f"{name}.c").write_text(text)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", f"{name}.so", f"{name}.c", *needs, f"-Wl,-soname,{name}.so"], cwd=tmp_path, check=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LD_LIBRARY_PATH", sim_env["LD_LIBRARY_PATH"])
    counted, printed = allocator.count_blocks([sys.executable, "-c", USER], plugin, tmp_path, 30)
    assert counted == {"allocations": 3, "frees": 2, "allocated_bytes": 3000, "freed_bytes": 2000, "most_bytes": 3000}
    assert printed.splitlines() == [f"{what} 1048576 1" for what in ("1000 1000", "1000 2000", "1000 3000", "-1000 0", "-1000 0")]
    assert allocator.named_in(tmp_path / "libc10_cuda.so", (allocator.REPORT, allocator.OUT_OF_MEMORY)) == {
        allocator.REPORT: True, allocator.OUT_OF_MEMORY: False}
    assert allocator.judge(counted, 2, 1000) is True and allocator.judge(counted, 3, 1000) is False


# ---- the host's probes ------------------------------------------------------------------------------------------------------

def test_probes_say_ok_or_an_error_by_name(tmp_path):
    import host_probes
    import part
    result = part.Result(str(tmp_path / "out.json"))
    host_probes.measure(None, result)
    words = [said for group in ("programs", "maps", "perf") for said in result[group].values()]
    assert len(words) == 10 and all(word == "ok" or word.startswith("E") for word in words), words
    assert result["level"] in ("ebpf", "perf", "proc") and result["ebpf"] == (result["level"] == "ebpf")
    json.dumps(result)


def test_a_refused_call_is_told_by_name(monkeypatch):
    import ctypes

    import host_probes

    class Refuses:
        @staticmethod
        def syscall(*args):
            ctypes.set_errno(1)
            return -1
    monkeypatch.setattr(host_probes, "LIBC", Refuses)
    assert host_probes.load_program("kprobe") == "EPERM" and host_probes.create_map(2) == "EPERM" and host_probes.perf_event(1, 3) == "EPERM"


def test_gvisor_is_noticed():
    from environment import is_gvisor
    assert is_gvisor("Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016", "")
    assert is_gvisor("Linux version 6.1.0", "[    0.000000] Starting gVisor...")
    assert not is_gvisor("Linux version 4.4.0-210-generic (buildd@lcy01) #242-Ubuntu SMP", "[    0.000000] Linux version 4.4.0")
