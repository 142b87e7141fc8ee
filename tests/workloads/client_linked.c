/* SPDX-License-Identifier: BSD-2-Clause */
/* client_linked.c: random work by a program that names libcuda.so.1 among the libraries it needs. */
#include "common_random_work.h"

int main(int argc, char **argv)
{
#define CALL(sym, name, version) driver.sym = sym;
#include "driver_calls.def"
#undef CALL
	return random_work_main(argc, argv);
}
