#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# check-layers.sh [tree]: data flows one way; the order of the stages stands at the top of layers.py.
set -euo pipefail
exec python3 "$(dirname "$0")/layers.py" "$@"
