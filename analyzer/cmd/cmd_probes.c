/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd_probes.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "shim/bytes.h"
#include "tools/text.h"

#define WAIT_NS 100000 /* shorter waits are summed up */
#define STACKS_HZ 99   /* not in step with what happens every 10 ms */

static const char *const probe_names[GST_PROBE_COUNT] = {
#define PROBE_NAME(name, bit, text) [bit] = #name,
	GST_PROBE_BITS(PROBE_NAME)
#undef PROBE_NAME
};

/* "memcg-reclaim" is MEMCG_RECLAIM. */
static bool is_name(const char *word, size_t length, const char *name)
{
	if (strlen(name) != length)
		return false;
	for (size_t i = 0; i < length; i++)
		if ((word[i] == '-' ? '_' : toupper((unsigned char)word[i])) != name[i])
			return false;
	return true;
}

static int unknown_probe(const char *command, const char *word, size_t length)
{
	char fact[320], text[64], clean[96];
	struct error e;
	size_t n;

	snprintf(text, sizeof(text), "%.*s", (int)(length < 40 ? length : 40), word);
	n = (size_t)snprintf(fact, sizeof(fact), "%s: --off knows no probe %s; there are", command,
			     text_clean(clean, sizeof(clean), text, 60));
	for (unsigned i = 0; i < GST_PROBE_COUNT && n < sizeof(fact); i++)
		n += (size_t)snprintf(fact + n, sizeof(fact) - n, "%s%s", i ? ", " : " ", probe_names[i]);
	for (char *p = strstr(fact, "; there are"); p && *p; p++)
		*p = *p == '_' ? '-' : (char)tolower((unsigned char)*p);
	err_set(&e, ERR_USAGE, NULL, ERR_NO_BYTE, "%s", fact);
	return cmd_fail(&e, NULL);
}

static int parse_off(const char *list, const char *command, uint32_t *off)
{
	for (const char *at = list; at && *at; at += *at == ',') {
		size_t n = strcspn(at, ",");
		unsigned i = 0;

		while (i < GST_PROBE_COUNT && !is_name(at, n, probe_names[i]))
			i++;
		if (i == GST_PROBE_COUNT)
			return unknown_probe(command, at, n);
		*off |= 1u << i;
		at += n;
	}
	return 0;
}

int cmd_probes_settings(const struct probes_opts *o, const char *command, const char *dir, struct probes_settings *out)
{
	const char *limit = getenv("GPUSHIM_LIMIT");

	*out = (struct probes_settings){ .dir = dir, .wait_ns = WAIT_NS, .limit = limit ? bytes_parse(limit) : 0 };
	if (!out->limit)
		out->limit = BYTES_LIMIT;
	if (o->wait_us)
		out->wait_ns = (uint32_t)o->wait_us * 1000;
	out->sample_hz = o->stacks_hz == OPTION_USUAL ? STACKS_HZ : (uint32_t)o->stacks_hz;
	return parse_off(o->off, command, &out->off);
}
