# SPDX-License-Identifier: BSD-2-Clause
# Stand-ins for PyTorch's libc10 and libc10_cuda, with the signatures of 2.0 and later (now) and of 1.13 (first), and their client. libc10_cuda
# calls libc10 through its PLT, as the real one does.
TORCH       := $(BUILD)/torch
ALL_CXXFLAGS = -std=c++17 $(OPT) -Wall -Wextra -Wshadow $(SANFLAGS) $(filter-out -D_GNU_SOURCE=,$(CPPFLAGS)) $(CXXFLAGS) -MMD -MP -iquote tests/torch $(CUDA_FLAGS)
# Not for another processor: there is no C++ compiler for it.
TORCH_SO     := $(if $(CROSS),,$(foreach v,now first,$(TORCH)/$(v)/libc10_cuda.so))
TORCH_CLIENT := $(if $(CROSS),,$(TORCH)/client_memory)

$(BUILD)/obj/torch-first/%.o: ALL_CXXFLAGS += -DC10_FIRST
define TORCH_OBJECT
	$(call say,CXX)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(ALL_CXXFLAGS) -fPIC -fvisibility=hidden -c -o $@ $<
endef
$(BUILD)/obj/torch-now/%.o: tests/torch/%.cc $(FLAGS_FILE)
	$(TORCH_OBJECT)
$(BUILD)/obj/torch-first/%.o: tests/torch/%.cc $(FLAGS_FILE)
	$(TORCH_OBJECT)

$(TORCH)/%/libc10.so: $(BUILD)/obj/torch-%/c10.o
	$(call say,LINK)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(SANFLAGS) -shared -Wl,-soname,libc10.so -o $@ $^

$(TORCH)/%/libc10_cuda.so: $(BUILD)/obj/torch-%/caching_allocator.o $(TORCH)/%/libc10.so $(SIM_SO)
	$(call say,LINK)
	$(Q)$(CXX) $(SANFLAGS) -shared -Wl,-soname,libc10_cuda.so -Wl,-rpath,'$$ORIGIN' -o $@ $< -L$(@D) -lc10 -L$(SIM) -lcuda

$(TORCH)/client_memory: tests/torch/clients/client_memory.cc $(TORCH_SO) $(SIM_SO) $(FLAGS_FILE)
	$(call say,CXX)
	$(Q)$(CXX) $(ALL_CXXFLAGS) -o $@ $< -L$(SIM) -lcuda -ldl
