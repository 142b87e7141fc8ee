/* SPDX-License-Identifier: BSD-2-Clause */
/* import_nsys_about.c: of the recording as a whole: when and where it was made, the names of processes and threads. */
#include <string.h>

#include "import_nsys_parts.h"

#define COMMAND_MOST 4096

/* ---- the session ----------------------------------------------------------------------------------------------------------- */

void nsys_session(struct nsys *n)
{
	struct nsys_rows r;

	if (nsys_rows_begin(&r, &n->file, NSYS_SESSION)) {
		if (nsys_rows_next(&r))
			import_epoch(n->b, nsys_rows_int(&r, SESSION_utcEpochNs, 0));
		nsys_rows_close(&r);
	}
	if (!nsys_rows_begin(&r, &n->file, NSYS_SYSTEM))
		return;
	while (nsys_next(n, &r))
		if (nsys_is(nsys_rows_text(&r, SYSTEM_name), "Hostname")) {
			import_host(n->b, nsys_rows_text(&r, SYSTEM_value));
			break;
		}
	nsys_rows_close(&r);
}

/* ---- names ----------------------------------------------------------------------------------------------------------------- */

static struct import_text base_of(struct import_text path)
{
	for (size_t i = path.bytes; i-- > 0;)
		if (path.at[i] == '/')
			return (struct import_text){ path.at + i + 1, path.bytes - i - 1 };
	return path;
}

/* What Nsight was told to start, with its arguments; 0 bytes where it is not there. They stand in their order. */
static size_t command_line(struct nsys *n, char command[COMMAND_MOST])
{
	struct nsys_rows r;
	size_t used = 0;

	if (!nsys_rows_begin(&r, &n->file, NSYS_CAPTURE))
		return 0;
	while (nsys_next(n, &r)) {
		struct import_text name = nsys_rows_text(&r, CAPTURE_name), word;
		bool first = nsys_is(name, "PROCESS_0:COMMAND");

		if (!first && !nsys_begins(name, "PROCESS_0:ARGUMENT_"))
			continue;
		word = nsys_rows_text(&r, CAPTURE_value);
		if (first != (used == 0) || used + word.bytes + 1 > COMMAND_MOST)
			continue;
		if (used)
			command[used++] = ' ';
		memcpy(command + used, word.at, word.bytes);
		used += word.bytes;
	}
	nsys_rows_close(&r);
	return used;
}

/* Of several processes nobody knows which one was started with the arguments. */
static bool one_works(const struct nsys *n)
{
	size_t working = 0;

	for (size_t i = 0; i < n->n_processes; i++)
		working += n->processes[i].works;
	return working == 1;
}

/* The command is that of the process it names. */
static struct import_text command_of(struct import_text name, struct import_text command)
{
	size_t program = 0;
	struct import_text base;

	while (program < command.bytes && command.at[program] != ' ')
		program++;
	base = base_of((struct import_text){ command.at, program });
	name = base_of(name);
	return program && base.bytes == name.bytes && memcmp(base.at, name.at, base.bytes) == 0
		       ? command
		       : (struct import_text){ "", 0 };
}

void nsys_people(struct nsys *n)
{
	char line[COMMAND_MOST];
	struct import_text command = { line, one_works(n) ? command_line(n, line) : 0 };
	struct nsys_rows r;
	struct nsys_process *p;

	if (nsys_rows_begin(&r, &n->file, NSYS_PROCESSES)) {
		while (nsys_next(n, &r)) {
			struct import_text name = nsys_rows_text(&r, PROCESSES_name), whole = command_of(name, command);

			p = nsys_process(n, nsys_row_pid(n, &r, PROCESSES_globalPid), false);
			if (p)
				import_command(n->b, p->number, whole.bytes ? whole : name);
		}
		nsys_rows_close(&r);
	}
	if (!nsys_rows_begin(&r, &n->file, NSYS_THREADS))
		return;
	while (nsys_next(n, &r)) {
		p = nsys_process(n, nsys_row_pid(n, &r, THREADS_globalTid), false);
		if (p)
			import_thread(n->b, p->number, nsys_tid((uint64_t)nsys_rows_int(&r, THREADS_globalTid, 0)),
				      nsys_text(n, nsys_rows_int(&r, THREADS_nameId, -1)));
	}
	nsys_rows_close(&r);
}
