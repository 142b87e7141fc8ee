/* SPDX-License-Identifier: BSD-2-Clause */
/* import_nsys_device.c: what devices did, by table, and which devices they are. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "import_nsys_parts.h"
#include "tools/alloc.h"

/* CUpti_ActivityMemcpyKind, as ENUM_CUDA_MEMCPY_OPER has it. */
enum nsys_copy {
	HTOD = 1,
	DTOH = 2,
	HTOA = 3,
	ATOH = 4,
	ATOA = 5,
	ATOD = 6,
	DTOA = 7,
	DTOD = 8,
	HTOH = 9,
	PTOP = 10,
	UVM_HTOD = 11,
	UVM_DTOH = 12,
	UVM_DTOD = 13, /* pages of managed memory that moved: nobody submitted them */
};

#define PAGEABLE 0        /* ENUM_CUDA_MEM_KIND */
#define DEVICES_MOST 1024 /* of all processes; more stay without a name */
#define GPUS_MOST 4096    /* rows that are read of what there is */

/* The first columns are those of each table. */
_Static_assert((int)KERNEL_graphNodeId == (int)MEMCPY_graphNodeId &&
		       (int)KERNEL_graphNodeId == (int)MEMSET_graphNodeId &&
		       (int)KERNEL_graphNodeId == (int)GRAPH_graphNodeId &&
		       (int)KERNEL_graphNodeId == (int)DECOMPRESS_graphNodeId,
	       "the columns of work");

uint64_t nsys_stream(const struct nsys_rows *r, unsigned column)
{
	int64_t stream = nsys_rows_int(r, column, -1);

	return stream < 0 || stream == UINT32_MAX ? IMPORT_NO_STREAM : (uint64_t)stream; /* CUPTI's word for none */
}

uint32_t nsys_device(const struct nsys_rows *r, unsigned column)
{
	int64_t device = nsys_rows_int(r, column, -1);

	return device < 0 || device >= UINT32_MAX ? IMPORT_NO_DEVICE : (uint32_t)device;
}

/* What is not known to be pageable is not called so: there is advice against that. */
static enum gst_copy_kind copy_kind(const struct nsys_rows *r)
{
	switch (nsys_rows_int(r, MEMCPY_copyKind, 0)) {
	case HTOD:
	case HTOA:
		return nsys_rows_int(r, MEMCPY_srcKind, -1) == PAGEABLE ? GST_COPY_H2D_PAGEABLE : GST_COPY_H2D_PINNED;
	case DTOH:
	case ATOH:
		return nsys_rows_int(r, MEMCPY_dstKind, -1) == PAGEABLE ? GST_COPY_D2H_PAGEABLE : GST_COPY_D2H_PINNED;
	case UVM_HTOD:
		return GST_COPY_H2D_PINNED;
	case UVM_DTOH:
		return GST_COPY_D2H_PINNED;
	case ATOA:
	case ATOD:
	case DTOA:
	case DTOD:
		return GST_COPY_D2D;
	case HTOH:
		return GST_COPY_H2H;
	case PTOP:
	case UVM_DTOD:
		return GST_COPY_PEER;
	}
	return GST_COPY_UNKNOWN;
}

static void see_device(struct nsys *n, uint64_t pid, const struct import_work *w)
{
	for (size_t i = 0; i <= n->n_devices; i++) {
		size_t k = i ? i - 1 : n->device; /* the one seen last comes first */

		if (k < n->n_devices && n->devices[k].process == w->process && n->devices[k].device == w->device) {
			n->device = k;
			return;
		}
	}
	if (n->n_devices >= DEVICES_MOST)
		return;
	if (array_room(n->devices, n->n_devices, n->cap_devices))
		n->devices[n->n_devices++] = (struct nsys_device){ w->process, w->device, pid, -1 };
	else
		n->no_memory = true;
}

/* Where both times are 0, CUPTI could not tell them. */
static bool take_common(struct nsys *n, const struct nsys_rows *r, struct import_work *w)
{
	uint64_t pid = nsys_row_pid(n, r, KERNEL_globalPid);

	*w = (struct import_work){
		.place = nsys_rows_place(r),
		.begin_ns = nsys_rows_int(r, KERNEL_start, 0),
		.end_ns = nsys_rows_int(r, KERNEL_end, INT64_MIN),
		.process = nsys_process_number(n, pid),
		.device = nsys_device(r, KERNEL_deviceId),
		.context = nsys_context(r, KERNEL_contextId),
		.stream = nsys_stream(r, KERNEL_streamId),
		.correlation = (uint64_t)nsys_rows_int(r, KERNEL_correlationId, 0),
		.node = (uint64_t)nsys_rows_int(r, KERNEL_graphNodeId, 0),
	};
	if (!w->begin_ns && !w->end_ns)
		w->end_ns = INT64_MIN;
	if (w->process != UINT32_MAX && w->device != IMPORT_NO_DEVICE)
		see_device(n, pid, w);
	nsys_context_see(n, pid, w->context, w->device);
	return w->process != UINT32_MAX;
}

static void take_kernel(struct nsys *n, const struct nsys_rows *r, struct import_work *w)
{
	w->kind = GST_ACTIVITY_KERNEL;
	w->name = nsys_row_name(n, r, KERNEL_demangledName);
	if (!w->name)
		w->name = nsys_row_name(n, r, KERNEL_mangledName);
	if (!w->name)
		w->name = nsys_row_name(n, r, KERNEL_shortName);
}

static void take_copy(struct nsys *n, const struct nsys_rows *r, struct import_work *w)
{
	int64_t kind = nsys_rows_int(r, MEMCPY_copyKind, 0);

	w->kind = GST_ACTIVITY_COPY;
	w->copy = copy_kind(r);
	w->bytes = (uint64_t)nsys_rows_int(r, MEMCPY_bytes, 0);
	if (kind >= UVM_HTOD && kind <= UVM_DTOD) {
		w->stream = IMPORT_NO_STREAM;
		w->context = w->correlation = 0;
		n->moved_pages = true;
	}
}

static void take_memset(struct nsys *n, const struct nsys_rows *r, struct import_work *w)
{
	(void)n;
	w->kind = GST_ACTIVITY_MEMSET;
	w->bytes = (uint64_t)nsys_rows_int(r, MEMSET_bytes, 0);
}

static void take_decompress(struct nsys *n, const struct nsys_rows *r, struct import_work *w)
{
	(void)n;
	w->kind = GST_ACTIVITY_COPY;
	w->copy = GST_COPY_D2D;
	w->bytes = (uint64_t)nsys_rows_int(r, DECOMPRESS_sourceBytes, 0);
}

static void take_graph(struct nsys *n, const struct nsys_rows *r, struct import_work *w)
{
	(void)n;
	(void)r;
	w->kind = GST_ACTIVITY_GRAPH;
}

void nsys_device_work(struct nsys *n)
{
	static const struct {
		enum nsys_table table;
		void (*take)(struct nsys *n, const struct nsys_rows *r, struct import_work *w);
	} kinds[] = {
		{ NSYS_KERNEL, take_kernel },         { NSYS_MEMCPY, take_copy }, { NSYS_MEMSET, take_memset },
		{ NSYS_DECOMPRESS, take_decompress }, { NSYS_GRAPH, take_graph },
	};
	struct import_work w;
	struct nsys_rows r;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		int64_t last_ns = INT64_MIN;

		if (!nsys_rows_begin(&r, &n->file, kinds[i].table)) {
			if (n->file.there[kinds[i].table])
				import_cut(n->b, last_ns);
			continue;
		}
		while (nsys_next(n, &r) && take_common(n, &r, &w)) {
			kinds[i].take(n, &r, &w);
			import_work(n->b, &w);
			last_ns = w.end_ns > last_ns ? w.end_ns : last_ns;
		}
		/* Rows are in the order of their begin: what is missing begins behind all that is there, which ends when it does. */
		if (r.damaged)
			import_cut(n->b, last_ns);
		nsys_rows_close(&r);
	}
}

/* ---- devices --------------------------------------------------------------------------------------------------------------- */

/* A process may number devices its own way (CUDA_VISIBLE_DEVICES). */
static void map_devices(struct nsys *n)
{
	struct nsys_rows r;

	if (!nsys_rows_begin(&r, &n->file, NSYS_CUDA_DEVICE))
		return;
	while (r.n < GPUS_MOST && nsys_next(n, &r)) {
		uint64_t pid = (uint64_t)nsys_rows_int(&r, CUDA_DEVICE_pid, 0);

		for (size_t i = 0; i < n->n_devices; i++)
			if (n->devices[i].device == nsys_device(&r, CUDA_DEVICE_cudaId) &&
			    (n->devices[i].pid == pid || n->devices[i].pid == nsys_pid(pid)))
				n->devices[i].gpu = nsys_rows_int(&r, CUDA_DEVICE_gpuId, -1);
	}
	nsys_rows_close(&r);
}

/* "110bc05b-778a-a2aa-f210-230b5a8ea938", "GPU-…"; zero where it is none. */
static void parse_uuid(uint8_t uuid[16], struct import_text text)
{
	size_t digits = 0;

	for (size_t i = text.bytes > 4 && text.at[3] == '-' ? 4 : 0; i < text.bytes && digits < 32; i++) {
		char c = (char)tolower((unsigned char)text.at[i]);

		if (c == '-')
			continue;
		if (!isxdigit((unsigned char)c))
			break;
		uuid[digits / 2] = (uint8_t)(uuid[digits / 2] << 4 | (c <= '9' ? c - '0' : c - 'a' + 10));
		digits++;
	}
	for (size_t i = 0; digits < 32 && i < 16; i++)
		uuid[i] = 0;
}

/* Without a word on how the process numbers them, CUDA's own numbers where Nsight ran count, and before those its list's. */
static bool is_gpu(const struct nsys_device *d, const struct nsys_rows *r)
{
	int64_t id = nsys_rows_int(r, GPU_id, -1);

	if (d->gpu >= 0)
		return d->gpu == id;
	return (int64_t)d->device == nsys_rows_int(r, GPU_cuDevice, id);
}

static bool lists_several(struct nsys *n)
{
	struct nsys_rows r;
	bool several;

	if (!nsys_rows_begin(&r, &n->file, NSYS_GPU))
		return false;
	several = nsys_rows_next(&r) && nsys_rows_next(&r);
	nsys_rows_close(&r);
	return several;
}

/* GPUs of one machine are mostly alike, so a guess has a name and a size, but it is no word on which of several it is: processes that each
 * see one all call theirs 0. */
static void say_device(struct nsys *n, const struct nsys_device *which, struct import_device d, bool several)
{
	d.process = which->process;
	d.device = which->device;
	if (several && which->gpu < 0)
		memset(d.uuid, 0, sizeof(d.uuid));
	import_device(n->b, &d);
}

void nsys_devices(struct nsys *n)
{
	bool several = lists_several(n);
	struct nsys_rows r;

	map_devices(n);
	if (!nsys_rows_begin(&r, &n->file, NSYS_GPU))
		return;
	while (r.n < GPUS_MOST && nsys_next(n, &r)) {
		struct import_device d = { .memory_bytes = (uint64_t)nsys_rows_int(&r, GPU_totalMemory, 0) };

		parse_uuid(d.uuid, nsys_rows_text(&r, GPU_uuid));
		d.name = nsys_rows_text(&r, GPU_name);
		for (size_t i = 0; i < n->n_devices; i++)
			if (is_gpu(&n->devices[i], &r))
				say_device(n, &n->devices[i], d, several);
	}
	nsys_rows_close(&r);
}
