# SPDX-License-Identifier: BSD-2-Clause
# tests/scenarios/host: programs that leave the simulated device idle for a known cause. *_linked.c are programs; the others are linked into each.
LAB_C := $(wildcard tests/scenarios/host/*.c)
LAB   := $(patsubst tests/scenarios/host/%.c,$(BUILD)/host/%,$(filter %_linked.c,$(LAB_C)))
TOOLS += $(LAB)

$(BUILD)/obj/tests/scenarios/host/%.o: ALL_CFLAGS += -iquote tests/scenarios/host $(CUDA_FLAGS)

$(LAB): $(BUILD)/host/%: $(BUILD)/obj/tests/scenarios/host/%.o $(call obj,$(filter-out %_linked.c,$(LAB_C))) $(SIM_SO)
	$(call say,LINK)
	$(Q)mkdir -p $(@D)
	$(Q)$(LINK) -o $@ $(filter %.o,$^) -L$(SIM) -lcuda -lpthread -lm

# tests/scenarios/further: likewise, programs as users have them.
FURTHER_C := $(wildcard tests/scenarios/further/*.c)
FURTHER   := $(patsubst tests/scenarios/further/%.c,$(BUILD)/further/%,$(filter %_linked.c,$(FURTHER_C)))
TOOLS     += $(FURTHER)

$(BUILD)/obj/tests/scenarios/further/%.o: ALL_CFLAGS += -iquote tests/scenarios/further $(CUDA_FLAGS)

$(FURTHER): $(BUILD)/further/%: $(BUILD)/obj/tests/scenarios/further/%.o $(call obj,$(filter-out %_linked.c,$(FURTHER_C))) $(SIM_SO) $(NCCL_SO)
	$(call say,LINK)
	$(Q)mkdir -p $(@D)
	$(Q)$(LINK) -o $@ $(filter %.o,$^) $(if $(findstring ranks,$@),$(NCCL_LIB)) -L$(SIM) -lcuda -lpthread -ldl -lm
