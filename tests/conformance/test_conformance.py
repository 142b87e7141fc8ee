# SPDX-License-Identifier: BSD-2-Clause
"""The conformance list on the simulated driver: every row holds; and the replayer tells when one does not."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

FILES = sorted(Path(__file__).parent.glob("*.txt"))


@pytest.fixture
def replay(modules, sim_env, monkeypatch, tmp_path):
    """Replays a file, or rows given as text, on a machine with two simulated devices."""
    import conformance
    import part
    for name, value in dict(sim_env, SIMGPU_DEVICES="2").items():
        monkeypatch.setenv(name, value)

    def run(rows):
        if isinstance(rows, str):
            (tmp_path / "rows.txt").write_text(rows)
            rows = tmp_path / "rows.txt"
        result = part.Result(str(tmp_path / "out.json"))
        conformance.measure(type("Args", (), {"rows": str(rows)})(), result)
        return result
    return run


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_row_holds(replay, file):
    result = replay(file)
    assert result["differ_documented"] == [] and result["differ_guessed"] == []
    assert result["differ"] == 0 and result["skipped"] == []
    assert result["rows"] == len(re.findall(r"^[^#\n]*\S\) *\??= *[A-Z]", file.read_text(), re.M)) > 10


def test_wrong_rows_are_reported(replay, capsys):
    result = replay("case wrong\n"
                    "cuStreamCreate(&s, CU_STREAM_DEFAULT) = INVALID_VALUE\n"
                    "cuStreamGetFlags(s, &flags:u32) = SUCCESS, flags == CU_STREAM_NON_BLOCKING\n"
                    "cuStreamQuery(s) ?= NOT_READY or INVALID_HANDLE\n"
                    "cuStreamQuery(nowhere) = SUCCESS\n"
                    "cuStreamQuery(s) = SUCCESS\n")
    assert result["differ_documented"] == [
        "rows.txt:2: cuStreamCreate(&s, CU_STREAM_DEFAULT): SUCCESS, expected INVALID_VALUE",
        "rows.txt:3: cuStreamGetFlags(s, &flags:u32): SUCCESS, {'flags': 0, 'took': 0}, expected SUCCESS, flags == CU_STREAM_NON_BLOCKING",
        "rows.txt:5: cuStreamQuery(nowhere): NameError: name 'nowhere' is not defined, expected it can be run"]
    assert result["differ_guessed"] == ["rows.txt:4: cuStreamQuery(s): SUCCESS, expected NOT_READY or INVALID_HANDLE (a guess)"]
    assert (result["rows"], result["differ"]) == (5, 4)
    assert capsys.readouterr().out.splitlines()[-1] == "5 rows, 4 differ"


def test_a_crash_costs_one_case(replay):
    """On a real driver a bad handle may be one."""
    result = replay("case first\ncuStreamQuery(NULL) = SUCCESS\n"
                    "case crashes\ncuStreamGetFlags(NULL, 8) ?= INVALID_VALUE\ncuStreamQuery(NULL) = SUCCESS\n"
                    "case after\ncuStreamQuery(NULL) = NOT_READY\n")
    assert result["differ_guessed"] == ["rows.txt:4: cuStreamGetFlags(NULL, 8): killed by signal 11, expected it returns (a guess)"]
    assert result["differ_documented"] == ["rows.txt:7: cuStreamQuery(NULL): SUCCESS, expected NOT_READY"]
    assert result["skipped"] == ["rows.txt:5: after that"]
    assert result["rows"] == 3


def test_a_call_that_does_not_return_costs_one_case(replay, monkeypatch):
    import conformance
    monkeypatch.setattr(conformance, "ROW_SECONDS", 2)
    result = replay("case hangs\ncuLaunchHostFunc(NULL, usleep, 60000000) = SUCCESS\ncuCtxSynchronize() = SUCCESS\n"
                    "case after\ncuStreamQuery(NULL) = SUCCESS\n")
    assert result["differ_documented"] == ["rows.txt:3: cuCtxSynchronize(): no return in 2 s, expected it returns"]
    assert result["rows"] == 3


def test_cases_are_separate(replay):
    result = replay("case one\ncuStreamCreate(&s, 0) = SUCCESS\nlaunch(spin, s) = SUCCESS\n"
                    "case other\ncuStreamQuery(s) = SUCCESS\n"
                    "case device needs devices > 7\ncuStreamQuery(NULL) = SUCCESS\n")
    assert result["differ_documented"] == ["rows.txt:5: cuStreamQuery(s): NameError: name 's' is not defined, expected it can be run"]
    assert result["skipped"] == ["device: needs devices > 7"]


@pytest.mark.parametrize("text, complaint", [
    ("cuCtxSynchronize() = SUCCESS\n", "rows.txt:1: a row before the first case"),
    ("case a\ncuCtxSynchronize() == SUCCESS\n", "rows.txt:2: not a row: cuCtxSynchronize() == SUCCESS"),
    ("case a\nstruct\n", "rows.txt:2: not a row: struct"),
    ("case a\ncase a\n", "rows.txt: two cases of one name: a")])
def test_what_is_not_of_the_language_is_refused(modules, text, complaint):
    import rows
    with pytest.raises(rows.Bad, match=re.escape(complaint)):
        rows.parse_text(text, "rows.txt")


def test_rows_are_read_as_they_are_meant(modules):
    import rows
    (case,) = rows.parse_text('case a-b alone needs devices > 1 # why\n'
                              'on t: cuGetErrorName(f(1, 2), &n:text) ?= SUCCESS or NOT_READY, n == "a, b", took < 3 # why\n', "r")
    assert (case.name, case.alone, case.bare, case.needs) == ("a-b", True, False, "devices > 1")
    (row,) = case.rows
    assert (row.thread, row.call, row.arguments, row.sure) == ("t", "cuGetErrorName", 'f(1, 2), out("n", "text")', False)
    assert (row.results, row.checks, row.place) == (["SUCCESS", "NOT_READY"], ['n == "a, b"', "took < 3"], "r:2")


# What the descriptions of the results themselves promise, not those of each function.
OF_EVERY_FUNCTION = {"STREAM_CAPTURE_UNSUPPORTED", "STREAM_CAPTURE_INVALIDATED", "STREAM_CAPTURE_MERGE", "STREAM_CAPTURE_UNMATCHED",
                     "STREAM_CAPTURE_UNJOINED", "STREAM_CAPTURE_ISOLATION", "STREAM_CAPTURE_IMPLICIT", "CAPTURED_EVENT", "CONTEXT_IS_DESTROYED"}


def documented_errors(header):
    """By function: the errors its description in cuda.h lists."""
    listed = {}
    for match in re.finditer(r"/\*\*((?:(?!\*/).)*)\*/\s*(?:__CUDA_DEPRECATED\s+)?CUresult\s+CUDAAPI\s+(\w+)\s*\(", header, re.S):
        listed[match[2]] = set(re.findall(r"::CUDA_ERROR_(\w+)", match[1]))
    return listed


def test_an_error_that_is_no_guess_is_documented(modules, cuda_include):
    """Where cuda.h does not list it for the function, the row says ?=."""
    import rows
    listed = documented_errors((cuda_include / "cuda.h").read_text())
    assert len(listed) > 300
    wrong, known = [], 0
    for path in FILES:
        for row in (row for case in rows.parse_file(path) for row in case.rows if row.kind == "call" and row.sure):
            call = "cuLaunchKernel" if row.call == "launch" else row.call.removesuffix("WithFlags")
            names = [call, *(re.sub(r"(_v\d)?(_ptsz|_ptds)?$", end, call) for end in ("_v2", ""))]
            errors = next((listed[name] for name in names if name in listed), None)
            assert errors is not None, f"{row.place}: no description of {row.call}"
            known += 1
            wrong += [f"{row.place}: {row.call}: {name}" for name in row.results if name not in errors | OF_EVERY_FUNCTION | {"SUCCESS"}]
    assert wrong == [] and known > 1000


# ---- what stands in for cuda.h where there is none ------------------------------------------------------------


def test_the_constants_are_the_headers(root, cuda_include):
    script = root / "scripts/gpu_check/constants.py"
    made = subprocess.run([sys.executable, str(script), str(cuda_include)], capture_output=True, text=True, check=True).stdout
    assert (root / "scripts/gpu_check/constants.txt").read_text() == made, f"{script.name} CUDA_INCLUDE > constants.txt"


def test_the_structs_are_the_headers(modules, cuda_include, tmp_path):
    """Sizes and offsets. What has another name in C or no name is left out: its neighbours and the size hold it in place."""
    import structs
    unnamed = {"CUmemAllocationProp_flags", "CUlaunchAttributeValue"}
    rows = []
    for name, kind in structs.ALL.items():
        if name in unnamed:
            continue
        rows.append((f"sizeof({name})", structs.ctypes.sizeof(kind)))
        rows += [(f"offsetof({name}, {field})", getattr(kind, field).offset) for field, _ in kind._fields_]
    prints = "".join(f'printf("%zu\\n", {expression});' for expression, _ in rows)
    source = f"#include <cuda.h>\n#include <stddef.h>\n#include <stdio.h>\nint main(void) {{ {prints} return 0; }}\n"
    subprocess.run(["cc", "-xc", "-", "-I", str(cuda_include), "-o", str(tmp_path / "layout")], input=source, text=True, check=True)
    values = subprocess.run([tmp_path / "layout"], capture_output=True, text=True, check=True).stdout.split()
    assert [(expression, int(value)) for (expression, _), value in zip(rows, values)] == rows


def test_each_kernel_spins_as_long_as_its_name_says(root):
    text = (root / "scripts/gpu_check/kernels.ptx").read_text()
    kernels = re.findall(r"\.entry (\w+)\(\)\s*\{(.*?)\n\}", text, re.S)
    assert [name for name, _ in kernels] == ["quick__1us", "spin__300000us", "spin__20000us"]
    for name, body in kernels[1:]:
        microseconds = int(re.search(r"__(\d+)us$", name)[1])
        assert re.search(r"add\.u64 %end, %begin, (\d+);", body)[1] == str(microseconds * 1000)
