/* SPDX-License-Identifier: BSD-2-Clause */
/* common_random_work.h: random but valid work for a device, the same from the same seed, every byte that comes back checked. */
#pragma once

#include "common_driver.h"

/* Options: --seed N, --actions N (per thread), --threads N, --endless, --counter FILE, --calls FILE, --names.
 * Prints a checksum of all data read back. Exit status: 0 fine, 1 wrong data or an unexpected error, 2 usage. */
int random_work_main(int argc, char **argv);
