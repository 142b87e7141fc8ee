# SPDX-License-Identifier: BSD-2-Clause
"""Traces that other people's programs left, in the folder GPUSHIM_TRACES (get_traces.py fills one): a report is exact of each of them,
and explains those whose cause is known."""

import filecmp
import os
from pathlib import Path

import pytest

import get_traces
import import_reference
import import_reference_rows
import imported
import imported_rows

SUFFIXES = (".json", ".json.gz", ".sqlite", ".raw.gz")
INPUT = ("input-storage", "input-network", "input-preprocess", "input-wait")
STARVED, FED = ("resnet50_num_workers_0",), ("resnet50_num_workers_4",)
HOST = ("launch-bound", "host-compute")


def folder():
    """(the folder, or None; why not)"""
    name = os.environ.get("GPUSHIM_TRACES")
    if not name:
        return None, "GPUSHIM_TRACES names no folder with traces (tests/imports/get_traces.py fills one)"
    return (Path(name), None) if Path(name).is_dir() else (None, f"GPUSHIM_TRACES: there is no folder {name}")


def found():
    """Each content once. Only files of one size are read for it: there may be many, and large ones."""
    where, _ = folder()
    traces, by_size = [], {}
    for path in sorted(where.rglob("*")) if where else ():
        if not path.is_file() or not path.name.endswith(SUFFIXES):
            continue
        others = by_size.setdefault(path.stat().st_size, [])
        if not any(filecmp.cmp(path, other, shallow=False) for other in others):
            others.append(path)
            traces.append(path)
    return traces


TRACES = found()
NAMES = [str(path.relative_to(folder()[0])) for path in TRACES]


def reason_to_skip():
    return folder()[1] or f"no traces in {folder()[0]}"


@pytest.fixture(scope="module")
def reports(gpushim):
    """Of a path: what the report says, or None where it refuses; and the reference's word. Each is made once."""
    made = {}

    def of(path):
        if path not in made:
            trace = import_reference.read(path)
            status = imported.DAMAGED if trace.truncated else 0
            made[path] = (imported.report(gpushim, path, status=status), trace) if trace.devices else (None, trace)
        return made[path]

    return of


@pytest.fixture
def explained(reports):
    """What the report says of a trace whose cause is known: it has devices."""

    def of(path):
        said, _ = reports(path)
        assert said, f"{path}: no device did anything, by the reference"
        return said

    return of


def of_files(*parts):
    """Of the traces whose name has one of these; of a part that none has, a test that says so."""
    params = []
    for part in parts:
        some = [pytest.param(path, id=name) for path, name in zip(TRACES, NAMES) if part in name]
        missing = pytest.mark.skip(reason=f"no trace is named {part}" if TRACES else reason_to_skip())
        params += some or [pytest.param(None, id=f"none of {part}", marks=missing)]
    return params


def share(said, causes):
    """Of all devices' idle time."""
    return sum(device["causes"][id] for device in said["devices"] for id in causes) / max(1, sum(device["idle_ns"] for device in said["devices"]))


@pytest.mark.parametrize("path", of_files(""))
def test_a_report_is_exact(gpushim, reports, path):
    said, trace = reports(path)
    if said:
        (imported.check_sound if trace.truncated else imported.check)(said, trace)
    else:
        imported.check_empty(gpushim, path)


@pytest.mark.parametrize("path", of_files(""))
def test_its_tables_have_the_rows_of_the_file(gpushim, reports, tmp_path, path):
    """Of the host alone as well."""
    said, trace = reports(path)
    if trace.truncated:
        pytest.skip("it is cut: how far it is reported is not the reference's to say")
    if not said and not any(import_reference_rows.read(path)):
        pytest.skip("nothing in it says what a process or a device did")
    said = said or imported.report(gpushim, path)
    imported_rows.check_steps(said, imported_rows.check(gpushim, path, tmp_path / "tables.sqlite", said))


@pytest.mark.parametrize("path", of_files(*STARVED))
def test_a_starved_device_waits_for_input(explained, path):
    assert share(explained(path), INPUT) >= 0.6


@pytest.mark.parametrize("path", of_files(*FED))
def test_its_fed_twin_does_not(explained, path):
    assert share(explained(path), INPUT) < 0.02


# By what is in them: kernels of some microseconds, nearly each launched by itself by one thread, no loader that is late, few waits.
#             operations, half of them within, idle
EAGER = ("b200/",                # 929, 6 us, 86 %
         "Falconsai",            # 155, 8 us, 75 and 84 %: H100, MI300
         "gaunernst_bert",       # 61, 4 us, 89 and 92 %: likewise
         "df_index_resolver",    # 22,290, 6 us, 42 %
         "linear_kineto",        # 10,356, 9 us, 63 %
         "nccl_data",            # 3,774, 6 us, 76 %
         "lambda-logs/",         # 48, 7 us, 62 %
         "xdit_sd_3.5")          # 8,066, 21 us, 39 %


@pytest.mark.parametrize("part", EAGER + STARVED + FED)
def test_the_list_of_traces_has_those_that_are_known(part):
    """Else a name that is written wrong would be tested nowhere."""
    assert [row for row in get_traces.rows() if part in f"{row['repository']}/{row['path']}"]


@pytest.mark.parametrize("path", of_files(*EAGER))
def test_an_eager_program_s_device_waits_for_its_host(explained, path):
    assert share(explained(path), HOST) >= 0.8
