# SPDX-License-Identifier: BSD-2-Clause
# The benchmark's programs: its driver, which does nothing (-Bsymbolic: its table names its own functions, not a recorder's), and
# two that time what is recorded, one that launches without end; what scripts/bench-host runs. The LTTng pair is made by scripts/bench-hooks alone.
BENCH_PROGRAMS := $(BUILD)/bench/hook_cost $(BUILD)/bench/hook_tail $(BUILD)/bench/endless
BENCH := $(BUILD)/bench/libcuda.so.1 $(BENCH_PROGRAMS) $(BUILD)/bench/stack_cost $(BUILD)/bench/host_pair $(BUILD)/bench/host_flood

$(BUILD)/obj/tests/bench/%.o: ALL_CFLAGS += -fPIC -iquote tests/bench -iquote analyzer $(CUDA_FLAGS)

$(BUILD)/bench/libcuda.so.1: $(BUILD)/obj/tests/bench/idle_driver.o
	$(call say,LINK)
	$(Q)mkdir -p $(@D)
	$(Q)$(LINK) -shared -Wl,-Bsymbolic -Wl,-soname,libcuda.so.1 -o $@ $^

$(BENCH_PROGRAMS): $(BUILD)/bench/%: $(BUILD)/obj/tests/bench/%.o
	$(call say,LINK)
	$(Q)mkdir -p $(@D)
	$(Q)$(LINK) -o $@ $^ -ldl -lpthread

$(BUILD)/bench/stack_cost: $(BUILD)/obj/tests/bench/stack_cost.o $(SHIM_TEST_A)
	$(call say,LINK)
	$(Q)mkdir -p $(@D)
	$(Q)$(LINK) -o $@ $^ -ldl -lpthread

$(BUILD)/bench/host_pair: $(BUILD)/obj/tests/bench/host_pair.o
	$(call say,LINK)
	$(Q)mkdir -p $(@D)
	$(Q)$(LINK) -o $@ $^

$(BUILD)/bench/host_flood: $(BUILD)/obj/tests/bench/host_flood.o $(PROBES_A) $(AN_A)
	$(call say,LINK)
	$(Q)mkdir -p $(@D)
	$(Q)$(LINK) -o $@ $^ -lpthread $(PROBES_LIBS) $(AN_LIBS)

$(BUILD)/bench/libtracepoints.so: $(BUILD)/obj/tests/bench/tracepoints.o
	$(call say,LINK)
	$(Q)mkdir -p $(@D)
	$(Q)$(LINK) -shared -o $@ $^ -llttng-ust -ldl
