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

/* One side of a merge: what is left of it, from its next element on; downwards where the merge goes from the right. */
struct side {
	const char *next;
	ptrdiff_t step; /* bytes from one to the next */
	size_t n;
	bool is_left;
};

static bool goes_above(const struct sorter *s, const struct side *x, size_t i, const char *key)
{
	const char *element = x->next + (ptrdiff_t)i * x->step;

	return (x->is_left ? s->compare(element, key) : s->compare(key, element)) > 0;
}

/* How many of the side's come before the other side's next one, `known` at least: of threads' records whole stretches do. */
static size_t run_of(const struct sorter *s, const struct side *x, const char *key, bool above, size_t known)
{
	size_t low = known, high = x->n, step = 1;

	for (; step <= x->n - low; step *= 2) {
		if (goes_above(s, x, low + step - 1, key) != above) {
			high = low + step - 1;
			break;
		}
		low += step;
	}
	while (low < high) {
		size_t half = low + (high - low) / 2;

		if (goes_above(s, x, half, key) == above)
			low = half + 1;
		else
			high = half;
	}
	return low;
}

/* Returns where the next one goes. */
static char *move(const struct sorter *s, struct side *x, char *to, size_t n)
{
	size_t bytes = n * s->size;
	ptrdiff_t way = x->step < 0 ? -(ptrdiff_t)bytes : (ptrdiff_t)bytes;

	if (x->step < 0)
		memmove(to + way, x->next + way + (ptrdiff_t)s->size, bytes);
	else
		memmove(to, x->next, bytes);
	x->next += way;
	x->n -= n;
	return to + way;
}

/* x stands in the spare memory, y where it is merged to: what is left of it there stands where it belongs. Of equals x's go first. */
static void merge_sides(const struct sorter *s, struct side *x, struct side *y, char *to)
{
	size_t known = 0;

	while (x->n && y->n) {
		to = move(s, x, to, run_of(s, x, y->next, false, known));
		if (!x->n)
			return;
		to = move(s, y, to, run_of(s, y, x->next, true, 1));
		known = 1;
	}
	move(s, x, to, x->n);
}

static void merge_from_the_left(struct sorter *s, size_t first, size_t middle, size_t end)
{
	struct side left = { s->spare, (ptrdiff_t)s->size, middle - first, true };
	struct side right = { at(s, middle), (ptrdiff_t)s->size, end - middle, false };

	memcpy(s->spare, at(s, first), left.n * s->size);
	merge_sides(s, &left, &right, at(s, first));
}

static void merge_from_the_right(struct sorter *s, size_t first, size_t middle, size_t end)
{
	size_t n = end - middle;
	struct side right = { s->spare + (n - 1) * s->size, -(ptrdiff_t)s->size, n, false };
	struct side left = { at(s, middle - 1), -(ptrdiff_t)s->size, middle - first, true };

	memcpy(s->spare, at(s, middle), n * s->size);
	merge_sides(s, &right, &left, at(s, end));
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

/* begins: of all stretches but the first. */
static bool merge_all(struct sorter *s, const size_t *begins, size_t n_begins, size_t n)
{
	for (size_t i = 0; i <= n_begins; i++) {
		size_t first = i ? begins[i - 1] : 0, end = i < n_begins ? begins[i] : n;

		s->waiting[s->n++] = (struct stretch){ first, end - first };
		if (!settle(s, false))
			return false;
	}
	return settle(s, true);
}

void array_sort(void *array, size_t n, size_t size, int (*compare)(const void *, const void *))
{
	struct sorter s = { .array = array, .size = size, .compare = compare };
	size_t *begins = NULL, n_begins = 0, cap = 0;
	bool many = false; /* or no memory */

	for (size_t i = 1; i < n && !many; i++) {
		if (compare(at(&s, i - 1), at(&s, i)) <= 0)
			continue;
		many = n_begins >= n / SHORT_STRETCH || !array_room(begins, n_begins, cap);
		if (!many)
			begins[n_begins++] = i;
	}
	if (many || (n_begins && !merge_all(&s, begins, n_begins, n)))
		qsort(array, n, size, compare);
	free(begins);
	free(s.spare);
}
