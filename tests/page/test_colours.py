# SPDX-License-Identifier: BSD-2-Clause
"""The page's colours (analyzer/html/html_classes.def): whoever sees no red, green or blue tells any two classes apart, by pattern or by colour."""

import itertools
import re

import pytest

# Machado, Oliveira and Fernandes 2009, severity 1: linear RGB to what is seen of it.
SIGHTS = {
    "usual": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "no red": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "no green": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "no blue": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
LEAST = 12  # of CIE 1976's distance; 2 is just to be seen side by side
WHITE = (0.95047, 1, 1.08883)


@pytest.fixture(scope="module")
def classes(root):
    """(what it is, its colours by theme, its pattern) of all that stands for a device's time."""
    text = (root / "analyzer/html/html_classes.def").read_text()
    rows = re.findall(r'^(?:CLASS\(\w+, +"([^"]+)", +"[^"]*", +"(\w+)"|CAUSE_CLASS\((\w+)), +"(#\w{6})", "(#\w{6})", "(\w+)"\)', text, re.M)
    assert len(rows) == len(re.findall(r"^(?:CAUSE_)?CLASS\(", text, re.M))
    return [(name or cause, {"light": light, "dark": dark}, pattern) for name, kind, cause, light, dark, pattern in rows if kind in ("", "busy")]


def linear(byte):
    share = byte / 255
    return ((share + 0.055) / 1.055) ** 2.4 if share > 0.04045 else share / 12.92


def lab(rgb):
    def bent(value):
        return value ** (1 / 3) if value > 0.008856 else 7.787 * value + 16 / 116

    rows = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
    x, y, z = (bent(sum(a * b for a, b in zip(row, rgb)) / white) for row, white in zip(rows, WHITE))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def seen(colour, sight):
    rgb = [linear(int(colour[i:i + 2], 16)) for i in (1, 3, 5)]
    return lab([min(1, max(0, sum(a * b for a, b in zip(row, rgb)))) for row in SIGHTS[sight]])


def apart(a, b, sight):
    return sum((x - y) ** 2 for x, y in zip(seen(a, sight), seen(b, sight))) ** 0.5


def test_the_yardstick():
    assert seen("#ffffff", "usual")[0] == pytest.approx(100, abs=0.1) and apart("#ff0000", "#00ff00", "usual") > 150
    assert apart("#808000", "#a06030", "no green") < apart("#808000", "#a06030", "usual") / 2, "an olive and a brown"


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("sight", SIGHTS)
def test_any_two_are_told_apart(classes, sight, theme):
    near = [(a[0], b[0], round(apart(a[1][theme], b[1][theme], sight), 1)) for a, b in itertools.combinations(classes, 2) if a[2] == b[2]]
    assert [pair for pair in near if pair[2] < LEAST] == []
