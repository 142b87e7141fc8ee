#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# sanitize.sh address,undefined|thread: builds the unit tests with these sanitizers and runs them.
set -euo pipefail
cd "$(dirname "$0")/.."

san=$1
build=${BUILD:-build}
nested=$build/san-${san//,/-}
compgen -G 'tests/unit/test_*.c' >/dev/null || { echo "no unit test yet"; exit 77; }

# The headers were found once already.
mkdir -p "$nested"
[ ! -e "$build/setup.mk" ] || cp "$build/setup.mk" "$nested/setup.mk"

# ThreadSanitizer needs its shadow memory where address randomisation may put a mapping.
fixed=()
if setarch "$(uname -m)" -R true 2>/dev/null; then
	fixed=(setarch "$(uname -m)" -R)
fi
# All of it ran without sanitizers: see tests/unit/fewer.h. What the compiler warns of is the plain build's.
fewer=5
[ "$san" != thread ] || fewer=16
make -s -j"$(nproc)" BUILD="$nested" SAN="$san" CFLAGS="-DFEWER_BY=$fewer -Wno-format-truncation ${CFLAGS:-}" unit
BUILD=$nested SAN=$san "${fixed[@]}" python3 scripts/check.py --only unit
