# SPDX-License-Identifier: BSD-2-Clause
# The benchmark's programs: its driver, which does nothing (-Bsymbolic: its table names its own functions, not a recorder's), and
# hook_cost. The LTTng pair is made by scripts/bench-hooks alone.
BENCH := $(BUILD)/bench/libcuda.so.1 $(BUILD)/bench/hook_cost

$(BUILD)/obj/tests/bench/%.o: ALL_CFLAGS += -fPIC -iquote tests/bench $(CUDA_FLAGS)

$(BUILD)/bench/libcuda.so.1: $(BUILD)/obj/tests/bench/idle_driver.o
	$(call say,LINK)
	$(Q)mkdir -p $(@D)
	$(Q)$(LINK) -shared -Wl,-Bsymbolic -Wl,-soname,libcuda.so.1 -o $@ $^

$(BUILD)/bench/hook_cost: $(BUILD)/obj/tests/bench/hook_cost.o
	$(call say,LINK)
	$(Q)mkdir -p $(@D)
	$(Q)$(LINK) -o $@ $^ -ldl

$(BUILD)/bench/libtracepoints.so: $(BUILD)/obj/tests/bench/tracepoints.o
	$(call say,LINK)
	$(Q)mkdir -p $(@D)
	$(Q)$(LINK) -shared -o $@ $^ -llttng-ust -ldl
