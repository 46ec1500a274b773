/* Calls functions that other programs use, but not the recorded programs. Each line of the
   output is a call and its code, or a value. Argument 1 is the section of calls, argument 2 the
   file blocks.fatbin. Of addresses only properties are printed that are the same in every run. */
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { unsigned x, y, z; } dim3;
typedef struct { void *ptr; size_t pitch, xsize, ysize; } pitched;
typedef struct { size_t width, height, depth; } extent;
typedef struct { size_t x, y, z; } pos;
typedef struct { void *src_array; pos src_pos; pitched src; void *dst_array; pos dst_pos; pitched dst; extent size; int kind; } copy3d;
typedef struct { int type, id; } location;
typedef struct { int alloc_type, handle_types; location where; void *security; size_t max_size; unsigned short usage; unsigned char reserved[54]; } pool_props;
typedef struct { location where; int flags; } access_desc;
typedef struct { int type, device; void *device_pointer, *host_pointer; long reserved[8]; } pointer_attributes;
typedef struct { size_t shared, constant, local; int threads, registers, ptx, binary, cache, dynamic, carveout, cluster[5], reserved[16]; } func_attributes;
typedef struct { void *dst; size_t pitch; unsigned value, element; size_t width, height; } memset_params;
typedef struct { void *func; dim3 grid, block; unsigned shared; void **args, **extra; } kernel_params;
typedef struct { void (*fn)(void *); void *data; } host_params;
typedef struct { dim3 grid, block; size_t shared; void *stream, *attributes; unsigned count; } launch_config;

void **__cudaRegisterFatBinary(void *);
void __cudaRegisterFatBinaryEnd(void **);
void __cudaRegisterFunction(void **, const char *, char *, const char *, int, void *, void *, dim3 *, dim3 *, int *);
void __cudaRegisterVar(void **, char *, char *, const char *, int, size_t, int, int);
#define F(name, ...) int name(__VA_ARGS__);
F(cudaMalloc, void **, size_t) F(cudaFree, void *) F(cudaMemcpy, void *, const void *, size_t, int)
F(cudaMemset, void *, int, size_t) F(cudaDeviceSynchronize, void) F(cudaGetLastError, void)
F(cudaPeekAtLastError, void) F(cudaMallocHost, void **, size_t) F(cudaFreeHost, void *)
F(cudaMallocManaged, void **, size_t, unsigned) F(cudaStreamCreate, void **) F(cudaStreamDestroy, void *)
F(cudaStreamSynchronize, void *) F(cudaMallocPitch, void **, size_t *, size_t, size_t)
F(cudaMalloc3D, pitched *, extent) F(cudaMemcpy2D, void *, size_t, const void *, size_t, size_t, size_t, int)
F(cudaMemcpy2DAsync, void *, size_t, const void *, size_t, size_t, size_t, int, void *)
F(cudaMemset2D, void *, size_t, int, size_t, size_t) F(cudaMemset2DAsync, void *, size_t, int, size_t, size_t, void *)
F(cudaMemcpy3D, const copy3d *) F(cudaMemcpy3DAsync, const copy3d *, void *) F(cudaMemset3D, pitched, int, extent)
F(cudaMemPoolCreate, void **, const pool_props *) F(cudaMemPoolDestroy, void *)
F(cudaMemPoolSetAttribute, void *, int, void *) F(cudaMemPoolGetAttribute, void *, int, void *)
F(cudaMemPoolTrimTo, void *, size_t) F(cudaMallocFromPoolAsync, void **, size_t, void *, void *)
F(cudaMallocAsync, void **, size_t, void *) F(cudaFreeAsync, void *, void *)
F(cudaDeviceGetDefaultMemPool, void **, int) F(cudaDeviceGetMemPool, void **, int) F(cudaDeviceSetMemPool, int, void *)
F(cudaMemPoolGetAccess, int *, void *, location *) F(cudaMemPoolSetAccess, void *, const access_desc *, size_t)
F(cudaHostRegister, void *, size_t, unsigned) F(cudaHostUnregister, void *) F(cudaHostAlloc, void **, size_t, unsigned)
F(cudaHostGetDevicePointer, void **, void *, unsigned) F(cudaHostGetFlags, unsigned *, void *)
F(cudaPointerGetAttributes, pointer_attributes *, const void *)
F(cudaMemPrefetchAsync, const void *, size_t, location, unsigned, void *) F(cudaMemAdvise, const void *, size_t, int, location)
F(cudaMemRangeGetAttribute, void *, size_t, int, const void *, size_t)
F(cudaFuncGetAttributes, func_attributes *, const void *) F(cudaFuncSetAttribute, const void *, int, int)
F(cudaFuncSetCacheConfig, const void *, int) F(cudaFuncGetName, const char **, const void *)
F(cudaOccupancyMaxActiveBlocksPerMultiprocessor, int *, const void *, int, size_t)
F(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, int *, const void *, int, size_t, unsigned)
F(cudaOccupancyAvailableDynamicSMemPerBlock, size_t *, const void *, int, int)
F(cudaLaunchKernel, const void *, dim3, dim3, void **, size_t, void *) F(cudaLaunchKernelExC, const launch_config *, const void *, void **)
F(cudaLaunchCooperativeKernel, const void *, dim3, dim3, void **, size_t, void *)
F(cudaGetSymbolAddress, void **, const void *) F(cudaGetSymbolSize, size_t *, const void *)
F(cudaMemcpyToSymbol, const void *, const void *, size_t, size_t, int) F(cudaMemcpyFromSymbol, void *, const void *, size_t, size_t, int)
F(cudaDeviceGetLimit, size_t *, int) F(cudaDeviceSetLimit, int, size_t) F(cudaDeviceGetPCIBusId, char *, int, int)
F(cudaDeviceGetByPCIBusId, int *, const char *) F(cudaGetDeviceFlags, unsigned *) F(cudaSetDeviceFlags, unsigned)
F(cudaDeviceGetCacheConfig, int *) F(cudaDeviceSetCacheConfig, int) F(cudaDeviceGetSharedMemConfig, int *)
F(cudaInitDevice, int, unsigned, unsigned) F(cudaStreamGetId, void *, unsigned long long *) F(cudaStreamGetDevice, void *, int *)
F(cudaStreamAddCallback, void *, void (*)(void *, int, void *), void *, unsigned) F(cudaChooseDevice, int *, const void *)
F(cudaGraphCreate, void **, unsigned) F(cudaGraphDestroy, void *) F(cudaGraphInstantiateWithFlags, void **, void *, unsigned long long)
F(cudaGraphLaunch, void *, void *) F(cudaGraphExecDestroy, void *) F(cudaGraphAddEmptyNode, void **, void *, void *const *, size_t)
F(cudaGraphAddKernelNode, void **, void *, void *const *, size_t, const kernel_params *)
F(cudaGraphAddMemsetNode, void **, void *, void *const *, size_t, const memset_params *)
F(cudaGraphAddMemcpyNode1D, void **, void *, void *const *, size_t, void *, const void *, size_t, int)
F(cudaGraphAddMemcpyNode, void **, void *, void *const *, size_t, const copy3d *)
F(cudaGraphAddHostNode, void **, void *, void *const *, size_t, const host_params *)
F(cudaGraphAddChildGraphNode, void **, void *, void *const *, size_t, void *)
F(cudaGraphAddDependencies, void *, void *const *, void *const *, const void *, size_t)
F(cudaGraphRemoveDependencies, void *, void *const *, void *const *, const void *, size_t)
F(cudaGraphGetEdges, void *, void **, void **, void *, size_t *) F(cudaGraphGetNodes, void *, void **, size_t *)
F(cudaGraphExecKernelNodeSetParams, void *, void *, const kernel_params *) F(cudaGraphExecMemsetNodeSetParams, void *, void *, const memset_params *)
F(cudaGraphExecMemcpyNodeSetParams1D, void *, void *, void *, const void *, size_t, int) F(cudaGraphExecMemcpyNodeSetParams, void *, void *, const copy3d *)
F(cudaGraphExecHostNodeSetParams, void *, void *, const host_params *) F(cudaGraphExecChildGraphNodeSetParams, void *, void *, void *)
F(cudaGraphKernelNodeSetParams, void *, const kernel_params *) F(cudaGraphKernelNodeGetParams, void *, kernel_params *)
F(cudaGraphMemsetNodeSetParams, void *, const memset_params *) F(cudaGraphMemcpyNodeSetParams1D, void *, void *, const void *, size_t, int)
F(cudaGraphHostNodeSetParams, void *, const host_params *) F(cudaGraphMemsetNodeGetParams, void *, memset_params *)
F(cudaGraphMemcpyNodeGetParams, void *, copy3d *) F(cudaGraphNodeSetEnabled, void *, void *, unsigned) F(cudaGraphNodeGetEnabled, void *, void *, unsigned *)
F(cudaGraphAddMemAllocNode, void **, void *, void *const *, size_t, void *)
#undef F

#define R(call) \
    do { \
        if (sigsetjmp(back, 1) == 0) \
            printf("%s %d\n", #call, call); \
        else \
            printf("%s crashed\n", #call); \
    } while (0)
static sigjmp_buf back;

static void crashed(int signal) { (void)signal; siglongjmp(back, 1); }

#define V(value) printf("  %s %lld\n", #value, (long long)(value))
static char tree_sum, variables, launches, primes;
static struct { int magic, version; const void *data; void *file; } wrapper = {0x466243B1, 1, NULL, NULL};
static char file[1 << 17];
static const dim3 one = {1, 1, 1};

static void load(const char *name) {
    FILE *input = fopen(name, "rb");
    if (!input || fread(file, 1, sizeof file, input) == 0)
        exit(2);
    fclose(input);
    wrapper.data = file;
    void **binary = __cudaRegisterFatBinary(&wrapper);
    __cudaRegisterFunction(binary, &tree_sum, "tree_sum", "tree_sum", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFunction(binary, &variables, "variables", "variables", -1, 0, 0, 0, 0, 0);
    __cudaRegisterVar(binary, &launches, "launches", "launches", 0, 4, 0, 0);
    __cudaRegisterVar(binary, &primes, "primes", "primes", 0, 32, 1, 0);
    __cudaRegisterFatBinaryEnd(binary);
}

static unsigned sum(const void *bytes, size_t count) {
    unsigned all = 1;
    for (size_t i = 0; i < count; i++)
        all = all * 31 + ((const unsigned char *)bytes)[i];
    return all;
}

static void rows(void) {
    static unsigned char from[64 * 64], to[64 * 64];
    for (int i = 0; i < 64 * 64; i++)
        from[i] = (unsigned char)(i * 7 ^ i >> 5);
    void *a, *b, *null = NULL;
    size_t pitch;
    R(cudaMallocPitch(&a, &pitch, 100, 20));
    V(pitch);
    V((uintptr_t)a % 512);
    R(cudaMallocPitch(&b, &pitch, 513, 3));
    V(pitch);
    R(cudaMallocPitch(&b, &pitch, 0, 3));
    V(b == NULL);
    V(pitch);
    R(cudaMallocPitch(&b, &pitch, 3, 0));
    V(b == NULL);
    V(pitch);
    R(cudaMallocPitch(NULL, &pitch, 3, 1));
    R(cudaMallocPitch(&b, NULL, 3, 1));
    R(cudaMallocPitch(&b, &pitch, (size_t)1 << 50, 2));
    R(cudaMemset2D(a, 512, 3, 100, 20));
    R(cudaMemset2D(a, 512, 9, 50, 4));
    R(cudaMemset2D(a, 40, 9, 50, 4));
    R(cudaMemset2D(null, 512, 9, 50, 4));
    R(cudaMemset2D(a, 512, 9, 0, 4));
    R(cudaMemset2D(a, 512, 9, 4, 0));
    R(cudaMemset2D(a, 512, 9, 512, 21));
    R(cudaMemcpy2D(to, 64, a, 512, 64, 20, 2));
    V(sum(to, sizeof to));
    R(cudaMemcpy2D(a, 512, from, 64, 60, 20, 1));
    R(cudaMemcpy2D(to, 64, a, 512, 64, 20, 2));
    V(sum(to, sizeof to));
    R(cudaMemcpy2D(a, 512, from, 64, 60, 20, 4));
    R(cudaMemcpy2D(to, 50, from, 64, 50, 20, 0));
    V(sum(to, sizeof to));
    R(cudaMemcpy2D((char *)a + 512 * 10, 512, a, 512, 30, 5, 3));
    R(cudaMemcpy2D(to, 64, a, 512, 64, 20, 2));
    V(sum(to, sizeof to));
    R(cudaMemcpy2D(a, 512, from, 50, 60, 20, 1));
    R(cudaMemcpy2D(a, 50, from, 64, 60, 20, 1));
    R(cudaMemcpy2D(null, 512, from, 64, 60, 20, 1));
    R(cudaMemcpy2D(a, 512, null, 64, 60, 20, 1));
    R(cudaMemcpy2D(a, 512, from, 64, 0, 20, 1));
    R(cudaMemcpy2D(a, 512, from, 64, 60, 0, 1));
    R(cudaMemcpy2D(a, 512, from, 64, 60, 20, 7));
    R(cudaMemcpy2D(a, 512, from, 64, 512, 21, 1));
    R(cudaMemcpy2D(from, 512, from, 64, 60, 20, 3));
    R(cudaMemcpy2DAsync(a, 512, from, 64, 64, 20, 1, NULL));
    R(cudaMemset2DAsync(a, 512, 77, 3, 20, NULL));
    R(cudaMemcpy2DAsync(to, 64, a, 512, 64, 20, 2, NULL));
    R(cudaDeviceSynchronize());
    V(sum(to, sizeof to));
    pitched p = {0};
    extent e = {100, 6, 5};
    R(cudaMalloc3D(&p, e));
    V(p.pitch);
    V(p.xsize);
    V(p.ysize);
    R(cudaMemset3D(p, 8, e));
    extent wide = {600, 1, 1};
    R(cudaMemset3D(p, 8, wide));
    extent small = {20, 2, 3};
    R(cudaMemset3D(p, 5, small));
    copy3d c = {0};
    c.src = p; c.dst.ptr = to; c.dst.pitch = 64; c.dst.xsize = 64; c.dst.ysize = 6; c.size.width = 60; c.size.height = 6; c.size.depth = 5; c.kind = 2;
    memset(to, 0, sizeof to);
    R(cudaMemcpy3D(&c));
    V(sum(to, sizeof to));
    c.src_pos.x = 3;
    c.src_pos.y = 1;
    c.src_pos.z = 2;
    c.dst_pos.y = 1;
    c.size.height = 4;
    c.size.depth = 3;
    R(cudaMemcpy3D(&c));
    V(sum(to, sizeof to));
    R(cudaMemcpy3DAsync(&c, NULL));
    c.size.width = 600;
    R(cudaMemcpy3D(&c));
    c.size.width = 10;
    c.src.ptr = NULL;
    R(cudaMemcpy3D(&c));
    R(cudaMemcpy3D(NULL));
    c.src = p;
    c.kind = 9;
    R(cudaMemcpy3D(&c));
    c.kind = 2;
    c.size.depth = 0;
    R(cudaMemcpy3D(&c));
    c.size.depth = 1;
    c.src_array = a;
    R(cudaMemcpy3D(&c));
    R(cudaFree(a));
    R(cudaFree(p.ptr));
    R(cudaDeviceSynchronize());
    R(cudaGetLastError());
}

static void pools(void) {
    void *pool = NULL, *second = NULL, *a = NULL, *b = NULL, *found = NULL, *usual = NULL, *stream = NULL;
    unsigned long long value;
    int flag, access;
    pool_props props = {0};
    R(cudaStreamCreate(&stream));
    R(cudaMemPoolCreate(&pool, &props));
    props.alloc_type = 1;
    R(cudaMemPoolCreate(&pool, &props));
    props.where.type = 1;
    R(cudaMemPoolCreate(&pool, &props));
    R(cudaMemPoolCreate(NULL, &props));
    R(cudaMemPoolCreate(&second, NULL));
    props.where.id = 7;
    R(cudaMemPoolCreate(&second, &props));
    props.where.id = -1;
    R(cudaMemPoolCreate(&second, &props));
    props.where.id = 0;
    props.alloc_type = 5;
    R(cudaMemPoolCreate(&second, &props));
    props.alloc_type = 1;
    props.handle_types = 1;
    R(cudaMemPoolCreate(&second, &props));
    R(cudaMemPoolDestroy(second));
    props.handle_types = 99;
    R(cudaMemPoolCreate(&second, &props));
    props.handle_types = 0;
    props.max_size = 100 << 20;
    R(cudaMemPoolCreate(&second, &props));
    for (int which = 1; which <= 8; which++) {
        value = 77;
        if (which <= 3) { flag = 77; printf("attribute %d %d", which, cudaMemPoolGetAttribute(pool, which, &flag)); printf(" %d\n", flag); }
        else { printf("attribute %d %d", which, cudaMemPoolGetAttribute(pool, which, &value)); printf(" %llu\n", value); }
    }
    R(cudaMallocFromPoolAsync(&a, 10 << 20, pool, stream));
    R(cudaMallocFromPoolAsync(&b, 50 << 20, pool, stream));
    V((char *)b - (char *)a);
    R(cudaStreamSynchronize(stream));
    R(cudaMemPoolGetAttribute(pool, 5, &value));
    V(value);
    R(cudaMemPoolGetAttribute(pool, 7, &value));
    V(value);
    R(cudaDeviceGetDefaultMemPool(&usual, 0));
    R(cudaMemPoolGetAttribute(usual, 5, &value));
    V(value);
    R(cudaFreeAsync(a, stream));
    R(cudaStreamSynchronize(stream));
    R(cudaMemPoolGetAttribute(pool, 5, &value));
    V(value);
    R(cudaMemPoolGetAttribute(pool, 7, &value));
    V(value);
    value = 1ULL << 40;
    R(cudaMemPoolSetAttribute(pool, 4, &value));
    R(cudaFreeAsync(b, stream));
    R(cudaStreamSynchronize(stream));
    R(cudaMemPoolGetAttribute(pool, 5, &value));
    V(value);
    R(cudaMemPoolGetAttribute(pool, 6, &value));
    V(value);
    R(cudaMemPoolGetAttribute(pool, 8, &value));
    V(value);
    R(cudaMemPoolTrimTo(pool, 40 << 20));
    R(cudaMemPoolGetAttribute(pool, 5, &value));
    V(value);
    R(cudaMemPoolTrimTo(pool, 0));
    R(cudaMemPoolGetAttribute(pool, 5, &value));
    V(value);
    value = 0;
    R(cudaMemPoolSetAttribute(pool, 6, &value));
    R(cudaMemPoolSetAttribute(pool, 8, &value));
    value = 5;
    R(cudaMemPoolSetAttribute(pool, 6, &value));
    R(cudaMemPoolSetAttribute(pool, 5, &value));
    R(cudaMemPoolSetAttribute(pool, 7, &value));
    R(cudaMemPoolSetAttribute(pool, 99, &value));
    R(cudaMemPoolGetAttribute(pool, 99, &value));
    R(cudaMemPoolGetAttribute(pool, 5, NULL));
    R(cudaMemPoolSetAttribute(pool, 4, NULL));
    flag = 0;
    R(cudaMemPoolSetAttribute(pool, 1, &flag));
    flag = 9;
    R(cudaMemPoolGetAttribute(pool, 1, &flag));
    V(flag);
    flag = 5;
    R(cudaMemPoolSetAttribute(pool, 2, &flag));
    R(cudaMemPoolGetAttribute(pool, 2, &flag));
    V(flag);
    location where = {1, 0};
    R(cudaMemPoolGetAccess(&access, pool, &where));
    V(access);
    access_desc desc = {{1, 0}, 3};
    R(cudaMemPoolSetAccess(pool, &desc, 1));
    desc.flags = 0;
    R(cudaMemPoolSetAccess(pool, &desc, 1));
    desc.flags = 1;
    R(cudaMemPoolSetAccess(pool, &desc, 1));
    desc.flags = 3;
    desc.where.id = 9;
    R(cudaMemPoolSetAccess(pool, &desc, 1));
    R(cudaMallocFromPoolAsync(&a, 200 << 20, second, stream));
    R(cudaMallocFromPoolAsync(&a, 90 << 20, second, stream));
    R(cudaMallocFromPoolAsync(&b, 90 << 20, second, stream));
    R(cudaMallocFromPoolAsync(&b, 0, pool, stream));
    R(cudaMallocFromPoolAsync(NULL, 1, pool, stream));
    R(cudaMallocFromPoolAsync(&b, 1, NULL, stream));
    R(cudaFree(a));
    R(cudaDeviceSetMemPool(0, pool));
    R(cudaDeviceGetMemPool(&found, 0));
    V(found == pool);
    R(cudaMallocAsync(&a, 3 << 20, stream));
    R(cudaStreamSynchronize(stream));
    R(cudaMemPoolGetAttribute(pool, 7, &value));
    V(value);
    R(cudaMemPoolDestroy(pool));
    R(cudaDeviceGetMemPool(&found, 0));
    V(found == usual);
    R(cudaMemset(a, 1, 3 << 20));
    R(cudaFreeAsync(a, stream));
    R(cudaStreamSynchronize(stream));
    R(cudaDeviceSetMemPool(0, usual));
    R(cudaDeviceSetMemPool(0, NULL));
    R(cudaDeviceSetMemPool(9, usual));
    R(cudaMemPoolDestroy(usual));
    R(cudaMemPoolDestroy(second));
    R(cudaMemPoolDestroy(NULL));
    R(cudaGetLastError());
}

static void pointers(void) {
    void *device, *host, *managed, *found, *pinned;
    static char plain[1 << 16];
    unsigned flags;
    pointer_attributes at;
    R(cudaMalloc(&device, 1000));
    R(cudaMallocHost(&host, 1000));
    R(cudaMallocManaged(&managed, 1000, 1));
    R(cudaHostAlloc(&pinned, 100, 2));
    R(cudaPointerGetAttributes(&at, device));
    V(at.type);
    V(at.device);
    V(at.device_pointer == device);
    V(at.host_pointer == NULL);
    R(cudaPointerGetAttributes(&at, (char *)device + 999));
    V(at.type);
    V((char *)at.device_pointer - (char *)device);
    R(cudaPointerGetAttributes(&at, host));
    V(at.type);
    V(at.device);
    V(at.device_pointer == host);
    V(at.host_pointer == host);
    R(cudaPointerGetAttributes(&at, managed));
    V(at.type);
    V(at.device);
    V(at.device_pointer == managed);
    V(at.host_pointer == managed);
    R(cudaPointerGetAttributes(&at, plain));
    V(at.type);
    V(at.device);
    V(at.device_pointer == NULL);
    V(at.host_pointer == NULL);
    V(at.host_pointer == plain);
    R(cudaPointerGetAttributes(&at, NULL));
    V(at.type);
    V(at.device);
    R(cudaPointerGetAttributes(NULL, device));
    R(cudaHostGetDevicePointer(&found, host, 0));
    V(found == host);
    R(cudaHostGetDevicePointer(&found, plain, 0));
    V(found == NULL);
    R(cudaHostGetDevicePointer(&found, host, 1));
    R(cudaHostGetDevicePointer(NULL, host, 0));
    R(cudaHostGetDevicePointer(&found, device, 0));
    R(cudaHostGetFlags(&flags, host));
    V(flags);
    R(cudaHostGetFlags(&flags, pinned));
    V(flags);
    R(cudaHostGetFlags(&flags, plain));
    R(cudaHostGetFlags(NULL, host));
    R(cudaHostRegister(plain, sizeof plain, 0));
    R(cudaHostRegister(plain, sizeof plain, 0));
    R(cudaHostRegister(plain + 5000, 10, 0));
    R(cudaPointerGetAttributes(&at, plain + 7));
    V(at.type);
    V(at.device);
    V(at.device_pointer == plain + 7);
    V(at.host_pointer == plain + 7);
    R(cudaHostGetFlags(&flags, plain));
    V(flags);
    R(cudaHostGetDevicePointer(&found, plain + 7, 0));
    V(found == plain + 7);
    R(cudaHostUnregister(plain + 7));
    R(cudaHostUnregister(plain));
    R(cudaHostUnregister(plain));
    R(cudaHostUnregister(NULL));
    R(cudaHostRegister(NULL, 10, 0));
    R(cudaHostRegister(plain, 0, 0));
    R(cudaHostRegister(plain, 10, 99));
    R(cudaHostRegister(device, 10, 0));
    R(cudaHostRegister(host, 10, 0));
    R(cudaHostRegister(plain + 100, 10, 3));
    R(cudaHostGetFlags(&flags, plain + 100));
    V(flags);
    R(cudaFreeHost(plain + 100));
    R(cudaHostUnregister(plain + 100));
    R(cudaHostUnregister(host));
    location gpu = {1, 0}, cpu = {2, 0}, none = {0, 0}, far = {1, 9};
    R(cudaMemPrefetchAsync(managed, 1000, gpu, 0, NULL));
    R(cudaMemPrefetchAsync(managed, 1000, cpu, 0, NULL));
    R(cudaMemPrefetchAsync(managed, 0, gpu, 0, NULL));
    R(cudaMemPrefetchAsync(device, 1000, gpu, 0, NULL));
    R(cudaMemPrefetchAsync(managed, 1000, far, 0, NULL));
    R(cudaMemPrefetchAsync(managed, 1000, none, 0, NULL));
    R(cudaMemPrefetchAsync(managed, 1000, gpu, 5, NULL));
    R(cudaMemPrefetchAsync(NULL, 1000, gpu, 0, NULL));
    R(cudaMemPrefetchAsync(plain, 1000, gpu, 0, NULL));
    R(cudaMemPrefetchAsync(managed, 1 << 30, gpu, 0, NULL));
    R(cudaMemAdvise(managed, 1000, 1, gpu));
    R(cudaMemAdvise(managed, 1000, 3, gpu));
    R(cudaMemAdvise(managed, 1000, 5, cpu));
    R(cudaMemAdvise(managed, 1000, 6, gpu));
    R(cudaMemAdvise(managed, 1000, 99, gpu));
    R(cudaMemAdvise(device, 1000, 1, gpu));
    R(cudaMemAdvise(managed, 0, 1, gpu));
    R(cudaMemAdvise(managed, 1000, 3, far));
    int value = 55;
    R(cudaMemRangeGetAttribute(&value, 4, 1, managed, 1000));
    V(value);
    R(cudaMemRangeGetAttribute(&value, 4, 2, managed, 1000));
    V(value);
    R(cudaMemRangeGetAttribute(&value, 4, 4, managed, 1000));
    V(value);
    R(cudaMemRangeGetAttribute(&value, 4, 1, device, 1000));
    R(cudaMemRangeGetAttribute(&value, 3, 1, managed, 1000));
    R(cudaMemRangeGetAttribute(&value, 4, 99, managed, 1000));
    R(cudaDeviceSynchronize());
    R(cudaGetLastError());
}

static void functions(void) {
    func_attributes at = {0};
    int blocks;
    size_t bytes;
    const char *name = "";
    R(cudaFuncGetAttributes(&at, &tree_sum));
    V(at.shared);
    V(at.constant);
    V(at.local);
    V(at.threads);
    V(at.registers);
    V(at.ptx);
    V(at.binary);
    V(at.cache);
    V(at.dynamic);
    V(at.carveout);
    R(cudaFuncGetAttributes(&at, &variables));
    V(at.shared);
    V(at.constant);
    V(at.threads);
    V(at.registers);
    V(at.dynamic);
    R(cudaFuncGetAttributes(&at, &blocks));
    R(cudaFuncGetAttributes(NULL, &tree_sum));
    R(cudaFuncGetAttributes(&at, NULL));
    R(cudaFuncSetAttribute(&tree_sum, 8, 100000));
    R(cudaFuncGetAttributes(&at, &tree_sum));
    V(at.dynamic);
    R(cudaFuncSetAttribute(&tree_sum, 8, 300000));
    R(cudaFuncSetAttribute(&tree_sum, 8, -1));
    R(cudaFuncSetAttribute(&tree_sum, 9, 50));
    R(cudaFuncGetAttributes(&at, &tree_sum));
    V(at.carveout);
    R(cudaFuncSetAttribute(&tree_sum, 9, 200));
    R(cudaFuncSetAttribute(&tree_sum, 77, 1));
    R(cudaFuncSetAttribute(&blocks, 8, 1));
    R(cudaFuncSetAttribute(NULL, 8, 1));
    R(cudaFuncSetCacheConfig(&tree_sum, 1));
    R(cudaFuncSetCacheConfig(&tree_sum, 9));
    R(cudaFuncSetCacheConfig(&blocks, 1));
    R(cudaFuncGetName(&name, &tree_sum));
    V(strcmp(name, "tree_sum") == 0);
    R(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &tree_sum, 128, 0));
    V(blocks);
    R(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &tree_sum, 1024, 0));
    V(blocks);
    R(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &tree_sum, 32, 0));
    V(blocks);
    R(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &tree_sum, 33, 0));
    V(blocks);
    R(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &tree_sum, 128, 40000));
    V(blocks);
    R(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &tree_sum, 128, 100000));
    V(blocks);
    R(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &variables, 128, 60000));
    V(blocks);
    R(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &tree_sum, 2000, 0));
    V(blocks);
    R(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &tree_sum, 0, 0));
    R(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &tree_sum, -5, 0));
    R(cudaOccupancyMaxActiveBlocksPerMultiprocessor(NULL, &tree_sum, 32, 0));
    R(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &bytes, 32, 0));
    R(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, &tree_sum, 64, 0, 1));
    V(blocks);
    R(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, &tree_sum, 64, 0, 9));
    R(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, &tree_sum, 4, 128));
    V(bytes);
    void *there; static unsigned words[128]; int count = 128; void *args[] = {&there, &count}; dim3 block = {128, 1, 1};
    R(cudaMalloc(&there, 8192 * 4));
    R(cudaMemset(there, 1, 8192 * 4));
    launch_config config = {one, block, 0, NULL, NULL, 0};
    R(cudaLaunchKernelExC(&config, &tree_sum, args));
    R(cudaMemcpy(words, there, 4, 2));
    V(words[0]);
    config.block.x = 2000;
    R(cudaLaunchKernelExC(&config, &tree_sum, args));
    R(cudaLaunchKernelExC(NULL, &tree_sum, args));
    R(cudaLaunchCooperativeKernel(&tree_sum, one, block, args, 0, NULL));
    dim3 many = {5000, 1, 1};
    R(cudaLaunchCooperativeKernel(&tree_sum, many, block, args, 0, NULL));
    R(cudaLaunchKernel(&tree_sum, one, block, args, 90000, NULL));
    R(cudaLaunchKernel(&variables, one, block, args, 90000, NULL));
    void *address = NULL; int value = 0, primes_now[8];
    R(cudaGetSymbolSize(&bytes, &primes));
    V(bytes);
    R(cudaGetSymbolAddress(&address, &launches));
    V(address != NULL);
    R(cudaGetSymbolAddress(&address, &value));
    R(cudaGetSymbolSize(&bytes, &value));
    R(cudaMemcpyFromSymbol(&value, &launches, 4, 0, 2));
    V(value);
    R(cudaLaunchKernel(&variables, one, block, args, 0, NULL));
    R(cudaMemcpyFromSymbol(&value, &launches, 4, 0, 2));
    V(value);
    value = 41;
    R(cudaMemcpyToSymbol(&launches, &value, 4, 0, 1));
    R(cudaLaunchKernel(&variables, one, block, args, 0, NULL));
    R(cudaMemcpyFromSymbol(&value, &launches, 4, 0, 2));
    V(value);
    R(cudaMemcpyFromSymbol(primes_now, &primes, 32, 0, 2));
    V(primes_now[7]);
    R(cudaMemcpyFromSymbol(primes_now, &primes, 32, 4, 2));
    R(cudaMemcpyFromSymbol(primes_now, &primes, 4, 28, 4));
    V(primes_now[0]);
    R(cudaMemcpyFromSymbol(primes_now, &primes, 4, 0, 1));
    R(cudaMemcpyToSymbol(&primes, primes_now, 4, 4, 1));
    R(cudaMemcpyFromSymbol(primes_now, &primes, 32, 0, 2));
    V(primes_now[1]);
    R(cudaMemcpyFromSymbol(primes_now, &value, 4, 0, 2));
    R(cudaDeviceSynchronize());
    R(cudaGetLastError());
}

static int calls;
static void tick(void *data) { calls += data ? *(int *)data : 1; }
static void called(void *stream, int code, void *data) { (void)stream; calls += code == 0 ? *(int *)data : 1000; }

static void graphs(void) {
    void *graph, *other, *exec, *nodes[5], *stranger, *a, *b, *child_node, *child, *host_node, *copy, *set, *kernel, *stream;
    size_t count = 9;
    R(cudaStreamCreate(&stream));
    R(cudaMalloc(&a, 8192 * 4));
    R(cudaMalloc(&b, 8192 * 4));
    R(cudaGraphCreate(&graph, 0));
    R(cudaGraphCreate(&other, 0));
    R(cudaGraphAddEmptyNode(&stranger, other, NULL, 0));
    for (int i = 0; i < 5; i++) cudaGraphAddEmptyNode(&nodes[i], graph, NULL, 0);
    R(cudaGraphAddDependencies(graph, &nodes[0], &nodes[1], NULL, 1));
    R(cudaGraphAddDependencies(graph, &nodes[0], &nodes[1], NULL, 1));
    R(cudaGraphAddDependencies(graph, &nodes[1], &nodes[0], NULL, 1));
    R(cudaGraphAddDependencies(graph, &nodes[1], &nodes[1], NULL, 1));
    R(cudaGraphAddDependencies(graph, &nodes[1], &stranger, NULL, 1));
    R(cudaGraphAddDependencies(graph, &nodes[1], &nodes[2], NULL, 0));
    R(cudaGraphAddDependencies(graph, &nodes[1], &nodes[2], NULL, 2));
    R(cudaGraphAddDependencies(graph, NULL, &nodes[2], NULL, 1));
    R(cudaGraphAddDependencies(NULL, &nodes[1], &nodes[2], NULL, 1));
    R(cudaGraphAddDependencies(graph, NULL, NULL, NULL, 0));
    unsigned char edge[8] = {0};
    R(cudaGraphAddDependencies(graph, &nodes[3], &nodes[4], edge, 1));
    edge[0] = 1;
    R(cudaGraphAddDependencies(graph, &nodes[0], &nodes[4], edge, 1));
    edge[0] = 0;
    edge[5] = 1;
    R(cudaGraphAddDependencies(graph, &nodes[0], &nodes[4], edge, 1));
    edge[5] = 0;
    edge[2] = 1;
    R(cudaGraphAddDependencies(graph, &nodes[0], &nodes[4], edge, 1));
    R(cudaGraphGetEdges(graph, NULL, NULL, NULL, &count));
    V(count);
    R(cudaGraphRemoveDependencies(graph, &nodes[0], &nodes[1], NULL, 1));
    R(cudaGraphRemoveDependencies(graph, &nodes[0], &nodes[1], NULL, 1));
    R(cudaGraphRemoveDependencies(graph, &nodes[4], &nodes[3], NULL, 1));
    edge[2] = 0;
    R(cudaGraphRemoveDependencies(graph, &nodes[3], &nodes[4], edge, 1));
    R(cudaGraphRemoveDependencies(graph, &nodes[3], &stranger, NULL, 1));
    R(cudaGraphRemoveDependencies(NULL, &nodes[3], &nodes[4], NULL, 1));
    R(cudaGraphGetEdges(graph, NULL, NULL, NULL, &count));
    V(count);
    memset_params fill = {a, 0, 7, 1, 100, 1}, wrong = {b, 0, 7, 3, 100, 1}, fill_b = {b, 0, 9, 1, 50, 1}, fill_4 = {a, 0, 0x01020304, 4, 25, 1}, rows_2 = {a, 64, 5, 1, 10, 3};
    unsigned words[64]; int number = 128; void *args[] = {&a, &number}; dim3 block = {128, 1, 1}; int by = 5;
    kernel_params launch = {&tree_sum, one, block, 0, args, NULL}, other_kernel = {&variables, one, block, 0, args, NULL}, bad = {&tree_sum, {0, 1, 1}, block, 0, args, NULL}, no_kernel = {NULL, one, block, 0, args, NULL};
    host_params host = {tick, NULL}, host_by = {tick, &by}, no_host = {NULL, NULL};
    R(cudaGraphCreate(&child, 0));
    R(cudaGraphAddMemsetNode(&nodes[4], child, NULL, 0, &fill));
    R(cudaGraphAddMemsetNode(&set, graph, NULL, 0, &fill));
    R(cudaGraphAddMemcpyNode1D(&copy, graph, &set, 1, b, a, 64, 3));
    R(cudaGraphAddKernelNode(&kernel, graph, &copy, 1, &launch));
    R(cudaGraphAddHostNode(&host_node, graph, &kernel, 1, &host));
    R(cudaGraphAddChildGraphNode(&child_node, graph, &host_node, 1, child));
    R(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    R(cudaMemset(a, 0, 8192 * 4));
    R(cudaMemset(b, 0, 8192 * 4));
    R(cudaGraphLaunch(exec, stream));
    R(cudaStreamSynchronize(stream));
    R(cudaMemcpy(words, a, 256, 2));
    V(sum(words, 256));
    R(cudaMemcpy(words, b, 256, 2));
    V(sum(words, 256));
    V(calls);
    R(cudaGraphExecMemsetNodeSetParams(exec, set, &fill_b));
    R(cudaGraphExecMemsetNodeSetParams(exec, set, &fill_4));
    R(cudaGraphExecMemsetNodeSetParams(exec, set, &wrong));
    R(cudaGraphExecMemsetNodeSetParams(exec, set, &rows_2));
    R(cudaGraphExecMemsetNodeSetParams(exec, copy, &fill));
    R(cudaGraphExecMemsetNodeSetParams(exec, stranger, &fill));
    R(cudaGraphExecMemsetNodeSetParams(exec, set, NULL));
    R(cudaGraphExecMemsetNodeSetParams(NULL, set, &fill));
    R(cudaGraphExecMemsetNodeSetParams(exec, NULL, &fill));
    R(cudaGraphExecMemcpyNodeSetParams1D(exec, copy, b, a, 200, 3));
    R(cudaGraphExecMemcpyNodeSetParams1D(exec, copy, a, b, 64, 3));
    R(cudaGraphExecMemcpyNodeSetParams1D(exec, copy, words, a, 64, 2));
    R(cudaGraphExecMemcpyNodeSetParams1D(exec, set, b, a, 64, 3));
    R(cudaGraphExecMemcpyNodeSetParams1D(exec, copy, b, a, 0, 3));
    R(cudaGraphExecMemcpyNodeSetParams1D(exec, copy, NULL, a, 64, 3));
    R(cudaGraphExecMemcpyNodeSetParams1D(exec, copy, b, a, 64, 4));
    R(cudaGraphExecMemcpyNodeSetParams1D(NULL, copy, b, a, 64, 3));
    R(cudaGraphExecMemcpyNodeSetParams1D(exec, stranger, b, a, 64, 3));
    number = 64;
    R(cudaGraphExecKernelNodeSetParams(exec, kernel, &launch));
    number = 1;
    R(cudaGraphExecKernelNodeSetParams(exec, kernel, &other_kernel));
    R(cudaGraphExecKernelNodeSetParams(exec, kernel, &launch));
    R(cudaGraphExecKernelNodeSetParams(exec, kernel, &bad));
    R(cudaGraphExecKernelNodeSetParams(exec, kernel, &no_kernel));
    R(cudaGraphExecKernelNodeSetParams(exec, set, &launch));
    R(cudaGraphExecKernelNodeSetParams(exec, kernel, NULL));
    R(cudaGraphExecKernelNodeSetParams(NULL, kernel, &launch));
    R(cudaGraphExecKernelNodeSetParams(exec, stranger, &launch));
    R(cudaGraphExecHostNodeSetParams(exec, host_node, &host_by));
    R(cudaGraphExecHostNodeSetParams(exec, host_node, &no_host));
    R(cudaGraphExecHostNodeSetParams(exec, set, &host));
    R(cudaGraphExecHostNodeSetParams(exec, host_node, NULL));
    R(cudaGraphExecChildGraphNodeSetParams(exec, child_node, child));
    R(cudaGraphExecChildGraphNodeSetParams(exec, child_node, other));
    R(cudaGraphExecChildGraphNodeSetParams(exec, set, child));
    R(cudaMemset(a, 0, 8192 * 4));
    R(cudaMemset(b, 0, 8192 * 4));
    R(cudaGraphLaunch(exec, stream));
    R(cudaStreamSynchronize(stream));
    R(cudaMemcpy(words, a, 256, 2));
    V(sum(words, 256));
    V(words[0]);
    R(cudaMemcpy(words, b, 256, 2));
    V(sum(words, 256));
    V(calls);
    unsigned enabled = 9;
    R(cudaGraphNodeGetEnabled(exec, kernel, &enabled));
    V(enabled);
    R(cudaGraphNodeSetEnabled(exec, kernel, 0));
    R(cudaGraphNodeGetEnabled(exec, kernel, &enabled));
    V(enabled);
    R(cudaGraphNodeSetEnabled(exec, set, 0));
    R(cudaGraphNodeSetEnabled(exec, copy, 0));
    R(cudaGraphNodeSetEnabled(exec, host_node, 0));
    R(cudaGraphNodeSetEnabled(exec, child_node, 0));
    R(cudaGraphNodeSetEnabled(exec, nodes[0], 0));
    R(cudaGraphNodeSetEnabled(exec, stranger, 0));
    R(cudaGraphNodeSetEnabled(NULL, set, 0));
    R(cudaGraphNodeSetEnabled(exec, set, 5));
    R(cudaGraphNodeGetEnabled(exec, set, &enabled));
    V(enabled);
    R(cudaGraphNodeSetEnabled(exec, set, 0));
    R(cudaGraphNodeGetEnabled(exec, set, NULL));
    R(cudaGraphNodeGetEnabled(exec, host_node, &enabled));
    R(cudaMemset(a, 0, 8192 * 4));
    R(cudaMemset(b, 0, 8192 * 4));
    R(cudaGraphLaunch(exec, stream));
    R(cudaStreamSynchronize(stream));
    R(cudaMemcpy(words, a, 256, 2));
    V(sum(words, 256));
    R(cudaMemcpy(words, b, 256, 2));
    V(sum(words, 256));
    V(calls);
    memset_params got;
    copy3d got_copy;
    R(cudaGraphMemsetNodeSetParams(set, &fill_b));
    R(cudaGraphMemsetNodeGetParams(set, &got));
    V(got.value);
    V(got.width);
    V(got.dst == b);
    R(cudaGraphMemsetNodeSetParams(set, &wrong));
    R(cudaGraphMemsetNodeSetParams(copy, &fill));
    R(cudaGraphMemsetNodeSetParams(set, NULL));
    R(cudaGraphMemcpyNodeSetParams1D(copy, a, b, 10, 3));
    R(cudaGraphMemcpyNodeGetParams(copy, &got_copy));
    V(got_copy.size.width);
    V(got_copy.size.height);
    V(got_copy.size.depth);
    V(got_copy.kind);
    V(got_copy.dst.ptr == a);
    V(got_copy.src.pitch);
    R(cudaGraphMemcpyNodeSetParams1D(set, a, b, 10, 3));
    R(cudaGraphHostNodeSetParams(host_node, &host_by));
    R(cudaGraphHostNodeSetParams(host_node, &no_host));
    R(cudaGraphHostNodeSetParams(set, &host));
    R(cudaGraphKernelNodeSetParams(kernel, &other_kernel));
    R(cudaGraphKernelNodeSetParams(kernel, &bad));
    R(cudaGraphKernelNodeSetParams(set, &launch));
    R(cudaGraphLaunch(exec, stream));
    R(cudaStreamSynchronize(stream));
    V(calls);
    R(cudaGraphExecDestroy(exec));
    R(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    R(cudaGraphLaunch(exec, stream));
    R(cudaStreamSynchronize(stream));
    V(calls);
    int ten = 10;
    R(cudaStreamAddCallback(stream, called, &ten, 0));
    R(cudaStreamSynchronize(stream));
    V(calls);
    R(cudaStreamAddCallback(stream, NULL, &ten, 0));
    R(cudaStreamAddCallback(stream, called, &ten, 1));
    R(cudaGetLastError());
}

static void device(void) {
    size_t value = 0; int number = 55; unsigned flags = 55; char bus[64] = ""; unsigned long long id = 0, id_2 = 0; void *stream, *second;
    for (int limit = 0; limit < 9; limit++) { value = 0; printf("limit %d %d", limit, cudaDeviceGetLimit(&value, limit)); printf(" %zu\n", value); }
    R(cudaDeviceSetLimit(1, 4 << 20));
    R(cudaDeviceGetLimit(&value, 1));
    V(value);
    R(cudaDeviceSetLimit(0, 5000));
    R(cudaDeviceGetLimit(&value, 0));
    V(value);
    R(cudaDeviceSetLimit(2, 1 << 20));
    R(cudaDeviceGetLimit(&value, 2));
    V(value);
    R(cudaDeviceSetLimit(99, 1));
    R(cudaDeviceGetLimit(&value, 99));
    R(cudaDeviceGetLimit(NULL, 0));
    R(cudaDeviceSetLimit(0, (size_t)1 << 40));
    R(cudaDeviceGetPCIBusId(bus, 64, 0));
    V(strlen(bus));
    R(cudaDeviceGetByPCIBusId(&number, bus));
    V(number);
    R(cudaDeviceGetPCIBusId(bus, 5, 0));
    R(cudaDeviceGetPCIBusId(bus, 64, 9));
    R(cudaDeviceGetPCIBusId(NULL, 64, 0));
    R(cudaDeviceGetByPCIBusId(&number, "nonsense"));
    R(cudaDeviceGetByPCIBusId(&number, "0000:7f:1f.0"));
    R(cudaGetDeviceFlags(&flags));
    V(flags);
    R(cudaSetDeviceFlags(4));
    R(cudaGetDeviceFlags(&flags));
    V(flags);
    R(cudaSetDeviceFlags(0));
    R(cudaGetDeviceFlags(&flags));
    V(flags);
    R(cudaSetDeviceFlags(0x77));
    R(cudaGetDeviceFlags(NULL));
    R(cudaDeviceGetCacheConfig(&number));
    V(number);
    R(cudaDeviceSetCacheConfig(2));
    R(cudaDeviceGetCacheConfig(&number));
    V(number);
    R(cudaDeviceSetCacheConfig(9));
    R(cudaInitDevice(0, 0, 0));
    R(cudaInitDevice(9, 0, 0));
    R(cudaInitDevice(0, 1, 3));
    R(cudaStreamCreate(&stream));
    R(cudaStreamCreate(&second));
    R(cudaStreamGetId(stream, &id));
    R(cudaStreamGetId(second, &id_2));
    V(id_2 - id);
    R(cudaStreamGetId(NULL, &id));
    V(id);
    R(cudaStreamGetId(stream, NULL));
    R(cudaStreamGetDevice(stream, &number));
    V(number);
    R(cudaStreamGetDevice(NULL, &number));
    R(cudaStreamGetDevice(stream, NULL));
    R(cudaGetLastError());
}

int main(int argc, char **argv) {
    static const struct { const char *name; void (*run)(void); } sections[] = {
        {"rows", rows}, {"pools", pools}, {"pointers", pointers}, {"functions", functions}, {"graphs", graphs}, {"device", device}};
    if (argc < 3)
        return 2;
    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGSEGV, crashed);
    load(argv[2]);
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        if (strcmp(sections[i].name, argv[1]) == 0)
            sections[i].run();
    return 0;
}
