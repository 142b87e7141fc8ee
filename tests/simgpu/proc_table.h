/* SPDX-License-Identifier: BSD-2-Clause */
/* proc_table.h: what cuGetProcAddress finds: generated from the headers by generate.py, sorted by name, then version. */
#pragma once

struct proc {
	const char *name;  /* without suffix */
	int version;       /* the CUDA version that introduced this variant */
	int per_thread;    /* a _ptsz or _ptds variant */
	const char *symbol;
	int (*address)(void);
};

extern const struct proc proc_table[];
extern const unsigned proc_count;
