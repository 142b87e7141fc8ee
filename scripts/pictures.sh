#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# pictures.sh: makes the pictures of the README, scripts/pictures/*.png, by headless Chromium of pages of real runs on the simulated driver. As root
# there are host probes and a slow file system, and so a whole chain to show. Needs scripts/setup.sh page.
set -euo pipefail
cd "$(dirname "$0")/.."

build=$(realpath -m "${BUILD:-build}")
make -s -j"$(nproc)" BUILD="$build" tests "$build/setup-page"
[ -e "$build/setup-page" ] || { echo "pictures: no browser (scripts/setup.sh page)" >&2; exit 1; }
mkdir -p scripts/pictures
exec "$build/venv/bin/python" tests/page/pictures.py "$build" scripts/pictures
