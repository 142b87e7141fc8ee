/* SPDX-License-Identifier: BSD-2-Clause */
#include "diff_student.h"

#include <math.h>

#define ROUNDS 300
#define TINY 1e-300
#define CLOSE 1e-15

/* The continued fraction of the incomplete beta function, by Lentz's way (Abramowitz and Stegun, 26.5.8). */
static double fraction(double a, double b, double x)
{
	double c = 1, d = 1 - (a + b) * x / (a + 1), f;

	d = 1 / (fabs(d) < TINY ? TINY : d);
	f = d;
	for (int m = 1; m < ROUNDS; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)), change;

		d = 1 + even * d;
		d = 1 / (fabs(d) < TINY ? TINY : d);
		c = 1 + even / c;
		c = fabs(c) < TINY ? TINY : c;
		f *= c * d;
		d = 1 + odd * d;
		d = 1 / (fabs(d) < TINY ? TINY : d);
		c = 1 + odd / c;
		c = fabs(c) < TINY ? TINY : c;
		change = c * d;
		f *= change;
		if (fabs(change - 1) < CLOSE)
			break;
	}
	return f;
}

/* The regularized incomplete beta function. */
static double beta(double a, double b, double x)
{
	double front;

	if (x <= 0 || x >= 1)
		return x <= 0 ? 0 : 1;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	return x < (a + 1) / (a + b + 2) ? front * fraction(a, b, x) / a : 1 - front * fraction(b, a, 1 - x) / b;
}

double student_above(double t, double df)
{
	double half;

	if (isinf(df))
		return erfc(t / sqrt(2)) / 2;
	half = beta(df / 2, 0.5, df / (df + t * t)) / 2;
	return t < 0 ? 1 - half : half;
}

double student_quantile(double p, double df)
{
	double low = 0, high = 1;

	while (student_above(high, df) > p && high < 1e12)
		high *= 2;
	for (int i = 0; i < 200 && high - low > 1e-12 * high; i++) {
		double middle = low + (high - low) / 2;

		if (student_above(middle, df) > p)
			low = middle;
		else
			high = middle;
	}
	return high;
}
