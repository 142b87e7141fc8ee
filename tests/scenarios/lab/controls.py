# SPDX-License-Identifier: BSD-2-Clause
"""Healthy programs: what a fault's cause gets of their time, it gets wrongly."""

import faults
from faults import Plan


def control(name):
    def plan(place):
        env = {**place.env(), "SIMGPU_DEVICES": 2, "LAB_SAVE": place.folder / "checkpoint.pt"}
        return Plan(["controls_linked", name, 10 * place.steps], env)
    return plan


NAMES = ("plain", "well-fed", "saved-beside", "copied-beside", "streams", "devices")
CONTROLS = {"warm": faults.control, **{name: control(name) for name in NAMES}}
