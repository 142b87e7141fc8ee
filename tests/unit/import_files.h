/* SPDX-License-Identifier: BSD-2-Clause */
/* import_files.h: a folder of small files as other tools leave them, whole, packed, cut or something else. In JSON ' stands for ". */
#pragma once

#include <fcntl.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "tests/support/gst_text.h"

static char folder[] = "/tmp/test_import.XXXXXX";

static inline char *in_folder(const char *name)
{
	static char paths[4][512]; /* so many are in use at a time */
	static unsigned turn;
	char *path = paths[turn++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	return path;
}

static inline int folder_begin(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(folder));
	return 0;
}

static inline int folder_empty(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "find %s -mindepth 1 -delete", folder);
	return system(command);
}

static inline int folder_end(void **state)
{
	return folder_empty(state) ? -1 : rmdir(folder);
}

static inline void put_bytes(const char *name, const void *bytes, size_t n)
{
	int fd = open(in_folder(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0 && write(fd, bytes, n) == (ssize_t)n);
	close(fd);
}

static inline char *of_quotes(const char *json)
{
	char *text = strdup(json);

	assert_non_null(text);
	for (char *p = text; *p; p++)
		if (*p == '\'')
			*p = '"';
	return text;
}

static inline void put_json(const char *name, const char *json)
{
	char *text = of_quotes(json);

	put_bytes(name, text, strlen(text));
	free(text);
}

static inline void put_packed(const char *name, const char *json)
{
	char *text = of_quotes(json);
	gzFile file = gzopen(in_folder(name), "wb");

	assert_non_null(file);
	assert_int_equal(gzwrite(file, text, (unsigned)strlen(text)), (int)strlen(text));
	assert_int_equal(gzclose(file), Z_OK);
	free(text);
}

static inline void put_sql(const char *name, const char *sql)
{
	sqlite3 *db;
	char *why = NULL;

	assert_int_equal(sqlite3_open_v2(in_folder(name), &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
		fail_msg("%s", why);
	sqlite3_close(db);
}

/* One process's recording of our own. */
static inline void put_gst(const char *name, const char *text)
{
	struct gst_text t;
	char error[256];

	if (!gst_text_parse(&t, text, error))
		fail_msg("%s", error);
	assert_int_equal(t.n, 1);
	put_bytes(name, t.files[0].image.bytes, t.files[0].image.len);
	gst_text_free(&t);
}

static inline void cut_file(const char *name, size_t bytes)
{
	assert_int_equal(truncate(in_folder(name), (off_t)bytes), 0);
}

/* A process that launches kernel(begin ns) and waits for it. */
#define KINETO_EVENTS(pid, us)                                                                                                              \
	"{'ph':'X','cat':'cuda_runtime','name':'cudaLaunchKernel','pid':" #pid ",'tid':" #pid ",'ts':" #us ",'dur':2,'args':{'correlation':1}}," \
	"{'ph':'X','cat':'kernel','name':'gemm','pid':0,'tid':7,'ts':" #us ".5,'dur':3,'args':{'device':0,'context':1,'stream':7,'correlation':1}}"
#define KINETO(pid, us) "{'schemaVersion':1,'traceEvents':[" KINETO_EVENTS(pid, us) "]}"
#define KINETO_RANK(rank, pid, us)                                                                                                        \
	"{'schemaVersion':1,'distributedInfo':{'backend':'nccl','rank':" #rank ",'world_size':2},'traceEvents':[" KINETO_EVENTS(pid, us) "]}"
#define NSYS                                                                                                                              \
	"CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"                                                                    \
	"INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'gemm');"                                                        \
	"CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER);" \
	"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1000, 3000, 100 << 24 | 100, 1, 1), (9000, 9500, 101 << 24 | 101, 2, 1);"          \
	"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER, "  \
	"globalPid INTEGER, demangledName INTEGER);"                                                                                      \
	"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (4000, 5000, 0, 7, 1, 100 << 24, 2), (10000, 10400, 1, 7, 2, 101 << 24, 2);"
#define GST "process 5 end=3ms\nthread 5 main\ndevice 0\nstream 1\nlaunch t=1ms..2ms stream=1 seq=1 kernel=k\n"
