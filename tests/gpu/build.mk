# SPDX-License-Identifier: BSD-2-Clause
# gpu-kit: what gpu-check needs on a machine with a GPU, in one folder to carry there.
KIT := $(BUILD)/gpu-kit

.PHONY: gpu-kit
gpu-kit: $(SHIM_SO) $(BUILD)/gpushim-static $(BUILD)/workloads/gpu_worker_linked $(BUILD)/workloads/gpu_costs_linked $(BUILD)/workloads/gpu_allocator_plugin.so ## what scripts/gpu-check.sh needs on a machine with a GPU
	$(Q)rm -rf $(KIT) && mkdir -p $(KIT) && cp $^ $(KIT)
	$(Q)strip $(KIT)/gpu*_linked $(KIT)/gpushim-static
	$(Q)git rev-parse HEAD >$(KIT)/commit 2>/dev/null || rm -f $(KIT)/commit
	@du -sh $(KIT)
