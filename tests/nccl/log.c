/* SPDX-License-Identifier: BSD-2-Clause */
#include "log.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { LINE_BYTES = 768 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int file = -1;
static __thread int depth; /* of public calls */

static void open_log(void)
{
	const char *name = getenv("NCCL_STANDIN_LOG"), *pid = name ? strstr(name, "%p") : NULL;
	char path[512];

	if (!name || !*name)
		return;
	if (pid)
		snprintf(path, sizeof(path), "%.*s%d%s", (int)(pid - name), name, (int)getpid(), pid + 2);
	else
		snprintf(path, sizeof(path), "%s", name);
	file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void put(const char *line, int length)
{
	if (length > 0 && length < LINE_BYTES && write(file, line, (size_t)length) != length) {
		close(file);
		file = -1; /* half a log is worse than none: the tests miss its end */
	}
}

struct log_call log_begin(const char *name, const struct ncclComm *comm)
{
	struct log_call call = { .name = name,
				 .inner = depth++ > 0,
				 .group = group_place(),
				 .comm = comm,
				 .sequence = -1,
				 .op = -1,
				 .peer = -1 };

	pthread_once(&once, open_log);
	if (comm && comm->magic == COMM_MAGIC) {
		call.hash = comm->hash;
		call.rank = comm->rank;
		call.nranks = comm->nranks;
	}
	call.begin_ns = now_ns();
	return call;
}

static int put_number(char *line, int used, const char *name, long long value)
{
	return used + (value < 0 ? snprintf(line + used, LINE_BYTES - (size_t)used, ",\"%s\":null", name)
				 : snprintf(line + used, LINE_BYTES - (size_t)used, ",\"%s\":%lld", name, value));
}

/* -1: of no known type. */
static long long bytes_of(const struct log_call *call)
{
	if ((unsigned)call->type >= ncclNumTypes)
		return -1;
	return (long long)(call->count * type_bytes((ncclDataType_t)call->type));
}

ncclResult_t log_end(struct log_call *call, ncclResult_t result)
{
	const uint64_t end_ns = now_ns();
	char line[LINE_BYTES];
	int used;

	depth--;
	if (file < 0)
		return result;
	used = snprintf(
		line, sizeof(line),
		"{\"call\":\"%s\",\"inner\":%s,\"comm\":\"%016llx\",\"rank\":%d,\"nranks\":%d,\"group\":%llu,\"depth\":%d,"
		"\"begin_ns\":%llu,\"end_ns\":%llu,\"thread\":%ld,\"result\":%d",
		call->name, call->inner ? "true" : "false", (unsigned long long)call->hash, call->rank, call->nranks,
		(unsigned long long)call->group.number, call->group.depth, (unsigned long long)call->begin_ns,
		(unsigned long long)end_ns, syscall(SYS_gettid), (int)result);
	if (call->moves) {
		used = put_number(line, used, "seq", call->sequence);
		used = put_number(line, used, "count", (long long)call->count);
		used = put_number(line, used, "bytes", bytes_of(call));
		used = put_number(line, used, "type", call->type);
		used = put_number(line, used, "op", call->op);
		used = put_number(line, used, "peer", call->peer);
		used = put_number(line, used, "stream", (long long)(uintptr_t)call->stream);
	}
	used += snprintf(line + used, LINE_BYTES - (size_t)used, "}\n");
	put(line, used);
	return result;
}

void log_kernel(const struct plan *plan, const char *name, CUstream stream)
{
	char line[LINE_BYTES];

	pthread_once(&once, open_log);
	if (file < 0)
		return;
	put(line,
	    snprintf(
		    line, sizeof(line),
		    "{\"kernel\":\"%s\",\"comm\":\"%016llx\",\"rank\":%d,\"calls\":%u,\"stream\":%llu,\"at_ns\":%llu,\"thread\":%ld}\n",
		    name, (unsigned long long)plan->comm->hash, plan->comm->rank, plan->count,
		    (unsigned long long)(uintptr_t)stream, (unsigned long long)now_ns(), syscall(SYS_gettid)));
}
