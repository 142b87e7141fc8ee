#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# ci-lint.sh: make lint, as one test.
set -euo pipefail
cd "$(dirname "$0")/.."
bash scripts/setup.sh lint
exec bash scripts/lint.sh
