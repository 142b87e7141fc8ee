/* SPDX-License-Identifier: BSD-2-Clause */
/* text_symbol.h: names of C++ functions, which may be as long as a page, where there is room for a line. */
#pragma once

#include <stddef.h>

/* As text_clean. A name that is too long loses what tells least, step by step: parameters and return type, namespaces in template arguments,
 * all namespaces, template arguments within others from the innermost out ("<...>"), and in the end its end.
 *   void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int, …)
 *   vectorized_elementwise_kernel<4, CUDAFunctor_add<float>, array<char*, 3ul>>
 *   vectorized_elementwise_kernel<4, CUDAFunctor_add<...>, array<...>>  */
const char *text_symbol(char *buf, size_t size, const char *name, size_t columns);
