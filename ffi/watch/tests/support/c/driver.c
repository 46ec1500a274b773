// A driver for the tests of the watch library, named libcuda.so.1. Its state is just enough
// to return what a real driver would about memory, graphs and captures. As in the real
// driver, a call that is forbidden while a stream captures in the global mode invalidates
// the capture, unless the thread's mode is relaxed.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int CUresult;
typedef unsigned long long u64;
#define MIB (1ull << 20)
#define NODES 16

typedef struct { int type; u64 bytes, address; } Node;
typedef struct { Node nodes[NODES]; int count; } Graph;
typedef struct { Graph graph; int launched; } Exec;
typedef struct { int capturing, invalid; Graph *graph; } Stream;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static u64 total = 4096 * MIB, taken, attributes[4], pool_used, pool_reserved, next = 0x700000000;
static int started, primary, captures, invalidated;
static Stream legacy, per_thread;
static char context_object, pool_object;
static __thread void *current;
static __thread int mode;

static void take(u64 bytes) { pthread_mutex_lock(&lock); taken += bytes; pthread_mutex_unlock(&lock); }
static void forbidden(void) { if (captures && mode == 0) invalidated = 1; }
static Stream *stream(void *handle, int ptsz) {
  if (handle == (void *)2 || (!handle && ptsz)) return &per_thread;
  return !handle || handle == (void *)1 ? &legacy : handle;
}

CUresult cuInit(unsigned flags) {
  (void)flags;
  const char *path = getenv("CUDA_INJECTION64_PATH");
  if (!started && path) {
    void *library = dlopen(path, RTLD_NOW);
    int (*start)(void) = library ? (int (*)(void))dlsym(library, "InitializeInjection") : NULL;
    if (start) start();
  }
  started = 1;
  return 0;
}
CUresult cuDriverGetVersion(int *version) { *version = 12040; return 0; }
CUresult cuDeviceGetName(char *name, int length, int device) { (void)device; snprintf(name, length, "Test device"); return 0; }
CUresult cuDeviceGetUuid(char *uuid, int device) { (void)device; for (int i = 0; i < 16; ++i) uuid[i] = (char)(i * 17); return 0; }
CUresult cuDeviceTotalMem_v2(size_t *bytes, int device) { (void)device; *bytes = total; return 0; }
CUresult cuDeviceGetAttribute(int *value, int attribute, int device) { (void)device; *value = attribute == 75 ? 9 : 0; return 0; }
CUresult cuMemGetAllocationGranularity(size_t *bytes, const void *prop, int option) { (void)prop; (void)option; *bytes = 2 * MIB; return 0; }
CUresult cuDevicePrimaryCtxRetain(void **context, int device) {
  (void)device;
  if (!started) return 3;
  if (!primary++) take(100 * MIB);
  *context = &context_object;
  return 0;
}
CUresult cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) { (void)device; *flags = 0; *active = primary > 0; return 0; }
CUresult cuDevicePrimaryCtxRelease_v2(int device) { (void)device; if (!--primary) taken -= 100 * MIB; return 0; }
CUresult cuCtxSetCurrent(void *context) { current = context; return 0; }
CUresult cuCtxGetCurrent(void **context) { *context = current; return 0; }
CUresult cuCtxGetDevice(int *device) { *device = 0; return current ? 0 : 201; }
CUresult cuCtxPushCurrent_v2(void *context) { if (context != &context_object) return 201; current = context; return 0; }
CUresult cuCtxPopCurrent_v2(void **context) { *context = current; return 0; }
CUresult cuThreadExchangeStreamCaptureMode(int *exchanged) { int before = mode; mode = *exchanged; *exchanged = before; return 0; }
CUresult cuMemGetInfo_v2(size_t *free, size_t *all) {
  if (!current) return 201;
  forbidden();
  *free = total - taken;
  *all = total;
  return 0;
}
CUresult cuDeviceGetGraphMemAttribute(int device, int attribute, u64 *value) { (void)device; *value = attributes[attribute & 3]; return 0; }
CUresult cuDeviceGraphMemTrim(int device) {
  (void)device;
  taken -= attributes[2] - attributes[0];
  attributes[2] = attributes[0];
  return 0;
}

CUresult cuMemAlloc_v2(u64 *address, size_t size) {
  forbidden();
  if (taken + size > total) return 2;
  take(size);
  *address = next += size;
  return 0;
}
CUresult cuMemFree_v2(u64 address) { forbidden(); (void)address; return address == 1 ? 1 : 0; }
CUresult cuStreamCreate(Stream **out, unsigned flags) { (void)flags; take(MIB / 2); *out = calloc(1, sizeof(Stream)); return 0; }
CUresult cuModuleLoadData(void **module, const void *image) { (void)image; take(2 * MIB); *module = &pool_object; return 0; }

CUresult cuLaunchKernel(int *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void *s, void **params, void **extra) {
  // The kernel is loaded at its first launch.
  if (!(*function)++) take(3 * MIB);
  return gx * gy * gz * bx * by * bz == 6 && shared == 9 && !s && !params && !extra ? 0 : 1;
}
CUresult cuDeviceGetMemPool(void **pool, int device) { (void)device; forbidden(); *pool = &pool_object; return 0; }
CUresult cuDeviceGetDefaultMemPool(void **pool, int device) { return cuDeviceGetMemPool(pool, device); }
CUresult cuMemPoolGetAttribute(void *pool, int attribute, u64 *value) {
  forbidden();
  if (pool != &pool_object) return 1;
  *value = attribute == 5 ? pool_reserved : pool_used;
  return 0;
}
static CUresult allocate(u64 *address, size_t size, void *handle, int ptsz) {
  Stream *s = stream(handle, ptsz);
  if (s->capturing) {
    Node *node = &s->graph->nodes[s->graph->count++ % NODES];
    *node = (Node){10, size, next += size};
    *address = node->address;
    return 0;
  }
  pool_used += size;
  while (pool_used > pool_reserved) { pool_reserved += 32 * MIB; take(32 * MIB); }
  *address = next += size;
  return 0;
}
CUresult cuMemAllocAsync(u64 *address, size_t size, void *s) { return allocate(address, size, s, 0); }
CUresult cuMemAllocAsync_ptsz(u64 *address, size_t size, void *s) { return allocate(address, size, s, 1); }
CUresult cuMemFreeAsync(u64 address, void *handle) {
  Stream *s = stream(handle, 0);
  if (s->capturing) s->graph->nodes[s->graph->count++ % NODES] = (Node){11, 0, address};
  return 0;
}

static CUresult capturing(Stream *s, int *status) { *status = s->capturing ? (invalidated ? 2 : 1) : 0; return 0; }
CUresult cuStreamIsCapturing(void *s, int *status) { return capturing(stream(s, 0), status); }
CUresult cuStreamIsCapturing_ptsz(void *s, int *status) { return capturing(stream(s, 1), status); }
static CUresult begin(Stream *s) {
  if (s == &legacy) return 900;
  s->capturing = 1;
  s->graph = calloc(1, sizeof(Graph));
  s->graph->nodes[s->graph->count++].type = 0;
  ++captures;
  return 0;
}
CUresult cuStreamBeginCapture_v2(void *s, int m) { (void)m; return begin(stream(s, 0)); }
CUresult cuStreamBeginCapture_v2_ptsz(void *s, int m) { (void)m; return begin(stream(s, 1)); }
static CUresult end(Stream *s, Graph **graph) {
  if (!s->capturing) return 1;
  int bad = invalidated;
  s->capturing = invalidated = 0;
  --captures;
  *graph = bad ? NULL : s->graph;
  return bad ? 901 : 0;
}
CUresult cuStreamEndCapture(void *s, Graph **graph) { return end(stream(s, 0), graph); }
CUresult cuStreamEndCapture_ptsz(void *s, Graph **graph) { return end(stream(s, 1), graph); }

CUresult cuGraphCreate(Graph **graph, unsigned flags) { (void)flags; *graph = calloc(1, sizeof(Graph)); return 0; }
CUresult cuGraphDestroy(Graph *graph) { free(graph); return 0; }
CUresult cuGraphGetNodes(Graph *graph, Node **nodes, size_t *count) {
  if (nodes) for (size_t i = 0; i < *count; ++i) nodes[i] = &graph->nodes[i];
  *count = (size_t)graph->count;
  return 0;
}
CUresult cuGraphNodeGetType(Node *node, unsigned *type) { *type = (unsigned)node->type; return 0; }
CUresult cuGraphMemAllocNodeGetParams(Node *node, char *params) {
  memset(params, 0, 120);
  memcpy(params + 104, &node->bytes, 8);
  memcpy(params + 112, &node->address, 8);
  return 0;
}
CUresult cuGraphMemFreeNodeGetParams(Node *node, u64 *address) { *address = node->address; return 0; }
CUresult cuGraphDebugDotPrint(Graph *graph, const char *path, unsigned flags) {
  FILE *file = fopen(path, "w");
  if (!file) return 304;
  fprintf(file, "digraph dot {\n// %u\n", flags);
  for (int i = 0; i < graph->count; ++i) fprintf(file, "\"node_%d\"[label=\"%d %llu\"];\n", i, graph->nodes[i].type, graph->nodes[i].bytes);
  for (int i = 0; i < graph->count && getenv("TEST_LARGE_DOT"); ++i) for (int k = 0; k < 2000; ++k) fputs("// a long comment\n", file);
  fputs("}\n", file);
  return fclose(file) ? 304 : 0;
}
CUresult cuGraphInstantiateWithFlags(Exec **exec, Graph *graph, u64 flags) {
  // After a failure the driver does not write the handle.
  if (flags == 99) return 801;
  *exec = calloc(1, sizeof(Exec));
  (*exec)->graph = *graph;
  return 0;
}
CUresult cuGraphLaunch(Exec *exec, void *s) {
  if (!exec) return 400;
  if (s == (void *)0xbad) return 719;
  u64 bytes = 0;
  for (int i = 0; i < exec->graph.count; ++i) bytes += exec->graph.nodes[i].bytes;
  bytes = (bytes + 32 * MIB - 1) / (32 * MIB) * (32 * MIB);
  pthread_mutex_lock(&lock);
  if (attributes[0] < bytes) attributes[0] = bytes;
  if (attributes[1] < attributes[0]) attributes[1] = attributes[0];
  if (attributes[2] < attributes[0]) { taken += attributes[0] - attributes[2]; attributes[2] = attributes[0]; }
  if (attributes[3] < attributes[2]) attributes[3] = attributes[2];
  pthread_mutex_unlock(&lock);
  return 0;
}
CUresult cuGraphLaunch_ptsz(Exec *exec, void *s) { return cuGraphLaunch(exec, s); }
CUresult cuGraphExecDestroy(Exec *exec) {
  pthread_mutex_lock(&lock);
  attributes[0] = 0;
  pthread_mutex_unlock(&lock);
  free(exec);
  return 0;
}

CUresult cuGetProcAddress_v2(const char *symbol, void **function, int version, u64 flags, int *status) {
  (void)version;
  static void *self;
  if (!self) self = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  // The real driver looks up functions in its own table, so this one uses the C library's
  // own dlsym.
  void *(*find)(void *, const char *) = dlvsym(RTLD_DEFAULT, "dlsym", "GLIBC_2.34");
  if (!find) find = dlvsym(RTLD_DEFAULT, "dlsym", "GLIBC_2.2.5");
  if (!find) find = dlvsym(RTLD_DEFAULT, "dlsym", "GLIBC_2.17");
  const char *suffixes[] = {"_v2_ptsz", "_ptsz", "_v2", ""};
  *function = NULL;
  for (int i = flags == 2 ? 0 : 2; i < 4 && !*function; ++i) {
    char name[128];
    snprintf(name, sizeof name, "%s%s", symbol, suffixes[i]);
    *function = find(self, name);
  }
  if (status) *status = *function ? 0 : 1;
  return *function || status ? 0 : 500;
}
CUresult cuGetProcAddress(const char *symbol, void **function, int version, u64 flags) {
  return cuGetProcAddress_v2(symbol, function, version, flags, NULL);
}
