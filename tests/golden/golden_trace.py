# SPDX-License-Identifier: BSD-2-Clause
"""The trace of a golden folder, in the form it is written in there, as the files that are analysed."""

import shutil
import sqlite3
import subprocess
from pathlib import Path


def write(build, case: Path, folder: Path) -> Path:
    """The path to analyse: the folder with recordings of our own, or the one file of another tool in it."""
    if (case / "trace.txt").exists():
        subprocess.run([build / "tools/gst_write", case / "trace.txt", folder], check=True)
        return folder
    folder.mkdir(exist_ok=True)
    if (case / "trace.json").exists():
        return Path(shutil.copy(case / "trace.json", folder))
    path = folder / "trace.sqlite"
    base = sqlite3.connect(path)
    base.executescript((case / "trace.sql").read_text())
    base.close()
    return path
