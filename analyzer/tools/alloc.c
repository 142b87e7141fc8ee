/* SPDX-License-Identifier: BSD-2-Clause */
#include "alloc.h"

#include <stdlib.h>

void *array_new(size_t n, size_t size)
{
	return calloc(n ? n : 1, size);
}

void *array_grow(void *array, size_t *cap, size_t size)
{
	size_t want = *cap ? *cap * 2 : 64;
	void *bigger;

	if (want > SIZE_MAX / 2 / size)
		return NULL;
	bigger = realloc(array, want * size);
	if (bigger)
		*cap = want;
	return bigger;
}

int array_by_int64(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

int array_by_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Half of how far they are apart, which may be more than an int64_t holds. */
static int64_t between(int64_t low, int64_t high)
{
	return low + (int64_t)(((uint64_t)high - (uint64_t)low) / 2);
}

int64_t array_median(int64_t *values, size_t n)
{
	if (n == 0)
		return 0;
	array_sort(values, n, sizeof(*values), array_by_int64);
	return n % 2 ? values[n / 2] : between(values[n / 2 - 1], values[n / 2]);
}

int64_t array_median_low(int64_t *values, size_t n)
{
	if (n == 0)
		return 0;
	array_sort(values, n, sizeof(*values), array_by_int64);
	return values[(n - 1) / 2];
}

double array_median_double(double *values, size_t n)
{
	if (n == 0)
		return 0;
	array_sort(values, n, sizeof(*values), array_by_double);
	return n % 2 ? values[n / 2] : values[n / 2 - 1] / 2 + values[n / 2] / 2;
}

size_t array_first_near(const void *array, size_t n, size_t size, bool (*before)(const void *element, const void *key),
			const void *key, size_t near)
{
	const char *bytes = array;
	size_t low = near < n ? near : n, high = low, step = 1;

	if (n == 0)
		return 0; /* where there are none, the array may be NULL */
	if (low < n && before(bytes + low * size, key)) {
		for (low++; step < n - low && before(bytes + (low + step - 1) * size, key); step *= 2)
			low += step;
		high = step < n - low ? low + step : n;
	} else {
		for (; high > 0; high = low, step *= 2) {
			low = step < high ? high - step : 0;
			if (before(bytes + low * size, key)) {
				low++;
				break;
			}
		}
	}
	return low + array_first(bytes + low * size, high - low, size, before, key);
}
