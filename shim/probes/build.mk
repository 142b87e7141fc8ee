# SPDX-License-Identifier: BSD-2-Clause
# Host probes by eBPF: the programs, by clang for the kernel's own machine; bpftool wraps them into a header. Where clang, bpftool or libbpf are not
# there, or for another processor, the rest is built without.
BPFTOOL  ?= $(or $(shell command -v bpftool),$(wildcard /usr/sbin/bpftool /usr/local/sbin/bpftool),bpftool)
EBPF_ARCH := $(patsubst aarch64,arm64,$(patsubst x86_64,x86,$(ARCH)))
ebpf_missing := $(if $(CROSS),libbpf for $(ARCH),$(shell \
	$(CLANG) -target bpf -x c -c -o /dev/null /dev/null 2>/dev/null || echo $(CLANG); \
	$(BPFTOOL) version >/dev/null 2>&1 || echo $(BPFTOOL); \
	echo '\#include <bpf/libbpf.h>' | $(CC) -E -x c - >/dev/null 2>&1 || echo libbpf-dev))

EBPF_C := $(filter-out %/ebpf_none.c,$(wildcard shim/probes/ebpf*.c))
ifeq ($(ebpf_missing),)
PROBES_LIBS = -lbpf -lelf -lz
$(PROBES_A): $(call obj,$(EBPF_C))
else
PROBES_LIBS =
$(PROBES_A): $(call obj,shim/probes/ebpf_none.c)
endif

$(call obj,shim/probes/ebpf_none.c): shim/probes/ebpf_none.c $(FLAGS_FILE)
	@echo "  without host probes by eBPF: missing $(ebpf_missing)"
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -c -o $@ $<

# Freestanding: the headers of the machine that is compiled on are none of the kernel's business, but for linux/bpf.h.
$(BUILD)/ebpf/host.bpf.o: shim/probes/host.bpf.c $(wildcard shim/probes/*.h) shim/format_host.h shim/format.h $(FLAGS_FILE)
	$(call say,BPF)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) -target bpf -D__TARGET_ARCH_$(EBPF_ARCH) -ffreestanding -O2 -g -Wall -Wextra -Wno-unused-parameter $(if $(WERROR),-Werror) \
		-iquote . -idirafter /usr/include/$(shell $(CC) -print-multiarch) -c -o $@ $<

$(BUILD)/ebpf/host.skel.h: $(BUILD)/ebpf/host.bpf.o
	$(call say,SKEL)
	$(Q)$(BPFTOOL) gen skeleton $< name host_bpf >$@

$(BUILD)/obj/shim/probes/ebpf_load.o: $(BUILD)/ebpf/host.skel.h
$(BUILD)/obj/shim/probes/ebpf_load.o: ALL_CFLAGS += -isystem $(BUILD)/ebpf
