/* Many threads use the library at the same time, and properties are checked that must always hold.
 *
 * usage: stress THREADS ROUNDS
 * Every fourth thread only queries; the others build, launch, capture, copy and free. No thread
 * waits for the device, because that is forbidden while another thread captures. Prints what was
 * wrong and the numbers of calls. At the end no object may be live. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int E;
typedef void *H;
struct location { int type, id; };
struct properties { int type, handles; struct location location; void *security; unsigned char reserved[64]; };
struct alloc { struct properties pool; const void *access; size_t access_count, bytes; void *address; };

E cudaDeviceSynchronize(void); E cudaDeviceGraphMemTrim(int); E cudaDeviceGetGraphMemAttribute(int, int, void *); E cudaMemGetInfo(size_t *, size_t *);
E cudaMalloc(void **, size_t); E cudaFree(void *); E cudaMallocAsync(void **, size_t, H); E cudaFreeAsync(void *, H); E cudaMemcpyAsync(void *, const void *, size_t, int, H); E cudaMemsetAsync(void *, int, size_t, H);
E cudaStreamCreateWithFlags(H *, unsigned); E cudaStreamDestroy(H); E cudaStreamSynchronize(H); E cudaStreamQuery(H); E cudaStreamWaitEvent(H, H, unsigned); E cudaStreamBeginCapture(H, int); E cudaStreamEndCapture(H, H *);
E cudaEventCreateWithFlags(H *, unsigned); E cudaEventDestroy(H); E cudaEventRecord(H, H); E cudaEventSynchronize(H);
E cudaGraphCreate(H *, unsigned); E cudaGraphDestroy(H); E cudaGraphAddMemAllocNode(H *, H, const H *, size_t, struct alloc *); E cudaGraphAddMemFreeNode(H *, H, const H *, size_t, void *); E cudaGraphAddEmptyNode(H *, H, const H *, size_t);
E cudaGraphInstantiateWithFlags(H *, H, unsigned long long); E cudaGraphExecDestroy(H); E cudaGraphLaunch(H, H); E cudaGraphUpload(H, H);
size_t cudartModelLiveObjects(unsigned long long *, size_t);

#define SHARED 4
#define AUTO_FREE 1
#define RELAXED 2
static H shared[SHARED];
static int rounds;
static long launches, questions, wrong, working;

static unsigned dice(unsigned *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void expect(int holds, const char *what) {
    if (holds) return;
    __sync_fetch_and_add(&wrong, 1);
    fprintf(stderr, "wrong: %s\n", what);
}
#define EXPECT(what) expect((what), #what)

static void graph_round(unsigned *d, H own) {
    H g, x, n, nodes[32];
    void *left[8];
    int count = 0, kept = 0, auto_free = dice(d) & 1;
    EXPECT(!cudaGraphCreate(&g, 0));
    for (int i = 1 + dice(d) % 6; i > 0; i--) {
        struct alloc a;
        memset(&a, 0, sizeof a);
        a.pool.type = a.pool.location.type = 1;
        a.bytes = 1 + dice(d) % (80u << 20);
        const H *after = count && dice(d) & 1 ? &nodes[dice(d) % count] : 0;
        EXPECT(!cudaGraphAddMemAllocNode(&n, g, after, after != 0, &a));
        nodes[count++] = n;
        if (dice(d) % 4) {
            EXPECT(!cudaGraphAddMemFreeNode(&nodes[count], g, &n, 1, a.address));
            count++;
        } else {
            left[kept++] = a.address;
        }
        if (dice(d) % 3 == 0) EXPECT(!cudaGraphAddEmptyNode(&nodes[count], g, nodes, count)), count++;
    }
    EXPECT(!cudaGraphInstantiateWithFlags(&x, g, auto_free ? AUTO_FREE : 0));
    for (int i = 0; i < 3; i++) {
        H stream = dice(d) & 1 ? own : shared[dice(d) % SHARED];
        if (dice(d) % 4 == 0) EXPECT(!cudaGraphUpload(x, stream));
        E launched = cudaGraphLaunch(x, stream);
        EXPECT(launched == 0 || launched == 2);
        __sync_fetch_and_add(&launches, 1);
        for (int j = 0; j < kept && !launched; j++)
            if (!auto_free || i == 2) EXPECT(!(dice(d) & 1 ? cudaFree(left[j]) : cudaFreeAsync(left[j], stream)));
    }
    for (int j = 0; j < kept; j++) cudaFree(left[j]);
    EXPECT(!cudaGraphExecDestroy(x));
    EXPECT(!cudaGraphDestroy(g));
    EXPECT(cudaGraphLaunch(x, own) == 1);
    EXPECT(cudaGraphDestroy(g) == 1);
}

static void capture_round(unsigned *d, H own) {
    H g, x;
    void *p;
    EXPECT(!cudaStreamBeginCapture(own, RELAXED));
    EXPECT(!cudaMallocAsync(&p, 1 + dice(d) % (1 << 22), own));
    EXPECT(!cudaMemsetAsync(p, 7, 1, own));
    EXPECT(!cudaFreeAsync(p, own));
    if (dice(d) % 8 == 0) return; /* The stream is destroyed with its capture. */
    EXPECT(!cudaStreamEndCapture(own, &g));
    EXPECT(!cudaGraphInstantiateWithFlags(&x, g, 0));
    EXPECT(!cudaGraphLaunch(x, shared[dice(d) % SHARED]));
    EXPECT(!cudaGraphExecDestroy(x));
    EXPECT(!cudaGraphDestroy(g));
}

static void copy_round(unsigned *d, H own) {
    static const size_t sizes[] = { 1, 64, 5000, 70000, 1 << 20 };
    size_t bytes = sizes[dice(d) % 5];
    unsigned char value = (unsigned char)dice(d), *from = malloc(bytes), *to = calloc(1, bytes);
    void *p;
    int pooled = dice(d) & 1;
    for (size_t i = 0; i < bytes; i++) from[i] = (unsigned char)(value + i / 3);
    EXPECT(!(pooled ? cudaMallocAsync(&p, bytes, own) : cudaMalloc(&p, bytes)));
    EXPECT(!cudaMemcpyAsync(p, from, bytes, 1, own));
    EXPECT(!cudaMemcpyAsync(to, p, bytes, 2, own));
    EXPECT(!memcmp(from, to, bytes));
    EXPECT(!cudaMemsetAsync(p, value, bytes, own));
    EXPECT(!cudaMemcpyAsync(to, p, bytes, 2, own));
    EXPECT(to[0] == value && to[bytes - 1] == value);
    EXPECT(!(pooled ? cudaFreeAsync(p, own) : cudaFree(p)));
    free(from);
    free(to);
}

static void *work(void *number) {
    unsigned d = (unsigned)(uintptr_t)number * 7919 + 1;
    H own, event;
    for (int i = 0; i < rounds; i++) {
        EXPECT(!cudaStreamCreateWithFlags(&own, dice(&d) & 1));
        graph_round(&d, own);
        copy_round(&d, own);
        EXPECT(!cudaEventCreateWithFlags(&event, 0));
        EXPECT(!cudaEventRecord(event, own));
        EXPECT(!cudaStreamWaitEvent(shared[dice(&d) % SHARED], event, 0));
        EXPECT(!cudaEventSynchronize(event));
        EXPECT(!cudaEventDestroy(event));
        if (dice(&d) % 5 == 0) EXPECT(!cudaDeviceGraphMemTrim(0));
        if (dice(&d) % 7 == 0) EXPECT(!cudaStreamSynchronize(own));
        EXPECT(cudaStreamQuery((H)(uintptr_t)(3 + dice(&d) % 100000)) == 400);
        if (dice(&d) % 3 == 0) capture_round(&d, own);
        EXPECT(!cudaStreamDestroy(own));
    }
    __sync_fetch_and_sub(&working, 1);
    return 0;
}

static uint64_t attribute(int which) {
    uint64_t value = 0;
    EXPECT(!cudaDeviceGetGraphMemAttribute(0, which, &value));
    return value;
}

static void *ask(void *unused) {
    (void)unused;
    while (working > 0) {
        /* The high-water marks are never reset, so each is read after the value that it must not be below. */
        uint64_t used = attribute(0), used_high = attribute(1), reserved = attribute(2), reserved_high = attribute(3);
        size_t free_bytes, total;
        EXPECT(used <= used_high && reserved <= reserved_high);
        EXPECT(!cudaMemGetInfo(&free_bytes, &total));
        EXPECT(free_bytes <= total);
        __sync_fetch_and_add(&questions, 6);
    }
    return 0;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 8;
    rounds = argc > 2 ? atoi(argv[2]) : 100;
    pthread_t *running = calloc(threads, sizeof *running);
    unsigned long long live[6] = { 0 };
    for (int i = 0; i < SHARED; i++) EXPECT(!cudaStreamCreateWithFlags(&shared[i], i & 1));
    for (int i = 0; i < threads; i++) working += i % 4 != 3;
    for (int i = 0; i < threads; i++)
        if (pthread_create(&running[i], 0, i % 4 == 3 ? ask : work, (void *)(uintptr_t)(i + 1))) return 2;
    for (int i = 0; i < threads; i++) pthread_join(running[i], 0);
    EXPECT(!cudaDeviceSynchronize());
    EXPECT(!cudaDeviceGraphMemTrim(0));
    for (int i = 0; i < SHARED; i++) EXPECT(!cudaStreamDestroy(shared[i]));
    EXPECT(cudartModelLiveObjects(live, 6) == 6);
    for (int i = 0; i < 6; i++) EXPECT(live[i] == 0);
    EXPECT(attribute(0) == 0 && attribute(2) == 0);
    printf("%ld wrong, %ld launches, %ld questions\n", wrong, launches, questions);
    free(running);
    return wrong != 0;
}
