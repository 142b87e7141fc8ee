# SPDX-License-Identifier: BSD-2-Clause
"""nsys_seeds.py: small SQLite files as Nsight Systems exports them, whole, damaged and hostile; for make_seeds.py."""

import sqlite3
import tempfile
from pathlib import Path

PAGE = 512
PID = 1 << 48 | 100 << 24
TID, TID2 = PID | 100, PID | 101
OTHER = 1 << 48 | 200 << 24
US = 1000

TABLES = {
    "StringIds": "id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL",
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs INTEGER, utcTime TEXT",
    "TARGET_INFO_SYSTEM_ENV": "name TEXT, value TEXT",
    "META_DATA_CAPTURE": "name TEXT, value TEXT",
    "TARGET_INFO_GPU": "id INTEGER, name TEXT, totalMemory INTEGER, uuid TEXT, cuDevice INTEGER",
    "TARGET_INFO_CUDA_DEVICE": "gpuId INTEGER, cudaId INTEGER, pid INTEGER",
    "PROCESSES": "globalPid INTEGER, pid INTEGER, name TEXT",
    "ThreadNames": "nameId INTEGER, priority INTEGER, globalTid INTEGER",
    "DIAGNOSTIC_EVENT": "severity INTEGER, text TEXT, globalPid INTEGER",
    "CUPTI_ACTIVITY_KIND_KERNEL": "start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER, mangledName INTEGER, graphNodeId INTEGER",
    "CUPTI_ACTIVITY_KIND_MEMCPY": "start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER, graphNodeId INTEGER",
    "CUPTI_ACTIVITY_KIND_MEMSET": "start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER",
    "CUPTI_ACTIVITY_KIND_MEM_DECOMPRESS": "start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, sourceBytes INTEGER",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": "start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, graphId INTEGER",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER, returnValue INTEGER",
    "CUPTI_ACTIVITY_KIND_CUDA_EVENT": "deviceId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, eventId INTEGER",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": "start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, syncType INTEGER, eventId INTEGER",
    "CUDA_GPU_MEMORY_USAGE_EVENTS": "start INTEGER, globalPid INTEGER, deviceId INTEGER, address INTEGER, bytes INTEGER, correlationId INTEGER",
    "NVTX_EVENTS": "start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER, textId INTEGER, domainId INTEGER",
    "OSRT_API": "start INTEGER, end INTEGER, globalTid INTEGER, nameId INTEGER",
    "CUBLAS_EVENTS": "start INTEGER, end INTEGER, globalTid INTEGER, nameId INTEGER",
    "CUDNN_EVENTS": "start INTEGER, end INTEGER, globalTid INTEGER, nameId INTEGER",
    "MPI_P2P_EVENTS": "start INTEGER, end INTEGER, globalTid INTEGER, textId INTEGER",
    "MPI_COLLECTIVES_EVENTS": "start INTEGER, end INTEGER, globalTid INTEGER, textId INTEGER",
    "MPI_START_WAIT_EVENTS": "start INTEGER, end INTEGER, globalTid INTEGER, textId INTEGER",
    "MPI_OTHER_EVENTS": "start INTEGER, end INTEGER, globalTid INTEGER, textId INTEGER",
    "PROFILER_OVERHEAD": "start INTEGER, end INTEGER, globalTid INTEGER, nameId INTEGER, overheadType INTEGER",
    "CUPTI_ACTIVITY_KIND_OVERHEAD": "start INTEGER, end INTEGER, globalTid INTEGER, nameId INTEGER, overheadType INTEGER",
    "SCHED_EVENTS": "start INTEGER, cpu INTEGER, isSchedIn INTEGER, globalTid INTEGER, threadState INTEGER",
    "MPI_RANKS": "globalTid INTEGER, rank INTEGER",
    "MPI_COMMUNICATORS": "rank INTEGER, size INTEGER",
}

STRINGS = ["void gemm<float>(float*)", "gemm", "_Z4gemmPf", "cudaLaunchKernel_v7000", "cudaStreamSynchronize_v3020", "cudaMalloc_v3020", "cudaEventRecord_v3020",
           "cudaEventSynchronize_v3020", "read", "main", "MPI_Allreduce", "cublasSgemm_v2", "Buffer flush", "cudaGraphLaunch_v10000", "cudaMemcpyAsync_v3020", "cuCtxSynchronize"]

ROWS = {
    "TARGET_INFO_SESSION_START_TIME": [(1769308002162486533, "2026")],
    "TARGET_INFO_SYSTEM_ENV": [("Hostname", "node"), ("DeviceEnvironment", "RANK=3;WORLD_SIZE=8;A\0B=1")],
    "META_DATA_CAPTURE": [("PROCESS_0:COMMAND", "/usr/bin/python"), ("PROCESS_0:ARGUMENT_0", "train.py")],
    "TARGET_INFO_GPU": [(0, "H100", 85899345920, "110bc05b-778a-a2aa-f210-230b5a8ea938", 1), (1, "H100", 1, "GPU-", None)],
    "TARGET_INFO_CUDA_DEVICE": [(1, 0, 100), (0, 0, OTHER)],
    "PROCESSES": [(PID, 100, "python"), (1 << 24, 1, "init")],
    "ThreadNames": [(10, 20, TID), (9, 20, TID2), (10, 20, 1 << 24 | 1)],
    "DIAGNOSTIC_EVENT": [(2, "Not all NVTX events might have been collected.", None), (3, "12 CUDA events were dropped.\nmore", PID)],
    "CUPTI_ACTIVITY_KIND_KERNEL": [(us * US, (us + 8) * US, 0, 1, 7, 20 + us // 10, PID, 1, 2, 3, None) for us in (10, 20, 50, 90)],
    "CUPTI_ACTIVITY_KIND_MEMCPY": [(30 * US, 31 * US, 0, 1, 13, 30, PID, 4096, 1, 0, 2, None), (32 * US, 33 * US, 0, 0, 0, 0, PID, 65536, 11, 7, 7, None), (33 * US, 36 * US, 0, 1, 7, 31, PID, 9, 10, 2, 2, 5)],
    "CUPTI_ACTIVITY_KIND_MEMSET": [(40 * US, 41 * US, 0, 1, 7, 32, PID, 512)],
    "CUPTI_ACTIVITY_KIND_MEM_DECOMPRESS": [(42 * US, 43 * US, 0, 1, 7, 33, PID, 512)],
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": [(60 * US, 70 * US, 0, 1, 7, 40, PID, 1), (0, 0, 0, 1, 7, 41, PID, 1)],
    "CUPTI_ACTIVITY_KIND_RUNTIME": [(us * US - 5000, us * US - 3000, 0, TID, 20 + us // 10, 4, 0) for us in (10, 20, 50, 90)]
    + [(60 * US, 89 * US, 0, TID, 50, 5, 0), (59 * US, 60 * US, 0, TID2, 40, 14, 0), (1 * US, 2 * US, 0, TID2, 51, 6, 2), (28 * US, 29 * US, 1, TID, 30, 15, 0), (91 * US, 92 * US, 0, TID, 52, 7, 0), (93 * US, 99 * US, 0, TID, 53, 8, 0)],
    "CUPTI_ACTIVITY_KIND_CUDA_EVENT": [(0, 7, 52, PID, 5), (0, 13, 54, PID, 5)],
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": [(61 * US, 88 * US, 0, 7, 50, PID, 3, 0), (93 * US, 98 * US, 0, 4294967295, 53, PID, 1, 5)],
    "CUDA_GPU_MEMORY_USAGE_EVENTS": [(1500, PID, 0, 139637976727552, 1048576, 51)],
    "NVTX_EVENTS": [(5 * US, 95 * US, 59, "step 1", TID, None, 0), (6 * US, None, 59, "open", TID, None, 2), (7 * US, 80 * US, 60, None, TID2, 2, 2), (8 * US, None, 34, "mark", TID, None, 3), (0, None, 75, "NCCL", TID, None, 2),
                    (9 * US, 11 * US, 59, "aten::add, seq = 1, op_id = 2", TID, None, 0)],
    "OSRT_API": [(60 * US, 89 * US, TID2, 9), (1, 1, TID, 9)],
    "CUBLAS_EVENTS": [(4 * US, 8 * US, TID, 12)],
    "CUDNN_EVENTS": [(4 * US, 9 * US, TID, 12)],
    "MPI_P2P_EVENTS": [(70 * US, 71 * US, TID, 11)],
    "MPI_COLLECTIVES_EVENTS": [(72 * US, 79 * US, TID, 11)],
    "MPI_START_WAIT_EVENTS": [(80 * US, 81 * US, TID, 11)],
    "MPI_OTHER_EVENTS": [(82 * US, None, TID, 11)],
    "PROFILER_OVERHEAD": [(1, 50 * US, TID, 13, 3), (60 * US, 61 * US, TID, 999, 99)],
    "CUPTI_ACTIVITY_KIND_OVERHEAD": [(8 * US, 9 * US, TID, None, 7)],
    "SCHED_EVENTS": [(62 * US, 1, 0, TID, 2), (87 * US, 1, 1, TID, 0), (88 * US, 1, 0, TID, 5), (5, 1, 1, TID2, None)],
    "MPI_RANKS": [(TID, 1)],
    "MPI_COMMUNICATORS": [(1, 4)],
}

CORE = ["CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME"]
MOST, LEAST = 2**63 - 1, -2**63


def database(tables, more=(), page=PAGE):
    """The tables with their rows, then statements of any kind."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "db"
        db = sqlite3.connect(path, isolation_level=None)
        db.execute(f"PRAGMA page_size = {page}")
        db.execute("BEGIN")
        for table in dict.fromkeys(["StringIds", *tables]):
            db.execute(f"CREATE TABLE {table} ({TABLES[table]})")
            rows = ROWS.get(table, list(enumerate(STRINGS, 1)))
            db.executemany(f"INSERT INTO {table} VALUES ({','.join('?' * len(rows[0]))})", rows)
        for statement in more:
            db.execute(statement)
        db.execute("COMMIT")
        db.close()
        content = bytearray(path.read_bytes())
    content[96:100] = (3040001).to_bytes(4, "big")  # whichever SQLite made it
    return bytes(content)


def kernels(rows):
    return [f"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, correlationId, globalPid, demangledName) VALUES ({', '.join(map(str, row))})" for row in rows]


def many(select):
    """Statements that repeat a row."""
    return [f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100) INSERT INTO {select} FROM n"]


CHANGED = {
    "other-process": kernels([(15 * US, 25 * US, 0, 2, 15, 0, OTHER, 2), (16 * US, 17 * US, 1, 2, 16, 0, OTHER, 2)]),
    "overlapping": kernels([(11 * US, 60 * US, 0, 1, 13, 0, PID, 2), (12 * US, 55 * US, 0, 1, 14, 0, PID, 2)]),
    "times-reversed": kernels([(90 * US, 10 * US, 0, 1, 7, 0, PID, 2)]),
    "times-extreme": kernels([(LEAST, MOST, 0, 1, 7, 0, PID, 2), (MOST - 1, MOST, 0, 1, 7, 0, PID, 2), (LEAST, LEAST + 1, 0, 1, 7, 0, PID, 2)]),
    "times-negative": kernels([(-90 * US, -10 * US, 0, 1, 7, 0, PID, 2)]),
    "devices-extreme": kernels([(10, 20, 4294967295, 1, 7, 0, PID, 2), (10, 20, -1, 1, 7, 0, PID, 2), (10, 20, 65535, 1, 7, 0, PID, 2)]),
    "streams-extreme": kernels([(10, 20, 0, MOST, MOST, MOST, PID, 2), (10, 20, 0, -1, -1, -1, PID, 2), (10, 20, 0, 1, 4294967295, 0, PID, 2)]),
    "pids-extreme": kernels([(10, 20, 0, 1, 7, 1, -1, 2), (10, 20, 0, 1, 7, 1, 0, 2), (10, 20, 0, 1, 7, 1, "NULL", "NULL")]),
    "many-processes": many("CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, globalPid) SELECT i * 1000, i * 1000 + 900, i % 3, i << 24"),
    "many-streams": many("CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, streamId, globalPid) SELECT i * 1000, i * 1000 + 1900, 0, i % 40, 1679818752"),
    "many-threads": many("CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, nameId) SELECT i * 1000, i * 1000 + 1900, 281476654432256 + i, 5"),
    "types-mixed": ["UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = 'x', end = x'01', deviceId = 0.5, globalPid = '100'"],
    "nulls": ["UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = NULL, deviceId = NULL, streamId = NULL", "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET globalTid = NULL, correlationId = NULL"],
    "long-texts": ["INSERT INTO StringIds VALUES (99, hex(zeroblob(1500)))", "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET demangledName = 99"],
    "texts-odd": ["UPDATE StringIds SET value = x'00ffed80'", "INSERT INTO StringIds VALUES (-5, char(27) || '[31m'), (9223372036854775807, '')", "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET demangledName = 9223372036854775807"],
    "texts-without-key": ["ALTER TABLE StringIds RENAME TO old", "CREATE TABLE StringIds (value TEXT, id INTEGER)", "INSERT INTO StringIds SELECT value, id FROM old ORDER BY id DESC", "DROP TABLE old"],
    "same-correlation": ["UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET correlationId = 21", "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET correlationId = 21"],
    "graph-nodes": ["UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET correlationId = 40, graphNodeId = 17179869184 + start"],
    "index": ["CREATE INDEX i ON CUPTI_ACTIVITY_KIND_KERNEL (start DESC, end, deviceId, contextId, streamId, correlationId, globalPid, demangledName, shortName, mangledName, graphNodeId)"],
    "view": ["CREATE VIEW NVTX_EVENTS AS SELECT start, end, 59 AS eventType, 'x' AS text FROM CUPTI_ACTIVITY_KIND_RUNTIME"],
    "virtual": ["CREATE VIRTUAL TABLE OSRT_API USING rtree(id, start, end)"],
    "generated": ["CREATE TABLE OSRT_API (start INTEGER, end INTEGER GENERATED ALWAYS AS (start + 1), globalTid INTEGER, nameId INTEGER GENERATED ALWAYS AS (abs(start)) STORED)", f"INSERT INTO OSRT_API VALUES (5, {TID})"],
    "without-rowid": ["CREATE TABLE OSRT_API (start INTEGER PRIMARY KEY, end INTEGER, globalTid INTEGER) WITHOUT ROWID", f"INSERT INTO OSRT_API VALUES (5, 6, {TID})"],
    "trigger": ["CREATE TRIGGER t AFTER DELETE ON StringIds BEGIN DELETE FROM StringIds; END"],
    "free-pages": ["CREATE TABLE junk (a)", "INSERT INTO junk VALUES (zeroblob(3000))", "DROP TABLE junk"],
}

# Streams and events of one number in two contexts, of two devices, and in contexts that are none.
CONTEXTS = [f"ALTER TABLE {table} ADD COLUMN contextId INTEGER DEFAULT 1" for table in ("CUPTI_ACTIVITY_KIND_CUDA_EVENT", "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "CUDA_GPU_MEMORY_USAGE_EVENTS")] \
    + kernels([(11 * US, 12 * US, 1, 2, 7, 0, PID, 2), (13 * US, 14 * US, 1, 2, 13, 0, PID, 2), (15 * US, 16 * US, 1, -1, 7, 0, PID, 2), (17 * US, 18 * US, 0, 4294967295, 7, 0, PID, 2)]) \
    + [f"INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (0, 13, 51, {PID}, 5, 2)", f"INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (0, 7, 22, {PID}, 5, -1)"] \
    + [f"INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (0, 0, 0, {stream}, {correlation}, {PID}, {kind}, {event}, {context})"
       for stream, correlation, kind, event, context in ((13, 30, 3, 0, 2), (4294967295, 40, 1, 5, 2), (4294967295, 25, 1, 5, 9), (7, 29, 2, 5, 2), (7, 21, 3, 0, -1), (7, 22, 3, 0, 4294967295))]


def with_pages(content, change):
    """Each page by its number through change, which may leave it as it is."""
    pages = [content[at:at + PAGE] for at in range(0, len(content), PAGE)]
    return b"".join(change(number, page, pages) for number, page in enumerate(pages))


def damaged(content):
    """name → what became of it."""
    flipped = bytearray(content)
    for at in range(101, len(flipped), 97):
        flipped[at] ^= 0x41
    yield "truncated-half", content[:len(content) // 2 // PAGE * PAGE]
    yield "truncated-byte", content[:-1]
    yield "truncated-schema", content[:PAGE]
    yield "truncated-header", content[:60]
    yield "zeros-last", content[:-PAGE] + bytes(PAGE)
    yield "zeros-third", with_pages(content, lambda number, page, pages: bytes(PAGE) if number == 3 else page)
    yield "same-pages", with_pages(content, lambda number, page, pages: pages[4] if number > 4 else page)
    yield "swapped-pages", with_pages(content, lambda number, page, pages: pages[-number] if number > 1 else page)
    yield "circle", with_pages(content, lambda number, page, pages: page[:8] + b"\0\0\0\2" + page[12:] if page[0] == 5 else page)
    yield "flipped", bytes(flipped)
    yield "write-ahead", content[:18] + b"\2\2" + content[20:]
    yield "page-size", content[:16] + b"\0\1" + content[18:]
    yield "utf-16", content[:56] + b"\0\0\0\2" + content[60:]
    yield "empty", b""
    yield "no-database", b"SQLite format 3\0" + bytes(200)


def seeds():
    """name → content."""
    made = {"core": database(CORE), "everything": database(TABLES), "nothing": database([]), "ranges-alone": database(["NVTX_EVENTS"])}
    for table in TABLES:
        if table not in ("StringIds", *CORE):
            made[f"with-{table.lower().replace('_', '-')}"] = database([*CORE, table])
    for name, statements in CHANGED.items():
        made[name] = database(CORE, statements)
    made["details"] = database([*CORE, "CUPTI_ACTIVITY_KIND_CUDA_EVENT", "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "CUDA_GPU_MEMORY_USAGE_EVENTS"], CHANGED["same-correlation"])
    made["contexts"] = database([*CORE, "CUPTI_ACTIVITY_KIND_CUDA_EVENT", "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "CUDA_GPU_MEMORY_USAGE_EVENTS"], CONTEXTS)
    made["page-4096"] = database(CORE, page=4096)
    for name, content in damaged(database(CORE, CHANGED["many-streams"])):
        made[f"damaged-{name}"] = content
    return made
