/* SPDX-License-Identifier: BSD-2-Clause */
/* compute_linked NS STEP: keeps a CPU for so long. Under a compiler's name it is one. */
#include "lab.h"

int main(int argc, char **argv)
{
	struct span s;

	if (argc != 3)
		return 2;
	truth_open();
	s = span_begin("module-load", "worker", atol(argv[2]));
	compute_cpu(atol(argv[1]));
	span_end(&s);
	return 0;
}
