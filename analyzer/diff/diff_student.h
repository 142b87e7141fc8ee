/* SPDX-License-Identifier: BSD-2-Clause */
/* diff_student.h: Student's t, of which the C library knows nothing. Degrees of freedom need not be whole (Welch); INFINITY is the normal one. */
#pragma once

/* How likely a value above t is. */
double student_above(double t, double df);
/* The value that is exceeded with that probability, 0 < p <= 0.5. */
double student_quantile(double p, double df);
