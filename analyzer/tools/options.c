/* SPDX-License-Identifier: BSD-2-Clause */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

#define ROWS_MAX 32
#define HELP_COLUMNS 80
#define HELP_LEFT 22   /* columns of an option's name */
#define FIRST_LONG 256 /* above every letter */

static enum err_kind usage_error(struct error *e, const char *command, const char *what, const char *name)
{
	char clean[96];

	return err_set(e, ERR_USAGE, NULL, ERR_NO_BYTE, "%s: %s %s", command, what,
		       text_clean(clean, sizeof(clean), name, 60));
}

static bool parse_count(const char *text, size_t min, size_t max, size_t *out)
{
	unsigned long long v;
	char *end;

	if (text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	v = strtoull(text, &end, 10);
	if (errno || *end || v < min || v > max)
		return false;
	*out = (size_t)v;
	return true;
}

static enum err_kind takes(struct error *e, const char *command, const struct option_row *row, const char *text)
{
	char clean[96], what[128] = "a number";

	if (row->type == OPT_RUN)
		strcpy(what, "a number, all or last");
	else if (row->type == OPT_WORD)
		snprintf(what, sizeof(what), "%s", row->value);
	else if (row->max < OPTION_ANY)
		snprintf(what, sizeof(what), "a number from %zu to %zu", row->min, row->max);
	return err_set(e, ERR_USAGE, NULL, ERR_NO_BYTE, "%s: --%s takes %s, not %s", command, row->name, what,
		       text_clean(clean, sizeof(clean), text, 60));
}

/* Is it one of "auto|off|require"? */
static bool is_word_of(const char *words, const char *text)
{
	size_t n = strcspn(text, "|");

	for (const char *at = words; n && !text[n] && at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL)
		if (strncmp(at, text, n) == 0 && (at[n] == '|' || !at[n]))
			return true;
	return false;
}

static enum err_kind set_value(const struct option_row *row, const char *text, void *values, const char *command,
			       struct error *e)
{
	char *at = (char *)values + row->offset;
	size_t n;

	switch (row->type) {
	case OPT_FLAG:
		*(bool *)at = true;
		return ERR_NONE;
	case OPT_TEXT:
		*(const char **)at = text;
		return ERR_NONE;
	case OPT_LIST:
		if (((struct option_list *)at)->n == OPTION_LIST)
			return usage_error(e, command, "too many of --", row->name);
		((struct option_list *)at)->at[((struct option_list *)at)->n++] = text;
		return ERR_NONE;
	case OPT_MAYBE:
		if (!text) {
			*(size_t *)at = OPTION_USUAL;
			return ERR_NONE;
		}
		/* fall through */
	case OPT_COUNT:
		if (parse_count(text, row->min, row->max, (size_t *)at))
			return ERR_NONE;
		break;
	case OPT_WORD:
		if (!is_word_of(row->value, text))
			break;
		*(const char **)at = text;
		return ERR_NONE;
	case OPT_RUN:
		if (strcmp(text, "all") == 0)
			*(int *)at = OPTION_RUN_ALL;
		else if (strcmp(text, "last") == 0)
			*(int *)at = OPTION_RUN_LAST;
		else if (parse_count(text, 0, INT32_MAX, &n))
			*(int *)at = (int)n;
		else
			break;
		return ERR_NONE;
	}
	return takes(e, command, row, text);
}

static int argument_of(const struct option_row *row)
{
	return row->type == OPT_FLAG ? no_argument : row->type == OPT_MAYBE ? optional_argument : required_argument;
}

/* For getopt: '+' where it shall not look beyond the first word; ':' as errors are ours to word. */
static void describe(const struct option_set *set, struct option *longs, char *letters)
{
	size_t n = 0;

	if (set->ends)
		*letters++ = '+';
	*letters++ = ':';
	*letters++ = 'h';
	for (; n < set->n_rows && n < ROWS_MAX; n++) {
		const struct option_row *row = &set->rows[n];

		longs[n] = (struct option){ row->name, argument_of(row), NULL, FIRST_LONG + (int)n };
		if (row->letter) {
			*letters++ = row->letter;
			if (row->type != OPT_FLAG)
				*letters++ = ':';
		}
	}
	*letters = 0;
	longs[n] = (struct option){ "help", no_argument, NULL, 'h' };
	longs[n + 1] = (struct option){ 0 };
}

/* Is it one of the words of "json why"? */
bool options_exclude(const struct option_set *set, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = set->alone; at && (at = strstr(at, name)); at += n)
		if ((at == set->alone || at[-1] == ' ') && (at[n] == ' ' || !at[n]))
			return true;
	return false;
}

/* One of those that exclude each other was given; *given: the one before, if any. */
static enum err_kind exclude(const struct option_set *set, const struct option_row *row, const char **given,
			     const char *command, struct error *e)
{
	if (!options_exclude(set, row->name))
		return ERR_NONE;
	if (*given && strcmp(*given, row->name) != 0)
		return err_set(e, ERR_USAGE, NULL, ERR_NO_BYTE, "%s: --%s and --%s exclude each other", command, *given,
			       row->name);
	*given = row->name;
	return ERR_NONE;
}

static const struct option_row *row_of(const struct option_set *set, int got)
{
	if (got >= FIRST_LONG)
		return &set->rows[got - FIRST_LONG];
	for (size_t i = 0; i < set->n_rows; i++) {
		if (set->rows[i].letter == got)
			return &set->rows[i];
	}
	return NULL;
}

/* optopt: the letter, or the number of a long option that was given a value it does not take, or 0. */
static enum err_kind unknown_option(const struct option_set *set, char *argv[], struct error *e)
{
	char letter[] = { '-', (char)optopt, 0 };

	if (optopt >= FIRST_LONG && row_of(set, optopt)->type == OPT_FLAG)
		return usage_error(e, argv[0], "this option takes no value:", argv[optind - 1]);
	return usage_error(e, argv[0], "unknown option", optopt && optopt < FIRST_LONG ? letter : argv[optind - 1]);
}

enum err_kind options_parse(const struct option_set *set, int argc, char *argv[], void *values, int *first, int *help,
			    struct error *e)
{
	struct option longs[ROWS_MAX + 2];
	char letters[2 * ROWS_MAX + 4];
	enum err_kind kind = ERR_NONE;
	const char *alone = NULL;
	size_t paths;
	int got;

	describe(set, longs, letters);
	*help = 0;
	optind = 0; /* from the start, whoever called getopt before */
	opterr = 0;
	while (!kind && (got = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		if (got == 'h')
			*help = 1;
		else if (got == '?')
			kind = unknown_option(set, argv, e);
		else if (got == ':')
			kind = usage_error(e, argv[0], "a value is missing after", argv[optind - 1]);
		else if (!(kind = exclude(set, row_of(set, got), &alone, argv[0], e)))
			kind = set_value(row_of(set, got), optarg, values, argv[0], e);
	}
	*first = optind;
	if (kind || *help)
		return kind;
	paths = (size_t)(argc - optind);
	if (paths < set->min_paths)
		return err_set(e, ERR_USAGE, NULL, ERR_NO_BYTE, "%s: %s", argv[0],
			       set->missing ? set->missing : "no run directory or .gst file is named");
	if (paths > set->max_paths)
		return usage_error(e, argv[0], "one path too many:", argv[optind + (int)set->max_paths]);
	return ERR_NONE;
}

const char *options_left(char buf[OPTIONS_LEFT], const struct option_row *row)
{
	char letter[8] = "    ";

	if (row->letter)
		snprintf(letter, sizeof(letter), "-%c, ", row->letter);
	snprintf(buf, OPTIONS_LEFT, "%s--%s%s%s", letter, row->name, row->value && row->type != OPT_MAYBE ? " " : "",
		 row->value ? row->value : "");
	return buf;
}

/* The text in lines from this column on. */
static size_t wrap(char *buf, size_t size, unsigned indent, const char *text)
{
	size_t used = 0;
	unsigned column = indent;

	while (*text && used < size) {
		size_t n = strcspn(text, " ");
		bool fresh = column == indent, fits = column + !fresh + n <= HELP_COLUMNS;

		if (!fits && !fresh) {
			used += (size_t)snprintf(buf + used, size - used, "\n%*s", (int)indent, "");
			column = indent;
			continue;
		}
		used += (size_t)snprintf(buf + used, size - used, "%s%.*s", fresh ? "" : " ", (int)n, text);
		column += (unsigned)n + !fresh;
		text += n + (text[n] == ' ');
	}
	return used;
}

void options_help(const struct option_set *set, const char *command, char *buf, size_t size)
{
	size_t used = (size_t)snprintf(buf, size, "usage: gpushim %s %s\n\n", command, set->usage);

	for (size_t i = 0; i < set->n_rows && used < size; i++) {
		char left[OPTIONS_LEFT];

		options_left(left, &set->rows[i]);
		used += (size_t)snprintf(buf + used, size - used, "  %-*s ", HELP_LEFT, left);
		if (strlen(left) > HELP_LEFT && used < size)
			used += (size_t)snprintf(buf + used, size - used, "\n%*s", HELP_LEFT + 3, "");
		if (used < size)
			used += wrap(buf + used, size - used, HELP_LEFT + 3, set->rows[i].help);
		if (used < size)
			used += (size_t)snprintf(buf + used, size - used, "\n");
	}
}
