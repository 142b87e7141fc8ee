/* SPDX-License-Identifier: BSD-2-Clause */
#include "pack_front.h"

#include <string.h>

void pack_front_exchange(uint8_t *front, size_t n)
{
	for (uint32_t i = 0; GST_DIRECTORY_OFFSET + 4ull * i + 4 <= n && i < GST_SEGMENT_CAPACITY; i++) {
		uint8_t *at = front + GST_DIRECTORY_OFFSET + 4ull * i;
		uint32_t entry, check = gst_directory_check(i);

		memcpy(&entry, at, sizeof(entry));
		entry = entry == check ? 1 : entry == 1 ? check : entry;
		memcpy(at, &entry, sizeof(entry));
	}
}
