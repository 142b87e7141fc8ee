# SPDX-License-Identifier: BSD-2-Clause
"""Addresses to functions, files and lines, on objects made for it: with DWARF, stripped, with a separate debug file, PIE and not, inlined
functions, C++; files that changed since, and files that are not what they seem."""

import json
import os
import random
import re
import shutil
import subprocess

import pytest

CC, CXX = os.environ.get("CC", "cc"), os.environ.get("CXX", "g++")

PLACES = r"""
#define _GNU_SOURCE
#include <link.h>
#include <stdio.h>
#define KEEP(at) __asm__ volatile("" : "+r"(at))

__attribute__((noinline)) void *where(void) { return __builtin_return_address(0); }

static inline __attribute__((always_inline)) void *deep(void)
{
	void *at = where(); /* deep's line */
	KEEP(at);
	return at;
}

static inline __attribute__((always_inline)) void *middle(void)
{
	return deep(); /* middle's line */
}

__attribute__((noinline)) void *outer(void)
{
	void *at = middle(); /* outer's line */
	KEEP(at);
	return at;
}

static __attribute__((noinline)) void *hidden(void)
{
	void *at = where(); /* hidden's line */
	KEEP(at);
	return at;
}

static int first(struct dl_phdr_info *info, size_t size, void *bias)
{
	*(unsigned long *)bias = info->dlpi_addr;
	return 1;
}

int main(void)
{
	unsigned long bias;

	dl_iterate_phdr(first, &bias);
	printf("%lx %lx\n", (unsigned long)outer() - 1 - bias, (unsigned long)hidden() - 1 - bias);
}
"""

CLASSES = r"""
#include <cstdio>
#include <link.h>
#include <vector>

__attribute__((noinline)) void *where() { return __builtin_return_address(0); }

namespace loader {
template <typename T> struct Queue {
	__attribute__((noinline)) void *pop(const std::vector<T> &v)
	{
		void *at = where(); /* pop's line */
		__asm__ volatile("" : "+r"(at) : "r"(&v));
		return at;
	}
};
}

int main()
{
	unsigned long bias;
	loader::Queue<int> q;

	dl_iterate_phdr([](dl_phdr_info *info, size_t, void *b) { *(unsigned long *)b = info->dlpi_addr; return 1; }, &bias);
	printf("%lx\n", (unsigned long)q.pop({}) - 1 - bias);
}
"""


def line_of(source: str, function: str) -> int:
    return next(number for number, line in enumerate(source.splitlines(), 1) if f"{function}'s line" in line)


class Program:
    """One that prints addresses of its own, as linked; build-id and all."""

    def __init__(self, folder, source=PLACES, flags=(), name="places", compiler=CC):
        self.path = folder / name
        self.source = folder / (name + (".cc" if compiler == CXX else ".c"))
        self.text = source
        self.source.write_text(source)
        try:
            subprocess.run([compiler, "-O2", "-g", "-Wl,--build-id", *flags, "-o", self.path, self.source], check=True)
        except FileNotFoundError:
            pytest.skip(f"no {compiler} here")
        self.addresses = subprocess.run([self.path], capture_output=True, text=True, check=True).stdout.split()

    def build_id(self):
        notes = subprocess.run(["readelf", "-n", self.path], capture_output=True, text=True, check=True).stdout
        return re.search(r"Build ID: ([0-9a-f]+)", notes).group(1)


@pytest.fixture(scope="module")
def tool(build):
    path = build / "tools/symbolise"
    assert path.exists(), "make tests"
    return path


def stamp(path):
    """What tells an object without a build-id from another."""
    st = os.stat(path)
    return f"{st.st_size}:{st.st_mtime_ns}"


def look_up(tool, path, build_id, addresses, folder="-", was="0:0"):
    run = subprocess.run([tool, folder, path, build_id or "-", was, *addresses], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def check_inlined(program, answer):
    """outer ← middle ← deep, each with the line it was in."""
    outer, hidden = answer["places"]
    assert [p["function"] for p in outer] == ["deep", "middle", "outer"]
    assert [p["inlined"] for p in outer] == [True, True, False]
    assert [p["line"] for p in outer] == [line_of(program.text, name) for name in ("deep", "middle", "outer")]
    assert {p["file"] for p in outer} == {str(program.source)}
    assert [(p["function"], p["line"]) for p in hidden] == [("hidden", line_of(program.text, "hidden"))]


@pytest.mark.parametrize("flags", [["-pie", "-fPIE"], ["-no-pie"], ["-gdwarf-4"], ["-gz"], ["-static"], ["-O3", "-flto"]], ids=" ".join)
def test_dwarf(tool, tmp_path, flags):
    program = Program(tmp_path, flags=flags)
    answer = look_up(tool, program.path, program.build_id(), program.addresses)
    assert answer["trouble"] == "" and answer["dwarf"]
    check_inlined(program, answer)


def test_dwarf_without_a_table_of_addresses(tool, tmp_path):
    """As clang writes it: no .debug_aranges."""
    program = Program(tmp_path)
    bare = tmp_path / "bare"
    subprocess.run(["objcopy", "--remove-section", ".debug_aranges", program.path, bare], check=True)
    check_inlined(program, look_up(tool, bare, program.build_id(), program.addresses))


def test_relative_source_file(tool, tmp_path):
    """The compiler was called in the source's folder."""
    (tmp_path / "here.c").write_text(PLACES)
    subprocess.run([CC, "-O2", "-g", "-Wl,--build-id=none", "-o", "here", "here.c"], cwd=tmp_path, check=True)
    addresses = subprocess.run([tmp_path / "here"], capture_output=True, text=True, check=True).stdout.split()
    answer = look_up(tool, tmp_path / "here", None, addresses, was=stamp(tmp_path / "here"))
    assert answer["places"][1][0]["file"] == str(tmp_path / "here.c")


def test_symbols_without_dwarf(tool, tmp_path):
    program = Program(tmp_path, flags=["-g0"])
    answer = look_up(tool, program.path, program.build_id(), program.addresses)
    assert answer["trouble"] == "" and not answer["dwarf"]
    (outer,), (hidden,) = answer["places"]
    assert outer["function"] == "outer" and hidden["function"] == "hidden"
    assert outer["line"] == 0 and "file" not in outer and 0 < outer["offset"] < 100


def test_stripped_keeps_what_the_loader_needs(tool, tmp_path):
    program = Program(tmp_path, flags=["-rdynamic"])
    subprocess.run(["strip", program.path], check=True)
    answer = look_up(tool, program.path, program.build_id(), program.addresses)
    assert answer["trouble"] == "" and not answer["dwarf"]
    assert answer["places"][0][0]["function"] == "outer", ".dynsym has it"
    assert answer["places"][1] == [], "a static function has no name any more, and no other's either"


def test_stripped_of_all(tool, tmp_path):
    program = Program(tmp_path)
    subprocess.run(["strip", program.path], check=True)
    assert look_up(tool, program.path, program.build_id(), program.addresses)["places"] == [[], []]


def separate(program, debug):
    debug.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["objcopy", "--only-keep-debug", program.path, debug], check=True)
    subprocess.run(["strip", program.path], check=True)


def test_debug_file_by_build_id(tool, tmp_path):
    program = Program(tmp_path)
    build_id = program.build_id()
    separate(program, tmp_path / "debug/.build-id" / build_id[:2] / (build_id[2:] + ".debug"))
    answer = look_up(tool, program.path, build_id, program.addresses, folder=tmp_path / "debug")
    assert answer["dwarf"]
    check_inlined(program, answer)
    program.path.unlink()  # what is left of it holds all that is needed
    check_inlined(program, look_up(tool, program.path, build_id, program.addresses, folder=tmp_path / "debug"))


@pytest.mark.parametrize("place", ["places.debug", ".debug/places.debug"])
def test_debug_file_by_link(tool, tmp_path, place):
    program = Program(tmp_path)
    separate(program, tmp_path / place)
    subprocess.run(["objcopy", f"--add-gnu-debuglink={tmp_path / place}", program.path], check=True)
    check_inlined(program, look_up(tool, program.path, program.build_id(), program.addresses))


def test_debug_file_of_another_build_is_not_used(tool, tmp_path):
    program = Program(tmp_path)
    other = Program(tmp_path, source=PLACES.replace("hidden", "covert"), name="other")
    separate(other, tmp_path / "places.debug")
    subprocess.run(["strip", program.path], check=True)
    subprocess.run(["objcopy", f"--add-gnu-debuglink={tmp_path / 'places.debug'}", program.path], check=True)
    assert look_up(tool, program.path, program.build_id(), program.addresses)["places"] == [[], []]


@pytest.mark.parametrize("fits", [True, False])
def test_debug_file_by_its_sum_where_there_is_no_build_id(tool, tmp_path, fits):
    program = Program(tmp_path, flags=["-Wl,--build-id=none"])
    debug = tmp_path / "places.debug"
    separate(program, debug)
    subprocess.run(["objcopy", f"--add-gnu-debuglink={debug}", program.path], check=True)
    if not fits:
        debug.write_bytes(debug.read_bytes() + b"\0")
    answer = look_up(tool, program.path, None, program.addresses, was=stamp(program.path))
    assert answer["dwarf"] == fits and (answer["places"][1] != []) == fits


def test_cplusplus_names(tool, tmp_path):
    program = Program(tmp_path, source=CLASSES, name="classes", compiler=CXX)
    ((pop,),) = look_up(tool, program.path, program.build_id(), program.addresses)["places"]
    assert pop["function"].startswith("loader::Queue<int>::pop(std::vector<int")
    assert pop["mangled"].startswith("_ZN6loader5QueueIiE3popE")
    assert pop["line"] == line_of(CLASSES, "pop")
    subprocess.run(["strip", "-g", program.path], check=True)
    ((bare,),) = look_up(tool, program.path, program.build_id(), program.addresses)["places"]
    assert bare["function"].startswith(pop["function"]) and bare["mangled"].startswith(pop["mangled"]), "a clone has a longer one"


def test_a_file_that_changed_is_not_used(tool, tmp_path):
    program = Program(tmp_path)
    build_id = program.build_id()
    Program(tmp_path, source="\n\n" + PLACES)
    answer = look_up(tool, program.path, build_id, program.addresses)
    assert answer == {"trouble": "has changed since: nothing of it was used", "dwarf": False, "places": [[], []]}


def test_without_a_build_id_size_and_time_count(tool, tmp_path):
    program = Program(tmp_path, flags=["-Wl,--build-id=none"])
    was = stamp(program.path)
    check_inlined(program, look_up(tool, program.path, None, program.addresses, was=was))
    answer = look_up(tool, program.path, None, program.addresses)
    assert answer == {"trouble": "may have changed since: nothing of it was used", "dwarf": False, "places": [[], []]}
    os.utime(program.path, ns=(0, os.stat(program.path).st_mtime_ns - 1))
    answer = look_up(tool, program.path, None, program.addresses, was=was)
    assert answer == {"trouble": "has changed since: nothing of it was used", "dwarf": False, "places": [[], []]}
    assert "changed" in look_up(tool, program.path, "ab" * 20, program.addresses, was=stamp(program.path))["trouble"]


def test_no_file_and_no_object(tool, tmp_path):
    assert look_up(tool, tmp_path / "none", None, ["10"])["trouble"] == "is not here"
    assert look_up(tool, "[vdso]", None, ["10"])["trouble"] == "is not here"
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "text").write_text("no object\n")
    (tmp_path / "empty").write_text("")
    for path in (tmp_path / "pipe", tmp_path, "/dev/zero", tmp_path / "text", tmp_path / "empty"):
        answer = look_up(tool, path, None, ["10"])
        assert answer == {"trouble": "cannot be read as an object", "dwarf": False, "places": [[]]}, path


def test_what_is_no_file_is_not_even_opened(tool, tmp_path):
    """To open a device has effects. Of a pipe it would be that who waits for a reader goes on."""
    os.mkfifo(tmp_path / "pipe")
    writer = subprocess.Popen(["sh", "-c", "echo waits; exec 3> pipe"], cwd=tmp_path, stdout=subprocess.PIPE)
    try:
        assert writer.stdout.readline() == b"waits\n"
        for _ in range(5):
            assert look_up(tool, tmp_path / "pipe", None, ["10"])["trouble"] == "cannot be read as an object"
        with pytest.raises(subprocess.TimeoutExpired):
            writer.wait(0.2)
    finally:
        writer.kill()
        writer.communicate()


def damaged(data: bytes, rng: random.Random) -> bytes:
    kind = rng.randrange(4)
    if kind == 0:
        return data[: rng.randrange(len(data))]
    out = bytearray(data)
    if kind == 1:  # the headers, where everything else hangs
        for _ in range(rng.randrange(1, 8)):
            out[rng.randrange(64 + 56 * 13) if rng.random() < 0.5 else len(out) - 1 - rng.randrange(64 * 35)] = rng.randrange(256)
    elif kind == 2:
        for _ in range(rng.randrange(1, 200)):
            out[rng.randrange(len(out))] = rng.randrange(256)
    else:
        at = rng.randrange(len(out))
        out[at : at + 64] = rng.choice([b"\xff", b"\0", b"\x7f"]) * len(out[at : at + 64])
    return bytes(out)


def test_damaged_objects_end_nobody(tool, tmp_path):
    """300 damaged copies: an answer each, in bounded time; some still know the function."""
    rng = random.Random(4)
    programs = [Program(tmp_path), Program(tmp_path, flags=["-gz"], name="packed")]
    known = 0
    for number in range(300):
        program = programs[number % 2]
        copy = tmp_path / "copy"
        copy.write_bytes(damaged(program.path.read_bytes(), rng))
        answer = look_up(tool, copy, program.build_id(), [*program.addresses, "0", "ffffffffffffffff", "7fffffff"])
        assert len(answer["places"]) == 5
        known += any(p["function"] == "outer" for p in answer["places"][0])
    assert 30 < known < 300


def test_a_section_that_claims_gigabytes_is_refused(tool, tmp_path):
    """A packed section of a few bytes that says it is 1 TiB."""
    program = Program(tmp_path, flags=["-gz"])
    sections = subprocess.run(["readelf", "-SW", program.path], capture_output=True, text=True, check=True).stdout
    at = int(re.search(r"\.debug_info\s+PROGBITS\s+\S+\s+(\S+)", sections).group(1), 16)
    data = bytearray(program.path.read_bytes())
    data[at + 8 : at + 16] = (1 << 40).to_bytes(8, "little")  # ch_size
    program.path.write_bytes(data)
    answer = look_up(tool, program.path, program.build_id(), program.addresses)
    assert answer["places"][0][-1]["function"] == "outer", "by its symbol"


def test_long_names_are_cut(tool, tmp_path):
    name = "f" * 10000
    program = Program(tmp_path, source=PLACES.replace("outer", name))
    answer = look_up(tool, program.path, program.build_id(), program.addresses)
    assert answer["places"][0][-1]["function"] == name[:4000]
