# SPDX-License-Identifier: BSD-2-Clause
# A FUSE file system that can be told to be slow or to fail; without libfuse3 it is not built, and its tests are skipped.
FUSE_FS := $(if $(CROSS),,$(if $(wildcard /usr/include/fuse3/fuse.h),$(BUILD)/fuse/slow_fs))
TOOLS += $(FUSE_FS)

$(BUILD)/obj/tests/fuse/%.o: ALL_CFLAGS += -I/usr/include/fuse3 -D_FILE_OFFSET_BITS=64

$(BUILD)/fuse/slow_fs: $(BUILD)/obj/tests/fuse/slow_fs.o
	$(call say,LINK)
	$(Q)mkdir -p $(@D)
	$(Q)$(LINK) -o $@ $^ -lfuse3 -lpthread
