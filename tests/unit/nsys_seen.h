/* SPDX-License-Identifier: BSD-2-Clause */
/* nsys_seen.h: what import_nsys said of a database that a test made, all of process 100. forget() is every test's teardown. */
#pragma once

#include "tests/unit/import_files.h"
#include "tests/unit/import_seen.h"

#define GPID "(100 << 24)"
#define GTID "(100 << 24 | 100)"

static struct import_build seen;
static struct error err, damage;

static int forget(void **state)
{
	seen_free(&seen);
	return folder_empty(state);
}
