/* SPDX-License-Identifier: BSD-2-Clause */
/* array_sort.c: recorded data is nearly in order: each thread's records are, in segments that overlap in time with other threads'. So the
 * ordered stretches that are there are merged, neighbours first, and of two neighbours only what overlaps is moved: the rest stands where it
 * belongs. The stack of stretches that wait is Timsort's (Peters, 2002; its invariants as mended by de Gouw et al., 2015). */
#include "alloc.h"

#include <stdlib.h>
#include <string.h>

#define STRETCHES 96     /* that wait: their lengths grow like Fibonacci numbers */
#define SHORT_STRETCH 16 /* where they are no longer than that on the average, qsort is as good */

typedef int order(const void *, const void *);

struct stretch {
	size_t first, n;
};

struct sorter {
	char *array;
	size_t size;
	order *compare;
	struct stretch waiting[STRETCHES];
	size_t n;
	char *spare; /* for the shorter part of what is merged */
	size_t spare_bytes;
};

static char *at(const struct sorter *s, size_t i)
{
	return s->array + i * s->size;
}

static bool have_spare(struct sorter *s, size_t n)
{
	size_t want = n * s->size;

	if (want <= s->spare_bytes)
		return true;
	if (want < 2 * s->spare_bytes)
		want = 2 * s->spare_bytes;
	free(s->spare);
	s->spare = malloc(want);
	s->spare_bytes = s->spare ? want : 0;
	return s->spare != NULL;
}

/* Of the left stretch, what belongs behind the right one's first element; it stands near its end. */
static size_t first_to_move(const struct sorter *s, size_t first, size_t middle)
{
	size_t step = 1, low, high = middle;

	while (step < middle - first && s->compare(at(s, middle - step), at(s, middle)) > 0) {
		high = middle - step;
		step *= 2;
	}
	low = step < middle - first ? middle - step : first;
	while (low < high) {
		size_t half = low + (high - low) / 2;

		if (s->compare(at(s, half), at(s, middle)) > 0)
			high = half;
		else
			low = half + 1;
	}
	return low;
}

/* Of the right stretch, where those begin that stay behind the left one's last element. */
static size_t end_of_move(const struct sorter *s, size_t middle, size_t end)
{
	size_t step = 1, low = middle, high;

	while (step < end - middle && s->compare(at(s, middle + step - 1), at(s, middle - 1)) < 0) {
		low = middle + step;
		step *= 2;
	}
	high = step < end - middle ? middle + step : end;
	while (low < high) {
		size_t half = low + (high - low) / 2;

		if (s->compare(at(s, half), at(s, middle - 1)) < 0)
			low = half + 1;
		else
			high = half;
	}
	return low;
}

static void merge_from_the_left(struct sorter *s, size_t first, size_t middle, size_t end)
{
	size_t size = s->size, left_bytes = (middle - first) * size;
	const char *left = s->spare, *left_end = s->spare + left_bytes, *right = at(s, middle), *right_end = at(s, end);
	char *to = at(s, first);

	memcpy(s->spare, to, left_bytes);
	while (left < left_end && right < right_end) {
		bool takes_right = s->compare(left, right) > 0;

		memcpy(to, takes_right ? right : left, size);
		to += size;
		right += takes_right ? size : 0;
		left += takes_right ? 0 : size;
	}
	memcpy(to, left, (size_t)(left_end - left)); /* what is left of the right stands where it belongs */
}

static void merge_from_the_right(struct sorter *s, size_t first, size_t middle, size_t end)
{
	size_t size = s->size, right_bytes = (end - middle) * size;
	const char *right = s->spare + right_bytes, *left = at(s, middle), *left_begin = at(s, first);
	char *to = at(s, end);

	memcpy(s->spare, at(s, middle), right_bytes);
	while (right > s->spare && left > left_begin) {
		bool takes_left = s->compare(left - size, right - size) > 0;

		to -= size;
		memcpy(to, takes_left ? left - size : right - size, size);
		left -= takes_left ? size : 0;
		right -= takes_left ? 0 : size;
	}
	memcpy(to - (right - s->spare), s->spare, (size_t)(right - s->spare));
}

static bool merge(struct sorter *s, size_t first, size_t middle, size_t end)
{
	first = first_to_move(s, first, middle);
	if (first == middle)
		return true;
	end = end_of_move(s, middle, end);
	if (!have_spare(s, middle - first < end - middle ? middle - first : end - middle))
		return false;
	if (middle - first <= end - middle)
		merge_from_the_left(s, first, middle, end);
	else
		merge_from_the_right(s, first, middle, end);
	return true;
}

/* The stretch at this place with the next one. */
static bool join(struct sorter *s, size_t place)
{
	struct stretch *x = &s->waiting[place], *y = x + 1;

	if (!merge(s, x->first, y->first, y->first + y->n))
		return false;
	x->n += y->n;
	s->n--;
	if (place + 1 < s->n)
		*y = s->waiting[place + 2];
	return true;
}

/* Until each that waits is longer than the two behind it together; all: until one is left. */
static bool settle(struct sorter *s, bool all)
{
	while (s->n > 1) {
		const struct stretch *w = s->waiting;
		size_t last = s->n - 2;
		bool uneven = (last > 0 && w[last - 1].n <= w[last].n + w[last + 1].n) ||
			      (last > 1 && w[last - 2].n <= w[last - 1].n + w[last].n);

		if (!all && !uneven && w[last].n > w[last + 1].n)
			return true;
		if ((all || uneven) && last > 0 && w[last - 1].n < w[last + 1].n)
			last--;
		if (!join(s, last))
			return false;
	}
	return true;
}

static bool merge_all(struct sorter *s, size_t n)
{
	for (size_t i = 0, next; i < n; i = next) {
		for (next = i + 1; next < n && s->compare(at(s, next - 1), at(s, next)) <= 0; next++)
			;
		s->waiting[s->n++] = (struct stretch){ i, next - i };
		if (!settle(s, false))
			return false;
	}
	return settle(s, true);
}

void array_sort(void *array, size_t n, size_t size, int (*compare)(const void *, const void *))
{
	struct sorter s = { .array = array, .size = size, .compare = compare };
	size_t stretches = n > 0;

	for (size_t i = 1; i < n; i++)
		stretches += compare(at(&s, i - 1), at(&s, i)) > 0;
	if (stretches > 1 && (stretches > n / SHORT_STRETCH || !merge_all(&s, n)))
		qsort(array, n, size, compare);
	free(s.spare);
}
