/* SPDX-License-Identifier: BSD-2-Clause */
/* alloc.h: arrays that grow, and arrays whose size comes from a file. Every failure is an answer (NULL, false), never an exit. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* n zeroed elements, at least one, so that NULL always means "no memory". */
void *array_new(size_t n, size_t size);

/* A bigger block with the same content, *cap raised; NULL and nothing changed when there is no memory. */
void *array_grow(void *array, size_t *cap, size_t size);

/* True when array has room for one more than n; array and cap are updated. */
#define array_room(array, n, cap)                                                                              \
	({                                                                                                     \
		void *array_new_ = (n) < (cap) ? (array) : array_grow((array), &(cap), sizeof *(array));       \
		if (array_new_)                                                                                \
			(array) = array_new_;                                                                  \
		array_new_ != NULL;                                                                            \
	})

/* A stable sort that costs one pass where the array is in order, and little more where it is made of a few ordered stretches that overlap
 * here and there, as recorded data mostly is (array_sort.c). Without memory it sorts all the same, but equals lose their order. */
void array_sort(void *array, size_t n, size_t size, int (*compare)(const void *, const void *));

/* For array_sort and qsort: int64_t and double, the least first. */
int array_by_int64(const void *a, const void *b);
int array_by_double(const void *a, const void *b);

/* The median of n values, which are sorted then: of an even number the middle of the two there. 0 of none. */
int64_t array_median(int64_t *values, size_t n);
double array_median_double(double *values, size_t n);
/* … of an even number the lower one: it is one of the values. */
int64_t array_median_low(int64_t *values, size_t n);

/* The same, near `near`, where it mostly is: found in steps that double. */
size_t array_first_near(const void *array, size_t n, size_t size, bool (*before)(const void *element, const void *key), const void *key,
			size_t near);

/* The first of n elements, sorted, that does not come before the key; n where all do. */
static inline size_t array_first(const void *array, size_t n, size_t size, bool (*before)(const void *element, const void *key),
				 const void *key)
{
	size_t low = 0;

	while (low < n) {
		size_t middle = low + (n - low) / 2;

		if (before((const char *)array + middle * size, key))
			low = middle + 1;
		else
			n = middle;
	}
	return low;
}
