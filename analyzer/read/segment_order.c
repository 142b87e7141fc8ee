/* SPDX-License-Identifier: BSD-2-Clause */
#include "segment_order.h"

#include "tools/alloc.h"

#include <stdlib.h>
#include <string.h>

static bool index_before(const void *element, const void *key)
{
	return *(const uint32_t *)element < *(const uint32_t *)key;
}

/* Where it stands among n ascending ones; n where it is none of them. */
static size_t position(const uint32_t *segments, size_t n, uint32_t index)
{
	size_t at = array_first(segments, n, sizeof(*segments), index_before, &index);

	return at < n && segments[at] == index ? at : n;
}

static void reverse(uint32_t *a, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		uint32_t first = a[i];

		a[i] = a[n - 1 - i];
		a[n - 1 - i] = first;
	}
}

bool segment_order(uint32_t *segments, const uint32_t *previous, size_t n)
{
	uint32_t *ordered = array_new(n, sizeof(*ordered));
	bool *done = array_new(n, sizeof(*done));
	size_t count = 0;

	for (size_t i = 0; ordered && done && i < n; i++) {
		size_t first = count;

		for (size_t at = i; at < n && !done[at]; at = position(segments, n, previous[at])) {
			done[at] = true;
			ordered[count++] = segments[at];
		}
		reverse(ordered + first, count - first);
	}
	if (ordered && done)
		memcpy(segments, ordered, n * sizeof(*segments));
	free(ordered);
	free(done);
	return ordered && done;
}
