# SPDX-License-Identifier: BSD-2-Clause
"""The five programs are run by run_further.py, which finds what it needs of the laboratory."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parent.parent / "host")]
