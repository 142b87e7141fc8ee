# SPDX-License-Identifier: BSD-2-Clause
"""replay.py FILE FIRST: runs the cases of a conformance file from number FIRST on, until one that must be alone, in this process.
One JSON object a line: {"begin": place} before each row, {"place", "expected", "got", "ok", "sure"} after each call, {"case": …} after
each case. If it dies or hangs, the last line says in which row.

A case finds: the primary context of device 0, retained and current (`context`), `device` = 0, `devices`, and by name
    module, quick, spin, spin20   kernels.ptx, and its kernels: at once, 300 ms, 20 ms
    ptx, damaged                  the text of kernels.ptx, and that text cut in the middle; addresses
    usleep, asks_driver           functions for cuLaunchHostFunc: libc's; one that calls cuCtxGetDevice and stores the result as 32 bits
    zeros(N), host(N)             N bytes of zeroed memory, page-aligned and pageable; their address
    words(…), ints(…)             an array of 64-bit, 32-bit values; its address
    location(TYPE, ID)            a CUmemLocation passed by value
    word(A, I), dword(A, I), byte(A, I), poke(A, I, V)   what stands at an address; poke sets a byte and gives 0
    NULL, and every enumerator by its name"""

import ctypes
import json
import mmap
import queue
import re
import sys
import threading
import time
from pathlib import Path

import rows
import structs
from driver import Driver

HERE = Path(__file__).resolve().parent
KERNELS = {"quick": "quick__1us", "spin": "spin__300000us", "spin20": "spin__20000us"}
HOST_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def read_constants():
    lines = (HERE / "constants.txt").read_text().splitlines()
    return {name: int(value) for name, value in (line.split() for line in lines if line and not line.startswith("#"))}


CONSTANTS = read_constants()
RESULTS = {value: name for name, value in CONSTANTS.items() if name == "CUDA_SUCCESS" or name.startswith("CUDA_ERROR_")}


def result_name(code):
    return RESULTS.get(code, str(code)).removeprefix("CUDA_ERROR_").removeprefix("CUDA_")


def say(**what):
    print(json.dumps(what), flush=True)


class Out:
    """A place the driver writes to."""

    READ = {"u64": lambda raw: int.from_bytes(raw[:8], "little"), "u32": lambda raw: int.from_bytes(raw[:4], "little"),
            "int": lambda raw: int.from_bytes(raw[:4], "little", signed=True), "float": lambda raw: ctypes.c_float.from_buffer_copy(raw).value,
            "raw16": lambda raw: raw[:16], "text": lambda raw: Out.text(int.from_bytes(raw[:8], "little"))}

    def __init__(self, name, kind, before):
        self.name, self.kind = name, kind
        self.buffer = ctypes.create_string_buffer(256)
        if isinstance(before, int):
            self.buffer[0:8] = (before % (1 << 64)).to_bytes(8, "little")

    @staticmethod
    def text(address):
        return ctypes.string_at(address).decode() if address else None

    def value(self):
        return Out.READ[self.kind](self.buffer.raw)


class Thread:
    """A thread that makes calls when told to, one at a time."""

    def __init__(self):
        self.work, self.done = queue.Queue(), queue.Queue()
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while (function := self.work.get()) is not None:
            self.done.put(function())

    def call(self, function):
        self.work.put(function)
        return self.done.get()


class Memory:
    """What a case points the driver to; lives as long as the case."""

    def __init__(self):
        self.kept = []

    def keep(self, thing):
        self.kept.append(thing)
        return ctypes.addressof(thing)

    def zeros(self, count):
        pages = mmap.mmap(-1, (count + 4095) // 4096 * 4096)
        self.kept.append(pages)
        return ctypes.addressof(ctypes.c_char.from_buffer(pages))

    def words(self, *values):
        return self.keep((ctypes.c_uint64 * max(1, len(values)))(*[value % (1 << 64) for value in values]))

    def ints(self, *values):
        return self.keep((ctypes.c_int32 * max(1, len(values)))(*values))

    def text(self, value):
        return self.keep(ctypes.create_string_buffer(value if isinstance(value, bytes) else value.encode()))

    def struct(self, kind, fields):
        made = structs.ALL[kind]()
        for path, value in fields:
            *way, last = path.split(".")
            target = made
            for name in way:
                target = getattr(target, name)
            setattr(target, last, value)
        return self.keep(made)


def read(kind):
    return lambda address, index=0: ctypes.cast(address, ctypes.POINTER(kind))[index]


def poke(address, index, value):
    ctypes.cast(address, ctypes.POINTER(ctypes.c_uint8))[index] = value
    return 0


class Replay:
    def __init__(self, case):
        self.driver = Driver(init=not case.bare)
        self.case, self.memory, self.threads = case, Memory(), {}
        self.names = dict(CONSTANTS, NULL=0, zeros=self.memory.zeros, host=self.memory.zeros, words=self.memory.words, ints=self.memory.ints,
                          word=read(ctypes.c_uint64), dword=read(ctypes.c_uint32), byte=read(ctypes.c_uint8), poke=poke,
                          attribute=self.attribute, location=lambda kind, number: kind | number << 32, device=0)

    def attribute(self, number):
        value = ctypes.c_int()
        self.driver.call("cuDeviceGetAttribute", ctypes.byref(value), number, 0)
        return value.value

    def begin(self):
        if self.case.bare:
            return
        self.names["devices"] = self.driver.device_count()
        self.names["context"] = self.driver.open_context().value
        text = " ".join(row.text for row in self.case.rows)
        used = set(re.findall(r"\w+", text))
        if used & {"ptx", "damaged", "module", *KERNELS}:
            ptx = (HERE / "kernels.ptx").read_bytes()
            self.names.update(ptx=self.memory.text(ptx), damaged=self.memory.text(ptx[:len(ptx) // 2]))
        if used & {"module", *KERNELS}:
            self.load()
        if used & {"usleep", "asks_driver"}:
            self.functions()

    def load(self):
        module = ctypes.c_void_p()
        self.driver.call("cuModuleLoadData", ctypes.byref(module), ctypes.c_void_p(self.names["ptx"]))
        self.names["module"] = module.value
        for name, symbol in KERNELS.items():
            function = ctypes.c_void_p()
            self.driver.call("cuModuleGetFunction", ctypes.byref(function), module, symbol.encode())
            self.names[name] = function.value

    def functions(self):
        lib = self.driver.lib

        def ask(where):
            lib_result = lib.cuCtxGetDevice(ctypes.byref(ctypes.c_int()))
            ctypes.cast(where, ctypes.POINTER(ctypes.c_uint32))[0] = lib_result

        asks = HOST_FUNCTION(ask)
        self.memory.kept.append(asks)
        self.names.update(usleep=ctypes.cast(ctypes.CDLL(None).usleep, ctypes.c_void_p).value, asks_driver=ctypes.cast(asks, ctypes.c_void_p).value)

    def end(self):
        """Everything the case left goes with the context; the threads first."""
        for thread in self.threads.values():
            thread.work.put(None)
        if not self.case.alone:
            while self.driver.lib.cuCtxPopCurrent_v2(None) == 0:
                pass
            self.driver.lib.cuDevicePrimaryCtxReset_v2(0)

    # ---- rows ----------------------------------------------------------------------------------------------

    def evaluate(self, text, **more):
        return eval(text, {"__builtins__": {"len": len, "min": min, "max": max, "abs": abs}}, {**self.names, **more})

    def argument(self, value):
        if isinstance(value, Out):
            return ctypes.cast(value.buffer, ctypes.c_void_p)
        if isinstance(value, str):
            return ctypes.c_void_p(self.memory.text(value))
        return ctypes.c_void_p(int(value) % (1 << 64))

    def call(self, row):
        outs = []

        def out(name, kind):
            outs.append(Out(name, kind, self.names.get(name)))
            return outs[-1]

        name = row.call
        arguments = list(self.evaluate(f"({row.arguments}{',' if row.arguments.strip() else ''})", out=out))
        if name == "launch":
            function, stream = arguments
            name, arguments = "cuLaunchKernel", [function, 1, 1, 1, 1, 1, 1, 0, stream, 0, 0]
        function = getattr(self.driver.lib, name)
        passed = [self.argument(value) for value in arguments]

        def timed():
            begin = time.monotonic()
            code = function(*passed)
            return code, (time.monotonic() - begin) * 1000

        code, took = self.threads.setdefault(row.thread, Thread()).call(timed) if row.thread else timed()
        for place in outs:
            self.names[place.name] = place.value()
        return code, took

    def check(self, row):
        """(expected, got, ok)"""
        code, took = self.call(row)
        if result_name(code) not in row.results:
            return " or ".join(row.results), result_name(code), False
        for check in row.checks:
            if not self.evaluate(check, took=took):
                shown = {name: self.names[name] for name in sorted(set(re.findall(r"[a-z_]\w*", check))) if isinstance(self.names.get(name), (int, float, str))}
                return f"{result_name(code)}, {check}", f"{result_name(code)}, {dict(shown, took=round(took))}", False
        return " or ".join(row.results), result_name(code), True

    def run_row(self, row):
        say(begin=row.place)
        if row.kind == "sleep":
            time.sleep(int(row.value) / 1000)
        elif row.kind == "let":
            self.names[row.name] = self.evaluate(row.value)
        elif row.kind == "struct":
            self.names[row.name] = self.memory.struct(row.call, [(name, self.evaluate(value)) for name, value in row.checks])
        else:
            expected, got, ok = self.check(row)
            say(place=row.place, text=row.text, expected=expected, got=got, ok=ok, sure=row.sure)

    def run(self):
        self.begin()
        if self.case.needs and not self.evaluate(self.case.needs):
            say(skipped=self.case.name, rows=sum(row.kind == "call" for row in self.case.rows), reason=f"needs {self.case.needs}")
        else:
            for row in self.case.rows:
                try:
                    self.run_row(row)
                except (NameError, AttributeError, KeyError, TypeError, ValueError, ctypes.ArgumentError) as why:
                    say(place=row.place, text=row.text, expected="it can be run", got=f"{type(why).__name__}: {why}", ok=False, sure=row.sure)
        self.end()
        say(case=self.case.name)


def main():
    path, first = sys.argv[1], int(sys.argv[2])
    cases = rows.parse_file(path)
    for number in range(first, len(cases)):
        if cases[number].alone and number > first:
            break
        Replay(cases[number]).run()
        if cases[number].alone:
            break


if __name__ == "__main__":
    main()
