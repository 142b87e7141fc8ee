/* SPDX-License-Identifier: BSD-2-Clause */
/* Any words on a command line, with a zero byte between them: what is accepted is within its limits and points at a word that was
 * given, what is refused is said in a line of text, and no word gets lost. The first byte says whether options end at the first word
 * that is none. */
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "tools/options.h"

#define WORDS_MAX 40

struct values {
	bool flag;
	size_t few, any;
	const char *text, *word;
	int run;
};

static const struct option_row rows[] = {
	{ "flag", 'f', OPT_FLAG, offsetof(struct values, flag), NULL, "a flag", 0, 0 },
	{ "few", 'n', OPT_COUNT, offsetof(struct values, few), "N", "a number from 3 to 9", 3, 9 },
	{ "few-or-many", 0, OPT_COUNT, offsetof(struct values, any), "N", "a number", 0, OPTION_ANY },
	{ "text", 't', OPT_TEXT, offsetof(struct values, text), "TEXT", "a text", 0, 0 },
	{ "word", 'w', OPT_WORD, offsetof(struct values, word), "auto|off|require", "a word", 0, 0 },
	{ "run", 'r', OPT_RUN, offsetof(struct values, run), "N|all", "a run", 0, 0 },
};

static bool is_given(char *const words[], int n, const char *text)
{
	for (int i = 0; i < n; i++)
		if (text >= words[i] && text <= words[i] + strlen(words[i]))
			return true;
	return false;
}

static void check_values(const struct values *v, char *const words[], int n)
{
	require(v->few >= 3 && v->few <= 9 && v->any <= OPTION_ANY);
	require(v->run >= OPTION_RUN_ALL);
	require(!v->text || is_given(words, n, v->text));
	require(!v->word || strcmp(v->word, "auto") == 0 || strcmp(v->word, "off") == 0 ||
		strcmp(v->word, "require") == 0);
}

/* The words are the same ones, if in another order. */
static void check_words(char *const before[], char *const after[], int n)
{
	for (int i = 0; i < n; i++) {
		int found = 0;

		for (int k = 0; k < n; k++)
			found += after[k] == before[i];
		require(found == 1);
	}
}

static void check_error(const struct error *e)
{
	require(e->text[0] && memchr(e->text, 0, sizeof(e->text)));
	for (const char *p = e->text; *p; p++)
		require((unsigned char)*p >= ' ');
}

/* Of those that exclude each other only one has been given. */
static void check_alone(const struct values *v)
{
	require((v->text != NULL) + (v->word != NULL) + (v->any != 0) <= 1);
}

static void parse(bool ends, int n, char *words[])
{
	const struct option_set set = {
		.usage = "PATH... [options]",
		.rows = rows,
		.n_rows = sizeof(rows) / sizeof(rows[0]),
		.min_paths = 1,
		.max_paths = 3,
		.ends = ends,
		.alone = "few-or-many text word",
	};
	struct values v = { .few = 5, .run = OPTION_RUN_LAST };
	char *before[WORDS_MAX + 1], help[4096];
	int first = 0, wants_help = 0;
	struct error e;

	memcpy(before, words, sizeof(before));
	if (options_parse(&set, n, words, &v, &first, &wants_help, &e) != ERR_NONE) {
		check_error(&e);
	} else if (wants_help) {
		options_help(&set, "fuzz", help, sizeof(help));
		require(strstr(help, "--few-or-many") != NULL);
	} else {
		require(first >= 1 && first < n && (ends || n - first <= 3));
		check_values(&v, before, n);
		check_alone(&v);
	}
	check_words(before, words, n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *copy = malloc(len + 1), *words[WORDS_MAX + 1] = { (char[]){ "fuzz" } };
	int n = 1;

	if (!copy || !len) {
		free(copy);
		return 0;
	}
	memcpy(copy, data, len);
	copy[len] = 0;
	for (char *at = copy + 1; at < copy + len && n < WORDS_MAX; at += strlen(at) + 1)
		words[n++] = at;
	parse(copy[0] & 1, n, words);
	free(copy);
	return 0;
}
