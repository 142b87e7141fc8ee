/* SPDX-License-Identifier: BSD-2-Clause */
/* gst_write TEXT DIRECTORY: hand-written events (tests/support/gst_text.h) -> one .gst file for each process in them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/gst_text.h"

static char *read_all(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text = NULL;
	size_t n = 0, cap = 0;

	if (!f)
		return NULL;
	do {
		if (n + 4096 > cap)
			text = realloc(text, cap = cap * 2 + 8192);
		if (!text)
			break;
		n += fread(text + n, 1, 4096, f);
	} while (!feof(f) && !ferror(f));
	fclose(f);
	if (text)
		text[n] = '\0';
	return text;
}

static int write_file(const char *dir, const struct gst_text_file *file)
{
	char path[4096];
	FILE *f;
	size_t done;

	snprintf(path, sizeof(path), "%s/%s", dir, file->name);
	f = fopen(path, "w");
	if (!f)
		return -1;
	done = fwrite(file->image.bytes, 1, file->image.len, f);
	return fclose(f) == 0 && done == file->image.len ? 0 : -1;
}

int main(int argc, char **argv)
{
	struct gst_text text;
	char error[256], *source;

	if (argc != 3) {
		fprintf(stderr, "usage: gst_write TEXT DIRECTORY\n");
		return 2;
	}
	source = read_all(argv[1]);
	if (!source || !gst_text_parse(&text, source, error)) {
		fprintf(stderr, "gst_write: %s: %s\n", argv[1], source ? error : "cannot read");
		return 3;
	}
	mkdir(argv[2], 0700);
	for (size_t i = 0; i < text.n; i++) {
		if (write_file(argv[2], &text.files[i]) < 0) {
			perror(text.files[i].name);
			return 4;
		}
	}
	gst_text_free(&text);
	free(source);
	return 0;
}
