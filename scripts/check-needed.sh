#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# check-needed.sh: what is loaded into other people's programs needs libc only, of any version since 2.28, and nothing in it is left
# undefined. A traced program must not get other libraries loaded by us than it would have without; and a version that the container's
# libc lacks would keep every program in it from starting (shim/glibc.h).
set -euo pipefail
cd "$(dirname "$0")/.."

build=${BUILD:-build}
oldest=GLIBC_2.28
readelf=${CROSS:-}readelf
products=("$build/libgpushim.so")
[ ! -e "$build/twin/libcuda.so.1" ] || products+=("$build/twin/libcuda.so.1")
[ -e "${products[0]}" ] || { echo "${products[0]} is not built"; exit 77; }
[ -z "${SAN:-}" ] || { echo "a sanitizer build needs its runtime"; exit 77; }

failed=0
fail() { echo "$1" >&2; failed=1; }

for lib in "${products[@]}"; do
	needed=$("$readelf" -dW "$lib" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
	[ "$needed" = libc.so.6 ] || fail "$lib needs more than libc: $needed"

	# GLIBC_PRIVATE, GLIBC_ABI_… and the like sort behind the oldest version, too.
	newer=$("$readelf" -VW "$lib" | grep -o 'Name: GLIBC_[^ ]*' | sed 's/Name: //' | sort -Vu |
		while read -r version; do
			[ "$(printf '%s\n' "$version" "$oldest" | sort -V | tail -1)" = "$oldest" ] || echo "$version"
		done)
	for version in $newer; do
		fail "$lib binds above $oldest: $("$readelf" -sW --dyn-syms "$lib" | grep -o "[^ ]*@$version\b" | sort -u | paste -sd' ') ($version)"
	done

	# ldd -r resolves every symbol against what is NEEDED; a library for another processor is for its own tests.
	if [ -z "${CROSS:-}" ]; then
		undefined=$(ldd -r "$lib" 2>&1 | grep -i 'undefined symbol' || true)
		[ -z "$undefined" ] || fail "undefined in $lib: $undefined"
	fi
done
[ $failed = 0 ] || exit 1
echo "libc only, nothing newer than $oldest: ${products[*]#"$build"/}"
