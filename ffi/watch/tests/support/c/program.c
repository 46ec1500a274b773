// A CUDA program for the tests: `program WAY ACTION`. WAY is how it gets the driver's
// functions, and ACTION is what it does. It prints "done" and exits with code 7.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

typedef unsigned long long u64;
typedef int (*Function)();
static void *library;
static Function ask1, ask2;
static const char *way;
static void *(*real_dlsym)(void *, const char *);

#define MUST(call) do { int code = (call); if (code) { fprintf(stderr, "%s: %d\n", #call, code); exit(1); } } while (0)

#ifdef LINKED
#define LIST(X) X(cuInit, cuInit) X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain) X(cuCtxSetCurrent, cuCtxSetCurrent) \
  X(cuMemAlloc, cuMemAlloc_v2) X(cuMemFree, cuMemFree_v2) X(cuMemAllocAsync, cuMemAllocAsync) X(cuMemFreeAsync, cuMemFreeAsync) \
  X(cuStreamCreate, cuStreamCreate) X(cuLaunchKernel, cuLaunchKernel) X(cuModuleLoadData, cuModuleLoadData) X(cuStreamBeginCapture, cuStreamBeginCapture_v2) \
  X(cuStreamEndCapture, cuStreamEndCapture) X(cuGraphInstantiateWithFlags, cuGraphInstantiateWithFlags) \
  X(cuGraphLaunch, cuGraphLaunch) X(cuGraphExecDestroy, cuGraphExecDestroy) X(cuGraphDestroy, cuGraphDestroy) \
  X(cuDeviceGraphMemTrim, cuDeviceGraphMemTrim)
#define DECLARE(name, exported) int exported();
LIST(DECLARE)
static Function find(const char *name) {
#define GIVE(plain, exported) if (!strcmp(name, #plain)) return exported;
  LIST(GIVE)
  return NULL;
}
#else
static Function find(const char *name) {
  void *function = NULL;
  char exported[64];
  const char *v2[] = {"cuMemAlloc", "cuMemFree", "cuStreamBeginCapture"};
  snprintf(exported, sizeof exported, "%s", name);
  for (int i = 0; i < 3; ++i) if (!strcmp(name, v2[i])) strcat(exported, "_v2");
  if (!strcmp(way, "dlsym")) return (Function)dlsym(library, exported);
  if (!strcmp(way, "default")) return (Function)dlsym(RTLD_DEFAULT, exported);
  if (!strcmp(way, "stolen")) return (Function)real_dlsym(library, exported);
  if (!strcmp(way, "ask1")) MUST(ask1(name, &function, 12000, 0ull));
  if (!strcmp(way, "ask2")) { int status; MUST(ask2(name, &function, 12000, 0ull, &status)); }
  if (!strcmp(way, "per-thread")) { int status; MUST(ask2(name, &function, 12000, 2ull, &status)); }
  return (Function)function;
}
#endif

static void *captured(void *stream, int unfreed) {
  u64 address, plain;
  void *graph = NULL;
  MUST(find("cuStreamBeginCapture")(stream, 0));
  MUST(find("cuMemAllocAsync")(&address, (size_t)40 << 20, stream));
  // A plain allocation during a capture, made in the way of PyTorch.
  int (*exchange)(int *) = dlsym(library ? library : RTLD_DEFAULT, "cuThreadExchangeStreamCaptureMode");
  int mode = 2;
  if (exchange) exchange(&mode);
  if (exchange) MUST(find("cuMemAlloc")(&plain, (size_t)6 << 20));
  if (exchange) exchange(&mode);
  if (!unfreed) MUST(find("cuMemFreeAsync")(address, stream));
  MUST(find("cuStreamEndCapture")(stream, &graph));
  return graph;
}

static void *ten_launches(void *exec) {
  for (int i = 0; i < 1000; ++i) MUST(find("cuGraphLaunch")(exec, (void *)0));
  return NULL;
}

static void *instantiates(void *graph) {
  Function instantiate = find("cuGraphInstantiateWithFlags");
  void *context, *exec;
  MUST(find("cuDevicePrimaryCtxRetain")(&context, 0));
  MUST(find("cuCtxSetCurrent")(context));
  for (;;) { instantiate(&exec, graph, 1ull); pthread_testcancel(); }
  return NULL;
}

static void context(void) {
  void *context;
  MUST(find("cuInit")(0));
  MUST(find("cuDevicePrimaryCtxRetain")(&context, 0));
  MUST(find("cuCtxSetCurrent")(context));
}

int main(int argc, char **argv) {
  way = argc > 1 ? argv[1] : "";
  const char *action = argc > 2 ? argv[2] : "";
  if (!strcmp(action, "nothing")) { puts("done"); return 7; }
#ifndef LINKED
  library = dlopen("libcuda.so.1", !strcmp(way, "default") ? RTLD_LAZY | RTLD_GLOBAL : RTLD_LAZY);
  if (!library) { puts(dlsym(RTLD_DEFAULT, "cuInit") ? "cuInit without a driver" : "no driver"); return 8; }
  real_dlsym = dlvsym(RTLD_DEFAULT, "dlsym", "GLIBC_2.34");
  if (!real_dlsym) real_dlsym = dlvsym(RTLD_DEFAULT, "dlsym", "GLIBC_2.2.5");
  if (!real_dlsym) real_dlsym = dlvsym(RTLD_DEFAULT, "dlsym", "GLIBC_2.17");
  if (strcmp(way, "stolen")) {
    ask1 = (Function)dlsym(library, "cuGetProcAddress");
    ask2 = (Function)dlsym(library, "cuGetProcAddress_v2");
  }
#endif
  if (!strcmp(action, "limit")) {
    struct rlimit limit = {6000, 6000};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  if (!strcmp(action, "close")) {
    for (int i = 3; i < 1024; ++i) close(i);
    for (int i = 0; i < 600; ++i) if (open("/dev/null", O_WRONLY) < 0) break;
  }
  if (!strcmp(action, "descriptors")) {
    int one = open("/dev/null", O_RDONLY);
    printf("first descriptor %d\n", one);
  }
  context();
  void *stream = NULL, *exec = NULL, *module, *graph;
  u64 address;
  MUST(find("cuStreamCreate")(&stream, 1));
  MUST(find("cuModuleLoadData")(&module, "image"));
  MUST(find("cuMemAlloc")(&address, (size_t)5 << 20));
  static int kernels[600];
  for (int i = 0; i < 3; ++i)
    MUST(find("cuLaunchKernel")(kernels, 1, 2, 3, 1, 1, 1, 9, (void *)0, (void *)0, (void *)0));
  if (!strcmp(action, "kernels"))
    for (int i = 0; i < 1200; ++i)
      MUST(find("cuLaunchKernel")(&kernels[i % 300 * 2], 1, 2, 3, 1, 1, 1, 9, (void *)0, (void *)0, (void *)0));
  for (int i = 0; i < 3; ++i) MUST(find("cuMemAllocAsync")(&address, (size_t)12 << 20, stream));
  graph = captured(stream, !strcmp(action, "unfreed"));
  if (!strcmp(action, "failure")) {
    exec = (void *)(size_t)0xdead0000dead;  // must not be read
    int code = find("cuGraphInstantiateWithFlags")(&exec, graph, 99ull);
    printf("instantiate %d\n", code);
    printf("launch %d\n", find("cuGraphLaunch")((void *)0, stream));
    puts("done");
    return 7;
  }
  if (!strcmp(action, "churn"))
    for (int i = 0; i < 3000; ++i) {
      void *execs[3];
      for (int k = 0; k < 3; ++k) MUST(find("cuGraphInstantiateWithFlags")(&execs[k], graph, 1ull));
      for (int k = 0; k < 3; ++k) for (int n = 0; n <= k; ++n) MUST(find("cuGraphLaunch")(execs[k], stream));
      malloc(i % 7 * 16);  // so that the handles differ
      for (int k = 2; k > 0; --k) MUST(find("cuGraphExecDestroy")(execs[k]));
      if (i % 2) MUST(find("cuGraphExecDestroy")(execs[0]));
    }
  int graphs = !strcmp(action, "many") ? 10000 : 1;
  for (int i = 0; i < graphs; ++i) MUST(find("cuGraphInstantiateWithFlags")(&exec, graph, 1ull));
  if (strcmp(action, "cancel")) MUST(find("cuGraphDestroy")(graph));
  if (!strcmp(action, "threads")) {
    pthread_t threads[8];
    for (int i = 0; i < 8; ++i) pthread_create(&threads[i], NULL, ten_launches, exec);
    for (int i = 0; i < 8; ++i) pthread_join(threads[i], NULL);
  }
  for (int i = 0; i < 100; ++i) MUST(find("cuGraphLaunch")(exec, i < 90 ? stream : NULL));
  if (!strcmp(action, "hot")) {
    unsigned long *counted = dlsym(RTLD_DEFAULT, "counted"), whole = *counted, before;
    Function launch = find("cuGraphLaunch"), kernel = find("cuLaunchKernel");
    before = *counted;
    for (int i = 0; i < 10000; ++i) MUST(launch(exec, stream));
    for (int i = 0; i < 10000; ++i) MUST(kernel(kernels, 1, 2, 3, 1, 1, 1, 9, (void *)0, (void *)0, (void *)0));
    printf("counted %lu, before that %s\n", *counted - before, whole > 100 ? "many" : "few");
  }
  if (!strcmp(action, "launch-failure"))
    for (int i = 0; i < 3; ++i) printf("launch %d\n", find("cuGraphLaunch")(exec, (void *)0xbad));
  if (!strcmp(action, "cancel")) {
    pthread_t threads[8];
    for (int i = 0; i < 8; ++i) pthread_create(&threads[i], NULL, instantiates, graph);
    usleep(100000);
    for (int i = 0; i < 8; ++i) pthread_cancel(threads[i]);
    for (int i = 0; i < 8; ++i) pthread_join(threads[i], NULL);
  }
  if (!strcmp(action, "fork")) {
    pid_t child = fork();
    if (!child) {
      void *other;
      graph = captured(stream, 0);
      MUST(find("cuGraphInstantiateWithFlags")(&other, graph, 0ull));
      for (int i = 0; i < 5; ++i) MUST(find("cuGraphLaunch")(other, stream));
      exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    printf("child %d\n", WEXITSTATUS(status));
  }
  if (!strcmp(action, "exec")) execl(argv[0], argv[0], way, "plain", (char *)NULL);
  if (!strcmp(action, "kill")) kill(getpid(), SIGKILL);
  if (!strcmp(action, "_exit")) _exit(9);
  if (!strcmp(action, "abort")) { struct rlimit none = {0, 0}; setrlimit(RLIMIT_CORE, &none); abort(); }
  if (!strcmp(action, "leave")) { puts("done"); return 7; }
  MUST(find("cuGraphExecDestroy")(exec));
  MUST(find("cuDeviceGraphMemTrim")(0));
  puts("done");
  return 7;
}
