/* SPDX-License-Identifier: BSD-2-Clause */
#include "stack_object_record.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "glibc.h"
#include "ring.h"
#include "stack_memory.h"
#include "stack_objects.h"

static struct { /* too large for a stack that may be small */
	size_t bytes;
	char path[PATH_MAX], name[PATH_MAX];
} spelling;

/* Its entry is the same after its name was read: then it is its name. */
static bool read_name(const struct stack_object *o)
{
	const struct link_map *known = &o->entry.map;
	struct link_map now;

	return stack_read_text(spelling.name, (uintptr_t)known->l_name, sizeof(spelling.name)) &&
	       stack_read(&now, o->entry.at, sizeof(now)) && now.l_name == known->l_name &&
	       now.l_addr == known->l_addr && now.l_ld == known->l_ld;
}

/* As the loader has it; the program's own name it does not have. Relative where it was loaded so, from the directory of then. */
static void spell(const struct stack_object *o)
{
	const char *name = spelling.name;
	ssize_t n = 0;

	if (o->is_program && !*name)
		n = syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", spelling.path, sizeof(spelling.path) - 1);
	else if (o->is_kernels && !*name)
		name = "linux-vdso.so.1";
	if (*name && *name != '/' && strchr(name, '/') && getcwd(spelling.path, sizeof(spelling.path) / 2)) {
		n = (ssize_t)strlen(spelling.path);
		spelling.path[n++] = '/';
	}
	spelling.bytes = n > 0 ? (size_t)n : 0;
	n = (ssize_t)strnlen(name, sizeof(spelling.path) - 1 - spelling.bytes);
	memcpy(spelling.path + spelling.bytes, name, (size_t)n);
	spelling.bytes += (size_t)n;
	spelling.path[spelling.bytes] = 0;
}

static void describe_file(struct gst_object *record)
{
	struct stat st;

	if (glibc_stat(spelling.path, &st) == 0) {
		record->file_bytes = (uint64_t)st.st_size;
		record->file_mtime_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
	} else {
		record->flags |= GST_OBJECT_GONE;
	}
}

bool stack_object_write(struct ring *r, const struct stack_object *o, uint32_t id)
{
	struct gst_object *record;

	if (!read_name(o))
		return false;
	spell(o);
	record = ring_reserve(r, GST_OBJECT, (uint16_t)((sizeof(*record) + spelling.bytes + 7) & ~7ull));
	if (!record)
		return true;
	record->id = id;
	record->path_bytes = (uint16_t)spelling.bytes;
	record->bias = o->bias;
	record->begin = o->begin;
	record->end = o->end;
	memcpy(record->build_id, o->build_id, sizeof(o->build_id));
	record->build_id_bytes = o->build_id_bytes;
	memcpy(record->path, spelling.path, spelling.bytes);
	if (o->is_program)
		record->flags |= GST_OBJECT_PROGRAM;
	if (o->is_kernels)
		record->flags |= GST_OBJECT_VDSO;
	else
		describe_file(record);
	ring_commit(record);
	return true;
}
