#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# setup.sh build|test|clients|hta|duckdb|page|nccl|cupti|lint|fuzz|bench: finds what that job needs and installs what is missing (Debian, Ubuntu: apt-get).
#   build    compiler, libraries, CUDA headers          → $BUILD/setup.mk
#   test     pytest; Debian's keys, for packages of older suites → $BUILD/venv, $BUILD/setup-test
#   clients  other people's software, to record         → $BUILD/venv, $BUILD/setup-clients; its tests are skipped where it cannot be had
#   hta      HolisticTraceAnalysis, to read our traces  → $BUILD/hta, $BUILD/setup-hta; likewise
#   page     headless Chromium and what drives it       → $BUILD/venv, $BUILD/setup-page; likewise
#   duckdb   DuckDB with its reader of SQLite's files, to read our tables → $BUILD/duckdb, $BUILD/setup-duckdb; likewise
#   nccl     NVIDIA's NCCL, to compare ours with        → $BUILD/nccl-wheel (220 MB), $BUILD/setup-nccl; likewise
#   cupti    headers of NVIDIA's CUPTI 12 and 13, to compare ours with → $BUILD/cupti-wheels (23 MB fetched), $BUILD/setup-cupti; likewise
#   lint     clang-format, cppcheck, shellcheck
#   fuzz     clang and its libFuzzer
#   bench    LTTng-UST, for scripts/bench-hooks
# BUILD is the build directory (build). Run by make; installs nothing where everything is there.
set -euo pipefail
cd "$(dirname "$0")/.."

build=${BUILD:-build}
# The packages that carry the driver's headers where no toolkit is installed; cudaProfiler.h is in the second.
cuda_wheels=(nvidia-cuda-runtime==13.0.96 nvidia-cuda-profiler-api==13.0.85)

nvtx_wheel=nvidia-nvtx==13.0.85 # headers, for programs of the tests
nccl_wheel=nvidia-nccl-cu13==2.28.9
cupti_wheels=(nvidia-cuda-cupti-cu12==12.9.79 nvidia-cuda-cupti==13.5.25)

say() { echo "setup: $*"; }
die() { echo "setup: $*" >&2; exit 1; }

# has_header NAME: the compiler finds <NAME>
has_header() { echo "#include <stddef.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <$1>" | ${CC:-cc} -E -x c - >/dev/null 2>&1; }
has_fuzzer() { echo 'int LLVMFuzzerTestOneInput(const char *d, long n); int LLVMFuzzerTestOneInput(const char *d, long n) { return d && n; }' |
	clang -fsanitize=fuzzer -x c -o /dev/null - >/dev/null 2>&1; }
has() { command -v "$1" >/dev/null 2>&1; }

# need PACKAGE TEST…: the package is installed later if the test fails
# wish "PACKAGES" TEST…: the same, but where they cannot be had things go on without
missing=()
wished=()
need() {
	local package=$1
	shift
	"$@" || missing+=("$package")
}
wish() {
	local packages=$1
	shift
	"$@" || wished+=("$packages")
}

apt() {
	local sudo=
	[ "$(id -u)" = 0 ] || sudo=sudo
	$sudo env DEBIAN_FRONTEND=noninteractive apt-get "$@" >>"$build/apt.log" 2>&1
}
apt_install() { apt install -y --no-install-recommends "$@"; }

# What is needed, and of what is wished for whatever can be had.
install_singly() {
	local packages
	if [ ${#missing[@]} -gt 0 ] && ! apt_install "${missing[@]}"; then
		tail -5 "$build/apt.log" >&2
		die "apt-get failed; see $build/apt.log"
	fi
	for wish in "${wished[@]}"; do
		read -ra packages <<<"$wish"
		apt_install "${packages[@]}" || true
	done
}

# All in one call: each takes seconds, however little it installs. Only where that fails it is not known for which of them.
install_missing() {
	local all
	read -ra all <<<"${missing[*]} ${wished[*]}"
	[ ${#all[@]} -gt 0 ] || return 0
	if ! has apt-get || { [ "$(id -u)" != 0 ] && ! has sudo; }; then
		[ ${#missing[@]} = 0 ] ||
			die "missing: ${missing[*]}; install them with this system's package manager, or as root: apt-get install ${missing[*]}"
		wished=()
		return 0
	fi
	say "installing ${all[*]}"
	mkdir -p "$build"
	: >"$build/apt.log"
	apt update || true # without the network there may be what an earlier one fetched
	apt_install "${all[@]}" || install_singly
	missing=()
	wished=()
}
has_ebpf() { has clang && { has bpftool || [ -x /usr/sbin/bpftool ]; } && has_header bpf/libbpf.h; }

has_fuse() { has_header fuse3/fuse_opt.h; }
need_venv() { need python3-venv python3 -c 'import ensurepip'; }
nvtx_header=nvtx3/nvToolsExt.h

# What is fetched where no toolkit has it.
has_fetched_headers() {
	local inc
	inc=$(scripts/cuda-include.sh) && { [ -e "$inc/$nvtx_header" ] || [ -e "$build/deps/nvtx/include/$nvtx_header" ]; }
}

# A throw-away environment, because a distribution's own pip refuses to install.
venv() { [ -x "$build/venv/bin/python" ] || python3 -m venv "$build/venv"; }
pip() { "$build/venv/bin/python" -m pip --disable-pip-version-check --quiet "$@"; }

cuda_headers() {
	cuda_inc=$(scripts/cuda-include.sh) && return 0
	say "no CUDA 13 toolkit: fetching its headers (${cuda_wheels[*]})"
	need python3 has python3
	need_venv
	install_missing
	local deps=$build/deps
	mkdir -p "$deps/wheels"
	venv
	pip download --no-deps --dest "$deps/wheels" "${cuda_wheels[@]}" || die "could not fetch the CUDA headers; set CUDA_HOME to a CUDA 13 toolkit"
	rm -rf "$deps/unpacked" "$deps/cuda"
	for wheel in "$deps"/wheels/*.whl; do
		python3 -m zipfile -e "$wheel" "$deps/unpacked"
	done
	mkdir -p "$deps/cuda/include"
	find "$deps/unpacked" -type d -name include -exec cp -r {}/. "$deps/cuda/include/" \;
	rm -rf "$deps/unpacked"
	cuda_inc=$(scripts/cuda-include.sh) || die "the fetched packages lack cuda.h, cudaTypedefs.h or cudaProfiler.h"
}

# NVTX's headers: the toolkit's, or fetched. Empty where they cannot be had: then the tests' programs that use them are not built.
nvtx_headers() {
	local deps=$build/deps
	nvtx_inc=$cuda_inc
	[ ! -e "$nvtx_inc/$nvtx_header" ] || return 0
	nvtx_inc=$deps/nvtx/include
	[ ! -e "$nvtx_inc/$nvtx_header" ] || return 0
	need python3 has python3
	need_venv
	install_missing
	venv
	mkdir -p "$deps/nvtx"
	if pip --retries 1 download --no-deps --no-cache-dir --dest "$deps/nvtx" "$nvtx_wheel" 2>"$build/nvtx.log"; then
		python3 -m zipfile -e "$deps"/nvtx/*.whl "$deps/nvtx/unpacked"
		mkdir -p "$nvtx_inc"
		find "$deps/nvtx/unpacked" -type d -name nvtx3 -prune -exec cp -r {} "$nvtx_inc/" \;
		rm -rf "$deps/nvtx/unpacked" "$deps"/nvtx/*.whl
	fi
	[ -e "$nvtx_inc/$nvtx_header" ] || { say "without NVTX's headers, which $(tail -1 "$build/nvtx.log")"; nvtx_inc=; }
}

# For another processor (CROSS=aarch64-linux-gnu-): its compiler, qemu to run what it makes, and its libraries, unpacked in $build/sysroot.
cross_build() {
	local machine=${CROSS%%-*}
	[ "$machine" = aarch64 ] || die "CROSS=$CROSS: gpushim knows aarch64-linux-gnu-"
	need gcc-aarch64-linux-gnu has "${CROSS}gcc"
	need qemu-user has qemu-aarch64
	need python3 has python3
	need debian-archive-keyring test -e /usr/share/keyrings/debian-archive-keyring.gpg
	install_missing
	[ -e "$build/sysroot/usr/include/isa-l/igzip_lib.h" ] || rm -rf "$build/sysroot" # one of before these were needed
	scripts/debian-files.sh bookworm arm64 "$build/sysroot" libyajl-dev libsqlite3-dev zlib1g-dev libisal-dev libzstd-dev libdw-dev libiberty-dev liblzma-dev libbz2-dev libcmocka-dev uthash-dev || die "no libraries for $machine"
}

build_libraries() {
	local compiler
	read -r compiler _ <<<"${CC:-cc}" # which may be behind a wrapper: "ccache gcc"
	need gcc has "$compiler"
	need g++ has "${CXX:-g++}" # the stand-ins for PyTorch, tests/torch
	need binutils has ld
	need python3 has python3
	need libc6-dev has_header stdlib.h
	need libyajl-dev has_header yajl/yajl_gen.h
	need libsqlite3-dev has_header sqlite3.h
	need zlib1g-dev has_header zlib.h
	need libzstd-dev has_header zstd.h
	need libdw-dev has_header elfutils/libdwfl.h
	need libiberty-dev has_header libiberty/demangle.h
	need liblzma-dev has_header lzma.h # these two: of libdw, where it is linked statically
	need libbz2-dev has_header bzlib.h
	need uthash-dev has_header uthash.h
	need libcmocka-dev has_header cmocka.h
	has_fetched_headers || need_venv
	wish "clang bpftool libbpf-dev" has_ebpf # make says what it goes on without
	wish libfuse3-dev has_fuse
	wish libisal-dev has_header isa-l/igzip_lib.h
	install_missing
	has_fuse || say "without the tests on a FUSE file system"
}

case ${1:-} in
build)
	if [ -n "${CROSS:-}" ]; then cross_build; else build_libraries; fi
	cuda_headers
	nvtx_headers
	mkdir -p "$build"
	printf '%s\n' "CUDA_INC = $cuda_inc" "NVTX_INC = $nvtx_inc" >"$build/setup.mk"
	;;
test)
	need_venv
	need debian-archive-keyring test -e /usr/share/keyrings/debian-archive-keyring.gpg
	wish zsh has zsh # completion is tested by the shells themselves, the manual by mandoc
	wish mandoc has mandoc
	install_missing
	venv
	pip install -r scripts/requirements.txt || die "could not install pytest; see the lines above"
	touch "$build/setup-test"
	;;
clients)
	venv
	if pip --retries 1 install -r tests/clients/requirements.txt 2>"$build/clients.log"; then
		touch "$build/setup-clients"
	else
		say "without tests/clients, which $(tail -1 "$build/clients.log")"
	fi
	;;
hta)
	[ -x "$build/hta/bin/python" ] || python3 -m venv "$build/hta"
	if "$build/hta/bin/python" -m pip --disable-pip-version-check --quiet --retries 1 install --no-deps -r tests/scripts/hta-requirements.txt \
		2>"$build/hta.log" && "$build/hta/bin/python" -c "import hta.trace_analysis" 2>>"$build/hta.log"; then
		touch "$build/setup-hta"
	else
		say "without HolisticTraceAnalysis, which $(tail -1 "$build/hta.log")"
	fi
	;;
page)
	if ! has chromium || ! has chromedriver; then
		wish "chromium chromium-driver" false
		install_missing
	fi
	venv
	if ! has chromium || ! has chromedriver; then
		say "without the tests in a browser: no chromium and chromium-driver here"
		echo "no chromium and chromium-driver here" >"$build/page.log"
	elif pip --retries 1 install -r tests/page/requirements.txt 2>"$build/page.log"; then
		touch "$build/setup-page"
	else
		say "without the tests in a browser, which $(tail -1 "$build/page.log")"
	fi
	;;
duckdb)
	[ -x "$build/duckdb/bin/python" ] || python3 -m venv "$build/duckdb"
	if "$build/duckdb/bin/python" -m pip --disable-pip-version-check --quiet --retries 1 install --no-deps -r tests/scripts/duckdb-requirements.txt \
		2>"$build/duckdb.log"; then
		touch "$build/setup-duckdb"
	else
		say "without DuckDB, which $(tail -1 "$build/duckdb.log")"
	fi
	;;
nccl)
	if [ "$(cat "$build/nccl-wheel/version" 2>/dev/null)" = "$nccl_wheel" ]; then
		touch "$build/setup-nccl"
		exit 0
	fi
	venv
	rm -rf "$build/nccl-wheel"
	mkdir -p "$build/nccl-wheel"
	# Of the wheel only the header and the library stay.
	if pip --retries 1 download --no-deps --no-cache-dir --dest "$build/nccl-wheel" "$nccl_wheel" 2>"$build/nccl.log" &&
		python3 - "$build/nccl-wheel" 2>>"$build/nccl.log" <<-'end'; then
			import pathlib, shutil, sys, zipfile
			folder = pathlib.Path(sys.argv[1])
			(wheel,) = folder.glob("*.whl")
			with zipfile.ZipFile(wheel) as archive:
			    for name in ("include/nccl.h", "lib/libnccl.so.2"):
			        with archive.open("nvidia/nccl/" + name) as source, open(folder / pathlib.Path(name).name, "wb") as to:
			            shutil.copyfileobj(source, to)
			wheel.unlink()
		end
		echo "$nccl_wheel" >"$build/nccl-wheel/version"
		touch "$build/setup-nccl"
	else
		rm -rf "$build/nccl-wheel"
		say "without NVIDIA's NCCL, which $(tail -1 "$build/nccl.log")"
	fi
	;;
cupti)
	if [ "$(cat "$build/cupti-wheels/versions" 2>/dev/null)" = "${cupti_wheels[*]}" ]; then
		touch "$build/setup-cupti"
		exit 0
	fi
	venv
	rm -rf "$build/cupti-wheels"
	mkdir -p "$build/cupti-wheels"
	# Of the wheels only the headers stay, each version's in a folder of its own.
	if pip --retries 1 download --no-deps --no-cache-dir --dest "$build/cupti-wheels" "${cupti_wheels[@]}" 2>"$build/cupti.log" &&
		python3 - "$build/cupti-wheels" 2>>"$build/cupti.log" <<-'end'; then
			import pathlib, sys, zipfile
			folder = pathlib.Path(sys.argv[1])
			for wheel in folder.glob("*.whl"):
			    into = folder / wheel.name.split("-")[1].split(".")[0]
			    with zipfile.ZipFile(wheel) as archive:
			        for name in archive.namelist():
			            if "/include/" in name and name.endswith(".h"):
			                path = into / name.split("/include/", 1)[1]
			                path.parent.mkdir(parents=True, exist_ok=True)
			                path.write_bytes(archive.read(name))
			    wheel.unlink()
		end
		echo "${cupti_wheels[*]}" >"$build/cupti-wheels/versions"
		touch "$build/setup-cupti"
	else
		rm -rf "$build/cupti-wheels"
		say "without NVIDIA's CUPTI, which $(tail -1 "$build/cupti.log")"
	fi
	;;
lint)
	need clang-format has clang-format
	need cppcheck has cppcheck
	need shellcheck has shellcheck
	install_missing
	;;
fuzz)
	need clang has clang
	need "libclang-rt-dev" has_fuzzer
	install_missing
	;;
bench)
	need liblttng-ust-dev has_header lttng/tracepoint.h
	need lttng-tools has lttng-sessiond
	install_missing
	;;
*)
	die "usage: scripts/setup.sh build|test|clients|hta|duckdb|page|nccl|cupti|lint|fuzz|bench"
	;;
esac
