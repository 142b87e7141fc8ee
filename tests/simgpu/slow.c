/* SPDX-License-Identifier: BSD-2-Clause */
/* slow.c: host time that a real driver spends now and then: mapping memory after much of it was given back, compiling code for a device that it
 * was not built for, loading it at its first launch. */
#include "slow.h"

#include "settings.h"
#include "sim.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { MAX_SLOW = 32 };

/* name:us or name:from-to of SIMGPU_SLOW: each such call takes so much longer, or a time in between, of which all decades have as many; always the
 * same ones. With :sleep behind it the thread gives its CPU up meanwhile, as in a wait inside the kernel's driver. */
struct slow {
	char name[96];
	double from_us, to_us;
	bool sleep;
	atomic_uint seen;
};

static struct slow list[MAX_SLOW];
static unsigned count;
static pthread_once_t once = PTHREAD_ONCE_INIT;

bool slow_names_call(const char *name, const char *exported)
{
	size_t length = strlen(name);

	return !strncmp(name, exported, length) &&
	       (!exported[length] ||
		(exported[length] == '_' && (exported[length + 1] == 'v' || exported[length + 1] == 'p')));
}

static void load_one(const char *text)
{
	struct slow *slow = &list[count];
	char rest[16] = "";
	int at = 0;

	if (sscanf(text, "%95[^:,]:%lf%n", slow->name, &slow->from_us, &at) < 2)
		return;
	slow->to_us = slow->from_us;
	if (text[at] == '-')
		(void)!sscanf(text + at, "-%lf%15[^,]", &slow->to_us, rest);
	else
		(void)!sscanf(text + at, "%15[^,]", rest);
	slow->sleep = !strcmp(rest, ":sleep");
	if (slow->from_us > 0 && slow->to_us >= slow->from_us)
		count++;
}

static void load(void)
{
	const char *text = settings()->slow;

	while (text && *text && count < MAX_SLOW) {
		load_one(text);
		text = strchr(text, ',');
		text = text ? text + 1 : NULL;
	}
}

/* 0 to 1, spread as if by chance: multiples of the golden ratio. */
static double part(unsigned nth)
{
	double whole;

	return modf(nth * 0.6180339887498949 + 0.5, &whole);
}

static void take(struct slow *slow)
{
	double us = slow->from_us * pow(slow->to_us / slow->from_us, part(atomic_fetch_add(&slow->seen, 1)));
	uint64_t until = clock_now_ns() + (uint64_t)(us * 1000);

	if (slow->sleep)
		clock_sleep_until(until);
	else
		clock_spin_until(until);
}

void slow_call(const char *exported)
{
	pthread_once(&once, load);
	for (unsigned i = 0; i < count; i++)
		if (slow_names_call(list[i].name, exported))
			take(&list[i]);
}

void slow_first_launch(void)
{
	clock_spin_until(clock_now_ns() + settings()->first_launch_ns);
}
