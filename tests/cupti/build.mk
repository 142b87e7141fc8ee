# SPDX-License-Identifier: BSD-2-Clause
# The stand-in for CUPTI, with the real one's name, and its clients: client_*.c, one program each, linked with it; they find it beside
# themselves. NVIDIA's symbols have a version; so have these.
CUPTI    := $(BUILD)/cupti
CUPTI_SO := $(CUPTI)/libcupti.so.13
CUPTI_C  := $(wildcard tests/cupti/*.c)

$(BUILD)/obj/tests/cupti/%.o: ALL_CFLAGS += -fPIC -fvisibility=hidden -iquote tests/cupti -iquote tests/simgpu $(CUDA_FLAGS)

$(CUPTI_SO): $(call obj,$(CUPTI_C)) tests/cupti/versions
	$(call say,LINK)
	$(Q)mkdir -p $(@D)
	$(Q)$(LINK) -shared -Wl,-soname,libcupti.so.13 -Wl,-z,nodelete -Wl,--version-script=tests/cupti/versions -o $@ $(filter %.o,$^) -lpthread -ldl
	$(Q)ln -sf libcupti.so.13 $(@D)/libcupti.so

CUPTI_CLIENT_C := $(wildcard tests/cupti/clients/client_*.c)
CUPTI_CLIENTS  := $(patsubst tests/cupti/clients/%.c,$(CUPTI)/%,$(CUPTI_CLIENT_C))

$(BUILD)/obj/tests/cupti/clients/%.o: ALL_CFLAGS += -iquote tests/workloads

$(CUPTI_CLIENTS): $(CUPTI)/%: $(BUILD)/obj/tests/cupti/clients/%.o $(CUPTI_SO) $(SIM_SO)
	$(call say,LINK)
	$(Q)$(LINK) -o $@ $(filter %.o,$^) -L$(CUPTI) -l:libcupti.so.13 -L$(SIM) -lcuda -lpthread -ldl
