/* SPDX-License-Identifier: BSD-2-Clause */
/* import_nsys_warnings.c: what Nsight itself warns of, where it is about what is read here; and what it says it has lost. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "import_nsys_parts.h"

#define WARNING 2 /* ENUM_DIAGNOSTIC_SEVERITY_LEVEL: 2 and 3, an error */
#define ERROR 3
#define WARNING_MOST 200
#define WORDS_MOST 64  /* of a text that are looked at */
#define NEAR 4         /* words */
#define DIGITS_MOST 18 /* of a number, so that it fits; and commas */

/* Of what was traced not all is here. Nsight warns of much else: graphics, samples of the kernel, other versions … */
static bool matters(struct import_text text)
{
	static const char *const words[] = {
		"Not all",   "not all",        "ropped",
		"lost",      "Lost",           "overflow",
		"truncated", "No CUDA events", "CUDA profiling might",
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (memmem(text.at, text.bytes, words[i], strlen(words[i])))
			return true;
	return false;
}

/* ---- what is lost ---------------------------------------------------------------------------------------------------------- */

struct words {
	struct import_text at[WORDS_MOST];
	size_t n;
};

/* Is it the comma of "1,234"? */
static bool parts_thousands(struct import_text text, size_t begin, size_t comma)
{
	size_t end = comma + 1;

	if (text.at[comma] != ',' || comma == begin || comma - begin > DIGITS_MOST)
		return false;
	while (begin < comma && (isdigit((unsigned char)text.at[begin]) || text.at[begin] == ','))
		begin++;
	while (end < text.bytes && end - comma <= 4 && isdigit((unsigned char)text.at[end]))
		end++;
	return begin == comma && end - comma == 4;
}

static struct words words_of(struct import_text text)
{
	struct words w = { .n = 0 };

	for (size_t i = 0; i < text.bytes && w.n < WORDS_MOST; i++) {
		size_t begin = i;

		while (i < text.bytes && (isalnum((unsigned char)text.at[i]) || parts_thousands(text, begin, i)))
			i++;
		if (i > begin)
			w.at[w.n++] = (struct import_text){ text.at + begin, i - begin };
	}
	return w;
}

static bool is_gone(struct import_text word)
{
	return (word.bytes == 4 && strncasecmp(word.at, "lost", 4) == 0) ||
	       (word.bytes == 7 && strncasecmp(word.at, "dropped", 7) == 0);
}

static bool is_record(struct import_text word)
{
	static const char *const names[] = { "record", "event", "sample", "activit" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (word.bytes >= strlen(names[i]) && strncasecmp(word.at, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

static bool is_number(struct import_text word)
{
	size_t digits = 0;

	while (digits < word.bytes && (isdigit((unsigned char)word.at[digits]) || word.at[digits] == ','))
		digits++;
	return digits == word.bytes && digits <= DIGITS_MOST;
}

static uint64_t value_of(struct import_text number)
{
	uint64_t value = 0;

	for (size_t i = 0; i < number.bytes; i++)
		if (number.at[i] != ',')
			value = value * 10 + (uint64_t)(number.at[i] - '0');
	return value;
}

/* The word of that kind among the next ones of a number, none of which is another number; 0: none. */
static size_t ahead(const struct words *w, size_t i, bool (*is)(struct import_text word))
{
	for (size_t k = i + 1; k < w->n && k <= i + NEAR && !is_number(w->at[k]); k++)
		if (is(w->at[k]))
			return k;
	return 0;
}

/* Does a colon stand between the two words? */
static bool apart(const struct words *w, size_t first, size_t last)
{
	const char *end = w->at[first].at + w->at[first].bytes;

	return memchr(end, ':', (size_t)(w->at[last].at - end)) != NULL;
}

/* "12 CUDA events were dropped", "dropped 12 events"; not "process 12 lost events", "buffer 12 is full: events were lost". */
static bool counts_what_follows(const struct words *w, size_t i)
{
	size_t record = ahead(w, i, is_record), gone = ahead(w, i, is_gone);

	if (!record || (gone && gone < record) || apart(w, i, record))
		return false;
	return ahead(w, record, is_gone) || (i && is_gone(w->at[i - 1]));
}

/* "Number of dropped records: 12" */
static bool counts_what_precedes(const struct words *w, size_t i)
{
	bool record = false, gone = false;

	if (!i || !apart(w, i - 1, i))
		return false;
	for (size_t k = i; k-- > 0 && i - k <= NEAR && !is_number(w->at[k]);) {
		record |= is_record(w->at[k]);
		gone |= is_gone(w->at[k]);
	}
	return record && gone;
}

/* How many records, as the text says; 0: it says no number. */
static uint64_t lost(struct import_text text)
{
	struct words w = words_of(text);

	for (size_t i = 0; i < w.n; i++)
		if (is_number(w.at[i]) && (counts_what_follows(&w, i) || counts_what_precedes(&w, i)))
			return value_of(w.at[i]);
	return 0;
}

/* ---- warnings -------------------------------------------------------------------------------------------------------------- */

static void pass_on(struct nsys *n, struct import_text text)
{
	char line[WARNING_MOST + 1];
	size_t bytes = 0;

	while (bytes < text.bytes && bytes < WARNING_MOST && text.at[bytes] != '\n')
		bytes++;
	memcpy(line, text.at, bytes);
	while (bytes && isspace((unsigned char)line[bytes - 1]))
		bytes--;
	line[bytes] = '\0';
	import_warn(n->b, "Nsight Systems says: %s", line);
}

void nsys_warnings(struct nsys *n)
{
	struct nsys_rows r;

	if (n->moved_pages)
		import_warn(n->b, "pages of managed memory moved by themselves: they are shown as copies of no stream");
	if (!nsys_rows_begin(&r, &n->file, NSYS_DIAGNOSTIC))
		return;
	while (nsys_next(n, &r)) {
		int64_t severity = nsys_rows_int(&r, DIAGNOSTIC_severity, 0);
		struct import_text text = nsys_rows_text(&r, DIAGNOSTIC_text);
		uint64_t records = lost(text);
		uint64_t pid = nsys_row_pid(n, &r, DIAGNOSTIC_globalPid); /* 0: of the session, or of a machine */
		bool about = nsys_rows_null(&r, DIAGNOSTIC_globalPid) || !pid || !n->n_processes ||
			     nsys_process(n, pid, false);

		if (!about || (severity != WARNING && severity != ERROR) || !matters(text))
			continue;
		if (records)
			import_lost(n->b, records);
		pass_on(n, text);
	}
	nsys_rows_close(&r);
}
