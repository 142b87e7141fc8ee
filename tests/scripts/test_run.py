# SPDX-License-Identifier: BSD-2-Clause
"""`gpushim run`: the program behaves, ends and is signalled as without it; then there is a summary."""

import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time

import pytest

CALL = 'import ctypes, os, signal, sys, time; lib = ctypes.CDLL("libcuda.so.1"); lib.cuInit(0)\n'
WORK = CALL + """
device, context, stream = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
lib.cuDeviceGet(ctypes.byref(device), 0)
lib.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
lib.cuCtxSetCurrent(context)
memory = ctypes.c_uint64()
lib.cuMemAlloc_v2(ctypes.byref(memory), 4096)
lib.cuMemsetD8_v2(memory, 0, 4096)
lib.cuCtxSynchronize()
"""

# Counts every signal it is sent and says so at the end; "done" in a file ends it.
COUNTER = CALL + """
got = []
names = "HUP INT QUIT TERM USR1 USR2 WINCH CONT".split()
for name in names:
    signal.signal(getattr(signal, "SIG" + name), lambda number, frame: got.append(signal.Signals(number).name))
if "own-session" in sys.argv:
    os.setsid()
print("ready", flush=True)
end = time.monotonic() + 20
while not os.path.exists(sys.argv[1]) and time.monotonic() < end:
    time.sleep(0.01)
print(" ".join(got), flush=True)
"""


class Runner:
    """Calls `gpushim run` in a folder of its own."""

    def __init__(self, recorder):
        self.recorder = recorder
        self.folder = recorder.new_folder()
        self.out = self.folder / "out"
        self.gpushim = str(recorder.gpushim_path)

    def command(self, *program, options=()):
        return [self.gpushim, "run", "-o", str(self.out), *options, "--", *map(str, program)]

    def environment(self, **env):
        return self.recorder.environment(shim=False, **env)

    def __call__(self, *program, options=(), cwd=None, **env):
        return subprocess.run(self.command(*program, options=options), cwd=cwd or self.folder, env=self.environment(**env),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)

    def start(self, *program, **how):
        return subprocess.Popen(self.command(*program), cwd=self.folder, env=self.environment(), stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **how)

    def python(self, program, *args, **how):
        return self(sys.executable, "-c", program, *args, **how)

    def report(self, *options, status=0):
        done = self.recorder.gpushim("report", self.out, "--json", *options)
        assert done.returncode == status, done.stderr
        return json.loads(done.stdout)


@pytest.fixture
def run(recorder):
    return Runner(recorder)


def last_line(text):
    return text.rstrip("\n").rsplit("\n", 1)[-1]


# ---- what the program sees --------------------------------------------------------------------------------------------------

def test_the_programs_output_and_status_are_its_own(run):
    done = run.python(WORK + 'print("out"); print("err", file=sys.stderr); sys.exit(7)')
    assert done.returncode == 7 and done.stdout == "out\n"
    assert done.stderr.startswith("err\n") and "\ntrust   idle " in done.stderr
    assert last_line(done.stderr) == f"gpushim: recorded in {run.out}"
    assert run.report()["devices"][0]["operations"] == 1


def test_the_summary_is_the_reports(run):
    done = run.python(WORK, options=["--host", "off"])
    report = run.recorder.gpushim("report", run.out)
    assert done.stderr == "\n" + report.stdout + f"\ngpushim: recorded in {run.out}\n"


SIGNAL_STATE = 'print([l for l in open("/proc/self/status") if l.startswith(("SigBlk", "SigIgn"))])'
OPEN_FILES = 'print(sorted(os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if int(fd) > 2 and os.path.exists(f"/proc/self/fd/{fd}")))'
IDS = "print(os.getpgid(0) == os.getpgid(os.getppid()), os.getsid(0) == os.getsid(os.getppid()), os.getcwd(), os.umask(0), sys.argv)"


@pytest.mark.parametrize("what", [SIGNAL_STATE, OPEN_FILES, IDS])
@pytest.mark.parametrize("ignored", [(), (signal.SIGPIPE, signal.SIGCHLD, signal.SIGHUP)])
def test_the_program_begins_as_without_us(run, what, ignored):
    def prepare():
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])

    program = [sys.executable, "-c", "import os, sys\n" + what, "a b", "", "--", "-x"]
    how = {"cwd": run.folder, "env": run.environment(), "stdin": subprocess.DEVNULL, "capture_output": True, "text": True,
           "preexec_fn": prepare, "restore_signals": False, "timeout": 60}
    without = subprocess.run(program, **how)
    recorded = subprocess.run(run.command(*program), **how)
    assert recorded.stdout == without.stdout and recorded.returncode == without.returncode == 0


NVTX = "NVTX_INJECTION64_PATH"


@pytest.mark.parametrize("given, nvtx", [({}, {NVTX: "libgpushim.so"}), ({"GPUSHIM_NVTX": "off"}, {}), ({NVTX: "/nonexistent/tool.so"}, {})],
                         ids=["nvtx", "no-nvtx", "nvtx-taken"])
def test_its_environment_gains_three_variables_and_nvtxs(run, shim, given, nvtx):
    show = "import json, os; print(json.dumps(dict(os.environ)))"
    without = json.loads(subprocess.run([sys.executable, "-c", show], env=run.environment(X="1", **given), capture_output=True).stdout)
    recorded = json.loads(run.python(show, X="1", **given).stdout)
    assert recorded.pop("LD_PRELOAD") == str(shim)
    assert recorded.pop("GPUSHIM_OUT") == str(run.out)
    assert re.fullmatch(r"\d{8}-\d{6}-[0-9a-f]{16}", recorded.pop("GPUSHIM_RUN"))
    assert recorded == without | nvtx


def test_what_is_preloaded_already_stays(run, shim, build, tmp_path):
    show = "import os; print(os.environ['LD_PRELOAD'])"
    other = tmp_path / "other.so"
    subprocess.run(["cc", "-shared", "-x", "c", "-o", other, "/dev/null"], check=True)
    assert run.python(show, LD_PRELOAD=other).stdout == f"{shim}:{other}\n"
    assert run.python(show, LD_PRELOAD=f"{other}:{shim}").stdout == f"{other}:{shim}\n"
    assert run.python(show, LD_PRELOAD=f"{shim} {other}").stdout == f"{shim} {other}\n"
    assert run.python(show, LD_PRELOAD="").stdout == f"{shim}\n"


def test_standard_input_is_the_programs(run):
    done = subprocess.run(run.command("cat"), cwd=run.folder, env=run.environment(), input="text\n", capture_output=True, text=True,
                          timeout=60)
    assert done.stdout == "text\n"


@pytest.mark.parametrize("separator", [["--"], []])
def test_the_programs_options_are_not_ours(run, separator):
    done = subprocess.run([run.gpushim, "run", *separator, "echo", "-o", "--html", "--", "-h"], cwd=run.folder, env=run.environment(),
                          capture_output=True, text=True, timeout=60)
    assert done.stdout == "-o --html -- -h\n" and done.returncode == 0


# ---- where and as what it is recorded ----------------------------------------------------------------------------------------

def test_the_directory_is_the_same_wherever_a_process_goes(run):
    """GPUSHIM_OUT, which may be relative, is made absolute."""
    done = subprocess.run([run.gpushim, "run", sys.executable, "-c", WORK], cwd=run.folder, capture_output=True, text=True,
                          env=run.environment(GPUSHIM_OUT="rel/ative"), timeout=60)
    assert last_line(done.stderr) == f"gpushim: recorded in {run.folder}/rel/ative"
    done = subprocess.run([run.gpushim, "run", "sh", "-c", f"cd / && {sys.executable} -c '{WORK}'"], cwd=run.folder, text=True,
                          capture_output=True, env=run.environment(), timeout=60)
    assert len([t for t in (run.folder / "gpushim-out").glob("*.gst") if not t.name.endswith(".host.gst")]) == 1


def test_a_second_run_does_not_mix(run):
    first, second = run.python(WORK), run.python(WORK + "lib.cuCtxSynchronize()")
    assert first.returncode == second.returncode == 0
    assert "cuCtxSynchronize" in run.report()["calls"] and run.report()["run"]["runs"] == 2
    assert [run.report("--run", n)["calls"]["cuCtxSynchronize"] for n in ("0", "1", "all")] == [1, 2, 3]
    assert "1 process on" in first.stderr and "1 process on" in second.stderr
    done = run.recorder.gpushim("report", run.out)
    assert done.stderr == "gpushim: there are 2 runs here; this is the last, number 1 (--run N or --run all for others)\n"
    listing = run.recorder.gpushim("info", run.out).stdout.splitlines()
    assert listing[0] == "2 runs"
    for number, line in enumerate(listing[2:4]):
        row = re.fullmatch(rf" +{number}  \d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d UTC +1  (.*)", line)
        command = row.group(1).removesuffix("...")  # it may be longer than the line
        assert command.startswith("python"), line  # its folder is left out


def test_processes_of_a_fork_tree_are_one_run_whenever_they_live(run):
    """One after the other, with a pause: without an id they would be runs of their own."""
    tree = "\n".join([f"{sys.executable} -c '{WORK}'; sleep 0.1"] * 2 + [f"{sys.executable} -c '{WORK}' & {sys.executable} -c '{WORK}'; wait"])
    done = run("sh", "-c", tree)
    assert done.returncode == 0 and "4 processes on" in done.stderr
    assert run.report()["run"]["processes"] == 4 and run.report()["run"]["runs"] == 1


def test_an_id_that_was_given_is_kept(run):
    """As a launcher does that starts several nodes' parts of one run."""
    for _ in range(2):
        assert run.python(WORK, GPUSHIM_RUN="mine").returncode == 0
    assert "2 processes on" in run.python("pass", GPUSHIM_RUN="mine").stderr
    assert run.report()["run"]["processes"] == 2


def test_without_an_id_lifetimes_tell_runs_apart(run, shim):
    """As LD_PRELOAD alone records: a launcher that starts four ranks at once, twice."""
    rank = f"{sys.executable} -c '{WORK}time.sleep(0.2)' & "
    for _ in range(2):
        done = subprocess.run(["sh", "-c", 4 * rank + "wait"], cwd=run.folder, capture_output=True, timeout=60,
                              env=run.environment(LD_PRELOAD=shim, GPUSHIM_OUT=run.out))
        assert done.returncode == 0 and done.stderr == b""
        time.sleep(0.1)
    assert [run.report("--run", n)["run"]["processes"] for n in ("0", "1", "all")] == [4, 4, 8]
    assert run.report()["run"] | {"index": 1, "runs": 2} == run.report()["run"]


def test_runs_that_interleave_do_not_mix(run):
    held = run.start(sys.executable, "-c", WORK + "print('ready', flush=True); sys.stdin.read(1)\n"
                     "end = time.monotonic() + 20\nwhile not os.path.exists('go') and time.monotonic() < end: time.sleep(0.01)\n" + WORK)
    assert held.stdout.readline() == "ready\n"
    assert "1 process on" in run.python(WORK).stderr
    (run.folder / "go").touch()
    assert held.wait(30) == 0
    assert [run.report("--run", n)["run"]["processes"] for n in ("0", "1")] == [1, 1]
    assert [run.report("--run", n)["calls"]["cuCtxSynchronize"] for n in ("0", "1")] == [2, 1]


def test_installed(run, root, build, shim, tmp_path):
    """Where `make install` puts the three. (Not by make itself: with other flags than its own it would build everything anew.)"""
    installed = "install -D -m 755 $({}) $(DESTDIR)$(PREFIX)/{}"
    makefile = (root / "Makefile").read_text()
    for what, where, built in (("SHIM_SO", "lib/libgpushim.so", shim), ("GPUSHIM", "bin/gpushim", run.gpushim),
                               ("TWIN_SO", "lib/gpushim/twin/libcuda.so.1", build / "twin/libcuda.so.1")):
        assert installed.format(what, where) in makefile
        (tmp_path / "usr" / where).parent.mkdir(parents=True)
        shutil.copy(built, tmp_path / "usr" / where)
    run.gpushim = str(tmp_path / "usr/bin/gpushim")
    show = "import os; print(os.environ['LD_PRELOAD'])"
    assert run.python(show).stdout == f"{tmp_path}/usr/lib/libgpushim.so\n"
    link = tmp_path / "gpushim"
    link.symlink_to(run.gpushim)
    run.gpushim = str(link)
    assert run.python(show).stdout == f"{tmp_path}/usr/lib/libgpushim.so\n"


def test_the_recorder_elsewhere(run, shim, tmp_path):
    alone = tmp_path / "gpushim"
    shutil.copy(run.gpushim, alone)
    run.gpushim = str(alone)
    done = run("true")
    assert done.returncode == 4 and "libgpushim.so is neither beside this program nor in ../lib" in done.stderr
    assert run.python(WORK, GPUSHIM_LIBRARY=shim).stderr.endswith(f"recorded in {run.out}\n")
    done = run("true", GPUSHIM_LIBRARY=tmp_path / "none.so")
    assert done.returncode == 4 and "none.so: the recorder that GPUSHIM_LIBRARY names cannot be read" in done.stderr
    (tmp_path / "a b").mkdir()
    shutil.copy(shim, tmp_path / "a b")
    done = run("true", GPUSHIM_LIBRARY=tmp_path / "a b/libgpushim.so")
    assert done.returncode == 4 and "cannot hold this name" in done.stderr


@pytest.mark.skipif(bool(os.environ.get("SAN")), reason="a sanitizer's runtime does not stand RTLD_DEEPBIND")
def test_deepbind(run, recorder, build, shim, tmp_path):
    """The twin is preloaded, built or installed beside the recorder; what passes by libgpushim.so is seen."""
    client = recorder.command("client_deepbind", "deep", "dlsym")
    assert "nothing was recorded" in run(*client).stderr and not run.out.exists()
    done = run(*client, options=["--deepbind"])
    assert done.stderr.endswith(f"recorded in {run.out}\n") and "cuLaunchKernel 0\n" in done.stdout
    show = "import os; print(os.environ['LD_PRELOAD'])"
    assert run.python(show, options=["--deepbind"]).stdout == f"{build}/twin/libcuda.so.1\n"
    twin = tmp_path / "lib/gpushim/twin/libcuda.so.1"
    twin.parent.mkdir(parents=True)
    shutil.copy(build / "twin/libcuda.so.1", twin)
    shutil.copy(shim, tmp_path / "lib")
    installed = {"GPUSHIM_LIBRARY": tmp_path / "lib/libgpushim.so"}
    assert run.python(show, options=["--deepbind"], **installed).stdout == f"{twin}\n"
    twin.unlink()
    done = run.python(show, options=["--deepbind"], **installed)
    assert done.returncode == 4 and "lib/: has no twin/libcuda.so.1, nor gpushim/twin/libcuda.so.1" in done.stderr


# ---- how it ends --------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV, signal.SIGINT, signal.SIGUSR1])
def test_killed_by_a_signal_says_so(run, number):
    done = run.python(WORK + f"signal.signal({int(number)}, signal.SIG_DFL) if {int(number)} != 9 else 0; os.kill(os.getpid(), {int(number)})")
    assert done.returncode == -number
    assert "1 process ended without a regular exit" in " ".join(done.stderr.split()) and last_line(done.stderr).startswith("gpushim: recorded in ")
    by_itself = run.command(sys.executable, "-c", f"import os, signal; signal.signal({int(number)}, signal.SIG_DFL) if {int(number)} != 9 else 0; "
                                                  f"os.kill(os.getpid(), {int(number)})")  # what started the tests may have it ignored
    shell = subprocess.run(["sh", "-c", '"$@"; exit $?', "sh", *by_itself], cwd=run.folder, env=run.environment(), capture_output=True, timeout=60)
    assert shell.returncode == 128 + number


def test_what_cannot_be_started(run):
    done = run("no-such-program")
    assert done.returncode == 127 and done.stderr == "gpushim: no-such-program: No such file or directory\n"
    done = run("/etc/passwd")
    assert done.returncode == 126 and done.stderr == "gpushim: /etc/passwd: Permission denied\n"
    assert not run.out.exists()


@pytest.mark.parametrize("options, status, says", [
    (["--html", "-"], 2, "standard output is the program's"), (["--off", "nothing"], 2, "--off knows no probe nothing"),
    (["--host", "maybe"], 2, "--host takes auto|off|require|ebpf|perf|proc, not maybe"), (["--nonsense"], 2, "unknown option --nonsense")])
def test_what_is_refused_starts_nothing(run, options, status, says):
    done = run("touch", "started", options=options)
    assert done.returncode == status and says in done.stderr and not (run.folder / "started").exists()


def test_usage(run):
    done = subprocess.run([run.gpushim, "run", "-o", "x"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "no program is named" in done.stderr
    for host in ("auto", "off"):
        assert run("true", options=["--host", host]).returncode == 0


def test_a_directory_that_cannot_be_written_to(run):
    (run.folder / "file").touch()
    run.out = run.folder / "file/deep"
    done = run("touch", "started")
    assert done.returncode == 4 and done.stderr == f"gpushim: {run.out}: cannot record here: Not a directory\n" \
        "try: -o DIR; each process has a file of its own in it\n"
    for out in ("/dev/null", "/dev/null/below"):
        done = run("touch", "started", options=["-o", out])
        assert done.returncode == 4 and done.stderr.startswith(f"gpushim: {out}: cannot record here: Not a directory\n")
    done = run("touch", "started", options=["-o", ""])
    assert (done.returncode, done.stderr) == (2, "gpushim: no directory has an empty name\ntry: -o DIR\n")
    assert not (run.folder / "started").exists()


def test_the_status_comes_through_when_the_summary_fails(run):
    done = run("sh", "-c", f"{sys.executable} -c '{WORK}'; for f in {run.out}/*.gst; do truncate -s 9000 $f; done; exit 5")
    assert done.returncode == 5 and re.search(r"^gpushim: .*\.gst: byte 9000: segment 0 reaches to byte", done.stderr, re.M)
    with open("/dev/full", "w") as full:
        assert subprocess.run(run.command(sys.executable, "-c", WORK + "sys.exit(5)"), stderr=full, env=run.environment()).returncode == 5


# ---- nothing recorded ---------------------------------------------------------------------------------------------------------

def nothing(run, done):
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("gpushim: nothing was recorded: ")
    assert not run.out.exists()
    return done.stderr.removeprefix("gpushim: nothing was recorded: ").rstrip("\n")


def test_no_driver_call(run):
    assert nothing(run, run("true")).startswith("no process of it made a CUDA driver call")


def test_switched_off(run):
    assert nothing(run, run.python(WORK, GPUSHIM="off")) == "GPUSHIM=off is set"


def program(folder, *flags):
    path = folder / "program"
    subprocess.run(["cc", *flags, "-x", "c", "-o", path, "-"], input="int main(void) { return 3; }", text=True, check=True)
    return path


@pytest.mark.parametrize("flags", [["-static"], ["-static-pie"]])
def test_a_static_program(run, flags):
    path = program(run.folder, *flags)
    done = run(path)
    assert done.returncode == 3 and nothing(run, done) == f"{path} is statically linked: nothing can be preloaded into it"
    assert "statically linked" in nothing(run, run("program", PATH=run.folder))
    script = run.folder / "script"
    script.write_text(f"#! {path}\n")
    script.chmod(0o755)
    assert "statically linked" in nothing(run, run(script))


def test_a_program_that_gains_rights(run):
    path = program(run.folder)
    if os.getuid() != 0:
        pytest.skip("needs root to make one")
    os.chown(path, 65534, 65534)
    path.chmod(0o4755)
    done = run(path)
    assert done.returncode == 3 and "is set-user-ID" in nothing(run, done)


# ---- signals ------------------------------------------------------------------------------------------------------------------

def count_signals(run, send, *args):
    """What the program got of what `send` does to the running gpushim."""
    done = run.folder / "done"
    child = run.start(sys.executable, "-c", COUNTER, done, *args, start_new_session=True)
    assert child.stdout.readline() == "ready\n"
    send(child)
    time.sleep(0.3)
    done.touch()
    out, err = child.communicate(timeout=30)
    assert child.returncode == 0 and "recorded in" in err
    return out.split()


PASSED_ON = ["SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGUSR1", "SIGUSR2", "SIGWINCH", "SIGCONT"]


@pytest.mark.parametrize("kill", [os.kill, os.killpg], ids=["us alone", "the group"])
def test_each_signal_comes_once(run, kill):
    def send(child):
        for name in PASSED_ON:
            kill(child.pid, getattr(signal, name))
            time.sleep(0.15)

    assert sorted(count_signals(run, send)) == sorted(PASSED_ON)


def test_signal_after_signal(run):
    def send(child):
        for _ in range(3):
            os.kill(child.pid, signal.SIGUSR1)
            time.sleep(0.25)
            os.killpg(child.pid, signal.SIGINT)
            time.sleep(0.25)
            os.kill(child.pid, signal.SIGTERM)
            os.killpg(child.pid, signal.SIGUSR2)
            time.sleep(0.25)

    assert sorted(count_signals(run, send)) == sorted(3 * ["SIGUSR1", "SIGINT", "SIGTERM", "SIGUSR2"])


def test_a_program_that_left_the_group_gets_what_the_group_gets(run):
    """It would not have without us; but `timeout` signals the process it knows and then the group, and the two may fall together."""
    assert count_signals(run, lambda child: os.killpg(child.pid, signal.SIGTERM), "own-session") == ["SIGTERM"]
    (run.folder / "done").unlink()
    assert count_signals(run, lambda child: os.kill(child.pid, signal.SIGTERM), "own-session") == ["SIGTERM"]


def test_timeout_ends_it(run):
    begin = time.monotonic()
    done = subprocess.run(["timeout", "1", *run.command(sys.executable, "-c", WORK + "time.sleep(30)")], cwd=run.folder,
                          env=run.environment(), capture_output=True, text=True, timeout=60)
    assert done.returncode == 124 and time.monotonic() - begin < 10 and "recorded in" in done.stderr
    done = subprocess.run(["timeout", "--foreground", "1", *run.command("sleep", "30")], env=run.environment(), capture_output=True,
                          timeout=60)
    assert done.returncode == 124


def test_what_the_program_sends_its_parent_is_not_for_itself(run):
    done = run.python(CALL + "os.kill(os.getppid(), signal.SIGUSR1); time.sleep(0.3); print('alive')")
    assert done.returncode == 0 and done.stdout == "alive\n"


def test_where_we_are_killed_the_program_goes_on(run):
    child = run.start(sys.executable, "-c", WORK + "print('ready', flush=True); time.sleep(0.5)\n" + WORK)
    assert child.stdout.readline() == "ready\n"
    child.kill()
    child.wait()
    assert child.stdout.read() == ""  # until the program, too, has closed it
    report = run.report()
    assert report["run"]["cut_short"] == report["run"]["running"] == 0
    assert report["devices"][0]["operations"] == 2


# ---- processes that it leaves ---------------------------------------------------------------------------------------------------

DAEMON = WORK + """
print("started", flush=True)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        null = os.open("/dev/null", os.O_RDWR)
        for fd in range(3):
            os.dup2(null, fd)
        os.execv(sys.executable, [sys.executable, "-c", sys.argv[1], sys.argv[2]])
    os._exit(0)
os.wait()
"""
DAEMON_WORK = WORK + """
open(sys.argv[1] + ".up", "w").close()
end = time.monotonic() + 20
while not os.path.exists(sys.argv[1]) and time.monotonic() < end:
    time.sleep(0.01)
"""


def test_a_daemon_lives_on(run):
    done = run.folder / "done"
    wait = f"while not os.path.exists('{done}.up'): time.sleep(0.01)"
    first = run.python(DAEMON + wait, DAEMON_WORK, done)
    assert first.returncode == 0 and first.stdout == "started\n"
    assert ", still running\n" in first.stderr and "not whole: 1 process is still running" in " ".join(first.stderr.split())
    done.touch()
    for _ in range(500):
        if run.report()["run"]["running"] == 0:
            break
        time.sleep(0.01)
    assert run.report()["run"] | {"processes": 2, "running": 0, "cut_short": 0} == run.report()["run"]


def test_no_process_is_left(run):
    child = run.start(sys.executable, "-c", WORK, start_new_session=True)
    child.communicate(timeout=30)
    stats = [open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split() for pid in os.listdir("/proc") if pid.isdigit()
             and os.path.exists(f"/proc/{pid}/stat")]
    assert [fields for fields in stats if int(fields[3]) == child.pid] == []


# ---- terminals ------------------------------------------------------------------------------------------------------------------

class Terminal:
    """A terminal whose session leader is gpushim, as it is under ssh -t."""

    def __init__(self, run, *program):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(run.folder)
            os.execve(run.gpushim, run.command(*program), run.environment())
        self.text = b""

    def until(self, text, seconds=20):
        end = time.monotonic() + seconds
        while text not in self.text:
            assert time.monotonic() < end, self.text
            if select.select([self.fd], [], [], 0.1)[0]:
                try:
                    self.text += os.read(self.fd, 65536)
                except OSError:
                    assert text in self.text, self.text
        return self

    def type(self, keys):
        os.write(self.fd, keys)
        return self

    def wait(self):
        status = os.waitpid(self.pid, 0)[1]
        os.close(self.fd)
        return status


def test_ctrl_c_comes_once_and_does_not_end_us(run):
    program = WORK + """
count = []
signal.signal(signal.SIGINT, lambda *_: count.append(1))
print("ready", flush=True)
while not count: time.sleep(0.01)
time.sleep(0.4)
print("interrupts", len(count), flush=True)
sys.exit(9)
"""
    terminal = Terminal(run, sys.executable, "-c", program).until(b"ready").type(b"\x03").until(b"interrupts 1\r\n").until(b"recorded in")
    assert os.waitstatus_to_exitcode(terminal.wait()) == 9


def test_ctrl_c_ends_a_program_that_does_not_care(run):
    terminal = Terminal(run, sys.executable, "-c", WORK + "signal.signal(2, signal.SIG_DFL); print('ready', flush=True); time.sleep(20)")
    terminal.until(b"ready").type(b"\x03").until(b"recorded in")
    assert os.waitstatus_to_exitcode(terminal.wait()) == -signal.SIGINT


def test_the_program_reads_the_terminal(run):
    terminal = Terminal(run, sys.executable, "-c", "print('ready', flush=True); print('<' + input() + '>')")
    terminal.until(b"ready").type(b"hello\n").until(b"<hello>\r\n")
    assert os.waitstatus_to_exitcode(terminal.wait()) == 0


def test_ctrl_z_stops_both_and_fg_continues_both(run):
    """A shell with job control sees its job stopped, and goes on with it."""
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(run.folder)
        os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"], {**run.environment(), "PS1": "<prompt>", "TERM": "dumb"})
    terminal = Terminal.__new__(Terminal)
    terminal.pid, terminal.fd, terminal.text = pid, fd, b""
    terminal.until(b"<prompt>")
    (run.folder / "program.py").write_text(WORK + "print('rea' + 'dy', flush=True); print('got ' + input(), flush=True); sys.exit(6)")
    terminal.type(" ".join([*run.command(sys.executable, "program.py"), "; echo status $?\n"]).encode())
    terminal.until(b"ready").text = b""
    terminal.type(b"\x1a").until(b"Stopped").until(b"<prompt>").text = b""
    terminal.type(b"jobs -s\n").until(b"Stopped").until(b"<prompt>").text = b""
    terminal.type(b"fg\n")
    time.sleep(0.5)
    terminal.type(b"line\n").until(b"got line").until(b"recorded in").until(b"<prompt>")
    terminal.type(b"exit\n")
    terminal.wait()


def test_a_hangup_reaches_the_program(run):
    """The kernel tells the session's leader alone: us."""
    program = WORK + """
def hangup(*_):
    open("hung-up", "a").write("x")
    sys.exit(0)
signal.signal(signal.SIGHUP, hangup)
print("ready", flush=True)
time.sleep(20)
"""
    terminal = Terminal(run, sys.executable, "-c", program).until(b"ready\r\n")
    time.sleep(0.1)  # the program has returned from its print
    os.close(terminal.fd)
    assert os.waitstatus_to_exitcode(os.waitpid(terminal.pid, 0)[1]) == 0
    assert (run.folder / "hung-up").read_text() == "x"


# ---- the page ---------------------------------------------------------------------------------------------------------------

def test_a_page_as_well(run):
    """Beside the report; the same page as `report --html` writes later."""
    done = run.python(WORK + "sys.exit(7)", options=["--host", "off", "--html", "page.html"])
    assert done.returncode == 7 and done.stdout == ""
    assert done.stderr.endswith(f"\ngpushim: page page.html\ngpushim: recorded in {run.out}\n")
    later = run.recorder.gpushim("report", run.out, "--html", run.folder / "later.html")
    assert (later.returncode, later.stdout, later.stderr) == (0, "", "")
    page = (run.folder / "page.html").read_bytes()
    assert page == (run.folder / "later.html").read_bytes() and page.startswith(b"<!DOCTYPE html>") and b'id="data"' in page


def test_a_page_that_cannot_be_written_is_said_and_no_more(run):
    (run.folder / "gone").mkdir()
    done = run.python(WORK + "import os; os.rmdir('gone'); sys.exit(7)", options=["--html", "gone/page.html"])
    assert done.returncode == 7
    assert "gpushim: gone/page.html: cannot write: No such file or directory\n" in done.stderr
    assert f"gpushim: no page was written to gone/page.html; try: gpushim report {run.out} --html FILE\n" in done.stderr
    assert f"gpushim: recorded in {run.out}\n" in done.stderr and run.report()["devices"][0]["operations"] == 1


@pytest.mark.parametrize("page, why", [("none/page.html", "No such file or directory"), (".", "is no name of a file"), ("./", "is no name of a file"), ("", "is no name of a file")])
def test_a_page_that_cannot_be_written_is_said_before_the_program_runs(run, page, why):
    done = run.python("print('it ran')", options=["--html", page])
    assert done.returncode == 4 and done.stdout == "" and why in done.stderr, done.stderr


def test_no_page_of_nothing(run):
    (run.folder / "page.html").write_text("another run's")
    done = run.python("import sys; sys.exit(3)", options=["--html", "page.html"])
    assert done.returncode == 3 and "nothing was recorded" in done.stderr
    assert done.stderr.endswith("\ngpushim: no page was written to page.html\n")
    assert (run.folder / "page.html").read_text() == "another run's"
