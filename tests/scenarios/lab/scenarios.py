# SPDX-License-Identifier: BSD-2-Clause
"""All scenarios of the laboratory, by name. One is a set-up (host/faults.py: Place in, Plan out) and a kind:

    cause    its device is idle for one cause
    mixture  … for two or three, in turns or in one gap one after the other; which, the seed decides
    control  nothing is wrong with it

What the truth is, the program itself writes down (host/lab.h); the causes stand here only to be listed."""

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

import controls
import faults
import mixtures

FURTHER = Path(__file__).resolve().parent.parent / "further" / "further.py"
KINDS = ("cause", "mixture", "control")
HOST = {"read": "input-storage", "mmap": "input-storage", "direct": "input-storage", "overlay": "input-storage", "fuse": "input-network",
        "socket": "input-network", "decode": "input-preprocess", "workers": "input-preprocess", "worker-read": "input-storage",
        "checkpoint": "checkpoint", "lock": "host-lock", "gil": "host-lock", "python-decode": "input-preprocess",
        "python-read": "input-storage", "contention": "cpu-contention", "quota": "cpu-throttled", "sleep": "host-sleep",
        "memory": "memory-stall"}


@dataclass(frozen=True)
class Scenario:
    name: str
    plan: Callable
    kind: str
    suite: str
    causes: tuple = ()


def further():
    """Programs written by who did not know the rules' code: SCENARIOS = {name: (plan, causes, kind)}."""
    if not FURTHER.exists():
        return {}
    spec = importlib.util.spec_from_file_location("further", FURTHER)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.SCENARIOS


def device_suite():
    """{name: plan} of the faults, and what each is about: plan.causes, where it says so; of the controls."""
    try:
        import device_faults
    except ModuleNotFoundError as missing:
        if missing.name != "device_faults":
            raise
        return {}, {}
    return device_faults.FAULTS, device_faults.CONTROLS


def all_scenarios():
    device, healthy = device_suite()
    made = [Scenario(name, faults.WITH_SEEDS[name], "cause", "host", (cause,)) for name, cause in HOST.items()]
    made += [Scenario(name, plan, "cause", "device", tuple(getattr(plan, "causes", ()))) for name, plan in device.items()]
    made += [Scenario(name, plan, "mixture", "mixtures") for name, plan in mixtures.MIXTURES.items()]
    made += [Scenario(name, plan, "control", "controls") for name, plan in (controls.CONTROLS | healthy).items()]
    made += [Scenario(name, plan, kind, "further", tuple(causes)) for name, (plan, causes, kind) in further().items()]
    found = {scenario.name: scenario for scenario in made}
    assert len(found) == len(made), "two scenarios of one name"
    assert all(scenario.kind in KINDS for scenario in made)
    return found
