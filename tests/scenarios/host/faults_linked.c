/* SPDX-License-Identifier: BSD-2-Clause */
/* faults_linked FAULT[+FAULT…] STEPS: a training loop of one thread that leaves its device idle after each step for a known cause.
 * A step is one kernel, a wait for it, the fault. Of several faults each step has one, in an order of the seed's; with LAB_MIX=gap
 * each has all, one after the other. Which files, groups and peers a fault needs, its variables say ($LAB_…): lab.py sets them up. It
 * prints "step N" as it goes on. */
#include "lab.h"

#include <string.h>

static const struct fault *const faults[] = {
#define FAULT(name) &fault_##name,
#include "faults.def"
#undef FAULT
};

static struct {
	const struct fault *fault;
	long steps; /* it has acted in */
} parts[PARTS_MAX];
static int part_count;
static bool all_in_a_gap;

static bool find(const char *name)
{
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		if (strcmp(faults[i]->name, name) == 0 && part_count < PARTS_MAX) {
			parts[part_count++].fault = faults[i];
			return true;
		}
	return false;
}

static void ahead(int which)
{
	lab_part(which);
	if (parts[which].fault->ahead)
		parts[which].fault->ahead(parts[which].steps);
}

static void act(int which)
{
	lab_part(which);
	parts[which].fault->act(parts[which].steps++);
}

static void step(long number)
{
	int order[PARTS_MAX], first = all_in_a_gap ? 0 : (int)(number % part_count),
			      last = all_in_a_gap ? part_count : first + 1;

	lab_shuffle(order, part_count, 100 + (uint64_t)(all_in_a_gap ? number : number / part_count));
	device_step();
	for (int i = first; i < last; i++)
		ahead(order[i]);
	device_wait();
	for (int i = first; i < last; i++)
		act(order[i]);
	printf("step %ld\n", number);
}

int main(int argc, char **argv)
{
	long steps = argc == 3 ? atol(argv[2]) : 0;
	const char *mix = getenv("LAB_MIX");
	struct span all;

	for (char *name = steps > 0 ? strtok(argv[1], "+") : NULL; name; name = strtok(NULL, "+"))
		if (!find(name))
			return 2;
	if (part_count == 0)
		return 2;
	all_in_a_gap = mix && strcmp(mix, "gap") == 0;
	truth_open();
	truth_keep();
	setvbuf(stdout, NULL, _IOLBF, 0);
	device_open();
	for (int i = 0; i < part_count; i++) {
		lab_part(i);
		if (parts[i].fault->open)
			parts[i].fault->open();
	}
	all = span_begin("all", "thread", -1);
	for (long number = 0; number < steps; number++)
		step(number);
	device_step(); /* the last gap ends */
	device_wait();
	span_end(&all);
	for (int i = 0; i < part_count; i++)
		if (parts[i].fault->close)
			parts[i].fault->close();
	return 0;
}
