# SPDX-License-Identifier: BSD-2-Clause
"""Is every pointer that cuGetProcAddress hands out one that dlsym exports? The shim swaps pointers by that identity.

For every function in cuda.h, every API version that ever changed a meaning and every flag, the answer is
    equal     the address of the name itself or of one of its versions (cuX, cuX_v2, cuX_ptsz, …)
    other     an export, but of another name
    unequal   no export at all: the shim could not see calls through it
A function that cuGetProcAddress never finds is counted as unknown. "wrapped" counts the exports that are the shim's own: none
without it, its hooks under it."""

import ctypes
import re
from pathlib import Path

import part
from driver import Driver

VERSIONS = (2000, 3020, 4000, 4010, 5000, 6050, 7000, 8000, 9000, 10000, 11000, 11020, 11040, 11070, 12000, 12020, 12030, 12050,
            12080, 13000)
FLAGS = (0, 1, 2)  # default, legacy, per-thread default stream


def exported_names():
    lines = Path(__file__).with_name("entry_points.txt").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def base(name):
    """cuMemcpyHtoDAsync_v2_ptsz → cuMemcpyHtoDAsync: what cuGetProcAddress is asked for."""
    return re.sub(r"(_v\d+)?(_ptsz|_ptds)?$", "", name)


class DlInfo(ctypes.Structure):
    _fields_ = [("file", ctypes.c_char_p), ("base", ctypes.c_void_p), ("symbol", ctypes.c_char_p), ("address", ctypes.c_void_p)]


def is_shim(address):
    """Whether the address lies in libgpushim.so; dladdr is in every process, in libc or libdl."""
    info = DlInfo()
    found = ctypes.CDLL(None).dladdr(ctypes.c_void_p(address), ctypes.byref(info))
    return bool(found and info.file and info.file.endswith(b"libgpushim.so"))


def measure(_args, result):
    driver = Driver()
    exports = {}  # address → names
    absent = []
    for name in exported_names():
        address = driver.address(name)
        if address is None:
            absent.append(name)
        else:
            exports.setdefault(address, set()).add(base(name))
    equal, other, unequal, unknown = 0, [], [], []
    asked = sorted({base(name) for name in exported_names()})
    for name in asked:
        found = {}  # address → the first request that gave it
        for version in VERSIONS:
            for flags in FLAGS:
                address = driver.proc_address(name, version, flags)
                if address:
                    found.setdefault(address, f"{name} {version} {flags}")
        if not found:
            unknown.append(name)
        for address, request in found.items():
            names = exports.get(address)
            if names is None:
                unequal.append(request)
            elif name in names:
                equal += 1
            else:
                other.append(f"{request} is {' '.join(sorted(names))}")
    result.update(names=len(asked), exports=len(exports), wrapped=sum(map(is_shim, exports)), absent=absent, equal=equal,
                  other=len(other), unequal=len(unequal), unknown=len(unknown),
                  other_list=other, unequal_list=unequal, unknown_list=unknown)


if __name__ == "__main__":
    part.main(measure)
