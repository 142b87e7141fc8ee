/* SPDX-License-Identifier: BSD-2-Clause */
/* lab_random.c: how long a fault takes in each step, and how much is read then, as $SEED has it.
 *
 * Lengths lie between $LAB_SHORT and $LAB_LONG (ns), log-uniform and stratified: of $LAB_STEPS steps each has a stretch of the logarithm of its
 * own, in random order, so every run has short ones and long ones. Of one seed, all processes of a program draw the same. */
#include "lab.h"

#include <math.h>

#define STEPS_MAX 4096
#define PAGE 4096L

static struct {
	bool set;
	long steps, offset[STEPS_MAX + 1];
	int order[STEPS_MAX];
} parts[PARTS_MAX];
static int part;

long lab_param(const char *variable, long otherwise)
{
	const char *value = getenv(variable);

	return value && *value ? atol(value) : otherwise;
}

/* splitmix64 */
uint64_t lab_random(uint64_t a, uint64_t b)
{
	uint64_t z = (uint64_t)lab_param("SEED", 1) * 0x9e3779b97f4a7c15u + a * 0xbf58476d1ce4e5b9u +
		     b * 0x94d049bb133111ebu;

	for (int i = 0; i < 3; i++) {
		z += 0x9e3779b97f4a7c15u;
		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
		z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
		z ^= z >> 31;
	}
	return z;
}

void lab_shuffle(int *what, int n, uint64_t salt)
{
	for (int i = 0; i < n; i++)
		what[i] = i;
	for (int i = n - 1; i > 0; i--) {
		int other = (int)(lab_random(salt, (uint64_t)i) % (unsigned)(i + 1)), kept = what[i];

		what[i] = what[other];
		what[other] = kept;
	}
}

static long length_of(int of, long step)
{
	long low = lab_param("LAB_SHORT", 8 * MS), high = lab_param("LAB_LONG", low), steps = parts[of].steps;
	double in = (double)(lab_random((uint64_t)of + 1000, (uint64_t)step) >> 11) / (double)(UINT64_C(1) << 53);
	double at = (parts[of].order[step % steps] + in) / (double)steps;

	return (long)((double)low * pow((double)high / (double)low, at));
}

static long bytes_of(int of, long step)
{
	long fixed = lab_param("LAB_BATCH", 0);

	if (fixed > 0)
		return fixed;
	return (long)((double)lab_param("LAB_RATE", 24L << 20) * (double)length_of(of, step) / 1e9) / PAGE * PAGE +
	       PAGE;
}

void lab_part(int which)
{
	part = which;
	if (parts[part].set)
		return;
	parts[part].steps = lab_param("LAB_STEPS", 32);
	REQUIRE(parts[part].steps > 0 && parts[part].steps <= STEPS_MAX);
	lab_shuffle(parts[part].order, (int)parts[part].steps, (uint64_t)part + 1);
	for (long step = 0; step < parts[part].steps; step++)
		parts[part].offset[step + 1] = parts[part].offset[step] + bytes_of(part, step);
	parts[part].set = true;
}

long lab_length(long step)
{
	return length_of(part, step);
}

long lab_bytes(long step)
{
	return bytes_of(part, step % parts[part].steps);
}

long lab_offset(long step)
{
	return parts[part].offset[step % parts[part].steps];
}

long lab_all_bytes(void)
{
	return parts[part].offset[parts[part].steps];
}
