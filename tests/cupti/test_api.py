# SPDX-License-Identifier: BSD-2-Clause
"""shim/cupti_api.h and cupti_calls.def against the headers of NVIDIA's CUPTI 12 and 13: every number, and where every field lies."""

import os
import re
import shlex
import subprocess

import pytest

# Ours: fields, each NVIDIA's name where that differs.
KERNEL = {"start": "", "end": "", "completed": "", "device": "deviceId", "context": "contextId", "stream": "streamId",
          "correlation": "correlationId", "grid_id": "gridId", "name": "", "queued": "", "submitted": "", "graph_node": "graphNodeId", "graph": "graphId"}
COPY = {"copy_kind": "copyKind", "source_kind": "srcKind", "destination_kind": "dstKind", "bytes": "", "start": "", "end": "",
        "device": "deviceId", "context": "contextId", "stream": "streamId", "correlation": "correlationId", "graph_node": "graphNodeId",
        "graph": "graphId"}
PEER = {**COPY, "source_device": "srcDeviceId", "destination_device": "dstDeviceId"}
MEMSET = {"value": "", "bytes": "", "start": "", "end": "", "device": "deviceId", "context": "contextId", "stream": "streamId",
          "correlation": "correlationId", "memory_kind": "memoryKind", "graph_node": "graphNodeId", "graph": "graphId"}
CALL = {"site": "callbackSite", "name": "functionName", "parameters": "functionParams", "result": "functionReturnValue",
        "symbol": "symbolName", "context": "", "context_id": "contextUid", "data": "correlationData", "correlation": "correlationId"}
# struct of ours: (NVIDIA's name, its first version that has all of it, fields)
STRUCTS = {"cupti_kernel": ("Kernel", 5, KERNEL), "cupti_copy": ("Memcpy", 4, COPY), "cupti_peer_copy": ("MemcpyPtoP", 3, PEER),
           "cupti_memset": ("Memset", 3, MEMSET)}
VERSIONS = ["12", "13"]
# Not cupti.h: it names types of a newer driver than the CUDA headers at hand.
THEIRS = "#include <cuda.h>\n#include <cupti_activity.h>\n#include <cupti_callbacks.h>"


@pytest.fixture(scope="module", params=VERSIONS)
def headers(build, request):
    folder = build / "cupti-wheels" / request.param
    if not folder.exists():
        pytest.skip(f"NVIDIA's CUPTI {request.param} is not at hand: scripts/setup.sh cupti")
    return folder


@pytest.fixture(scope="module")
def printed(root, build, cuda_include, tmp_path_factory):
    def run(prologue, values, *include):
        """What a C program with this prologue prints of these expressions."""
        folder = tmp_path_factory.mktemp("api")
        body = "".join(f'printf("%ld\\n", (long)({value}));\n' for value in values)
        (folder / "a.c").write_text(f"#include <stddef.h>\n#include <stdio.h>\n{prologue}\nint main(void)\n{{\n{body}}}\n")
        where = [f"-I{path}" for path in (*include, cuda_include)]
        subprocess.run([*shlex.split(os.environ.get("CC", "cc")), "-w", *where, str(folder / "a.c"), "-o", str(folder / "a")], check=True)
        return dict(zip(values, map(int, subprocess.run([folder / "a"], capture_output=True, text=True, check=True).stdout.split())))

    return run


def sources(folder):
    return "".join(path.read_text(errors="replace") for path in sorted(folder.glob("cupti*.h")))


def numbers(root):
    return re.findall(r"\b(CUPTI_[A-Z0-9_]+) =", re.sub(r"/\*.*?\*/", "", (root / "shim" / "cupti_api.h").read_text(), flags=re.S))


def test_numbers(root, headers, printed):
    ours = printed('#include "shim/cupti_api.h"', sorted(set(numbers(root))), root)
    assert len(ours) > 25
    assert printed(THEIRS, list(ours), headers) == ours


@pytest.mark.parametrize("name", STRUCTS)
def test_no_version_of_a_record_has_moved_a_field(root, headers, printed, name):
    theirs, first, fields = STRUCTS[name]
    found = {int(number or 1) for number in re.findall(rf"}} CUpti_Activity{theirs}(\d*);", sources(headers))}
    versions = sorted(number for number in found if number >= first)
    assert versions
    ours = printed('#include "shim/cupti_api.h"', [f"offsetof(struct {name}, {field})" for field in fields], root)
    for number in versions:
        struct = f"CUpti_Activity{theirs}{number if number > 1 else ''}"
        there = [f"offsetof({struct}, {there or field})" for field, there in fields.items()]
        assert list(printed(THEIRS, there, headers).values()) == list(ours.values()), struct


def test_what_a_callback_is_given(root, headers, printed):
    ours = printed('#include "shim/cupti_api.h"', [f"offsetof(struct cupti_call, {field})" for field in CALL], root)
    theirs = printed(THEIRS, [f"offsetof(CUpti_CallbackData, {there or field})" for field, there in CALL.items()], headers)
    assert list(theirs.values()) == list(ours.values())


def test_every_function_is_there(root, headers):
    text = sources(headers)
    names = re.findall(r"(?:NEEDED|OPTIONAL)\((cupti\w+),", (root / "shim" / "cupti_api.h").read_text())
    assert len(names) > 8
    assert [name for name in names if not re.search(rf"\b{name}\s*\(", text)] == []


def test_calls_that_put_work_into_a_stream(root, headers):
    """A row for each of hooks.def, with CUPTI's number; of those that an older CUPTI does not know, its number is nobody else's."""
    table = (root / "shim" / "cupti_calls.def").read_text()
    rows = {name: int(number) for name, number in re.findall(r"CUPTI_CALL\((\w+), (\d+)\)", table)}
    hooks = re.findall(r"^HOOKX?\s*\((\w+),\s*(?:LAUNCH|COPY|MEMSET|GRAPH_LAUNCH)\b", (root / "shim" / "hooks.def").read_text(), re.M)
    assert set(rows) == set(hooks) and len(rows) > 100
    theirs = {name: int(number) for name, number in
              re.findall(r"CUPTI_DRIVER_TRACE_CBID_(\w+)\s*=\s*(\d+)", (headers / "cupti_driver_cbid.h").read_text())}
    taken = {number: name for name, number in theirs.items() if name not in ("SIZE", "FORCE_INT", "INVALID")}
    for name, number in rows.items():
        assert theirs.get(name, number) == number and taken.get(number, name) == name
    assert len(set(rows) - set(theirs)) <= 4
