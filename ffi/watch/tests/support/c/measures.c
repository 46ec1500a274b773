// A program that reads its own graph memory, for a comparison with what the watch library
// recorded. For each launch it prints a line: the exec's number, and the four attributes and
// the free memory before and after it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef unsigned long long u64;
typedef int (*Function)();
static Function ask;

static Function find(const char *name) {
  void *function = NULL;
  int status;
  if (ask(name, &function, 12040, 0ull, &status) || !function) {
    fprintf(stderr, "no %s\n", name);
    exit(1);
  }
  return (Function)function;
}
#define CALL(name, ...) do { int code = find(#name)(__VA_ARGS__); if (code) { fprintf(stderr, #name ": %d\n", code); exit(1); } } while (0)

static void print(void) {
  size_t free, total;
  for (int attribute = 0; attribute < 4; ++attribute) {
    u64 value;
    CALL(cuDeviceGetGraphMemAttribute, 0, attribute, &value);
    printf(" %llu", value);
  }
  CALL(cuMemGetInfo, &free, &total);
  printf(" %zu", free);
}

int main(void) {
  void *library = dlopen("libcuda.so.1", RTLD_LAZY);
  if (!library) return 8;
  ask = (Function)dlsym(library, "cuGetProcAddress_v2");
  void *context, *stream, *execs[3];
  u64 plain;
  CALL(cuInit, 0);
  CALL(cuDevicePrimaryCtxRetain, &context, 0);
  CALL(cuCtxSetCurrent, context);
  CALL(cuStreamCreate, &stream, 1);
  CALL(cuMemAlloc, &plain, (size_t)100 << 20);
  for (int i = 0; i < 3; ++i) {
    void *graph;
    u64 first, second;
    CALL(cuStreamBeginCapture, stream, 0);
    CALL(cuMemAllocAsync, &first, ((size_t)30 << 20) * (i + 1), stream);
    CALL(cuMemAllocAsync, &second, (size_t)50 << 20, stream);
    CALL(cuMemFreeAsync, first, stream);
    CALL(cuMemFreeAsync, second, stream);
    CALL(cuStreamEndCapture, stream, &graph);
    CALL(cuGraphInstantiateWithFlags, &execs[i], graph, 0ull);
    CALL(cuGraphDestroy, graph);
  }
  for (int round = 0; round < 40; ++round)
    for (int i = 0; i < 3; ++i) {
      if (!round) printf("%d", i + 1), print();
      CALL(cuGraphLaunch, execs[i], stream);
      CALL(cuStreamSynchronize, stream);
      if (!round) print(), printf("\n");
    }
  for (int i = 0; i < 3; ++i) CALL(cuGraphExecDestroy, execs[i]);
  CALL(cuDeviceGraphMemTrim, 0);
  CALL(cuMemFree, plain);
  return 7;
}
