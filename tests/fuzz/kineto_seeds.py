# SPDX-License-Identifier: BSD-2-Clause
"""Seeds for fuzz_kineto: traces by hand, one for each shape of event, old and new, then what comes of them when they are put together, packed and damaged."""

import gzip
import json
import zlib

HEADER = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "A100", "totalGlobalMem": 42297524224}],
          "distributedInfo": {"backend": "nccl", "rank": 1, "world_size": 2}}


def x(cat, name, pid, tid, ts, dur, **args):
    """A complete event; names of arguments have _ for a space."""
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": {key.replace("_", " "): value for key, value in args.items()}}


def half(ph, ts, tid=5, pid=9, **fields):
    return {"ph": ph, "pid": pid, "tid": tid, "ts": ts, **fields}


def launch(number, ts, pid=9, tid=5, name="cudaLaunchKernel", cat="cuda_runtime"):
    return x(cat, name, pid, tid, ts, 2.5, correlation=number, cbid=211)


def kernel(number, ts, dur, name="gemm", device=0, stream=7, **args):
    return x("kernel", name, device, stream, ts, dur, device=device, context=1, stream=stream, correlation=number, grid=[8, 1, 1], **args)


def memory(ts, size, address=4096, device=0, kind=1):
    return {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 9, "tid": 5, "ts": ts,
            "args": {"Device Type": kind, "Device Id": device, "Addr": address, "Bytes": size, "Total Allocated": 512, "Total Reserved": 2097152}}


def meta(what, pid, tid, **args):
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "ts": 0, "args": args}


def flow(ph, number, pid, tid, ts, cat="ac2g"):
    return {"ph": ph, "id": number, "pid": pid, "tid": tid, "ts": ts, "cat": cat, "name": cat, "bp": "e"}


def pair(number, ts, dur=3.0, **args):
    return [launch(number, ts), kernel(number, ts + 5, dur, **args)]


def sync(number, ts, dur):
    return x("cuda_runtime", "cudaStreamSynchronize", 9, 5, ts, dur, correlation=number)


def loop(steps):
    """A training loop: loader, forward, a blocking copy, optimizer."""
    for step in range(steps):
        at = 1000.0 * step
        yield x("user_annotation", f"ProfilerStep#{step}", 9, 5, at, 990.125)
        yield x("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 9, 5, at + 1, 300)
        yield x("cpu_op", "aten::addmm", 9, 5, at + 310, 20, Sequence_number=step)
        yield from pair(10 * step + 1, at + 312, 50.5)
        yield from pair(10 * step + 2, at + 330, 20.25, name="ncclDevKernel_AllReduce_Sum_f32_RING_LL", stream=20)
        yield launch(10 * step + 3, at + 400, name="cudaMemcpyAsync")
        yield x("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 0, 7, at + 410, 5, device=0, stream=7, correlation=10 * step + 3, bytes=4)
        yield sync(10 * step + 4, at + 405, 60)
        yield x("python_function", "train.py(12): step", 9, 5, at + 500, 200)
        yield memory(at + 600, 512)
        yield memory(at + 700, -512)


SHAPES = {
    "empty-list": [],
    "launch-and-kernel": pair(7, 1.5),
    "kernel-first": pair(7, 1.5)[::-1],
    "kernel-alone": [kernel(7, 10, 2)],
    "kernel-of-no-stream": [x("kernel", "k", 3, 7, 1, 2)],
    "kernel-of-nothing": [{"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": 1}],
    "old-names": [launch(8, 100, tid="5", name="cudaMemcpyAsync", cat="Runtime"),
                  x("Memcpy", "Memcpy HtoD (Pageable -> Device)", 0, "stream 7", 110, 5, device=0, context=1, stream=7, correlation=8, external_id=2, bytes=4096),
                  x("Memset", "Memset (Device)", 0, "stream 7", 120, 1, device=0, stream=7, correlation=9, bytes=16),
                  x("Kernel", "k", 0, "stream 20", 130, 1, device=0, correlation=10),
                  x("Operator", "ProfilerStep#3", 9, "5", 80, 70), x("Operator", "aten::add", 9, "5", 90, 40)],
    "copies": [event for number, name in enumerate(("HtoD (Pageable -> Device)", "HtoD (Pinned -> Device)", "DtoH (Device -> Pinned)", "DtoD (Device -> Device)",
                                                    "PtoP (Device -> Device)", "HtoH (Pinned -> Pageable)", "?"), 1)
               for event in (launch(number, 100.0 * number, name="cudaMemcpyAsync"),
                             x("gpu_memcpy", "Memcpy " + name, 0, 7, 100.0 * number + 9, 50, device=0, stream=7, correlation=number, bytes=1 << number))],
    "hip": [x("cuda_runtime", "hipMemcpyWithStream", 9, 5, 1, 60, stream="0x7f00", correlation=117, size="2560", src="0x5567"),
            x("gpu_memcpy", "CopyHostToDevice", 2, 0, 20, 22, device=2, queue=1, correlation=117), x("cuda_runtime", "hipLaunchKernel", 9, 5, 70, 2, correlation=118),
            x("kernel", "Cijk", 2, 0, 80, 17, device=2, queue=1, correlation=118)],
    "driver-within-runtime": [launch(7, 1), launch(7, 1.5, name="cuLaunchKernel", cat="cuda_driver"), kernel(7, 9, 1)],
    "graph": [launch(7, 1, name="cudaGraphLaunch"), *(kernel(7, 10 + 5 * i, 4, graph_node_id=100 + i, graph_id=3) for i in range(4))],
    "copy-of-no-name": [{"ph": "X", "cat": "gpu_memcpy", "pid": 0, "tid": 7, "ts": 1, "dur": 2}, {"ph": "M"}, {"ph": "i"}],
    "two-streams": [*pair(1, 1, 20, stream=7), *pair(2, 5, 20, stream=9), *pair(3, 100, 20, stream=9)],
    "two-devices": [*pair(1, 1, 20), *pair(2, 5, 20, device=1)],
    "collective": [*pair(1, 1, 20), *pair(2, 5, 90, name="ncclDevKernel_AllReduce_Sum_f32_RING_LL", stream=20, Collective_name="allreduce")],
    "waits-for-the-device": [*pair(1, 1, 500), sync(2, 6, 520), *pair(3, 900)],
    "device-synchronize": [*pair(1, 1, 500), x("cuda_runtime", "cudaDeviceSynchronize", 9, 5, 6, 520, correlation=2), *pair(3, 900)],
    "events": [*pair(1, 1, 50), launch(2, 10, name="cudaEventRecord"), launch(3, 14, name="cudaStreamWaitEvent"), *pair(4, 20, 9, stream=9),
               x("cuda_sync", "Stream Wait Event", 0, 9, 20, 2, stream=9, correlation=3, device=0, wait_on_stream=7)],
    "allocations": [launch(1, 1, name="cudaMalloc"), launch(2, 10, name="cudaFree"), *pair(3, 20)],
    "memory": [memory(1, 512), memory(2, 1024, 8192), memory(3, -512), memory(4, 64, 1, kind=0), memory(5, 64, -1, -1), *pair(1, 9)],
    "module-load": [launch(1, 1, name="cuModuleLoadData", cat="cuda_driver"), *pair(3, 5000)],
    "operators": [x("cpu_op", "outer", 9, 5, 1, 50), x("cpu_op", "inner", 9, 5, 2, 50), x("cpu_op", "instant", 9, 5, 3, 0), *pair(1, 10)],
    "python": [x("python_function", "train.py(12): step", 9, 5, 1, 50, Python_id=1), x("python_function", "<built-in method sleep>", 9, 5, 2, 40)],
    "loader": [x("user_annotation", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 9, 5, 1, 50), *pair(1, 100)],
    "overhead": [x("overhead", "Buffer Flush", -1, 0, 1, 50), x("Overhead", "Lazy Function Loading", 9, 5, 1, 50), *pair(1, 100)],
    "left-out": [x("gpu_user_annotation", "ProfilerStep#1", 0, 7, 1, 9), x("Trace", "PyTorch Profiler (0)", "Spans", "PyTorch Profiler", 1, 9),
                 {"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": 9}, flow("s", 7, 9, 5, 1, "fwdbwd")],
    "not-known": [x("mtia_ccp_events", "dma_request", 9, 801, 1, 8, stream=3), x("toplevel", "task", 1, 1, 1, 1), {"ph": "C", "name": "c", "pid": 1, "ts": 1, "args": {"v": 1}}],
    "flows": [*pair(7, 1), flow("s", 7, 9, 5, 1), flow("f", 7, 0, 7, 6)],
    "flows-only": [{**launch(0, 1), "args": {}}, flow("s", 7, 9, 5, 1), {**kernel(0, 6, 3), "args": {"device": 0, "stream": 7}}, flow("f", 7, 0, 7, 6)],
    "halves": [half("B", 1, cat="cpu_op", name="outer"), half("B", 2, cat="cuda_runtime", name="cudaMalloc"), half("E", 3, args={"correlation": 4}), half("E", 4.5), half("E", 5),
               half("B", 6, cat="user_annotation", name="never")],
    "halves-anywhere": [half("b", 1, cat="user_annotation", name="r", id="0x10"), half("n", 2, cat="user_annotation", name="r", id="0x10"),
                        half("e", 3, tid=6, cat="user_annotation", name="r", id=16), half("b", 1, cat="user_annotation", name="r"), half("F", 9, id="nobody")],
    "halves-of-work": [half("B", 1, 7, 0, cat="kernel", name="k", args={"device": 0, "stream": 7}), half("E", 5, 7, 0), half("B", 9, 7, 0, cat="kernel", name="k")],
    "halves-back": [half("E", 20, 7, 0), half("B", 10, 7, 0, cat="kernel", name="k"), half("B", 20, 7, 0, cat="kernel", name="k"), half("E", 20, 7, 0), half("E", 19, 7, 0)],
    "halves-that-say-nothing": [{"ph": "E", "ts": 2}],
    "halves-in-blocks": [half(ph, at + 10 * n, 7, 0, cat="kernel", name="k") for n in (3, 2, 1) for ph, at in (("B", 0), ("E", 7))],
    "halves-of-overlapping-work": [half(ph, 10 * n + at, 7, 0, cat="kernel", name="k") for n in range(5) for ph, at in (("B", 0), ("E", 15))]
                                  + [half("B", 1000, 7, 0, cat="kernel", name="k"), half("E", 990, 7, 0), half("B", 980, 7, 0, cat="kernel", name="k")],
    "ranks-with-each-other-s-numbers": [event for pid in (9, 10) for n in range(1, 4) for event in (
        launch(n, 100 * pid + 10 * n, pid), kernel(n, 100 * pid + 10 * n + (-600 if n == 1 else 5), 4, device=pid - 9))],
    "halves-of-one-number": [half("b", 10, cat="user_annotation", name="a", id=1), half("b", 11, cat="cuda_runtime", name="f", id=1),
                             half("e", 12, cat="user_annotation", name="a", id=1), half("e", 19, cat="cuda_runtime", name="f", id=1)],
    "names": [meta("process_name", 9, 0, name="python3"), meta("process_labels", 9, 0, labels="CPU"), meta("process_labels", 50, 0, labels="GPU 3"),
              meta("thread_name", 9, 5, name="thread 5 (main)"), meta("thread_name", 9, 5, name="thread 5 ("), meta("thread_name", 50, 7, name="stream 7 "),
              x("kernel", "k", 50, 7, 1, 1, correlation=7), launch(7, 0)],
    "names-as-numbers": [x("cpu_op", "o", "trainer", "main", 1, 2), x("cpu_op", "o", "9", "-5", 1, 2), x("cpu_op", "o", 1 << 63, 140234567890944, 1, 2),
                         x("kernel", "k", "GPU", "stream x", 4, 2, device="zero")],
    "processes": [launch(1, 1, pid=1), launch(1, 1, pid=2), launch(5, 2, pid=2), launch(6, 2, pid=1), *(kernel(n, 10 + n, 1) for n in (5, 1, 6, 99))],
    "processes-without-numbers": [x("cuda_runtime", "cudaMalloc", pid, 5, 1, 2) for pid in (1, 2)] + [kernel(7, 3, 2)],
    "processes-alike": [*(launch(n, n + pid, pid=pid) for n in range(1, 9) for pid in (1, 2)), *(kernel(n, 10 * n + 3, 2, device=device) for n in range(1, 9) for device in (0, 1))],
    "one-call-of-two-layers": [x("cuda_runtime", "cudaLaunchKernel", 9, 5, 10, 5, correlation=1), x("cuda_driver", "cuLaunchKernel", 9, 5, 11, 5, correlation=1), kernel(1, 20, 3)],
    "hostile-names": [x("kernel", 'r"\\un\x01\u202e</script>' * 3, 0, 7, 1, 2, device=0, stream=7), x("cpu_op", "\ud800", 9, 5, 1, 2), x("user_annotation", "", 9, 5, 1, 3)],
    "times-far-apart": [*pair(1, 0), *pair(2, 1727743122000000.125), kernel(3, 2.2e15, 1e9), kernel(4, 1e300, 1), kernel(5, 1, 1e300), kernel(6, -5, 10)],
    "times-as-texts": [{**kernel(1, 0, 0), "ts": "12.0005", "dur": "1e-3"}, {**kernel(2, 0, 0), "ts": "", "dur": None}, {**kernel(3, 0, 0), "ts": [], "dur": {}}],
    "not-what-they-should-be": [{"ph": 7, "cat": [], "name": {}, "pid": None, "tid": True, "ts": "x", "dur": -1, "args": 3}, [], 7, None, "x", {}, {"args": {"args": {"args": []}}},
                                {"ph": "X", "cat": "kernel"}, {"ph": "X", "cat": "kernel", "ts": 1, "dur": -1}, {"ph": ""}],
    "twice-the-same": [*pair(7, 1), *pair(7, 1), *pair(7, 1.001)],
    "correlations-far-apart": [*pair(1 << 32, 1), *pair((1 << 32) + 1, 9), *pair((1 << 64) - 1, 20)],
    "many-short": [event for number in range(1, 60) for event in pair(number, 7.0 * number, 1.5)],
    "loop": list(loop(6)),
    "loop-back-to-front": list(loop(4))[::-1],
}

FILES = {
    "header-behind": {"traceEvents": pair(7, 1), **HEADER, "displayTimeUnit": "ms", "baseTimeNanoseconds": 1727743122000000000, "traceName": "/tmp/x.json"},
    "header-odd": {"deviceProperties": {"id": 0}, "distributedInfo": [1], "baseTimeNanoseconds": -5, "hostname": 7, "WARNING": "w", "traceEvents": {"a": pair(1, 1)}},
    "notes": {"WARNING": ["WARNING: 12 records dropped", 7, ["x"]], "ERROR": ["e" * 300], "hostname": "node7", "host_name": "n\u00f6de", "traceEvents": []},
    "rank-odd": {"distributedInfo": {"rank": 1 << 40, "world_size": -1}, "traceEvents": pair(1, 1)},
    "devices-many": {"deviceProperties": [{"id": i, "name": "x" * i, "totalGlobalMem": 1 << i} for i in range(20)], "traceEvents": pair(1, 1, device=3)},
    "no-events": {"a": [1, {"traceEvents": []}]},
    "events-twice": {"traceEvents": pair(1, 1), "x": [], "traceEvent": pair(2, 9)},
}


def text(value):
    return json.dumps(value).encode()


# Of gzip: a check of itself, extra bytes, a name, a comment.
LONG_HEADER = b"\x1f\x8b\x08\x1e" + bytes(6) + b"\x03\x00abcname\0words\0"


def wrapped(data, level, strategy):
    """By zlib itself, which gzip's module asks for less."""
    packer = zlib.compressobj(level, zlib.DEFLATED, 31, 9, strategy)
    return packer.compress(data) + packer.flush()


def seeds():
    """Name and content."""
    for name, events in SHAPES.items():
        yield name, text({**HEADER, "traceEvents": events})
    for name, value in FILES.items():
        yield name, text(value)
    loop_text = text({**HEADER, "traceEvents": list(loop(3))})
    packed = gzip.compress(loop_text, mtime=0)
    yield "bare-list", text(SHAPES["launch-and-kernel"])
    yield "bare-list-open", text(SHAPES["loop"])[:-1] + b","
    yield "cut-short", loop_text[:-200]
    yield "cut-short-in-a-name", loop_text[: loop_text.index(b"ncclDev") + 4]
    yield "trailing", loop_text + b"\n[1]"
    yield "no-utf-8", loop_text.replace(b"gemm", b"\xff\xed\xa0\x80")
    yield "no-json", text({**HEADER, "traceEvents": [*pair(1, float("nan")), *pair(2, 9, bandwidth=float("-inf"))]}).replace(b"gemm", b"a\tb\\q").replace(b"A100", b"\\u12\n")
    yield "packed", packed
    yield "packed-cut-short", packed[:-90]
    yield "packed-damaged", packed[:200] + bytes([packed[200] ^ 4]) + packed[201:]
    yield "packed-members", gzip.compress(loop_text[:500], mtime=0) + gzip.compress(loop_text[500:], mtime=0) + b"\0" * 40
    yield "packed-and-more", packed + b"more"
    yield "packed-stored", wrapped(loop_text, 0, 0)
    yield "packed-fixed", wrapped(loop_text, 9, zlib.Z_FIXED)
    yield "packed-long-header", LONG_HEADER + (zlib.crc32(LONG_HEADER) & 0xffff).to_bytes(2, "little") + packed[10:]
    yield "packed-check-wrong", packed[:-8] + bytes([packed[-8] ^ 1]) + packed[-7:]
    yield "packed-length-wrong", packed[:-1] + bytes([packed[-1] ^ 1])
    yield "packed-cut-in-check", packed[:-5]
    yield "deep", b'{"traceEvents": [' + b"[" * 600 + b"]" * 600 + b"]}"
    yield "nothing", b""
    yield "one-byte", b"\x1f"
    yield "decimals", b'{"traceEvents": [' + b",".join(
        b'{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":%s,"dur":%s,"args":{"device":0,"stream":7}}' % pair for pair in
        ((b"1.0005", b"0.0005"), (b"2.00049999", b"1e-4"), (b"12345678901234567890", b"1"), (b"0.5e1", b"5E-1"), (b"-0.0001", b"1"))) + b"]}"
