#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# check-needed.sh: libgpushim.so needs libc only, and nothing in it is left undefined.
# A traced program must not get other libraries loaded by us than it would have without.
set -euo pipefail
cd "$(dirname "$0")/.."

lib=${BUILD:-build}/libgpushim.so
[ -e "$lib" ] || { echo "$lib is not built"; exit 77; }
[ -z "${SAN:-}" ] || { echo "a sanitizer build needs its runtime"; exit 77; }

needed=$(readelf -dW "$lib" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vE '^(libc\.so\.6|ld-linux.*)$' || true)
if [ -n "$needed" ]; then
	echo "libgpushim.so needs more than libc: $needed"
	exit 1
fi

# ldd -r resolves every symbol against what is NEEDED.
undefined=$(ldd -r "$lib" 2>&1 | grep -i 'undefined symbol' || true)
if [ -n "$undefined" ]; then
	echo "undefined in libgpushim.so: $undefined"
	exit 1
fi
echo "needs libc only"
