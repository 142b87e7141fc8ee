# SPDX-License-Identifier: BSD-2-Clause
"""A file that gpushim writes for the user is there whole or not at all: exports, in every kind of place."""

import gzip
import os
import resource
import signal
import stat
import subprocess
import time
from pathlib import Path

import pytest

GOLDEN = Path(__file__).resolve().parent.parent / "golden"


@pytest.fixture(scope="module")
def recording(build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("recording")
    subprocess.run([build / "tools/gst_write", GOLDEN / "cause-allocator/trace.txt", folder / "run"], check=True)
    return folder / "run"


@pytest.fixture
def export(gpushim, recording):
    def call(*args, **more):
        return subprocess.run([gpushim, "export", recording, *args], capture_output=True, **more)

    return call


@pytest.fixture
def whole(export):
    done = export("--folded", "-")
    assert done.returncode == 0 and done.stdout.startswith(b"device 0;")
    return done.stdout


def test_a_new_file_has_the_usual_permissions(export, whole, tmp_path):
    old = os.umask(0o027)
    try:
        assert export("--folded", tmp_path / "a").returncode == 0
    finally:
        os.umask(old)
    assert (tmp_path / "a").read_bytes() == whole
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["a"]


def test_an_old_file_keeps_its_permissions_and_owner(export, whole, tmp_path):
    file = tmp_path / "a"
    file.write_text("old")
    file.chmod(0o604)
    if os.geteuid() == 0:
        os.chown(file, 1234, 5678)
    before = file.stat()
    assert export("--folded", file).returncode == 0
    after = file.stat()
    assert file.read_bytes() == whole and after.st_ino != before.st_ino
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)


def test_links_are_followed(export, whole, tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "far/there").write_text("old")
    for name, to in (("there", "far/there"), ("not-yet", "far/new"), ("absolute", tmp_path / "far/other"), ("twice", "not-yet-2"), ("not-yet-2", "far/last")):
        (tmp_path / name).symlink_to(to)
    for name, to in (("there", "there"), ("not-yet", "new"), ("absolute", "other"), ("twice", "last")):
        assert export("--folded", tmp_path / name).returncode == 0
        assert (tmp_path / name).is_symlink() and (tmp_path / "far" / to).read_bytes() == whole
    assert sorted(os.listdir(tmp_path / "far")) == ["last", "new", "other", "there"]
    (tmp_path / "loop").symlink_to("loop")
    done = export("--folded", tmp_path / "loop")
    assert done.returncode == 4 and b"loop: cannot write: Too many levels of symbolic links\n" in done.stderr


def test_a_file_with_two_names_keeps_both(export, whole, tmp_path):
    (tmp_path / "a").write_text("old")
    os.link(tmp_path / "a", tmp_path / "b")
    assert export("--folded", tmp_path / "a").returncode == 0
    assert (tmp_path / "b").read_bytes() == (tmp_path / "a").read_bytes() == whole


def test_standard_output_pipes_and_devices_are_written_as_they_are(export, whole, tmp_path):
    assert export("--folded", "/dev/stdout").stdout == whole
    with open(tmp_path / "out", "wb") as out:
        before = os.fstat(out.fileno()).st_ino
        assert subprocess.run([*export("--help").args[:3], "--folded", "/dev/stdout"], stdout=out).returncode == 0
    assert (tmp_path / "out").read_bytes() == whole and (tmp_path / "out").stat().st_ino == before
    os.mkfifo(tmp_path / "pipe")
    reader = subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE)
    assert export("--folded", tmp_path / "pipe").returncode == 0
    assert reader.communicate()[0] == whole and stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert export("--folded", "/dev/null").returncode == 0 and stat.S_ISCHR(os.stat("/dev/null").st_mode)
    done = export("--folded", "/dev/full")
    assert done.returncode == 4 and done.stderr == b"gpushim: /dev/full: cannot write: No space left on device\n"


@pytest.mark.parametrize("name", ["a", "a.gz"])
def test_after_a_full_disk_the_old_file_is_there_still(export, tmp_path, name):
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    (tmp_path / name).write_text("old")
    done = export("--chrome", tmp_path / name, preexec_fn=limit)
    assert done.returncode == 4 and done.stderr == f"gpushim: {tmp_path}/{name}: cannot write: File too large\n".encode()
    assert (tmp_path / name).read_text() == "old" and os.listdir(tmp_path) == [name]


def test_where_nothing_can_be_written(export, tmp_path):
    for place, why in ((tmp_path / "none/a", "No such file or directory"), (tmp_path, "Is a directory"), (tmp_path / "f/a", "Not a directory"),
                       (tmp_path / ("n" * 300), "File name too long")):
        (tmp_path / "f").write_text("")
        done = export("--folded", place)
        assert done.returncode == 4 and done.stderr == f"gpushim: {place}: cannot write: {why}\n".encode()
    assert os.listdir(tmp_path) == ["f"]


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
def test_another_user_writes_what_he_may(build, gpushim, recording, whole, tmp_path_factory):
    folder = Path("/tmp") / tmp_path_factory.mktemp("other").name  # pytest's own folders are root's alone
    folder.mkdir()
    try:
        for name, mode in (("open", 0o666), ("closed", 0o644)):
            (folder / name).write_text("old")
            (folder / name).chmod(mode)
        subprocess.run(["cp", "-r", recording, gpushim, folder], check=True)
        subprocess.run(["chmod", "-R", "a+rX", folder], check=True)
        run = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", folder / "gpushim", "export", folder / "run", "--folded"]
        assert subprocess.run([*run, folder / "open"], capture_output=True).returncode == 0
        assert (folder / "open").read_bytes() == whole and (folder / "open").stat().st_uid == 0  # in place: its owner stays
        done = subprocess.run([*run, folder / "closed"], capture_output=True)
        assert done.returncode == 4 and done.stderr.endswith(b"/closed: cannot write: Permission denied\n")
        assert (folder / "closed").read_text() == "old"
    finally:
        subprocess.run(["rm", "-r", folder], check=True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_nothing_behind(gpushim, recording, tmp_path, number):
    """It is held up by a pipe that nobody reads, the other file begun. Whoever runs the tests may ignore the signal (nohup), and so would it."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    run = subprocess.Popen([gpushim, "export", recording, "--chrome", tmp_path / "folder/a", "--folded", tmp_path / "pipe"],
                           preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))
    while not os.listdir(tmp_path / "folder"):
        assert run.poll() is None
        time.sleep(0.002)
    (name,) = os.listdir(tmp_path / "folder")
    assert name.startswith(".a.gpushim-")
    run.send_signal(number)
    assert run.wait() == -number and os.listdir(tmp_path / "folder") == []


def test_several_forms_at_once(export, whole, tmp_path):
    assert export("--folded", tmp_path / "a", "--chrome", tmp_path / "b.gz").returncode == 0
    assert (tmp_path / "a").read_bytes() == whole and gzip.open(tmp_path / "b.gz").read() == export("--chrome", "-").stdout
    done = export("--folded", tmp_path / "a", "--chrome", tmp_path / "a")
    assert done.returncode == 2 and b"export: --chrome and --folded would be written to one place" in done.stderr


def test_one_place_by_several_names(export, tmp_path):
    (tmp_path / "a").write_text("as it was")
    (tmp_path / "link").symlink_to("a")
    (tmp_path / "other").symlink_to(tmp_path)
    for first, second in (("a", "./a"), ("a", "link"), ("other/a", "a"), ("new", "other/new")):
        done = export("--chrome", f"{tmp_path}/{first}", "--folded", f"{tmp_path}/{second}")
        assert done.returncode == 2 and b"export: --chrome and --folded would be written to one place" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "link", "other"] and (tmp_path / "a").read_text() == "as it was"


def test_no_name_is_no_file(export, gpushim, recording, tmp_path):
    for done in (export("--folded", "", cwd=tmp_path), subprocess.run([gpushim, "report", recording, "--html", ""], capture_output=True, cwd=tmp_path)):
        assert done.returncode == 2 and done.stderr == b"gpushim: the name of a file to be written is empty\n" and os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["/dev/full", "page.html"])
def test_a_page_says_why_it_could_not_be_written(gpushim, recording, tmp_path, name):
    """Of its 200 kB most is written past stdio's buffer."""
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (30000, 30000))

    why = "No space left on device" if name == "/dev/full" else "File too large"
    done = subprocess.run([gpushim, "report", recording, "--html", name], capture_output=True, text=True, cwd=tmp_path, preexec_fn=limit)
    assert (done.returncode, done.stderr) == (4, f"gpushim: {name}: cannot write: {why}\n") and os.listdir(tmp_path) == []


def test_the_recording_is_not_overwritten(export, recording, tmp_path):
    (file,) = recording.glob("*.gst")
    before = file.read_bytes()
    (tmp_path / "link").symlink_to(file)
    for place in (file, tmp_path / "link"):
        done = export("--folded", place)
        assert done.returncode == 2 and b"is part of the recording; choose another name" in done.stderr and file.read_bytes() == before


def test_what_cannot_be_opened_is_told_before_the_work(export, tmp_path):
    """Nothing of the others is left, either."""
    done = export("--chrome", tmp_path / "a", "--folded", tmp_path / "none/b")
    assert done.returncode == 4 and os.listdir(tmp_path) == []
