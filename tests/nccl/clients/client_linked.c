/* SPDX-License-Identifier: BSD-2-Clause */
/* client_linked.c: a program that names libnccl.so.2 among the libraries it needs. */
#include "client.h"

int main(int argc, char **argv)
{
	static struct client c;

#define NCCL_CALL(name) c.nccl.name = name;
#include "nccl_calls.def"
#undef NCCL_CALL
	return client_main(argc, argv, &c);
}
