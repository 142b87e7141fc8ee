# SPDX-License-Identifier: BSD-2-Clause
# Only the calls are visible; nodelete: the driver's thread may still be in our code at dlclose.
$(BUILD)/obj/tests/simgpu/%.o $(SIM)/gen/generated.o: ALL_CFLAGS += -fvisibility=hidden
LDFLAGS_libcuda := -Wl,-z,nodelete -Wl,-z,now
