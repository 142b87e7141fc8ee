# SPDX-License-Identifier: BSD-2-Clause
"""`gpushim doctor` against what this machine says of itself: as root, as an ordinary user, in namespaces, with nothing to read."""

import json
import os
import platform
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
root_only = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become somebody else")
STATES = {"ok", "limited", "missing"}


@pytest.fixture
def doctor(gpushim, sim_env, tmp_path):
    """Runs it with the simulated driver at hand; under another program if one is given. Returns its JSON; the exit status as `status`."""

    def run(*args, under=(), program=gpushim, cwd=tmp_path, **env):
        done = subprocess.run([*under, program, "doctor", "--json", *args], capture_output=True, text=True, env=sim_env | env, cwd=cwd, timeout=120)
        assert not done.stderr
        found = json.loads(done.stdout)
        assert found["schema"] == "gpushim.doctor/1"
        assert {check["state"] for check in found["checks"]} <= STATES and all(check["fact"] for check in found["checks"])
        assert found["can_record"] == (done.returncode == 0) and done.returncode in (0, 1)
        found["status"] = done.returncode
        found["checks"] = {check["id"]: check for check in found["checks"]}
        return found

    return run


@pytest.fixture
def for_all(tmp_path, gpushim, shim, build):
    """A copy of the program that any user may run, with what it needs, in a folder that any user may read."""
    folder = Path(subprocess.run(["mktemp", "-d", "/tmp/doctor-XXXXXX"], capture_output=True, text=True, check=True).stdout.strip())
    folder.chmod(0o755)
    for file in (gpushim, shim, build / "simgpu/libcuda.so.1"):
        shutil.copy(file, folder)
    (folder / "open").mkdir()
    (folder / "open").chmod(0o777)
    yield folder
    shutil.rmtree(folder)


def proc_number(path):
    try:
        return int(Path(path).read_text())
    except OSError:
        return None


def status_field(name):
    return re.search(rf"^{name}:\s*(\S+)", Path("/proc/self/status").read_text(), re.M)[1]


def test_it_says_what_the_machine_says(doctor, shim, build):
    found = doctor()
    checks = found["checks"]
    assert platform.release() in checks["kernel"]["fact"]
    assert (checks["btf"]["state"] == "ok") == Path("/sys/kernel/btf/vmlinux").exists()
    paranoid = proc_number("/proc/sys/kernel/perf_event_paranoid")
    assert paranoid is None or checks["perf-event-paranoid"]["fact"] == f"kernel.perf_event_paranoid is {paranoid}"
    disabled = proc_number("/proc/sys/kernel/unprivileged_bpf_disabled")
    assert disabled is None or checks["unprivileged-bpf"]["fact"].endswith(f" is {disabled}")
    scope = proc_number("/proc/sys/kernel/yama/ptrace_scope")
    assert checks["ptrace-scope"]["fact"].startswith("no Yama" if scope is None else f"kernel.yama.ptrace_scope is {scope}")
    clock = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource").read_text().strip()
    assert checks["clock-source"]["fact"] == clock
    assert checks["seccomp"]["state"] == ("limited" if status_field("Seccomp") == "2" else "ok")
    caps = int(status_field("CapEff"), 16)
    able = bool(caps >> 21 & 1 or (caps >> 38 & 1 and caps >> 39 & 1))
    assert (checks["capabilities"]["state"] == "missing") <= (not able)
    assert checks["recorder"]["fact"] == str(shim.resolve())
    assert str((build / "simgpu/libcuda.so.1").resolve()) in checks["driver"]["fact"]
    assert found["can_record"] and found["device_times"] == {"level": "bursts", "why": ""}
    assert found["host_probes"]["how"] in ("ebpf", "perf", "proc", "none")


def test_the_driver_answers_for_itself(doctor, build, sim_env):
    """CUDA version and devices are what the driver itself says."""
    ask = ("import ctypes; c = ctypes.CDLL('libcuda.so.1'); v = ctypes.c_int(); n = ctypes.c_int(); c.cuDriverGetVersion(ctypes.byref(v));"
           "c.cuInit(0); c.cuDeviceGetCount(ctypes.byref(n)); print(v.value, n.value)")
    said = subprocess.run([sys.executable, "-c", ask], env=sim_env, capture_output=True, text=True, check=True).stdout
    version, devices = map(int, said.split())
    driver = doctor()["checks"]["driver"]
    assert f"CUDA {version // 1000}.{version % 1000 // 10}" in driver["fact"]
    assert driver["means"] == f"{devices} device{'' if devices == 1 else 's'}"


def test_without_a_driver(doctor):
    found = doctor(LD_LIBRARY_PATH="/nowhere")
    if "cannot be loaded" not in found["checks"]["driver"]["fact"]:
        pytest.skip("this machine has a driver")
    assert found["status"] == 1 and found["checks"]["driver"]["state"] == "missing" and found["checks"]["driver"]["needed"]


LIBRARY = """
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int cuDriverGetVersion(int *v) { *v = 12040; return 0; }
int cuInit(unsigned f) { (void)f; %s return 100; }
int cuDeviceGetCount(int *n) { *n = 0; return 0; }
__attribute__((constructor)) static void begin(void) { %s }
"""


@pytest.mark.parametrize("init, begin, state, fact", [
    ("", 'puts("noise"); fputs("noise", stderr);', "limited", "CUDA 12.4"),
    ("", "abort();", "missing", "was killed by Aborted"),
    ("", "_exit(0);", "missing", "gave no answer"),
    ("abort();", "", "ok", "CUDA 12.4"),
])
def test_a_bad_driver_hurts_nobody(doctor, tmp_path, init, begin, state, fact):
    """A library that prints, dies or leaves while it is loaded, or in cuInit, costs its own answer."""
    (tmp_path / "bad.c").write_text(LIBRARY % (init, begin))
    subprocess.run(["cc", "-shared", "-fPIC", "-o", tmp_path / "libcuda.so.1", tmp_path / "bad.c"], check=True)
    found = doctor(LD_LIBRARY_PATH=str(tmp_path))
    assert found["checks"]["driver"]["state"] == state and fact in found["checks"]["driver"]["fact"]
    assert len(found["checks"]) == 26


def test_a_file_that_is_no_library(doctor, tmp_path):
    (tmp_path / "libcuda.so.1").write_text("no library")
    driver = doctor(LD_LIBRARY_PATH=str(tmp_path))["checks"]["driver"]
    assert driver["state"] == "missing" and "cannot be loaded" in driver["fact"]


def test_settings_of_the_environment(doctor):
    found = doctor(GPUSHIM="off")
    assert found["status"] == 1 and found["device_times"]["level"] == "off"
    found = doctor(GPUSHIM_DEVICE="host")
    assert found["status"] == 0 and found["device_times"] == {"level": "host", "why": "GPUSHIM_DEVICE=host"}
    found = doctor(CUDA_DEVICE_MAX_CONNECTIONS="1")
    assert found["device_times"]["level"] == "host"
    found = doctor(CUDA_INJECTION64_PATH="/opt/tool.so")
    assert found["checks"]["other-tools"]["command"] == "unset CUDA_INJECTION64_PATH"
    found = doctor(GPUSHIM_LIBRARY="/nowhere.so")
    assert found["status"] == 1 and found["checks"]["recorder"]["command"] == "unset GPUSHIM_LIBRARY"


def test_the_level_is_the_recorders(doctor, recorder):
    """What it promises is what a recording has."""
    for setting in ("host", "edges", "bursts", "auto"):
        level = doctor(GPUSHIM_DEVICE=setting)["device_times"]["level"]
        assert level == ("bursts" if setting == "auto" else setting)


def test_the_run_directory(doctor, tmp_path):
    place = tmp_path / "a/b"
    row = doctor("-o", str(place))["checks"]["run-directory"]
    assert row["state"] == "ok" and row["fact"].startswith(f"{place}: ") and not (tmp_path / "a").exists()
    row = doctor("-o", "here")["checks"]["run-directory"]
    assert row["fact"].startswith(f"{tmp_path}/here: ") and not list(tmp_path.iterdir())
    row = doctor(GPUSHIM_OUT=str(tmp_path / "set"))["checks"]["run-directory"]
    assert row["fact"].startswith(f"{tmp_path}/set: ")
    (tmp_path / "file").write_text("")
    found = doctor("-o", str(tmp_path / "file/x"))
    assert found["status"] == 1 and "Not a directory" in found["checks"]["run-directory"]["fact"]
    shm = doctor("-o", "/dev/shm/x")["checks"]["run-directory"]
    assert "tmpfs" in shm["fact"] and "memory" in shm["means"]


def test_text_fits_the_page(gpushim, sim_env, tmp_path):
    """80 columns but for what cannot be broken (a path, a quoted command), the summary first, no colour in a pipe, every command as the JSON has it."""
    done = subprocess.run([gpushim, "doctor"], capture_output=True, text=True, env=sim_env | {"LC_ALL": "C.UTF-8", "COLUMNS": "80"}, cwd=tmp_path)
    assert done.stdout.startswith("what a recording on this machine sees\n  recording ") and "\033" not in done.stdout
    assert done.returncode == 0 and not done.stderr
    assert not [line for line in done.stdout.splitlines() if len(line) > 80 and "'" not in line and max(map(len, line.split())) < 48]
    rows = json.loads(subprocess.run([gpushim, "doctor", "--json"], capture_output=True, env=sim_env, cwd=tmp_path).stdout)["checks"]
    printed = [shlex.split(text) for text in re.findall(r"^    \$ (.*(?:(?<=\\)\n.*)*)", done.stdout, re.M)]
    wanted = [shlex.split(row["command"]) for row in rows]
    assert printed == [command for i, command in enumerate(wanted) if command and (i == 0 or command != wanted[i - 1])]


def test_usage(gpushim):
    for args in (["--nonsense"], ["a-path"], ["-o"]):
        assert subprocess.run([gpushim, "doctor", *args], capture_output=True).returncode == 2
    shown = subprocess.run([gpushim, "doctor", "--help"], capture_output=True, text=True)
    assert shown.returncode == 0 and shown.stdout.startswith("usage: gpushim doctor [options]") and "1 something" in shown.stdout


# ---- other users, other worlds --------------------------------------------------------------------------------------------------------------


@root_only
def test_an_ordinary_user(doctor, for_all):
    program = for_all / "gpushim"
    found = doctor("-o", str(for_all / "open/run"), under=NOBODY, program=program, cwd="/", LD_LIBRARY_PATH=str(for_all))
    checks = found["checks"]
    assert found["status"] == 0
    assert checks["capabilities"]["state"] == checks["ebpf-load"]["state"] == "missing"
    assert "Operation not permitted" in checks["ebpf-load"]["fact"]
    assert checks["capabilities"]["command"] == f"sudo setcap cap_bpf,cap_perfmon+ep {program}"
    paranoid = proc_number("/proc/sys/kernel/perf_event_paranoid")
    assert paranoid > 2 or checks["perf-open"]["state"] == "ok"
    assert found["host_probes"]["how"] == ("perf" if checks["perf-open"]["state"] == "ok" else "proc") and found["host_probes"]["why"]
    found = doctor("-o", str(for_all / "closed"), under=NOBODY, program=program, cwd="/", LD_LIBRARY_PATH=str(for_all))
    assert found["status"] == 1 and "Permission denied" in found["checks"]["run-directory"]["fact"]


@root_only
def test_its_own_command_helps(doctor, for_all):
    """The command it gives is run; then it has what was missing."""
    program = for_all / "gpushim"
    before = doctor("-o", "/tmp/x", under=NOBODY, program=program, cwd="/")["checks"]
    command = shlex.split(before["capabilities"]["command"])
    assert command[0] == "sudo"
    if subprocess.run(command[1:], capture_output=True).returncode:
        pytest.skip("setcap is not to be had, or not on this file system")
    after = doctor("-o", "/tmp/x", under=NOBODY, program=program, cwd="/", LD_LIBRARY_PATH=str(for_all))["checks"]
    assert after["capabilities"]["state"] == "ok" and "its file has them" in after["capabilities"]["fact"]
    assert after["ebpf-load"]["state"] == "ok" and after["driver"]["fact"].startswith(f"{for_all}/libcuda.so.1, CUDA ")


SHOWS_CAPABILITIES = """
#include <stdio.h>
__attribute__((constructor)) static void begin(void)
{
	char line[256];
	FILE *in = fopen("/proc/self/status", "r"), *out = fopen("%s", "w");
	while (fgets(line, sizeof(line), in)) fputs(line, out);
	fclose(out);
}
"""


@root_only
def test_a_users_library_gets_no_capabilities(doctor, for_all):
    """What LD_LIBRARY_PATH leads to is loaded by a child that has given up what the file of gpushim has."""
    program, seen = for_all / "gpushim", for_all / "open/status"
    if subprocess.run(["setcap", "cap_bpf,cap_perfmon+ep", program], capture_output=True).returncode:
        pytest.skip("setcap is not to be had, or not on this file system")
    (for_all / "spy.c").write_text(SHOWS_CAPABILITIES % seen)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", for_all / "libcuda.so.1", for_all / "spy.c"], check=True)
    checks = doctor("-o", "/tmp/x", under=NOBODY, program=program, cwd="/", LD_LIBRARY_PATH=str(for_all))["checks"]
    assert checks["capabilities"]["state"] == "ok" and checks["driver"]["fact"].startswith(f"{for_all}/libcuda.so.1")
    status = seen.read_text()
    assert re.findall(r"^Cap(?:Prm|Eff|Amb):\s*(\S+)", status, re.M) == ["0" * 16] * 3


@root_only
def test_without_the_capabilities_for_ever(doctor, for_all):
    """As in a container that was not given them: setcap could not help."""
    found = doctor(under=[*NOBODY, "--bounding-set=-bpf,-perfmon,-sys_admin"], program=for_all / "gpushim", cwd="/", container="docker")
    assert found["checks"]["capabilities"]["state"] == "missing" and "setcap" not in found["checks"]["capabilities"]["command"]
    assert "bounding set" in found["checks"]["capabilities"]["means"]


@root_only
def test_no_new_privileges(doctor, for_all):
    found = doctor(under=[*NOBODY, "--no-new-privs"], program=for_all / "gpushim", cwd="/")
    assert "no_new_privs" in found["checks"]["capabilities"]["means"] and not found["checks"]["capabilities"]["command"]


@root_only
def test_a_user_namespace(doctor, for_all):
    under = [*NOBODY, "unshare", "--user", "--map-root-user"]
    if subprocess.run([*under, "true"], capture_output=True).returncode:
        pytest.skip("no user namespaces for ordinary users here")
    found = doctor(under=under, program=for_all / "gpushim", cwd="/")
    assert found["checks"]["container"]["state"] == "limited" and "user namespace" in found["checks"]["container"]["fact"]
    assert found["checks"]["capabilities"]["state"] == "missing" and found["host_probes"]["how"] != "ebpf"


@root_only
def test_a_pid_namespace(doctor):
    if subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", "true"], capture_output=True).returncode:
        pytest.skip("no namespaces may be made here")
    found = doctor(under=["unshare", "--pid", "--fork", "--mount-proc"])
    assert "PID namespace of its own" in found["checks"]["container"]["fact"] and found["status"] == 0


@root_only
def test_hidepid(doctor, for_all):
    under = ["unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", 'mount -o remount,hidepid=2 /proc && exec "$@"', "sh", *NOBODY]
    if subprocess.run([*under, "true"], capture_output=True).returncode:
        pytest.skip("/proc cannot be mounted so here")
    row = doctor(under=under, program=for_all / "gpushim", cwd="/")["checks"]["proc"]
    assert row["state"] == "limited" and re.search("hidepid=(2|invisible)", row["fact"])


@root_only
@pytest.mark.parametrize("there", [[], ["proc"], ["sys"]])
def test_a_bare_container(gpushim, tmp_path, there):
    """chroot into a folder with the program, its libraries, and an empty /proc and /sys: every row has its answer."""
    bare = tmp_path / "bare"
    for library in re.findall(r"(/\S+) \(0x", subprocess.run(["ldd", gpushim], capture_output=True, text=True, check=True).stdout):
        (bare / library[1:]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, bare / library[1:])
    shutil.copy(gpushim, bare)
    for name in there:
        (bare / name).mkdir()
    done = subprocess.run([shutil.which("chroot"), bare, "/gpushim", "doctor", "--json"], capture_output=True, text=True, env={"PATH": "/bin"}, timeout=120)
    found = json.loads(done.stdout)
    checks = {check["id"]: check for check in found["checks"]}
    assert done.returncode == 1 and not done.stderr and not found["can_record"]
    assert checks["btf"]["state"] == checks["proc"]["state"] == "missing" and checks["clock-source"]["state"] == "limited"
    assert checks["run-directory"]["fact"].startswith("/gpushim-out: ") and checks["run-directory"]["state"] == "ok"
    assert all(check["fact"] for check in found["checks"])


SECCOMP = """
import ctypes, os, struct, sys
numbers, action = [int(n) for n in sys.argv[1].split(",")], int(sys.argv[2], 16)
code = struct.pack("HBBI", 0x20, 0, 0, 0)
for n in numbers:
    code += struct.pack("HBBI", 0x15, 0, 1, n) + struct.pack("HBBI", 6, 0, 0, action)
code += struct.pack("HBBI", 6, 0, 0, 0x7fff0000)
buffer = ctypes.create_string_buffer(code)
program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(buffer)))
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, program) == 0
os.execv(sys.argv[3], sys.argv[3:])
"""
CALLS = {"x86_64": (321, 298, 310), "aarch64": (280, 241, 270)}.get(platform.machine())  # bpf, perf_event_open, process_vm_readv


@pytest.mark.skipif(not CALLS, reason="numbers of system calls are not known here")
@pytest.mark.parametrize("action, words", [("50001", "Operation not permitted"), ("50026", "Function not implemented"), ("80000000", "was killed by Bad system call")])
def test_seccomp(doctor, action, words):
    """A filter that refuses the calls of the trials, or kills whoever makes them."""
    if status_field("Seccomp") == "2":
        pytest.skip("there is a filter here already")
    found = doctor(under=[sys.executable, "-c", SECCOMP, ",".join(map(str, CALLS)), action])
    checks = found["checks"]
    assert checks["seccomp"] | {"means": ""} == {"id": "seccomp", "state": "limited", "needed": False, "fact": "1 filter in force", "means": "", "command": ""}
    for row in ("ebpf-load", "perf-open", "stacks"):
        assert words in checks[row]["fact"]
    assert found["host_probes"]["how"] == "proc" and found["status"] == 0
    assert signal.Signals.SIGSYS  # the killing ones end a child of its own, never the program


def test_file_limits_and_a_closed_output(gpushim, sim_env, tmp_path):
    """A limit on files is a limit on recording; nobody reading is no crash."""
    done = subprocess.run(["prlimit", "--fsize=1000", gpushim, "doctor", "--json"], capture_output=True, text=True, env=sim_env, cwd=tmp_path)
    row = next(check for check in json.loads(done.stdout)["checks"] if check["id"] == "run-directory")
    assert done.returncode == 1 and row["state"] == "missing" and ("File too large" in row["fact"] or "File size limit" in row["fact"])
    read, write = os.pipe()
    os.close(read)
    assert subprocess.run([gpushim, "doctor"], stdout=write, env=sim_env, cwd=tmp_path).returncode in (0, 1, 4)
    os.close(write)
