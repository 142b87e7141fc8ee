# SPDX-License-Identifier: BSD-2-Clause
# Programs that annotate themselves with NVTX's own headers (clients/client_*.c), a library with a copy of NVTX of its own, and a tool
# for its slot that is not ours. Where the headers cannot be had they are not built, and their tests are skipped.
NVTX         := $(BUILD)/nvtx
NVTX_CLIENTS := $(if $(NVTX_INC),$(patsubst tests/nvtx/clients/%.c,$(NVTX)/%,$(wildcard tests/nvtx/clients/client_*.c)) $(NVTX)/libcopy.so $(NVTX)/libtool.so)

$(BUILD)/obj/tests/nvtx/%.o: ALL_CFLAGS += -fPIC -isystem $(NVTX_INC) $(CUDA_FLAGS)

$(NVTX)/client_%: $(BUILD)/obj/tests/nvtx/clients/client_%.o $(SIM_SO)
	$(call say,LINK)
	$(Q)mkdir -p $(@D)
	$(Q)$(LINK) -o $@ $(filter %.o,$^) -L$(SIM) -lcuda -lpthread -ldl

$(NVTX)/lib%.so: $(BUILD)/obj/tests/nvtx/%.o
	$(call say,LINK)
	$(Q)mkdir -p $(@D)
	$(Q)$(LINK) -shared -o $@ $(filter %.o,$^) -ldl
