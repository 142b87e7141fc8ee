/* SPDX-License-Identifier: BSD-2-Clause */
/* compute_linked NS: keeps a CPU for so long. Under a compiler's name it is one. */
#include "lab.h"

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	compute_cpu(atol(argv[1]));
	return 0;
}
