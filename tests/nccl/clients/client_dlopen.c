/* SPDX-License-Identifier: BSD-2-Clause */
/* client_dlopen.c: a program that opens libnccl.so.2 itself and asks dlsym for each call. */
#include "client.h"

int main(int argc, char **argv)
{
	static struct client c;

	nccl_open(&c.nccl, "libnccl.so.2");
	return client_main(argc, argv, &c);
}
