/* A program that uses the driver API of the built library under the name libcuda.so.1, with its
 * own prototypes. Each line that it prints is a check; a line that begins with "not" is a check
 * that failed. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr, u64;
typedef struct CUctx_st *CUcontext;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUgraphExec_st *CUgraphExec;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;

struct location { int type, id; };
struct pool_props { int alloc_type, handle_types; struct location location; void *security; unsigned char reserved[64]; };
struct alloc_params { struct pool_props props; const void *access; size_t access_count, bytesize; CUdeviceptr dptr; };
struct kernel_params_v2 { CUfunction func; unsigned grid[3], block[3], shared; void **params, **extra; void *kern; CUcontext ctx; };
struct instantiate_params { u64 flags; CUstream upload; CUgraphNode error; int result; };
struct access { struct location location; int flags; };
struct physical { int type, handle_types; struct location location; void *meta; unsigned char flags[8]; };

CUresult cuInit(unsigned);
CUresult cuDeviceGet(CUdevice *, int);
CUresult cuDeviceGetName(char *, int, CUdevice);
CUresult cuDeviceTotalMem_v2(size_t *, CUdevice);
CUresult cuDevicePrimaryCtxRetain(CUcontext *, CUdevice);
CUresult cuCtxSetCurrent(CUcontext);
CUresult cuCtxGetCurrent(CUcontext *);
CUresult cuCtxCreate_v2(CUcontext *, unsigned, CUdevice);
CUresult cuCtxDestroy_v2(CUcontext);
CUresult cuCtxPopCurrent_v2(CUcontext *);
CUresult cuCtxSynchronize(void);
CUresult cuMemGetInfo_v2(size_t *, size_t *);
CUresult cuMemAlloc_v2(CUdeviceptr *, size_t);
CUresult cuMemFree_v2(CUdeviceptr);
CUresult cuMemsetD32_v2(CUdeviceptr, unsigned, size_t);
CUresult cuMemcpyDtoH_v2(void *, CUdeviceptr, size_t);
CUresult cuMemAllocAsync(CUdeviceptr *, size_t, CUstream);
CUresult cuMemFreeAsync(CUdeviceptr, CUstream);
CUresult cuMemCreate(u64 *, size_t, const struct physical *, u64);
CUresult cuMemRelease(u64);
CUresult cuMemAddressReserve(CUdeviceptr *, size_t, size_t, CUdeviceptr, u64);
CUresult cuMemAddressFree(CUdeviceptr, size_t);
CUresult cuMemMap(CUdeviceptr, size_t, size_t, u64, u64);
CUresult cuMemSetAccess(CUdeviceptr, size_t, const struct access *, size_t);
CUresult cuMemUnmap(CUdeviceptr, size_t);
CUresult cuStreamCreate(CUstream *, unsigned);
CUresult cuStreamBeginCapture_v2(CUstream, int);
CUresult cuStreamBeginCapture_v2_ptsz(CUstream, int);
CUresult cuStreamEndCapture(CUstream, CUgraph *);
CUresult cuStreamEndCapture_ptsz(CUstream, CUgraph *);
CUresult cuStreamIsCapturing(CUstream, int *);
CUresult cuStreamGetCaptureInfo_v2(CUstream, int *, u64 *, CUgraph *, const CUgraphNode **, size_t *);
CUresult cuGraphCreate(CUgraph *, unsigned);
CUresult cuGraphDestroy(CUgraph);
CUresult cuGraphAddMemAllocNode(CUgraphNode *, CUgraph, const CUgraphNode *, size_t, struct alloc_params *);
CUresult cuGraphAddMemFreeNode(CUgraphNode *, CUgraph, const CUgraphNode *, size_t, CUdeviceptr);
CUresult cuGraphAddKernelNode_v2(CUgraphNode *, CUgraph, const CUgraphNode *, size_t, const struct kernel_params_v2 *);
CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode, struct kernel_params_v2 *);
CUresult cuGraphGetNodes(CUgraph, CUgraphNode *, size_t *);
CUresult cuGraphGetEdges(CUgraph, CUgraphNode *, CUgraphNode *, size_t *);
CUresult cuGraphNodeGetType(CUgraphNode, int *);
CUresult cuGraphInstantiate_v2(CUgraphExec *, CUgraph, CUgraphNode *, char *, size_t);
CUresult cuGraphInstantiateWithFlags(CUgraphExec *, CUgraph, u64);
CUresult cuGraphInstantiateWithParams(CUgraphExec *, CUgraph, struct instantiate_params *);
CUresult cuGraphLaunch(CUgraphExec, CUstream);
CUresult cuGraphLaunch_ptsz(CUgraphExec, CUstream);
CUresult cuGraphExecDestroy(CUgraphExec);
CUresult cuGraphDebugDotPrint(CUgraph, const char *, unsigned);
CUresult cuDeviceGetGraphMemAttribute(CUdevice, int, void *);
CUresult cuDeviceGraphMemTrim(CUdevice);
CUresult cuModuleLoadData(CUmodule *, const void *);
CUresult cuModuleGetFunction(CUfunction *, CUmodule, const char *);
CUresult cuModuleUnload(CUmodule);
CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **, void **);
CUresult cuArrayDestroy(void *);
CUresult cuGetErrorName(CUresult, const char **);
CUresult cuGetProcAddress(const char *, void **, int, u64);
CUresult cuGetProcAddress_v2(const char *, void **, int, u64, int *);

static int failed;
static void is(int true_, const char *what) {
    printf("%s%s\n", true_ ? "" : "not ", what);
    failed |= !true_;
}

static const char *ptx =
    ".version 6.5\n.target sm_50\n.address_size 64\n"
    ".visible .entry store(.param .u64 out, .param .u32 value)\n{\n"
    ".reg .b64 %rd<3>;\n.reg .b32 %r<2>;\n"
    "ld.param.u64 %rd1, [out];\ncvta.to.global.u64 %rd2, %rd1;\n"
    "ld.param.u32 %r1, [value];\nst.global.u32 [%rd2], %r1;\nret;\n}\n";

static u64 used(void) {
    u64 bytes = 0;
    cuDeviceGetGraphMemAttribute(0, 0, &bytes);
    return bytes >> 20;
}

static struct alloc_params params(size_t bytes) {
    struct alloc_params p;
    memset(&p, 0, sizeof p);
    p.props.alloc_type = 1;
    p.props.location.type = 1;
    p.bytesize = bytes;
    return p;
}

static void *other_thread(void *unused) {
    (void)unused;
    CUdeviceptr p;
    CUcontext ctx = (CUcontext)1;
    is(cuCtxGetCurrent(&ctx) == 0 && !ctx, "another thread has no current context");
    is(cuMemAlloc_v2(&p, 64) == 201, "calls in another thread return 201");
    return 0;
}

int main(int argc, char **argv) {
    int n;
    CUdevice device;
    is(cuDeviceGet(&device, 0) == 3, "before cuInit calls return 3");
    is(cuInit(7) == 1 && cuInit(0) == 0, "cuInit takes no flags");
    is(cuDeviceGet(&device, 0) == 0 && cuDeviceGet(&n, 9) == 101, "a device that does not exist returns 101");
    char name[64];
    size_t total, free0, free1;
    is(cuDeviceGetName(name, sizeof name, 0) == 0 && strstr(name, "H200"), "the name of the device");
    is(cuDeviceTotalMem_v2(&total, 0) == 0 && total > 1ull << 36, "the memory of the device");

    CUdeviceptr p, q;
    CUcontext primary, own, now;
    is(cuMemAlloc_v2(&p, 64) == 201, "without a context calls return 201");
    is(cuDevicePrimaryCtxRetain(&primary, 0) == 0 && cuCtxSetCurrent(primary) == 0, "the primary context becomes current");
    is(cuCtxCreate_v2(&own, 0, 0) == 0 && cuCtxGetCurrent(&now) == 0 && now == own && own != primary, "a new context becomes current");
    is(cuCtxDestroy_v2(primary) == 201 && cuCtxDestroy_v2(own) == 0 && cuCtxGetCurrent(&now) == 0 && now == primary, "a destroyed context is not current any more");
    pthread_t thread;
    pthread_create(&thread, 0, other_thread, 0);
    pthread_join(thread, 0);

    is(cuMemGetInfo_v2(&free0, &total) == 0 && cuMemAlloc_v2(&p, 64 << 20) == 0 && cuMemGetInfo_v2(&free1, &total) == 0 && free0 - free1 == 64 << 20, "an allocation reduces free memory");
    unsigned word = 0;
    is(cuMemsetD32_v2(p, 0x12345678, 16) == 0 && cuMemcpyDtoH_v2(&word, p + 60, 4) == 0 && word == 0x12345678, "memory that is set in words is read again");
    is(cuMemAlloc_v2(&q, 0) == 1, "an allocation of 0 bytes returns 1");

    CUmodule module, other;
    CUfunction function;
    is(cuModuleLoadData(&module, ptx) == 0 && cuModuleGetFunction(&function, module, "store") == 0, "a module is loaded");
    CUfunction none = (CUfunction)1;
    is(cuModuleGetFunction(&none, module, "nothing") == 500 && !none && cuModuleLoadData(&other, "nonsense") == 200, "an unknown name returns 500, a text that is not PTX 200");
    unsigned value = 77;
    void *arguments[] = {&p, &value};
    is(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, arguments, 0) == 0 && cuMemcpyDtoH_v2(&word, p, 4) == 0 && word == 77, "a kernel writes");
    is(cuLaunchKernel(function, 0, 1, 1, 1, 1, 1, 0, 0, arguments, 0) == 1 && cuLaunchKernel((CUfunction)8, 1, 1, 1, 1, 1, 1, 0, 0, arguments, 0) == 400, "a grid of 0 blocks returns 1, an invalid function 400");

    CUgraph graph;
    CUgraphNode alloc, kernel, freed, all[4], from[4], to[4];
    struct alloc_params wanted = params(64 << 20);
    is(cuGraphCreate(&graph, 0) == 0 && cuGraphAddMemAllocNode(&alloc, graph, 0, 0, &wanted) == 0 && wanted.dptr, "an alloc node has an address");
    arguments[0] = &wanted.dptr;
    struct kernel_params_v2 launch = {function, {2, 3, 1}, {4, 1, 1}, 0, arguments, 0, 0, 0}, got;
    is(cuGraphAddKernelNode_v2(&kernel, graph, &alloc, 1, &launch) == 0 && cuGraphAddMemFreeNode(&freed, graph, &kernel, 1, wanted.dptr) == 0, "a kernel and a free node follow");
    is(cuGraphKernelNodeGetParams_v2(kernel, &got) == 0 && got.func == function && got.grid[1] == 3 && *(CUdeviceptr *)got.params[0] == wanted.dptr && *(unsigned *)got.params[1] == 77, "the parameters of the kernel node");
    size_t count = 0, edges = 4;
    is(cuGraphGetNodes(graph, 0, &count) == 0 && count == 3, "three nodes");
    count = 4;
    is(cuGraphGetNodes(graph, all, &count) == 0 && count == 3 && all[0] == alloc && all[2] == freed && !all[3], "the three nodes in the order of their creation");
    is(cuGraphGetEdges(graph, from, to, &edges) == 0 && edges == 2 && from[1] == kernel && to[1] == freed, "two edges");
    is(cuGraphNodeGetType(alloc, &n) == 0 && n == 10 && cuGraphNodeGetType(kernel, &n) == 0 && n == 0, "the types of nodes");
    is(argc < 2 || cuGraphDebugDotPrint(graph, argv[1], 1) == 0, "a graph is dumped");

    CUgraphExec exec, second;
    struct instantiate_params with = {1, 0, (CUgraphNode)1, 9};
    is(cuGraphInstantiate_v2(&exec, graph, &alloc, name, sizeof name) == 0 && !name[0], "instantiated");
    is(cuGraphInstantiateWithFlags(&second, graph, 0) == 801, "a second instantiation returns 801");
    is(cuGraphExecDestroy(exec) == 0 && cuGraphInstantiateWithParams(&exec, graph, &with) == 0 && !with.error && with.result == 0, "an instantiation with parameters");
    is(used() == 0 && cuGraphLaunch(exec, 0) == 0 && cuCtxSynchronize() == 0 && used() == 64, "a launch maps 64 MiB");
    is(cuGraphExecDestroy(exec) == 0 && cuGraphDestroy(graph) == 0 && used() == 64 && cuDeviceGraphMemTrim(0) == 0 && used() == 0, "a trim returns them");

    CUstream stream;
    int status;
    u64 id = 0;
    const CUgraphNode *after;
    is(cuStreamCreate(&stream, 1) == 0 && cuStreamBeginCapture_v2(stream, 0) == 0 && cuMemAllocAsync(&q, 1 << 20, stream) == 0, "a capture begins and an allocation is captured");
    is(cuStreamGetCaptureInfo_v2(stream, &status, &id, &graph, &after, &count) == 0 && status == 1 && id && count == 1, "the capture info has the captured node");
    is(cuMemFreeAsync(q, stream) == 0 && cuStreamEndCapture(stream, &graph) == 0 && cuGraphGetNodes(graph, 0, &count) == 0 && count == 2, "two nodes are captured");
    is(cuStreamIsCapturing(stream, &status) == 0 && status == 0, "the capture has ended");
    is(cuStreamBeginCapture_v2(0, 0) == 900, "the legacy stream cannot be captured");
    is(cuStreamBeginCapture_v2_ptsz(0, 2) == 0 && cuStreamEndCapture_ptsz(0, &graph) == 0, "the per-thread stream can be captured");

    struct physical props = {1, 0, {1, 0}, 0, {0}};
    struct access access = {{1, 0}, 3};
    u64 handle;
    is(cuMemGetInfo_v2(&free0, &total) == 0 && cuMemCreate(&handle, 2 << 20, &props, 0) == 0 && cuMemGetInfo_v2(&free1, &total) == 0 && free0 - free1 == 2 << 20, "physical memory is created");
    is(cuMemAddressReserve(&q, 4 << 20, 0, 0, 0) == 0 && cuMemMap(q, 2 << 20, 0, handle, 0) == 0 && cuMemRelease(handle) == 0 && cuMemSetAccess(q, 2 << 20, &access, 1) == 0 && cuMemsetD32_v2(q, 5, 9) == 0, "physical memory is mapped and written");
    is(cuMemsetD32_v2(q + (2 << 20), 5, 9) == 1 && cuMemAddressFree(q, 4 << 20) == 1, "memory that is not mapped cannot be written, and a mapped range cannot be freed");
    is(cuMemUnmap(q, 2 << 20) == 0 && cuMemAddressFree(q, 4 << 20) == 0 && cuMemGetInfo_v2(&free1, &total) == 0 && free1 == free0, "physical memory is unmapped and freed");

    void *self = dlopen("libcuda.so.1", RTLD_NOW), *f;
    is(cuGetProcAddress("cuMemAlloc", &f, 12000, 0) == 0 && f == dlsym(self, "cuMemAlloc_v2"), "a lookup returns the newest variant");
    is(cuGetProcAddress("cuGraphInstantiate", &f, 11040, 0) == 0 && f == dlsym(self, "cuGraphInstantiate_v2") && cuGetProcAddress("cuGraphInstantiate", &f, 12000, 0) == 0 && f == dlsym(self, "cuGraphInstantiate_v2") && cuGetProcAddress("cuGraphInstantiate", &f, 10000, 0) == 0 && f == dlsym(self, "cuGraphInstantiate") && cuGetProcAddress("cuCtxCreate", &f, 12000, 0) == 0 && f == dlsym(self, "cuCtxCreate_v3"), "a lookup returns the variant for the requested version");
    is(cuGetProcAddress_v2("cuGraphLaunch", &f, 12000, 2, &status) == 0 && status == 0 && f == dlsym(self, "cuGraphLaunch_ptsz"), "with the per-thread flag a lookup returns the per-thread variant");
    is(cuGetProcAddress_v2("cuInit", &f, 12000, 2, 0) == 0 && f == dlsym(self, "cuInit"), "without a per-thread variant a lookup returns the function itself");
    is(cuGetProcAddress_v2("cuGraphExecGetFlags", &f, 11000, 0, &status) == 0 && !f && status == 2, "a lookup for a version that is too old has the status 2");
    is(cuGetProcAddress_v2("cuNothing", &f, 12000, 0, &status) == 0 && !f && status == 1 && cuGetProcAddress("cuNothing", &f, 12000, 0) == 500, "a lookup of an unknown name has the status 1, or returns 500");
    is(cuGetProcAddress_v2("cuInit", &f, 99000, 0, 0) == 1 && cuGetProcAddress_v2("cuInit", &f, 12000, 8, 0) == 1, "a version above the driver's and unknown flags return 1");
    const char *text;
    is(cuGetErrorName(2, &text) == 0 && !strcmp(text, "CUDA_ERROR_OUT_OF_MEMORY") && cuGetErrorName(12345, &text) == 1 && !text, "the names of codes");
    is(cuArrayDestroy(0) == 801 && cuArrayDestroy(0) == 801, "a function that is not simulated returns 801");
    is(cuMemFree_v2(p) == 0 && cuMemFree_v2(p) == 1, "memory can be freed only once");
    return failed;
}
