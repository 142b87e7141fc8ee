/* SPDX-License-Identifier: BSD-2-Clause */
/* gst_write [--compact] TEXT DIRECTORY: hand-written events (tests/support/gst_text.h) -> one .gst file for each process in them;
 * --compact: in the form that the fuzzer takes (tests/support/gst_compact.h), named after the text's folder. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/gst_compact.h"
#include "tests/support/gst_text.h"

static char *read_all(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text = NULL;
	size_t n = 0, cap = 0;

	if (!f)
		return NULL;
	do {
		if (n + 4096 > cap) {
			char *more = realloc(text, cap = cap * 2 + 8192);

			if (!more) {
				free(text);
				text = NULL;
				break;
			}
			text = more;
		}
		n += fread(text + n, 1, 4096, f);
	} while (!feof(f) && !ferror(f));
	fclose(f);
	if (text)
		text[n] = '\0';
	return text;
}

static int write_file(const char *dir, const char *name, const void *bytes, size_t len)
{
	char path[4096];
	FILE *f;
	size_t done;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	if (!f)
		return -1;
	done = fwrite(bytes, 1, len, f);
	return fclose(f) == 0 && done == len ? 0 : -1;
}

static int write_compact(const char *dir, const char *source, const struct gst_text_file *file)
{
	char name[512], folder[256] = "";
	const char *end = strrchr(source, '/');
	uint8_t *bytes;
	size_t len = gst_compact(&bytes, &file->image);
	int rc;

	if (end) {
		const char *begin = end;

		while (begin > source && begin[-1] != '/')
			begin--;
		snprintf(folder, sizeof(folder), "%.*s", (int)(end - begin), begin);
	}
	snprintf(name, sizeof(name), "%s-%s", folder, file->name);
	rc = write_file(dir, name, bytes, len);
	free(bytes);
	return rc;
}

int main(int argc, char **argv)
{
	struct gst_text text;
	char error[256], *source;

	bool compact = argc > 1 && strcmp(argv[1], "--compact") == 0;

	argc -= compact;
	argv += compact;
	if (argc != 3) {
		fprintf(stderr, "usage: gst_write [--compact] TEXT DIRECTORY\n");
		return 2;
	}
	source = read_all(argv[1]);
	if (!source || !gst_text_parse(&text, source, error)) {
		fprintf(stderr, "gst_write: %s: %s\n", argv[1], source ? error : "cannot read");
		return 3;
	}
	mkdir(argv[2], 0700);
	for (size_t i = 0; i < text.n; i++) {
		const struct gst_text_file *file = &text.files[i];

		if ((compact ? write_compact(argv[2], argv[1], file)
			     : write_file(argv[2], file->name, file->image.bytes, file->image.len)) < 0) {
			perror(text.files[i].name);
			return 4;
		}
	}
	gst_text_free(&text);
	free(source);
	return 0;
}
