# SPDX-License-Identifier: BSD-2-Clause
# The stand-in for NCCL: built like the real one, whose calls to itself go through its PLT (no -Bsymbolic), and which names no libcuda.
NCCL    := $(BUILD)/nccl
NCCL_SO := $(NCCL)/libnccl.so.2
NCCL_C  := $(wildcard tests/nccl/*.c)

$(BUILD)/obj/tests/nccl/%.o: ALL_CFLAGS += -fPIC -fvisibility=hidden -iquote tests/nccl $(CUDA_FLAGS)

$(NCCL_SO): $(call obj,$(NCCL_C))
	$(call say,LINK)
	$(Q)mkdir -p $(@D)
	$(Q)$(LINK) -shared -Wl,-soname,libnccl.so.2 -Wl,-z,nodelete -o $@ $^ -lpthread -ldl -lm
	$(Q)ln -sf libnccl.so.2 $(@D)/libnccl.so

# Its clients: client_*.c are programs, the rest is in each of them, but for client_version, which is by itself and without the driver.
NCCL_CLIENT_C := $(wildcard tests/nccl/clients/client_*.c)
NCCL_CLIENTS  := $(patsubst tests/nccl/clients/%.c,$(NCCL)/%,$(NCCL_CLIENT_C))
NCCL_CLIENT_O := $(call obj,$(filter-out $(NCCL_CLIENT_C),$(wildcard tests/nccl/clients/*.c)))
NCCL_LIB      := -L$(NCCL) -Wl,--no-as-needed -l:libnccl.so.2 -Wl,--as-needed

$(BUILD)/obj/tests/nccl/clients/%.o: ALL_CFLAGS += -iquote tests/nccl/clients

$(NCCL)/client_version: $(BUILD)/obj/tests/nccl/clients/client_version.o $(NCCL_SO)
	$(call say,LINK)
	$(Q)$(LINK) -o $@ $(filter %.o,$^) $(NCCL_LIB) -ldl

$(filter-out %version,$(NCCL_CLIENTS)): $(NCCL)/%: $(BUILD)/obj/tests/nccl/clients/%.o $(NCCL_CLIENT_O) $(NCCL_SO) $(SIM_SO)
	$(call say,LINK)
	$(Q)$(LINK) -o $@ $(filter %.o,$^) $(if $(filter %dlopen,$@),,$(NCCL_LIB)) -L$(SIM) -lcuda -lpthread -ldl -lm
