/* SPDX-License-Identifier: BSD-2-Clause */
/* faults_linked FAULT STEPS: a training loop of one thread that leaves its device idle after each step for one known cause.
 * A step is one kernel, a wait for it, the fault. Which files, groups and peers a fault needs, its variables say ($LAB_…): lab.py sets
 * them up. It prints "step N" as it goes on. */
#include "lab.h"

#include <string.h>

static const struct fault *const faults[] = { &fault_read,   &fault_mmap,       &fault_direct, &fault_warm,
					      &fault_sleep,  &fault_compute,    &fault_quota,  &fault_lock,
					      &fault_socket, &fault_checkpoint, &fault_memory };

int main(int argc, char **argv)
{
	const struct fault *f = NULL;
	long steps = argc == 3 ? atol(argv[2]) : 0;
	struct span all;

	for (size_t i = 0; steps > 0 && i < sizeof(faults) / sizeof(faults[0]); i++)
		if (strcmp(faults[i]->name, argv[1]) == 0)
			f = faults[i];
	if (!f)
		return 2;
	truth_open();
	setvbuf(stdout, NULL, _IOLBF, 0);
	device_open();
	if (f->open)
		f->open();
	all = span_begin("all", "thread", -1);
	for (long step = 0; step < steps; step++) {
		device_step();
		if (f->ahead)
			f->ahead(step);
		device_wait();
		f->act(step);
		printf("step %ld\n", step);
	}
	device_step(); /* the last gap ends */
	device_wait();
	span_end(&all);
	if (f->close)
		f->close();
	return 0;
}
