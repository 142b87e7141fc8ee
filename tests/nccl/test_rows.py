# SPDX-License-Identifier: BSD-2-Clause
"""The rows of shim/nccl_hooks.def beside NVIDIA's own header: every call of it is there, and takes and returns the same types."""

import re
from pathlib import Path

import pytest

ROWS = Path(__file__).resolve().parents[2] / "shim/nccl_hooks.def"
# What the compiler holds against nccl_api.h is the same under another name here: a cudaStream_t is a CUstream.
SAME = {"cudaStream_t": "CUstream"}


def split(params):
    """The types of a list of parameters; their names are anybody's choice."""
    types = []
    for param in params.split(","):
        param = re.sub(r"\s+", " ", param).strip()
        if param in ("", "void"):
            continue
        words = re.findall(r"\w+|\*", param)
        if len(words) > 1 and words[-1] != "*":
            words.pop()  # the name
        words = [SAME.get(word, word) for word in words if word != "const"]
        types.append(" ".join(words))
    return types


def prototypes(header):
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", header, flags=re.S)
    text = re.sub(r"__attribute__\s*\(\(.*?\)\)\)?", "", text)
    found = {}
    for returns, name, params in re.findall(r"(ncclResult_t|const char\s*\*|void)\s+(nccl[A-Z]\w*)\s*\(([^()]*)\)\s*;", text):
        found[name] = (re.sub(r"\s", "", returns), split(params))
    return found


def rows():
    text = re.sub(r"/\*.*?\*/", "", ROWS.read_text(), flags=re.S)
    found = {}
    for line in re.findall(r"^(NCCL\w*)\((.*(?:\n +.*)*)\)$", text, flags=re.M):
        macro, rest = line
        name = re.match(r"\w+", rest)[0]
        # the parameters are the parenthesis that stands alone after a comma
        params = re.findall(r",\s*\(((?:[^()])*)\)", rest)
        returns = {"NCCL_TEXT": "constchar*", "NCCL_VOID": "void"}.get(macro, "ncclResult_t")
        found[name] = (returns, split(params[-1] if params else ""))
    return found


def headers(build):
    return sorted((build / "nccl-wheel").rglob("nccl.h"))


def test_rows_are_read():
    have = rows()
    assert have["ncclGroupEnd"] == ("ncclResult_t", [])
    assert have["ncclSend"] == ("ncclResult_t", ["void *", "size_t", "ncclDataType_t", "int", "ncclComm_t", "CUstream"])
    assert have["ncclGetLastError"] == ("constchar*", ["ncclComm_t"])
    assert have["ncclResetDebugInit"] == ("void", [])


def test_rows_are_nvidias(build):
    if not headers(build):
        pytest.skip("NVIDIA's NCCL could not be fetched")
    have = rows()
    for header in headers(build):
        want = prototypes(header.read_text())
        assert len(want) >= 41, header
        assert {name: have.get(name) for name in want} == want
