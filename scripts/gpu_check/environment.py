# SPDX-License-Identifier: BSD-2-Clause
"""Which machine, which driver, which versions."""

import ctypes
import os
import platform
import shutil
import subprocess

import part
from driver import Driver


def nvidia_smi():
    """GPU and driver as nvidia-smi names them; None where it is absent or says nothing (gVisor)."""
    if not shutil.which("nvidia-smi"):
        return None
    fields = "name,driver_version,memory.total,compute_mode,mig.mode.current"
    try:
        run = subprocess.run(["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader"], capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    rows = [dict(zip(fields.split(","), [word.strip() for word in row.split(",")])) for row in run.stdout.splitlines() if row.strip()]
    return rows if run.returncode == 0 and rows else None


def clock_source():
    try:
        with open("/sys/devices/system/clocksource/clocksource0/current_clocksource") as file:
            return file.read().strip()
    except OSError:
        return None


GVISOR_VERSION = "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016"  # what gVisor says it is, whatever it runs on


def kernel_log():
    """What dmesg reads; empty where that is not allowed. gVisor makes its own up, and names itself in it."""
    buffer = ctypes.create_string_buffer(1 << 16)
    length = ctypes.CDLL(None).klogctl(3, buffer, len(buffer))  # SYSLOG_ACTION_READ_ALL
    return buffer.raw[:max(0, length)].decode(errors="replace")


def is_gvisor(version, log):
    return version.startswith(GVISOR_VERSION) or "gVisor" in version or "Starting gVisor" in log


def kernel_version():
    try:
        with open("/proc/version") as file:
            return file.read().strip()
    except OSError:
        return ""


def measure(_args, result):
    result["gvisor"] = is_gvisor(kernel_version(), kernel_log())
    result.update(cpus=os.cpu_count(), python=platform.python_version(), kernel=platform.release(), machine=platform.machine(),
                  libc=" ".join(platform.libc_ver()), clock_source=clock_source(), nvidia_smi=nvidia_smi(), torch=None)
    result.save()
    driver = Driver()
    result.update(cuda_driver_version=driver.version(), device=driver.device_name(), devices=driver.device_count())
    result.save()
    try:
        import torch
        result["torch"] = {"version": torch.__version__, "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version()}
    except ImportError:
        pass


if __name__ == "__main__":
    part.main(measure)
