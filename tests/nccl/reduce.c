/* SPDX-License-Identifier: BSD-2-Clause */
/* reduce.c: sums and the like, one element at a time, in the order of the ranks. Whole numbers wrap as they do on a device. */
#include "standin.h"

#include <math.h>
#include <string.h>

size_t type_bytes(ncclDataType_t type)
{
	static const size_t bytes[ncclNumTypes] = {
		[ncclInt8] = 1,    [ncclUint8] = 1,    [ncclInt32] = 4,      [ncclUint32] = 4,
		[ncclInt64] = 8,   [ncclUint64] = 8,   [ncclFloat16] = 2,    [ncclFloat32] = 4,
		[ncclFloat64] = 8, [ncclBfloat16] = 2, [ncclFloat8e4m3] = 1, [ncclFloat8e5m2] = 1
	};

	return bytes[type];
}

static bool is_whole(ncclDataType_t type)
{
	return type <= ncclUint64;
}

static bool is_signed(ncclDataType_t type)
{
	return type == ncclInt8 || type == ncclInt32 || type == ncclInt64;
}

/* ---- one element ----------------------------------------------------------------------------------------- */

static uint64_t bits_of(const void *at, ncclDataType_t type)
{
	uint64_t bits = 0;

	memcpy(&bits, at, type_bytes(type)); /* little endian */
	return bits;
}

static int64_t whole_of(const void *at, ncclDataType_t type)
{
	uint64_t bits = bits_of(at, type);
	unsigned unused = 64 - 8 * (unsigned)type_bytes(type);

	return is_signed(type) ? (int64_t)(bits << unused) >> unused : (int64_t)bits;
}

struct small_float {
	int exponent_bits, mantissa_bits;
};

static struct small_float shape_of(ncclDataType_t type)
{
	switch (type) {
	case ncclFloat16:
		return (struct small_float){ 5, 10 };
	case ncclBfloat16:
		return (struct small_float){ 8, 7 };
	case ncclFloat8e4m3:
		return (struct small_float){ 4, 3 };
	default:
		return (struct small_float){ 5, 2 };
	}
}

/* Of a positive one. Infinities and NaN of these types are of no use to the tests: they count as numbers. */
static double small_value(unsigned bits, struct small_float f)
{
	int mantissa = (int)(bits & ((1u << f.mantissa_bits) - 1)), exponent = (int)(bits >> f.mantissa_bits);
	int bias = (1 << (f.exponent_bits - 1)) - 1;

	if (exponent == 0)
		return ldexp(mantissa, 1 - bias - f.mantissa_bits);
	return ldexp(mantissa + (1 << f.mantissa_bits), exponent - bias - f.mantissa_bits);
}

static double float_of(const void *at, ncclDataType_t type)
{
	uint64_t bits = bits_of(at, type);
	struct small_float f;
	unsigned sign;
	double d;
	float s;

	if (type == ncclFloat64) {
		memcpy(&d, at, sizeof(d));
		return d;
	}
	if (type == ncclFloat32) {
		memcpy(&s, at, sizeof(s));
		return s;
	}
	f = shape_of(type);
	sign = (unsigned)(f.exponent_bits + f.mantissa_bits);
	d = small_value((unsigned)bits & ((1u << sign) - 1), f);
	return bits >> sign ? -d : d;
}

/* The nearest of them, by bisection: positive ones are in the order of their bits. */
static unsigned small_bits(double value, struct small_float f)
{
	unsigned low = 0, high = (1u << (f.exponent_bits + f.mantissa_bits)) - 1;

	while (high - low > 1) {
		unsigned middle = (low + high) / 2;

		if (small_value(middle, f) <= value)
			low = middle;
		else
			high = middle;
	}
	return value - small_value(low, f) > small_value(high, f) - value ? high : low;
}

static void put_float(void *at, double value, ncclDataType_t type)
{
	struct small_float f;
	unsigned bits;
	float s = (float)value;

	if (type == ncclFloat64) {
		memcpy(at, &value, sizeof(value));
	} else if (type == ncclFloat32) {
		memcpy(at, &s, sizeof(s));
	} else {
		f = shape_of(type);
		bits = small_bits(fabs(value), f) | (unsigned)(value < 0) << (f.exponent_bits + f.mantissa_bits);
		memcpy(at, &bits, type_bytes(type));
	}
}

/* ---- all ranks' ------------------------------------------------------------------------------------------ */

static double combine(double a, double b, ncclRedOp_t op)
{
	switch (op) {
	case ncclProd:
		return a * b;
	case ncclMax:
		return a > b ? a : b;
	case ncclMin:
		return a < b ? a : b;
	default:
		return a + b;
	}
}

static uint64_t combine_whole(uint64_t a, uint64_t b, ncclRedOp_t op, bool with_sign)
{
	bool less = with_sign ? (int64_t)a < (int64_t)b : a < b;

	switch (op) {
	case ncclProd:
		return a * b;
	case ncclMax:
		return less ? b : a;
	case ncclMin:
		return less ? a : b;
	default:
		return a + b;
	}
}

static void reduce_whole(void *to, const void *const *from, int ranks, size_t at, ncclDataType_t type, ncclRedOp_t op)
{
	uint64_t sum = (uint64_t)whole_of((const char *)from[0] + at, type);

	for (int r = 1; r < ranks; r++)
		sum = combine_whole(sum, (uint64_t)whole_of((const char *)from[r] + at, type), op, is_signed(type));
	if (op == ncclAvg)
		sum = is_signed(type) ? (uint64_t)((int64_t)sum / ranks) : sum / (uint64_t)ranks;
	memcpy((char *)to + at, &sum, type_bytes(type));
}

void reduce(void *to, const void *const *from, int ranks, size_t count, ncclDataType_t type, ncclRedOp_t op)
{
	const size_t bytes = type_bytes(type);

	for (size_t at = 0; at < count * bytes; at += bytes) {
		double sum;

		if (is_whole(type)) {
			reduce_whole(to, from, ranks, at, type, op);
			continue;
		}
		sum = float_of((const char *)from[0] + at, type);
		for (int r = 1; r < ranks; r++)
			sum = combine(sum, float_of((const char *)from[r] + at, type), op);
		put_float((char *)to + at, op == ncclAvg ? sum / ranks : sum, type);
	}
}

void premultiply(void *to, const void *from, const void *scalar, size_t count, ncclDataType_t type)
{
	const size_t bytes = type_bytes(type);

	for (size_t at = 0; at < count * bytes; at += bytes) {
		uint64_t product = (uint64_t)whole_of((const char *)from + at, type) * (uint64_t)whole_of(scalar, type);

		if (is_whole(type))
			memcpy((char *)to + at, &product, bytes);
		else
			put_float((char *)to + at, float_of((const char *)from + at, type) * float_of(scalar, type),
				  type);
	}
}
