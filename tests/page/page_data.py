# SPDX-License-Identifier: BSD-2-Clause
"""What a page of `report --html` holds: its one JSON object, and its columns (analyzer/html/html_pack.h) as lists of numbers."""

import base64
import json
import re
import zlib
from itertools import accumulate


def of_page(path):
    """The object in the page; the script element ends where it should."""
    text = path.read_text(encoding="utf-8")
    (inside,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    assert not set(inside) & set("<>&")
    return json.loads(inside)


def column(packed):
    data = zlib.decompress(base64.b64decode(packed["z"]))
    if packed["t"] == "u8":
        return list(data)
    values, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            values.append(value)
            value = shift = 0
    assert shift == 0, "the last number is whole"
    if packed["t"] == "zigzag":
        return [value >> 1 ^ -(value & 1) for value in values]
    return list(accumulate(values)) if packed["t"] == "delta" else values


def columns(table):
    """A table with its columns unpacked; each is as long as it says."""
    made = {key: column(value) if isinstance(value, dict) and "z" in value else value for key, value in table.items()}
    assert all(len(value) == made["n"] for key, value in made.items() if isinstance(table[key], dict) and "z" in table[key])
    return made
