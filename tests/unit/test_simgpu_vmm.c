/* SPDX-License-Identifier: BSD-2-Clause */
/* Virtual memory: addresses, memory, mappings, access; what is accounted for, and what is refused. */
#include "test_simgpu.h"

static struct truth truth;

enum { MIB = 1 << 20, PIECE = 2 * MIB };

static const CUmemAllocationProp props = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
					   .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 } };
static const CUmemAccessDesc read_write = { .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 },
					    .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
static const CUmemAccessDesc read_only = { .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 },
					   .flags = CU_MEM_ACCESS_FLAGS_PROT_READ };

APART static CUmemGenericAllocationHandle created(size_t bytes)
{
	CUmemGenericAllocationHandle handle;

	OK(cuMemCreate(&handle, bytes, &props, 0));
	return handle;
}

APART static CUdeviceptr reserved(size_t bytes)
{
	CUdeviceptr address;

	OK(cuMemAddressReserve(&address, bytes, 0, 0, 0));
	EXPECT(0, address % PIECE);
	return address;
}

APART static long long free_bytes(void)
{
	size_t left, total;

	OK(cuMemGetInfo(&left, &total));
	return (long long)left;
}

static void growing(void)
{
	CUmemGenericAllocationHandle handles[2];
	CUdeviceptr address;
	unsigned char *host = malloc(2 * PIECE), *back = calloc(1, 2 * PIECE);
	long long before;
	size_t bytes;
	CUdeviceptr base;
	int ordinal;

	start();
	before = free_bytes();
	address = reserved(16 * PIECE); /* more than there is memory */
	EXPECT(before, free_bytes());
	for (int i = 0; i < 2; i++) {
		handles[i] = created(PIECE);
		OK(cuMemMap(address + (unsigned)i * PIECE, PIECE, 0, handles[i], 0));
	}
	EXPECT(before - 2 * PIECE, free_bytes());
	for (int i = 0; i < 2 * PIECE; i++)
		host[i] = (unsigned char)(i * 7 + i / 4096);
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(address, host, 8)); /* nobody has access yet */
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemsetD8(address, 0, 8));
	OK(cuMemSetAccess(address, 2 * PIECE, &read_write, 1));
	OK(cuMemcpyHtoD(address, host, 2 * PIECE)); /* one copy over two mappings */
	OK(cuMemcpyDtoH(back, address, 2 * PIECE));
	EXPECT(0, memcmp(host, back, 2 * PIECE));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH(back, address + 1, 2 * PIECE)); /* past what is mapped */
	OK(cuMemGetAddressRange(&base, &bytes, address + PIECE + 5));
	EXPECT(1, base == address + PIECE);
	EXPECT(PIECE, bytes);
	OK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address));
	EXPECT(0, ordinal);
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemFree(address)); /* that is not how it goes */
	/* Read only. */
	OK(cuMemSetAccess(address, PIECE, &read_only, 1));
	OK(cuMemcpyDtoH(back, address, PIECE));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(address, host, 8));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(address + PIECE - 4, host, 8));
	OK(cuMemcpyHtoD(address + PIECE, host, 8));
	/* The handle may go before the mapping. */
	OK(cuMemRelease(handles[0]));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemRelease(handles[0]));
	EXPECT(before - 2 * PIECE, free_bytes());
	OK(cuMemUnmap(address, PIECE));
	EXPECT(before - PIECE, free_bytes());
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH(back, address, 8));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(address, 16 * PIECE)); /* the second is still mapped */
	OK(cuMemUnmap(address + PIECE, PIECE));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(address, PIECE));
	OK(cuMemAddressFree(address, 16 * PIECE));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(address, 16 * PIECE));
	EXPECT(before - PIECE, free_bytes());
	OK(cuMemRelease(handles[1]));
	EXPECT(before, free_bytes());
	free(host);
	free(back);
}

static void memory_is_mapped_piece_by_piece(void **state)
{
	(void)state;
	setenv("SIMGPU_MEM_BYTES", "16M", 1);
	run_in_child(growing, &truth);
	assert_int_equal(truth_nth(&truth, "memcpy", 0)->bytes, 2 * PIECE);
	assert_int_equal(truth.count, 4);
}

static void aliases(void)
{
	CUmemGenericAllocationHandle handle, again;
	CUdeviceptr one, two;
	unsigned value = 0;

	start();
	handle = created(2 * PIECE);
	one = reserved(2 * PIECE);
	two = reserved(2 * PIECE);
	OK(cuMemMap(one, 2 * PIECE, 0, handle, 0));
	OK(cuMemMap(two, PIECE, 0, handle, 0)); /* only its beginning */
	OK(cuMemSetAccess(one, 2 * PIECE, &read_write, 1));
	OK(cuMemSetAccess(two, PIECE, &read_only, 1));
	OK(cuMemsetD32(one + 64, 0xabcdef01, 1));
	OK(cuMemcpyDtoH(&value, two + 64, 4));
	EXPECT(0xabcdef01, value);
	OK(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)(two + 100)));
	EXPECT(1, again == handle);
	OK(cuMemRelease(handle));
	OK(cuMemUnmap(one, 2 * PIECE));
	OK(cuMemMap(one, 2 * PIECE, 0, again, 0)); /* the same memory, and no access as yet */
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH(&value, one + 64, 4));
	OK(cuMemSetAccess(one, 2 * PIECE, &read_write, 1));
	value = 0;
	OK(cuMemcpyDtoH(&value, one + 64, 4));
	EXPECT(0xabcdef01, value);
	OK(cuMemUnmap(one, 2 * PIECE));
	OK(cuMemUnmap(two, PIECE));
	OK(cuMemRelease(again));
	/* What is created anew is clean. */
	handle = created(2 * PIECE);
	OK(cuMemMap(one, 2 * PIECE, 0, handle, 0));
	OK(cuMemSetAccess(one, 2 * PIECE, &read_write, 1));
	OK(cuMemcpyDtoH(&value, one + 64, 4));
	EXPECT(0, value);
}

static void memory_mapped_twice_is_one_memory(void **state)
{
	(void)state;
	run_in_child(aliases, NULL);
}

static void refusals(void)
{
	CUmemAllocationProp other = props;
	CUmemAllocationProp asked;
	CUmemGenericAllocationHandle handle, refused;
	CUmemLocation place = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 };
	CUmemAccessDesc access = read_write;
	CUdeviceptr address, elsewhere;
	unsigned long long flags;
	size_t granularity;
	int fd;

	start();
	OK(cuMemGetAllocationGranularity(&granularity, &props, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	EXPECT(PIECE, granularity);
	OK(cuMemGetAllocationGranularity(&granularity, &props, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
	EXPECT(PIECE, granularity);
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&refused, 4096, &props, 0));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&refused, PIECE, &props, 1));
	EXPECT(CUDA_ERROR_OUT_OF_MEMORY, cuMemCreate(&refused, 16 * PIECE, &props, 0));
	other.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuMemCreate(&refused, PIECE, &other, 0));
	other.requestedHandleTypes = CU_MEM_HANDLE_TYPE_NONE;
	other.location.type = CU_MEM_LOCATION_TYPE_HOST;
	EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuMemCreate(&refused, PIECE, &other, 0));
	other.location = (CUmemLocation){ CU_MEM_LOCATION_TYPE_DEVICE, 1 };
	EXPECT(CUDA_ERROR_INVALID_DEVICE, cuMemCreate(&refused, PIECE, &other, 0));
	handle = created(PIECE);
	OK(cuMemGetAllocationPropertiesFromHandle(&asked, handle));
	EXPECT(0, memcmp(&asked, &props, sizeof(props)));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemGetAllocationPropertiesFromHandle(&asked, 0x12340));
	EXPECT(CUDA_ERROR_INVALID_VALUE,
	       cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	EXPECT(CUDA_ERROR_NOT_SUPPORTED,
	       cuMemImportFromShareableHandle(&refused, NULL, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemAddressReserve(&address, 100, 0, 0, 0));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemAddressReserve(&address, PIECE, 3, 0, 0));
	address = reserved(4 * PIECE);
	OK(cuMemAddressReserve(&elsewhere, PIECE, 0, address + 4 * PIECE, 0)); /* a hint, and here it is taken */
	EXPECT(1, elsewhere == address + 4 * PIECE);
	OK(cuMemAddressFree(elsewhere, PIECE));
	OK(cuMemAddressReserve(&elsewhere, PIECE, 0, address, 0)); /* here it cannot be */
	EXPECT(1, elsewhere >= address + 4 * PIECE || elsewhere < address);
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemMap(address, PIECE, PIECE, handle, 0));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemMap(address, 2 * PIECE, 0, handle, 0)); /* larger than it is */
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemMap(address + 4096, PIECE, 0, handle, 0));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemMap(address + 64 * PIECE, PIECE, 0, handle, 0)); /* not reserved */
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemGetAccess(&flags, &place, address));
	OK(cuMemMap(address, PIECE, 0, handle, 0));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemMap(address, PIECE, 0, handle, 0)); /* mapped already */
	OK(cuMemGetAccess(&flags, &place, address));
	EXPECT(CU_MEM_ACCESS_FLAGS_PROT_NONE, flags);
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemSetAccess(address, 2 * PIECE, &read_write, 1)); /* half of it unmapped */
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemSetAccess(address, PIECE / 2, &read_write, 1));
	access.location.id = 5;
	EXPECT(CUDA_ERROR_INVALID_DEVICE, cuMemSetAccess(address, PIECE, &access, 1));
	access.location = (CUmemLocation){ CU_MEM_LOCATION_TYPE_HOST, 0 };
	EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuMemSetAccess(address, PIECE, &access, 1));
	OK(cuMemSetAccess(address, PIECE, &read_only, 1));
	OK(cuMemGetAccess(&flags, &place, address + 77));
	EXPECT(CU_MEM_ACCESS_FLAGS_PROT_READ, flags);
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemUnmap(address, PIECE / 2));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemUnmap(address + PIECE, PIECE));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemRetainAllocationHandle(&refused, (void *)(uintptr_t)(address + PIECE)));
}

static void wrong_arguments_are_refused(void **state)
{
	(void)state;
	setenv("SIMGPU_MEM_BYTES", "8M", 1);
	run_in_child(refusals, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_is_mapped_piece_by_piece),
		cmocka_unit_test(memory_mapped_twice_is_one_memory),
		cmocka_unit_test(wrong_arguments_are_refused),
	};

	settings_clear();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
