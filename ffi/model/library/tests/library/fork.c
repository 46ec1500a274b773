/* What CUDA calls return in a process that was forked from one that uses CUDA.
 *
 * usage: fork STATE, where STATE is what the parent does before it forks:
 *   nothing   it makes no call of CUDA
 *   versions  it queries the two versions
 *   used      it creates one object of every kind
 *   threads   as `used`, and other threads make calls all the time
 * Prints a line for each call: the state, the call, its code, and a value where the call
 * returns one. Each call is made in its own child, except that all calls of a "sequence" are made in one.
 * For a function that the library does not export, the result is "missing". */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef int E;
typedef void *H;
struct location { int type, id; };
struct properties { int type, handles; struct location location; void *security; unsigned char reserved[64]; };
struct alloc { struct properties pool; const void *access; size_t access_count, bytes; void *address; };
typedef struct { unsigned x, y, z; } extents;

#define FUNCTION(name, ...) E name(__VA_ARGS__) __attribute__((weak))
FUNCTION(cudaDriverGetVersion, int *); FUNCTION(cudaRuntimeGetVersion, int *); FUNCTION(cudaGetLastError, void); FUNCTION(cudaPeekAtLastError, void);
FUNCTION(cudaGetDeviceCount, int *); FUNCTION(cudaSetDevice, int); FUNCTION(cudaGetDevice, int *); FUNCTION(cudaDeviceGetAttribute, int *, int, int); FUNCTION(cudaGetDeviceProperties, void *, int); FUNCTION(cudaDeviceSynchronize, void); FUNCTION(cudaDeviceReset, void);
FUNCTION(cudaMalloc, void **, size_t); FUNCTION(cudaFree, void *); FUNCTION(cudaFreeAsync, void *, H); FUNCTION(cudaMemGetInfo, size_t *, size_t *); FUNCTION(cudaMemsetAsync, void *, int, size_t, H); FUNCTION(cudaMemcpyAsync, void *, const void *, size_t, int, H); FUNCTION(cudaMemcpy, void *, const void *, size_t, int); FUNCTION(cudaMemset, void *, int, size_t);
FUNCTION(cudaMallocHost, void **, size_t); FUNCTION(cudaFreeHost, void *); FUNCTION(cudaMallocManaged, void **, size_t, unsigned);
FUNCTION(cudaMallocAsync, void **, size_t, H); FUNCTION(cudaDeviceGetDefaultMemPool, H *, int); FUNCTION(cudaMemPoolTrimTo, H, size_t); FUNCTION(cudaMemPoolGetAttribute, H, int, void *); FUNCTION(cudaMemPoolSetAttribute, H, int, void *);
FUNCTION(cudaStreamCreate, H *); FUNCTION(cudaStreamCreateWithFlags, H *, unsigned); FUNCTION(cudaStreamDestroy, H); FUNCTION(cudaStreamSynchronize, H); FUNCTION(cudaStreamQuery, H); FUNCTION(cudaStreamWaitEvent, H, H, unsigned); FUNCTION(cudaStreamBeginCapture, H, int); FUNCTION(cudaStreamEndCapture, H, H *); FUNCTION(cudaStreamIsCapturing, H, int *); FUNCTION(cudaLaunchKernel, const void *, extents, extents, void **, size_t, H);
FUNCTION(cudaEventCreate, H *); FUNCTION(cudaEventCreateWithFlags, H *, unsigned); FUNCTION(cudaEventDestroy, H); FUNCTION(cudaEventRecord, H, H); FUNCTION(cudaEventQuery, H); FUNCTION(cudaEventSynchronize, H); FUNCTION(cudaEventElapsedTime, float *, H, H);
FUNCTION(cudaGraphCreate, H *, unsigned); FUNCTION(cudaGraphDestroy, H); FUNCTION(cudaGraphClone, H *, H); FUNCTION(cudaGraphDestroyNode, H);
FUNCTION(cudaGraphAddMemAllocNode, H *, H, const H *, size_t, struct alloc *); FUNCTION(cudaGraphAddMemFreeNode, H *, H, const H *, size_t, void *); FUNCTION(cudaGraphAddEmptyNode, H *, H, const H *, size_t); FUNCTION(cudaGraphAddChildGraphNode, H *, H, const H *, size_t, H); FUNCTION(cudaGraphGetNodes, H, H *, size_t *);
FUNCTION(cudaGraphMemAllocNodeGetParams, H, struct alloc *); FUNCTION(cudaGraphMemFreeNodeGetParams, H, void *);
FUNCTION(cudaGraphInstantiateWithFlags, H *, H, unsigned long long); FUNCTION(cudaGraphExecDestroy, H); FUNCTION(cudaGraphLaunch, H, H); FUNCTION(cudaGraphUpload, H, H);
FUNCTION(cudaDeviceGetGraphMemAttribute, int, int, void *); FUNCTION(cudaDeviceSetGraphMemAttribute, int, int, void *); FUNCTION(cudaDeviceGraphMemTrim, int);
FUNCTION(cudaLibraryLoadData, H *, const void *, void *, void **, unsigned, void *, void **, unsigned);

FUNCTION(cuInit, unsigned); FUNCTION(cuDriverGetVersion, int *); FUNCTION(cuDeviceGetCount, int *); FUNCTION(cuCtxGetCurrent, H *); FUNCTION(cuMemGetInfo_v2, size_t *, size_t *); FUNCTION(cuStreamCreate, H *, unsigned); FUNCTION(cuGraphCreate, H *, unsigned); FUNCTION(cuCtxSynchronize, void);

static const char *state;
struct answer { E code; int has_value, value; };

static void say(const char *name, int status, int got_answer, struct answer answer) {
    if (!got_answer && WIFSIGNALED(status)) printf("%s %s signal %d\n", state, name, WTERMSIG(status));
    else if (!got_answer) printf("%s %s exit %d\n", state, name, WEXITSTATUS(status));
    else if (answer.has_value) printf("%s %s %d value %d\n", state, name, answer.code, answer.value);
    else printf("%s %s %d\n", state, name, answer.code);
}

/* Makes a call in a forked child. The call may return a value in `v`. */
#define IN_CHILD(function, call, returns_value) do { \
    if (!function) { printf("%s %s missing\n", state, #function); break; } \
    int ends_[2], status_ = 0; \
    struct answer answer_ = { 0, returns_value, 0 }; \
    if (pipe(ends_)) exit(2); \
    fflush(stdout); \
    pid_t child_ = fork(); \
    if (!child_) { \
        alarm(10); \
        int v = -7; \
        (void)v; \
        answer_.code = (call); \
        answer_.value = v; \
        _exit(write(ends_[1], &answer_, sizeof answer_) != sizeof answer_); \
    } \
    close(ends_[1]); \
    int got_ = read(ends_[0], &answer_, sizeof answer_) == sizeof answer_; \
    close(ends_[0]); \
    waitpid(child_, &status_, 0); \
    say(#function, status_, got_, answer_); \
} while (0)
#define CALL(function, ...) IN_CHILD(function, function(__VA_ARGS__), 0)
#define VALUE(function, ...) IN_CHILD(function, function(__VA_ARGS__), 1)

/* Makes calls one after the other in one child. */
static void sequence(const char *name, int which) {
    int status;
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        int v = -7, n = 0;
        H s = 0;
        size_t f, t;
        char line[600];
        E e;
        alarm(10);
        n += sprintf(line + n, "%s sequence %s:", state, name);
#define SAY(expr) (e = (expr), n += sprintf(line + n, " %s=%d", #expr, e))
        if (which == 0) { SAY(cudaMemGetInfo(&f, &t)); SAY(cudaGetLastError()); SAY(cudaGetLastError()); SAY(cudaGetDeviceCount(&v)); n += sprintf(line + n, "(%d)", v); SAY(cudaGetLastError()); }
        if (which == 1) { SAY(cudaGetDeviceCount(&v)); n += sprintf(line + n, "(%d)", v); SAY(cudaSetDevice(0)); SAY(cudaSetDevice(9)); SAY(cudaGetLastError()); SAY(cudaStreamCreateWithFlags(&s, 0)); SAY(cudaDeviceSynchronize()); SAY(cudaGetLastError()); }
        if (which == 2) {
            pid_t grandchild = fork();
            if (!grandchild) _exit(cudaStreamCreateWithFlags(&s, 0));
            waitpid(grandchild, &status, 0);
            n += sprintf(line + n, " in a grandchild cudaStreamCreateWithFlags(&s, 0)=%d", WEXITSTATUS(status));
            SAY(cudaStreamCreateWithFlags(&s, 0));
        }
        if (which == 3) { SAY(cudaFree(0)); SAY(cudaMalloc((void **)&s, 64)); SAY(cudaGetLastError()); }
        puts(line);
        fflush(stdout);
        _exit(0);
    }
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) printf("%s sequence %s: signal %d\n", state, name, WTERMSIG(status));
}

static volatile int stop;
static void *calls_all_the_time(void *unused) {
    (void)unused;
    H s, g, n, x;
    static char bytes[1 << 20];
    void *p;
    cudaStreamCreateWithFlags(&s, 0);
    while (!stop) {
        cudaGraphCreate(&g, 0);
        cudaGraphAddEmptyNode(&n, g, 0, 0);
        cudaGraphInstantiateWithFlags(&x, g, 0);
        cudaGraphLaunch(x, s);
        cudaGraphExecDestroy(x);
        cudaGraphDestroy(g);
        cudaMalloc(&p, sizeof bytes);
        cudaMemcpyAsync(p, bytes, sizeof bytes, 1, s);
        cudaFree(p);
    }
    return 0;
}

int main(int argc, char **argv) {
    state = argc > 1 ? argv[1] : "nothing";
    int n, threads = !strcmp(state, "threads"), used = threads || !strcmp(state, "used");
    H s = 0, g = 0, g2 = 0, x = 0, x2 = 0, a = 0, f = 0, e = 0, ev = 0, pool = 0, h;
    void *plain = 0, *pooled = 0, *host = 0;
    struct alloc p, q;
    unsigned long long u = 0;
    size_t size = 0, size2;
    float ms;
    static char properties[8192], bytes[64];
    memset(&p, 0, sizeof p);
    p.pool.type = 1;
    p.pool.location.type = 1;
    p.bytes = 1 << 20;
    q = p;
    if (!strcmp(state, "versions")) printf("%s parent %d %d\n", state, cudaDriverGetVersion(&n), cudaRuntimeGetVersion(&n));
    if (used) {
        E r = 0;
        r |= cudaStreamCreateWithFlags(&s, 0); r |= cudaEventCreateWithFlags(&ev, 0); r |= cudaEventRecord(ev, s); r |= cudaMalloc(&plain, 4096); r |= cudaMallocAsync(&pooled, 4096, s); r |= cudaDeviceGetDefaultMemPool(&pool, 0);
        if (cudaMallocHost) r |= cudaMallocHost(&host, 4096);
        r |= cudaGraphCreate(&g, 0); r |= cudaGraphAddMemAllocNode(&a, g, 0, 0, &p); r |= cudaGraphAddMemFreeNode(&f, g, &a, 1, p.address); r |= cudaGraphInstantiateWithFlags(&x, g, 0); r |= cudaGraphLaunch(x, s);
        r |= cudaGraphCreate(&g2, 0); r |= cudaGraphAddEmptyNode(&e, g2, 0, 0); r |= cudaGraphInstantiateWithFlags(&x2, g2, 0); r |= cudaStreamSynchronize(s);
        printf("%s parent %d\n", state, r);
    }
    if (threads) {
        pthread_t running[4];
        int hung = 0, refused = 0;
        for (int i = 0; i < 4; i++) pthread_create(&running[i], 0, calls_all_the_time, 0);
        for (int i = 0; i < 100; i++) {
            int status;
            pid_t child = fork();
            if (!child) { alarm(10); _exit(cudaStreamCreateWithFlags(&s, 0)); }
            waitpid(child, &status, 0);
            hung += WIFSIGNALED(status) != 0;
            refused += WIFEXITED(status) && WEXITSTATUS(status) == 3;
        }
        stop = 1;
        for (int i = 0; i < 4; i++) pthread_join(running[i], 0);
        printf("threads: of 100 children %d hung, %d got code 3; the parent launches %d\n", hung, refused, cudaGraphLaunch(x, s));
        return 0;
    }
    VALUE(cudaDriverGetVersion, &v); VALUE(cudaRuntimeGetVersion, &v); CALL(cudaGetLastError); CALL(cudaPeekAtLastError);
    VALUE(cudaGetDeviceCount, &v); CALL(cudaSetDevice, 0); CALL(cudaSetDevice, 9); VALUE(cudaGetDevice, &v); VALUE(cudaDeviceGetAttribute, &v, 16, 0); CALL(cudaGetDeviceProperties, properties, 0); CALL(cudaDeviceSynchronize);
    CALL(cudaMalloc, &plain, 64); CALL(cudaMalloc, 0, 64); CALL(cudaFree, 0); CALL(cudaMemGetInfo, &size, &size2); CALL(cudaMallocAsync, &pooled, 64, s); CALL(cudaMallocHost, &host, 64); CALL(cudaMallocManaged, &host, 64, 1); CALL(cudaDeviceGetDefaultMemPool, &h, 0);
    CALL(cudaMemcpy, bytes, bytes + 32, 8, 0); CALL(cudaStreamCreate, &h); CALL(cudaStreamCreateWithFlags, &h, 1); CALL(cudaStreamCreateWithFlags, &h, 77); CALL(cudaStreamSynchronize, s); CALL(cudaStreamQuery, s); CALL(cudaStreamBeginCapture, s, 0); CALL(cudaStreamEndCapture, s, &h); VALUE(cudaStreamIsCapturing, s, &v);
    CALL(cudaEventCreate, &h); CALL(cudaEventCreateWithFlags, &h, 2);
    CALL(cudaGraphCreate, &h, 0); CALL(cudaGraphCreate, &h, 5); CALL(cudaDeviceGetGraphMemAttribute, 0, 0, &u); CALL(cudaDeviceGraphMemTrim, 0); u = 0; CALL(cudaDeviceSetGraphMemAttribute, 0, 1, &u); CALL(cudaLaunchKernel, (void *)0x40, (extents){1, 1, 1}, (extents){1, 1, 1}, 0, 0, s);
    CALL(cudaLibraryLoadData, &h, ".version 5.0\n.target sm_60\n.address_size 64\n.visible .entry k() { ret; }\n", 0, 0, 0, 0, 0, 0); CALL(cudaDeviceReset);
    if (used) {
        CALL(cudaFree, plain); CALL(cudaFreeAsync, pooled, s); CALL(cudaFreeHost, host); CALL(cudaMemsetAsync, plain, 0, 64, s); CALL(cudaMemcpyAsync, plain, bytes, 8, 1, s); CALL(cudaMemcpyAsync, bytes, plain, 8, 2, s); CALL(cudaMemcpy, plain, bytes, 8, 1); CALL(cudaMemset, plain, 0, 8); CALL(cudaMemPoolTrimTo, pool, 0); CALL(cudaMemPoolGetAttribute, pool, 4, &u); CALL(cudaMemPoolSetAttribute, pool, 4, &u);
        CALL(cudaStreamDestroy, s); CALL(cudaStreamWaitEvent, s, ev, 0); CALL(cudaEventDestroy, ev); CALL(cudaEventRecord, ev, s); CALL(cudaEventQuery, ev); CALL(cudaEventSynchronize, ev); CALL(cudaEventElapsedTime, &ms, ev, ev);
        CALL(cudaGraphClone, &h, g2); CALL(cudaGraphAddEmptyNode, &h, g2, 0, 0); CALL(cudaGraphAddMemAllocNode, &h, g, 0, 0, &q); CALL(cudaGraphAddMemFreeNode, &h, g2, 0, 0, p.address); CALL(cudaGraphAddChildGraphNode, &h, g, 0, 0, g2); size = 0; CALL(cudaGraphGetNodes, g, 0, &size); CALL(cudaGraphMemAllocNodeGetParams, a, &q); CALL(cudaGraphMemFreeNodeGetParams, f, &h); CALL(cudaGraphDestroyNode, e);
        CALL(cudaGraphInstantiateWithFlags, &h, g2, 0); CALL(cudaGraphLaunch, x, s); CALL(cudaGraphLaunch, 0, s); CALL(cudaGraphUpload, x, s); CALL(cudaGraphExecDestroy, x); CALL(cudaGraphExecDestroy, x2); CALL(cudaGraphDestroy, g2); CALL(cudaGraphDestroy, g); CALL(cudaGraphDestroy, 0);
    }
    sequence("errors", 0);
    sequence("devices", 1);
    sequence("grandchild", 2);
    sequence("memory", 3);
    CALL(cuInit, 0); VALUE(cuDriverGetVersion, &v); VALUE(cuDeviceGetCount, &v); CALL(cuCtxGetCurrent, &h); CALL(cuMemGetInfo_v2, &size, &size2); CALL(cuStreamCreate, &h, 0); CALL(cuGraphCreate, &h, 0); CALL(cuCtxSynchronize);
    if (used) printf("%s parent afterwards launch %d sync %d\n", state, cudaGraphLaunch(x, s), cudaStreamSynchronize(s));
    return 0;
}
