# SPDX-License-Identifier: BSD-2-Clause
# random_calls is cut into its families of calls.
RANDOM_CALLS_C := $(wildcard tests/workloads/random_calls/*.c)

$(BUILD)/workloads/random_calls: $(call obj,$(RANDOM_CALLS_C))
