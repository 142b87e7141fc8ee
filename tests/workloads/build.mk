# SPDX-License-Identifier: BSD-2-Clause
# random_calls is cut into its families of calls.
RANDOM_CALLS_C := $(wildcard tests/workloads/random_calls/*.c)

$(BUILD)/workloads/random_calls: $(call obj,$(RANDOM_CALLS_C))

# Libraries that stacks go through: with unwinding tables alone, and with frame pointers alone.
$(BUILD)/obj/tests/workloads/stacks_frameless_plugin.o: ALL_CFLAGS += -O2 -fomit-frame-pointer -fasynchronous-unwind-tables
$(BUILD)/obj/tests/workloads/stacks_pointers_plugin.o: ALL_CFLAGS += -O1 -fno-omit-frame-pointer -fno-asynchronous-unwind-tables -fno-unwind-tables
