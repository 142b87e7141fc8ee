# SPDX-License-Identifier: BSD-2-Clause
"""The shim in a container of an older system: Debian 11 (glibc 2.31), where libdl and libpthread are libraries of their own.

The programs are this build's objects, linked against the old system's own libraries; the shim is the one that was built here."""

import json
import os
import platform
import shlex
import shutil
import subprocess
from pathlib import Path

import gst
import pytest
from recording import end_with_the_tests, hooked_names

HERE = Path(__file__).resolve().parent
PACKAGES = ["dash", "coreutils", "python3.9-minimal", "libpython3.9-stdlib"]
LIBRARIES = "lib/x86_64-linux-gnu"
SECONDS = 60
THREAD, TEXT = 10, 16  # record type, and where its name begins


class OldSystem:
    """A root to run programs in. Everything of ours lies in /gpushim there."""

    def __init__(self, root: Path):
        self.root, self.ours = root, root / "gpushim"
        shutil.rmtree(self.ours, ignore_errors=True)
        self.ours.mkdir()

    def run(self, *command, shim=True, **settings):
        env = {"PATH": "/usr/bin:/bin", "LD_LIBRARY_PATH": "/gpushim", **settings}
        if shim:
            env["LD_PRELOAD"] = "/gpushim/libgpushim.so"
        return subprocess.run(["chroot", str(self.root), "/usr/bin/env", "-i", *(f"{k}={v}" for k, v in env.items()), *command],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS, preexec_fn=end_with_the_tests)

    def link(self, output, objects, libraries, *options):
        """Against the old system's libraries, each only where it is needed."""
        old = [str(self.root / LIBRARIES / library) for library in libraries]
        run(["cc", "-nodefaultlibs", "-Wl,--as-needed", "-Wl,-z,now", *options, "-o", str(self.ours / output), *map(str, objects), *old, "-lgcc"])

    def needed(self, name):
        lines = run(["readelf", "-dW", str(self.ours / name)]).splitlines()
        return [line.split("[")[1].rstrip("]") for line in lines if "(NEEDED)" in line]


def run(command, **how):
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, **how)
    assert done.returncode == 0, f"{shlex.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def old(build, root, shim):
    if platform.machine() != "x86_64":
        pytest.skip("written for x86-64")
    if os.geteuid() != 0:
        pytest.skip("only root may enter another root")
    folder = build / "debian-11"
    done = subprocess.run([str(root / "scripts" / "debian-files.sh"), "bullseye", "amd64", str(folder), *PACKAGES],
                          capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        pytest.skip(f"no Debian 11 to be had: {done.stderr.strip()}")
    system = OldSystem(folder)
    shutil.copy(shim, system.ours)
    shutil.copy(HERE / "few_calls.py", system.ours)

    objects = system.ours / "objects"
    objects.mkdir()
    for name, source, options in [("old", "old_glibc.c", ["-fPIC", "-fno-builtin"]), ("linked", "few_calls.c", []), ("late", "few_calls.c", ["-DLATE"])]:
        run(["cc", "-O1", *options, "-c", "-o", str(objects / f"{name}.o"), str(HERE / source)])

    def compiled(source):
        return build / "obj" / source.relative_to(root).with_suffix(".o")

    driver = [compiled(source) for source in sorted((root / "tests" / "simgpu").glob("*.c"))]
    system.link("libcuda.so.1", [*driver, build / "simgpu" / "gen" / "generated.o", objects / "old.o"],
                ["libpthread.so.0", "libm.so.6", "libc.so.6"], "-shared", "-Wl,-Bsymbolic", "-Wl,-soname,libcuda.so.1")
    workloads = root / "tests" / "workloads"
    for client, also in [("client_linked", ["libcuda"]), ("client_dlopen", [])]:
        parts = [compiled(source) for source in [workloads / f"{client}.c", *sorted(workloads.glob("common*.c"))]]
        link_program(system, client, [*parts, objects / "old.o"], also)
    link_program(system, "few_calls_linked", [objects / "linked.o"], ["libcuda"])
    link_program(system, "few_calls_late", [objects / "late.o"], [])
    return system


def link_program(system, name, objects, also):
    driver = [str(system.ours / "libcuda.so.1")] if also else []
    system.link(name, [*objects, *driver], ["libpthread.so.0", "libdl.so.2", "libm.so.6", "libc.so.6"],
                f"-Wl,-rpath-link,{system.root / LIBRARIES}", "-Wl,--unresolved-symbols=ignore-in-shared-libs")


@pytest.mark.parametrize("command", [["true"], ["sh", "-c", "ls / | sort | head -3; echo $0"], ["ls", "/"], ["date", "-d", "@0"],
                                     ["python3.9", "-c", "import ctypes, threading; print(len(dir(ctypes)))"]], ids=lambda c: c[0])
def test_every_program_still_starts(old, command):
    plain, recorded = old.run(*command, shim=False), old.run(*command)
    assert (recorded.returncode, recorded.stdout, recorded.stderr) == (plain.returncode, plain.stdout, "")
    assert plain.returncode == 0


def test_what_the_programs_bring(old):
    """The cases the shim has to expect are there: no libdl; libdl and no libpthread before the driver; both."""
    assert old.needed("few_calls_linked") == ["libcuda.so.1", "libc.so.6"]
    assert old.needed("few_calls_late") == ["libdl.so.2", "libc.so.6"]
    assert {"libdl.so.2", "libpthread.so.0"} <= set(old.needed("client_dlopen"))
    assert old.needed("libgpushim.so") == ["libc.so.6"]


PROGRAMS = {
    "few_calls_linked": ["/gpushim/few_calls_linked"],
    "few_calls_late": ["/gpushim/few_calls_late"],
    "client_linked": ["/gpushim/client_linked", "--seed", "3", "--threads", "2"],
    "client_dlopen": ["/gpushim/client_dlopen", "--seed", "3", "--threads", "2"],
    "python": ["python3.9", "/gpushim/few_calls.py"],
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_recorded_whole(old, gpushim, tmp_path, program):
    command, folder = PROGRAMS[program], f"/gpushim/{program}-run"
    plain = old.run(*command, shim=False)
    done = old.run(*command, SIMGPU_LOG=f"{folder}-truth.json", GPUSHIM_OUT=folder)
    assert (done.returncode, done.stdout, done.stderr) == (plain.returncode, plain.stdout, plain.stderr)
    assert plain.returncode == 0, plain.stderr

    (trace,) = Path(f"{old.root}{folder}").glob("*.gst")
    data = trace.read_bytes()
    calls, injected = gst.call_counts(data)
    truth = json.loads(Path(f"{old.root}{folder}-truth.json").read_text().splitlines()[-1])["calls"]
    both = {name: calls.get(name, 0) + injected.get(name, 0) for name in hooked_names()}
    assert {name: n for name, n in both.items() if n} == {name: n for name, n in truth.items() if name in both and n}
    assert sum(calls.values()) > 1000
    assert "gpushim" in threads(data), "the helper thread could not be started"

    report = json.loads(run([str(gpushim), "report", str(trace.parent), "--json"]))
    assert report["losses"]["records_dropped"] == 0
    assert report["devices"][0]["operations"] >= 1000


def threads(data):
    records = [record for segment in gst.segments(data) for record in segment.records if record.type == THREAD]
    return {data[record.offset + TEXT:record.offset + record.size].rstrip(b"\0").decode() for record in records}
