/* SPDX-License-Identifier: BSD-2-Clause */
/* doctor_record.c: what a recording needs at all: the recorder, and a directory to write to; and what stacks need. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "doctor_check.h"
#include "tools/text.h"

#define LIMIT (2ull << 30)     /* GPUSHIM_LIMIT where it is not set */
#define LEAST (1300ull * 1000) /* its smallest value: a file's first segments */

void check_recorder(const struct doctor_machine *m, struct doctor_row *row)
{
	const char *given = m->env("GPUSHIM_LIBRARY");
	char clean[400];

	row->needed = true;
	if (m->recorder[0]) {
		row_fact(row, DOCTOR_OK, "%s", text_clean(clean, sizeof(clean), m->recorder, 380));
		return;
	}
	if (given && *given)
		row_fact(row, DOCTOR_MISSING, "GPUSHIM_LIBRARY is %s, which cannot be read",
			 text_clean(clean, sizeof(clean), given, 300));
	else
		row_fact(row, DOCTOR_MISSING, "libgpushim.so is neither beside gpushim nor in ../lib");
	row_means(row, "`gpushim run` cannot record");
	row_command(row, given && *given ? "unset GPUSHIM_LIBRARY" : "export GPUSHIM_LIBRARY=/path/to/libgpushim.so");
}

/* ---- the run directory ------------------------------------------------------------------------------ */

static const struct file_system {
	const char *name;
	uint64_t type;
	bool network;
} file_systems[] = {
#define NETWORK_FS(name, type) { name, type, true },
#include "shim/network_fs.def"
#undef NETWORK_FS
	{ "ext4", 0xef53, false },         { "xfs", 0x58465342, false },      { "btrfs", 0x9123683e, false },
	{ "tmpfs", 0x01021994, false },    { "ramfs", 0x858458f6, false },    { "overlay", 0x794c7630, false },
	{ "zfs", 0x2fc12fc1, false },      { "f2fs", 0xf2f52010, false },     { "proc", 0x9fa0, false },
	{ "squashfs", 0x73717368, false }, { "bcachefs", 0xca451a4e, false },
};

static const struct file_system *file_system(uint64_t type)
{
	for (size_t i = 0; i < sizeof(file_systems) / sizeof(file_systems[0]); i++)
		if (file_systems[i].type == (type & UINT32_MAX))
			return &file_systems[i];
	return NULL;
}

static void describe_place(struct doctor_row *row, const struct doctor_machine *m)
{
	const struct file_system *fs = file_system(m->place.type);
	uint64_t free_bytes = m->place.free_bytes;
	char clean[300], room[TEXT_SHORT];

	text_clean(clean, sizeof(clean), m->place.dir, 280);
	text_bytes(room, free_bytes);
	row_fact(row, DOCTOR_OK, "%s: %s, %s free, may be written to and mapped", clean,
		 fs ? fs->name : "a local file system", room);
	if (free_bytes < LEAST) {
		row_fact(row, DOCTOR_MISSING, "%s: %s free", clean, room);
		row_means(row, "that is no room for a file's beginning");
		row_command(row, "export GPUSHIM_OUT=/dir/with/more/room");
	} else if (fs && fs->network) {
		row->state = DOCTOR_LIMITED;
		row_means(
			row,
			"recording there would make the program wait for a server: traces are written to a local directory and moved at the end; "
			"one of a killed program stays local");
		row_command(row, "export GPUSHIM_OUT=/local/dir/gpushim-out");
	} else if (free_bytes < LIMIT && !m->env("GPUSHIM_LIMIT")) {
		row->state = DOCTOR_LIMITED;
		row_means(row, "a process may write 2 GiB; on a full disk the oldest records are given up");
		row_command(row, "export GPUSHIM_LIMIT=%lluM",
			    (unsigned long long)(free_bytes / 2 >> 20 ? free_bytes / 2 >> 20 : 2));
	} else if (fs && (fs->type == 0x01021994 || fs->type == 0x858458f6)) {
		row_means(row, "it is in memory: what is recorded counts as the program's, in its memory group");
	}
}

void check_place(const struct doctor_machine *m, struct doctor_row *row)
{
	char clean[300], words[128];

	row->needed = true;
	text_clean(clean, sizeof(clean), m->place.dir, 280);
	if (m->write.done && !m->write.error && m->place.stat_done) {
		describe_place(row, m);
		return;
	}
	row_fact(row, DOCTOR_MISSING, "%s: %s %s", clean, m->place.step ? m->place.step : "the trial",
		 trial_words(words, &m->write));
	row_means(row, "nothing can be recorded there");
	row_command(row, "export GPUSHIM_OUT=/tmp/gpushim-out");
}

/* ---- stacks ----------------------------------------------------------------------------------------- */

void check_stacks(const struct doctor_machine *m, struct doctor_row *row)
{
	const char *setting = m->env("GPUSHIM_STACKS");
	char words[128];

	if (setting && strcmp(setting, "off") == 0) {
		row_fact(row, DOCTOR_LIMITED, "GPUSHIM_STACKS=off");
		row_means(row, "no gap is explained by a line of code");
		row_command(row, "unset GPUSHIM_STACKS");
	} else if (m->memory.done && !m->memory.error) {
		row_fact(row, DOCTOR_OK, "process_vm_readv of our own memory works");
		row_means(row, "by unwinding tables and frame pointers; no libunwind is needed");
	} else {
		row_fact(row, DOCTOR_LIMITED, "process_vm_readv of our own memory %s", trial_words(words, &m->memory));
		row_means(row, "no stacks: what holds the device up is not named by line");
		row_container_command(row, m, false, true);
	}
}

#define OLDEST 11 /* CPython 3.11 to 3.13 (shim/stack_python.c) */
#define NEWEST 13

/* "python3.12" or what leads there; 0: none that tells. */
static unsigned minor_of(const struct doctor_machine *m, const char *folder, const char *name)
{
	char path[PATH_MAX], real[PATH_MAX];
	unsigned minor = 0;
	int end = 0;

	if (sscanf(name, "python3.%u%n", &minor, &end) == 1 && !name[end])
		return minor;
	if (strcmp(name, "python3") != 0 && strcmp(name, "python") != 0)
		return 0;
	if (snprintf(path, sizeof(path), "%s%s/%s", m->root, folder, name) >= (int)sizeof(path) ||
	    !realpath(path, real))
		return 0;
	name = strrchr(real, '/') + 1;
	end = 0;
	return sscanf(name, "python3.%u%n", &minor, &end) == 1 && !name[end] ? minor : 0;
}

/* Bits of the minor versions in that folder. */
static uint64_t versions_in(const struct doctor_machine *m, const char *folder)
{
	char path[PATH_MAX];
	struct dirent *entry;
	uint64_t found = 0;
	DIR *dir;

	if (snprintf(path, sizeof(path), "%s%s", m->root, folder) >= (int)sizeof(path) || !(dir = opendir(path)))
		return 0;
	while ((entry = readdir(dir))) {
		unsigned minor = strncmp(entry->d_name, "python", 6) == 0 ? minor_of(m, folder, entry->d_name) : 0;

		found |= minor < 64 ? 1ull << minor : 0;
	}
	closedir(dir);
	return found & ~1ull;
}

void check_python(const struct doctor_machine *m, struct doctor_row *row)
{
	const char *given = m->env("PATH");
	char path[8192], list[128] = "";
	uint64_t found = 0, good = 0;

	snprintf(path, sizeof(path), "%s", given ? given : "");
	for (char *rest = path, *folder; (folder = strsep(&rest, ":"));)
		if (*folder == '/')
			found |= versions_in(m, folder);
	for (unsigned minor = OLDEST; minor <= NEWEST; minor++)
		good |= found & 1ull << minor;
	for (unsigned minor = 1; minor < 64; minor++)
		if (found >> minor & 1 && strlen(list) < sizeof(list) - 8)
			sprintf(list + strlen(list), "%s3.%u", *list ? ", " : "", minor);
	if (!found) {
		row_fact(row, DOCTOR_OK, "none found in PATH");
		row_means(row, "stacks have Python's frames of CPython 3.%d to 3.%d", OLDEST, NEWEST);
	} else if (found == good) {
		row_fact(row, DOCTOR_OK, "%s in PATH", list);
		row_means(row, "stacks have its frames");
	} else {
		row_fact(row, DOCTOR_LIMITED, "%s in PATH", list);
		row_means(row, "stacks have Python's frames of CPython 3.%d to 3.%d; of others the native frames alone",
			  OLDEST, NEWEST);
	}
}
