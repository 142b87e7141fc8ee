/* SPDX-License-Identifier: BSD-2-Clause */
/* import_nsys_calls.c: calls of the runtime and the driver, which Nsight has in one table. */
#include "import_nsys_parts.h"

#define CLASS_BACKTRACE 67 /* the call again, for the sake of its stack */

void nsys_calls(struct nsys *n)
{
	struct nsys_rows r;

	if (!nsys_rows_begin(&r, &n->file, NSYS_RUNTIME))
		return;
	while (nsys_next(n, &r)) {
		uint64_t pid = nsys_row_pid(n, &r, RUNTIME_globalTid);
		struct import_call c = {
			.place = nsys_rows_place(&r),
			.begin_ns = nsys_rows_int(&r, RUNTIME_start, 0),
			.end_ns = nsys_rows_int(&r, RUNTIME_end, INT64_MIN),
			.process = UINT32_MAX,
			.tid = nsys_tid((uint64_t)nsys_rows_int(&r, RUNTIME_globalTid, 0)),
			.result = (int32_t)nsys_rows_int(&r, RUNTIME_returnValue, 0),
			.correlation = (uint64_t)nsys_rows_int(&r, RUNTIME_correlationId, 0),
			.stream = IMPORT_NO_STREAM,
			.device = IMPORT_NO_DEVICE,
		};

		if (nsys_rows_int(&r, RUNTIME_eventClass, 0) == CLASS_BACKTRACE)
			continue;
		c.process = nsys_process_number(n, pid);
		if (c.process == UINT32_MAX)
			break;
		if (!nsys_rows_null(&r, RUNTIME_nameId))
			c.name = nsys_name(n, &n->calls, nsys_rows_int(&r, RUNTIME_nameId, 0));
		nsys_detail_find(n, pid, &c);
		import_call(n->b, &c);
	}
	nsys_rows_close(&r);
}
