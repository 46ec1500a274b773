/* Runs capture programs with the given libcudart, and writes the result of each call.
 *
 *     gcc -O1 -o recorder recorder.c -ldl -lpthread
 *     recorder LIBCUDART PROGRAMS OUTPUT [JOBS] [quiet]
 *
 * README.md in this folder describes the language. RECORDER_BATCH programs (default 1) run one
 * after the other in a process. A crash ends only one program, and after a program that did not
 * clean up, the next ones run in a new process. All functions are looked up by name in the
 * library, with the prototypes of runtime 13, so no CUDA header is needed. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef unsigned long long u64;
enum { MAX_NAMES = 256, MAX_WORDS = 64, MAX_NODES = 4096, MAX_THREADS = 8 };
enum { LIMIT_SECONDS = 8 };

static void *library;
static int out_fd = 1;
static int quiet;

static void say(const char *format, ...)
{
    char text[65536];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (length > (int)sizeof text - 1)
        length = sizeof text - 1;
    for (int done = 0; done < length;) {
        ssize_t now = write(out_fd, text + done, length - done);
        if (now <= 0)
            _exit(3);
        done += now;
    }
}

/* ---- the library ---------------------------------------------------------- */

enum { ABSENT = -1000 };
struct dim3 { unsigned x, y, z; };
struct location { int type, id; };

static void *find(const char *name) { return dlsym(library, name); }

#define CALL(name, types, ...) \
    (find(#name) ? ((int (*) types)find(#name))(__VA_ARGS__) : ABSENT)

/* ---- names ---------------------------------------------------------------- */

enum kind { STREAM, EVENT, GRAPH, EXEC, NODE, POINTER, POOL, KINDS };
struct name { char text[48]; void *handle; int dead; int host; };
static struct name names[KINDS][MAX_NAMES];
static int name_count[KINDS];
static char note[16384];
static void *kernel, *add_to, *set_to, *count_down;
static void *kernel_library;
static volatile int host_calls;
/* The number of the last capture before the program began. */
static u64 id_base;

static const char ptx[] =
    ".version 6.5\n.target sm_50\n.address_size 64\n"
    ".extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);\n"
    ".visible .entry nothing()\n{\n ret;\n}\n"
    /* Adds a value to the number at an address. */
    ".visible .entry add_to(.param .u64 address, .param .u64 value)\n{\n"
    " .reg .b32 %r<4>;\n .reg .b64 %rd<4>;\n"
    " ld.param.u64 %rd1, [address];\n ld.param.u64 %rd2, [value];\n cvt.u32.u64 %r2, %rd2;\n"
    " ld.global.u32 %r1, [%rd1];\n add.u32 %r3, %r1, %r2;\n st.global.u32 [%rd1], %r3;\n ret;\n}\n"
    /* Sets a condition to a value. */
    ".visible .entry set_to(.param .u64 handle, .param .u64 value)\n{\n"
    " .reg .b32 %r<4>;\n .reg .b64 %rd<4>;\n"
    " ld.param.u64 %rd1, [handle];\n ld.param.u64 %rd2, [value];\n cvt.u32.u64 %r1, %rd2;\n"
    " {\n .param .b64 p0;\n .param .b32 p1;\n st.param.b64 [p0], %rd1;\n st.param.b32 [p1], %r1;\n"
    " call.uni cudaGraphSetConditional, (p0, p1);\n }\n ret;\n}\n"
    /* Subtracts 1 from the number at an address, and sets a condition to the result. */
    ".visible .entry count_down(.param .u64 handle, .param .u64 address)\n{\n"
    " .reg .b32 %r<4>;\n .reg .b64 %rd<4>;\n"
    " ld.param.u64 %rd1, [handle];\n ld.param.u64 %rd2, [address];\n"
    " ld.global.u32 %r1, [%rd2];\n sub.u32 %r2, %r1, 1;\n st.global.u32 [%rd2], %r2;\n"
    " {\n .param .b64 p0;\n .param .b32 p1;\n st.param.b64 [p0], %rd1;\n st.param.b32 [p1], %r2;\n"
    " call.uni cudaGraphSetConditional, (p0, p1);\n }\n ret;\n}\n";

static void add_note(const char *format, ...)
{
    size_t used = strlen(note);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(note + used, sizeof note - used, format, arguments);
    va_end(arguments);
}

static struct name *known(enum kind kind, const char *text)
{
    for (int i = 0; i < name_count[kind]; i++)
        if (!strcmp(names[kind][i].text, text))
            return &names[kind][i];
    return 0;
}

static struct name *place(enum kind kind, const char *text)
{
    struct name *found = known(kind, text);
    if (found) {
        found->dead = 0;
        return found;
    }
    if (name_count[kind] == MAX_NAMES) {
        say("too many names\n");
        _exit(4);
    }
    found = &names[kind][name_count[kind]++];
    snprintf(found->text, sizeof found->text, "%s", text);
    found->handle = 0;
    return found;
}

static void *handle(enum kind kind, const char *text)
{
    if (!strcmp(text, "null") || !strcmp(text, "legacy"))
        return 0;
    if (!strcmp(text, "legacy-handle"))
        return (void *)1;
    if (!strcmp(text, "per-thread"))
        return (void *)2;
    char base[64];
    snprintf(base, sizeof base, "%s", text);
    char *plus = strchr(base, '+');
    size_t offset = 0;
    if (plus) {
        *plus = 0;
        offset = strtoull(plus + 1, 0, 10);
    }
    struct name *found = known(kind, base);
    if (!found) {
        say("\nunknown name %s\n", text);
        _exit(4);
    }
    return (char *)found->handle + offset;
}

static u64 number(const char *text)
{
    char *end;
    u64 value = strtoull(text, &end, 0);
    if (!strcmp(end, "KiB"))
        value <<= 10;
    else if (!strcmp(end, "MiB"))
        value <<= 20;
    else if (!strcmp(end, "GiB"))
        value <<= 30;
    return value;
}

/* ---- queries of captures and graphs --------------------------------------- */

static const char *node_type(void *node)
{
    static const char *const types[] = {"kernel", "memcpy", "memset", "host", "graph", "empty",
        "wait", "record", "signal-semaphore", "wait-semaphore", "alloc", "free", "batch", "conditional"};
    static char other[32];
    int type = -1;
    int code = CALL(cudaGraphNodeGetType, (void *, int *), node, &type);
    if (code || type < 0 || type > 13) {
        snprintf(other, sizeof other, "type-%d-code-%d", type, code);
        return other;
    }
    return types[type];
}

static size_t nodes_of(void *graph, void **nodes)
{
    size_t count = MAX_NODES;
    int code = CALL(cudaGraphGetNodes, (void *, void **, size_t *), graph, nodes, &count);
    return code ? 0 : count;
}

static int index_of(void **nodes, size_t count, void *node)
{
    for (size_t i = 0; i < count; i++)
        if (nodes[i] == node)
            return (int)i;
    return -1;
}

static int compare_ints(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

/* The nodes in the driver's order, each with the numbers of its dependencies. */
static void describe_graph(void *graph)
{
    void **nodes = malloc(MAX_NODES * sizeof *nodes), **before = malloc(MAX_NODES * sizeof *before);
    char *data = malloc(MAX_NODES * 8);
    size_t count = nodes_of(graph, nodes);
    add_note(" {");
    for (size_t i = 0; i < count; i++) {
        size_t dependencies = MAX_NODES;
        add_note("%s%zu:%s", i ? " " : "", i, node_type(nodes[i]));
        int code = CALL(cudaGraphNodeGetDependencies, (void *, void **, void *, size_t *), nodes[i],
            before, data, &dependencies);
        if (code)
            add_note("<code-%d", code);
        else if (dependencies) {
            int numbers[MAX_NODES];
            for (size_t j = 0; j < dependencies; j++)
                numbers[j] = index_of(nodes, count, before[j]);
            qsort(numbers, dependencies, sizeof *numbers, compare_ints);
            for (size_t j = 0; j < dependencies; j++)
                add_note("%s%d", j ? "," : "<", numbers[j]);
        }
        if (!strcmp(node_type(nodes[i]), "graph")) {
            void *child = 0;
            code = CALL(cudaGraphChildGraphNodeGetGraph, (void *, void **), nodes[i], &child);
            if (code)
                add_note("{code-%d}", code);
            else
                describe_graph(child);
        }
    }
    add_note("}");
    free(nodes);
    free(before);
    free(data);
}

static int capture_info(void *stream, int *status, u64 *id, void **graph, void ***tips, size_t *count)
{
    void *data = 0;
    *status = -1, *id = 0, *graph = 0, *tips = 0, *count = 0;
    return CALL(cudaStreamGetCaptureInfo, (void *, int *, u64 *, void **, void ***, void **, size_t *),
        stream, status, id, graph, tips, &data, count);
}

/* CUDA counts captures from 1 in the process; this function counts from 1 in the program. */
static u64 in_program(u64 id) { return id ? id - id_base : 0; }

/* The state of a stream's capture, its number, the number of nodes of its graph, and in brackets
 * the nodes on which the stream's next node would depend. Nothing if the stream is not captured. */
static void describe_stream(const char *name, void *stream)
{
    static const char *const statuses[] = {"none", "active", "invalid"};
    int status;
    u64 id;
    void *graph, **tips;
    size_t count;
    int code = capture_info(stream, &status, &id, &graph, &tips, &count);
    if (code) {
        add_note(" %s:code-%d", name, code);
        return;
    }
    if (!status)
        return;
    add_note(" %s:%s", name, status >= 0 && status <= 2 ? statuses[status] : "?");
    if (status != 1)
        return;
    void **nodes = malloc(MAX_NODES * sizeof *nodes);
    size_t all = nodes_of(graph, nodes);
    int numbers[MAX_NODES];
    for (size_t i = 0; i < count && i < MAX_NODES; i++)
        numbers[i] = index_of(nodes, all, tips[i]);
    qsort(numbers, count, sizeof *numbers, compare_ints);
    add_note("#%llu/%zu(", in_program(id), all);
    for (size_t i = 0; i < count; i++)
        add_note("%s%d", i ? "," : "", numbers[i]);
    add_note(")");
    free(nodes);
}

static void describe_streams(void)
{
    size_t before = strlen(note);
    add_note(" |");
    for (int i = 0; i < name_count[STREAM]; i++)
        if (!names[STREAM][i].dead && names[STREAM][i].handle)
            describe_stream(names[STREAM][i].text, names[STREAM][i].handle);
    if (!note[before + 2])
        note[before] = 0;
}

/* ---- calls ---------------------------------------------------------------- */

static void host_function(void *data) { (void)data, host_calls++; }

static int mode_of(const char *text)
{
    if (!strcmp(text, "global"))
        return 0;
    if (!strcmp(text, "thread-local"))
        return 1;
    if (!strcmp(text, "relaxed"))
        return 2;
    return (int)strtol(text, 0, 0);
}

static int copy_kind(const char *text)
{
    static const char *const kinds[] = {"h2h", "h2d", "d2h", "d2d", "default"};
    for (int i = 0; i < 5; i++)
        if (!strcmp(text, kinds[i]))
            return i;
    return (int)strtol(text, 0, 0);
}

/* A list of nodes: `0,2` by their numbers in the given graph, `none` for no node, `tips:S` for the
 * nodes on which stream S's next node would depend, `N.G` by number in graph G, or names of nodes. */
static size_t node_list(const char *text, void **found, void *graph)
{
    size_t count = 0;
    if (!strcmp(text, "none"))
        return 0;
    if (!strncmp(text, "tips:", 5)) {
        int status;
        u64 id;
        void **tips;
        capture_info(handle(STREAM, text + 5), &status, &id, &graph, &tips, &count);
        for (size_t i = 0; i < count; i++)
            found[i] = tips[i];
        return count;
    }
    char copy[256], *rest = 0;
    snprintf(copy, sizeof copy, "%s", text);
    void **nodes = malloc(MAX_NODES * sizeof *nodes);
    char *dot = strchr(copy, '.');
    if (dot) {
        *dot = 0;
        graph = handle(GRAPH, dot + 1);
    }
    size_t all = graph ? nodes_of(graph, nodes) : 0;
    for (char *word = strtok_r(copy, ",", &rest); word; word = strtok_r(0, ",", &rest)) {
        if (*word >= '0' && *word <= '9') {
            size_t at = strtoul(word, 0, 10);
            found[count++] = at < all ? nodes[at] : 0;
        } else {
            found[count++] = handle(NODE, word);
        }
    }
    free(nodes);
    return count;
}

static char *option(char **words, int count, const char *key)
{
    for (int i = 1; i + 1 < count; i++)
        if (!strcmp(words[i], key))
            return words[i + 1];
    return 0;
}

#define IS(text) (!strcmp(op, text))
#define W(i) ((i) < count ? words[i] : "")
#define S(i) handle(STREAM, W(i))
#define E(i) handle(EVENT, W(i))
#define P(i) handle(POINTER, W(i))

static int call(char **words, int count)
{
    const char *op = words[0];
    char *on = option(words, count, "on"), *as = option(words, count, "as"), *in = option(words, count, "in");
    char *flags = option(words, count, "flags"), *after = option(words, count, "after");
    char *of = option(words, count, "of"), *mode = option(words, count, "mode");
    void *stream = on ? handle(STREAM, on) : 0;
    unsigned flag = flags ? (unsigned)number(flags) : 0;
    void *deps[MAX_NODES];
    int code;

    /* Streams and events. */
    if (IS("stream")) {
        struct name *n = place(STREAM, W(1));
        return CALL(cudaStreamCreateWithFlags, (void **, unsigned), &n->handle, flags ? flag : 1);
    }
    if (IS("destroy-stream")) {
        code = CALL(cudaStreamDestroy, (void *), S(1));
        if (known(STREAM, W(1)))
            known(STREAM, W(1))->dead = 1;
        return code;
    }
    if (IS("sync"))
        return CALL(cudaStreamSynchronize, (void *), S(1));
    if (IS("query"))
        return CALL(cudaStreamQuery, (void *), S(1));
    if (IS("device-sync"))
        return CALL(cudaDeviceSynchronize, (void), );
    if (IS("event")) {
        struct name *n = place(EVENT, W(1));
        return CALL(cudaEventCreateWithFlags, (void **, unsigned), &n->handle, flags ? flag : 2);
    }
    if (IS("destroy-event")) {
        code = CALL(cudaEventDestroy, (void *), E(1));
        if (known(EVENT, W(1)))
            known(EVENT, W(1))->dead = 1;
        return code;
    }
    if (IS("sync-event"))
        return CALL(cudaEventSynchronize, (void *), E(1));
    if (IS("query-event"))
        return CALL(cudaEventQuery, (void *), E(1));
    if (IS("elapsed")) {
        float ms = 0;
        return CALL(cudaEventElapsedTime, (float *, void *, void *), &ms, E(1), E(2));
    }
    if (IS("record"))
        return flags ? CALL(cudaEventRecordWithFlags, (void *, void *, unsigned), E(1), stream, flag)
                     : CALL(cudaEventRecord, (void *, void *), E(1), stream);
    if (IS("wait"))
        return CALL(cudaStreamWaitEvent, (void *, void *, unsigned), S(1), handle(EVENT, option(words, count, "for")), flag);

    /* Capture. */
    if (IS("begin"))
        return CALL(cudaStreamBeginCapture, (void *, int), S(1), mode_of(mode));
    if (IS("begin-to")) {
        void *graph = handle(GRAPH, in);
        size_t n = after ? node_list(after, deps, graph) : 0;
        return CALL(cudaStreamBeginCaptureToGraph, (void *, void *, void **, void *, size_t, int), S(1), graph,
            n ? deps : 0, 0, n, mode_of(mode));
    }
    if (IS("end")) {
        void *graph = (void *)0x10;
        code = CALL(cudaStreamEndCapture, (void *, void **), S(1), &graph);
        if (as)
            place(GRAPH, as)->handle = graph == (void *)0x10 ? 0 : graph;
        if (graph == (void *)0x10)
            add_note(" untouched");
        else if (!graph)
            add_note(" null");
        else {
            for (int i = 0; i < name_count[GRAPH]; i++)
                if (!names[GRAPH][i].dead && names[GRAPH][i].handle == graph && (!as || strcmp(names[GRAPH][i].text, as)))
                    add_note(" same-as-%s", names[GRAPH][i].text);
            describe_graph(graph);
        }
        return code;
    }
    if (IS("capturing")) {
        int status = -1;
        code = CALL(cudaStreamIsCapturing, (void *, int *), S(1), &status);
        add_note(" =%d", status);
        return code;
    }
    if (IS("info")) {
        int status;
        u64 id;
        void *graph, **tips;
        size_t n;
        code = capture_info(S(1), &status, &id, &graph, &tips, &n);
        add_note(" =%d #%llu graph-%s %zu", status, in_program(id), graph ? "set" : "null", n);
        return code;
    }
    if (IS("exchange-mode")) {
        int value = mode_of(W(1));
        code = CALL(cudaThreadExchangeStreamCaptureMode, (int *), &value);
        add_note(" =%d", value);
        return code;
    }
    if (IS("update-dependencies")) {
        /* update-dependencies S LIST flags N */
        int status;
        u64 id;
        void *graph, **tips;
        size_t n;
        capture_info(S(1), &status, &id, &graph, &tips, &n);
        n = node_list(W(2), deps, graph);
        return CALL(cudaStreamUpdateCaptureDependencies, (void *, void **, void *, size_t, unsigned), S(1),
            n ? deps : 0, 0, n, flag);
    }

    /* Work in streams. */
    if (IS("kernel") && on) {
        struct dim3 one = {1, 1, 1};
        return CALL(cudaLaunchKernel, (const void *, struct dim3, struct dim3, void **, size_t, void *), kernel, one, one, 0, 0, stream);
    }
    if (IS("host-function"))
        return CALL(cudaLaunchHostFunc, (void *, void (*)(void *), void *), stream, host_function, 0);
    if (IS("host-calls")) {
        add_note(" =%d", host_calls);
        return 0;
    }
    if (IS("mallocasync")) {
        struct name *n = place(POINTER, W(1));
        n->handle = 0;
        return CALL(cudaMallocAsync, (void **, size_t, void *), &n->handle, number(W(2)), stream);
    }
    if (IS("mallocfrompool")) {
        struct name *n = place(POINTER, W(1));
        n->handle = 0;
        return CALL(cudaMallocFromPoolAsync, (void **, size_t, void *, void *), &n->handle, number(W(2)), handle(POOL, of), stream);
    }
    if (IS("freeasync"))
        return CALL(cudaFreeAsync, (void *, void *), P(1), stream);
    if (IS("memset-async"))
        return CALL(cudaMemsetAsync, (void *, int, size_t, void *), P(1), 1, number(W(2)), stream);
    if (IS("memset"))
        return CALL(cudaMemset, (void *, int, size_t), P(1), 1, number(W(2)));
    if (IS("copy-async"))
        return CALL(cudaMemcpyAsync, (void *, const void *, size_t, int, void *), P(1), P(2), number(W(3)), copy_kind(W(4)), stream);
    if (IS("copy"))
        return CALL(cudaMemcpy, (void *, const void *, size_t, int), P(1), P(2), number(W(3)), copy_kind(W(4)));

    /* Memory. */
    if (IS("malloc")) {
        struct name *n = place(POINTER, W(1));
        n->handle = 0;
        return CALL(cudaMalloc, (void **, size_t), &n->handle, number(W(2)));
    }
    if (IS("free"))
        return CALL(cudaFree, (void *), P(1));
    if (IS("pinned")) {
        struct name *n = place(POINTER, W(1));
        n->handle = 0;
        return CALL(cudaMallocHost, (void **, size_t), &n->handle, number(W(2)));
    }
    if (IS("host-alloc")) {
        struct name *n = place(POINTER, W(1));
        n->handle = 0;
        return CALL(cudaHostAlloc, (void **, size_t, unsigned), &n->handle, number(W(2)), flag);
    }
    if (IS("free-pinned"))
        return CALL(cudaFreeHost, (void *), P(1));
    if (IS("pageable")) {
        struct name *n = place(POINTER, W(1));
        n->handle = calloc(1, number(W(2)));
        return 0;
    }
    if (IS("register"))
        return CALL(cudaHostRegister, (void *, size_t, unsigned), P(1), number(W(2)), 0);
    if (IS("unregister"))
        return CALL(cudaHostUnregister, (void *), P(1));
    if (IS("managed")) {
        struct name *n = place(POINTER, W(1));
        n->handle = 0;
        return CALL(cudaMallocManaged, (void **, size_t, unsigned), &n->handle, number(W(2)), 1);
    }
    if (IS("prefetch")) {
        struct location where = {1, 0};
        return CALL(cudaMemPrefetchAsync, (const void *, size_t, struct location, unsigned, void *), P(1), number(W(2)), where, 0, stream);
    }
    if (IS("mem-get-info")) {
        size_t a, b;
        return CALL(cudaMemGetInfo, (size_t *, size_t *), &a, &b);
    }
    if (IS("pointer-attributes")) {
        char attributes[256];
        return CALL(cudaPointerGetAttributes, (void *, const void *), attributes, P(1));
    }
    if (IS("peek")) {
        unsigned char value = 0;
        code = CALL(cudaMemcpy, (void *, const void *, size_t, int), &value, P(1), 1, 2);
        if (!code)
            add_note(" =%d", value);
        return code;
    }
    if (IS("read-host")) {
        add_note(" =%d", *(unsigned char *)P(1));
        return 0;
    }

    /* Pools. */
    if (IS("default-pool"))
        return CALL(cudaDeviceGetDefaultMemPool, (void **, int), &place(POOL, W(1))->handle, 0);
    if (IS("current-pool"))
        return CALL(cudaDeviceGetMemPool, (void **, int), &place(POOL, W(1))->handle, 0);
    if (IS("set-pool"))
        return CALL(cudaDeviceSetMemPool, (int, void *), 0, handle(POOL, W(1)));
    if (IS("pool")) {
        struct { int type, handles; struct location where; char rest[72]; } properties = {1, 0, {1, 0}, {0}};
        return CALL(cudaMemPoolCreate, (void **, const void *), &place(POOL, W(1))->handle, &properties);
    }
    if (IS("destroy-pool"))
        return CALL(cudaMemPoolDestroy, (void *), handle(POOL, W(1)));
    if (IS("pool-get")) {
        u64 value = 0;
        return CALL(cudaMemPoolGetAttribute, (void *, int, void *), handle(POOL, W(1)), (int)number(W(2)), &value);
    }
    if (IS("pool-set")) {
        u64 value = number(W(3));
        return CALL(cudaMemPoolSetAttribute, (void *, int, void *), handle(POOL, W(1)), (int)number(W(2)), &value);
    }
    if (IS("pool-trim"))
        return CALL(cudaMemPoolTrimTo, (void *, size_t), handle(POOL, W(1)), 0);

    /* Graph memory. */
    if (IS("trim"))
        return CALL(cudaDeviceGraphMemTrim, (int), 0);
    if (IS("attributes")) {
        u64 value[4] = {0};
        code = 0;
        for (int i = 0; i < 4 && !code; i++)
            code = CALL(cudaDeviceGetGraphMemAttribute, (int, int, void *), 0, i, &value[i]);
        if (!code)
            add_note(" =%llu,%llu,%llu,%llu", value[0], value[1], value[2], value[3]);
        return code;
    }
    if (IS("set-attribute")) {
        u64 value = 0;
        return CALL(cudaDeviceSetGraphMemAttribute, (int, int, void *), 0, (int)number(W(1)), &value);
    }

    /* Graphs. */
    if (IS("graph"))
        return CALL(cudaGraphCreate, (void **, unsigned), &place(GRAPH, W(1))->handle, 0);
    if (IS("destroy-graph")) {
        code = CALL(cudaGraphDestroy, (void *), handle(GRAPH, W(1)));
        if (known(GRAPH, W(1)))
            known(GRAPH, W(1))->dead = 1;
        return code;
    }
    if (IS("clone"))
        return CALL(cudaGraphClone, (void **, void *), &place(GRAPH, W(1))->handle, handle(GRAPH, of));
    if (IS("show")) {
        describe_graph(handle(GRAPH, W(1)));
        return 0;
    }
    if (IS("instantiate")) {
        struct name *n = place(EXEC, W(1));
        return CALL(cudaGraphInstantiateWithFlags, (void **, void *, u64), &n->handle, handle(GRAPH, of), flag);
    }
    if (IS("destroy-exec"))
        return CALL(cudaGraphExecDestroy, (void *), handle(EXEC, W(1)));
    if (IS("launch"))
        return CALL(cudaGraphLaunch, (void *, void *), handle(EXEC, W(1)), stream);
    if (IS("upload"))
        return CALL(cudaGraphUpload, (void *, void *), handle(EXEC, W(1)), stream);
    if (IS("update-exec")) {
        void *info[4] = {0};
        return CALL(cudaGraphExecUpdate, (void *, void *, void *), handle(EXEC, W(1)), handle(GRAPH, W(2)), info);
    }
    /* Conditional nodes. */
    if (IS("condition")) {
        /* condition C in G default N flags N */
        u64 value = 0;
        char *preset = option(words, count, "default");
        code = CALL(cudaGraphConditionalHandleCreate, (u64 *, void *, unsigned, unsigned), &value, handle(GRAPH, in),
            preset ? (unsigned)number(preset) : 0, flag);
        place(POINTER, W(1))->handle = (void *)value;
        return code;
    }
    if (IS("conditional")) {
        /* conditional N in G of C type T size N after LIST: the bodies are graphs N0, N1, ... */
        struct { int type, zero[3]; u64 handle; int kind; unsigned size; void **bodies; void *context; u64 rest[25], last; } parameters = {13, {0}, 0, 0, 0, 0, 0, {0}, 0};
        char *type = option(words, count, "type"), *size = option(words, count, "size");
        void *graph = handle(GRAPH, in);
        size_t n = after ? node_list(after, deps, graph) : 0;
        parameters.handle = (u64)handle(POINTER, of);
        parameters.kind = !strcmp(type, "if") ? 0 : !strcmp(type, "while") ? 1 : !strcmp(type, "switch") ? 2 : (int)number(type);
        parameters.size = size ? (unsigned)number(size) : 1;
        struct name *node = place(NODE, W(1));
        node->handle = 0;
        code = CALL(cudaGraphAddNode, (void **, void *, void **, void *, size_t, void *), &node->handle, graph, n ? deps : 0, 0, n, &parameters);
        for (unsigned i = 0; !code && i < parameters.size && i < 8; i++) {
            char name[sizeof node->text + 16];
            snprintf(name, sizeof name, "%s%u", W(1), i);
            place(GRAPH, name)->handle = parameters.bodies[i];
        }
        return code;
    }
    if (IS("add") || IS("set") || IS("count-down")) {
        /* add K to P N in G, set K to C N in G, count-down K of C at P in G */
        void *graph = handle(GRAPH, in);
        size_t n = after ? node_list(after, deps, graph) : 0;
        char *to = option(words, count, "to"), *at = option(words, count, "at");
        u64 first = (u64)handle(POINTER, to ? to : of), second = at ? (u64)handle(POINTER, at) : number(W(4));
        void *values[2] = {&first, &second};
        struct { void *function; struct dim3 grid, block; unsigned shared; void *parameters, *extra; } parameters =
            {IS("add") ? add_to : IS("set") ? set_to : count_down, {1, 1, 1}, {1, 1, 1}, 0, values, 0};
        return CALL(cudaGraphAddKernelNode, (void **, void *, void **, size_t, void *), &place(NODE, W(1))->handle, graph, n ? deps : 0, n, &parameters);
    }
    if (IS("alloc")) {
        /* alloc P SIZE in G: the node and the address have the same name */
        struct { int type, handles; struct location where; char rest[72]; void *access; size_t accesses, bytes; void *address; } parameters =
            {1, 0, {1, 0}, {0}, 0, 0, number(W(2)), 0};
        void *graph = handle(GRAPH, in);
        size_t n = after ? node_list(after, deps, graph) : 0;
        code = CALL(cudaGraphAddMemAllocNode, (void **, void *, void **, size_t, void *), &place(NODE, W(1))->handle, graph, n ? deps : 0, n, &parameters);
        place(POINTER, W(1))->handle = parameters.address;
        return code;
    }
    if (IS("free-node")) {
        void *graph = handle(GRAPH, in);
        size_t n = after ? node_list(after, deps, graph) : 0;
        return CALL(cudaGraphAddMemFreeNode, (void **, void *, void **, size_t, void *), &place(NODE, W(1))->handle, graph, n ? deps : 0, n, handle(POINTER, of));
    }
    if (IS("host") && in) {
        struct { void (*function)(void *); void *data; } parameters = {host_function, 0};
        void *graph = handle(GRAPH, in);
        size_t n = after ? node_list(after, deps, graph) : 0;
        return CALL(cudaGraphAddHostNode, (void **, void *, void **, size_t, void *), &place(NODE, W(1))->handle, graph, n ? deps : 0, n, &parameters);
    }
    if (IS("number")) {
        unsigned value = 0;
        code = CALL(cudaMemcpy, (void *, const void *, size_t, int), &value, P(1), 4, 2);
        add_note(" =%d", (int)value);
        return code;
    }
    if (IS("put")) {
        unsigned value = (unsigned)number(W(2));
        return CALL(cudaMemcpy, (void *, const void *, size_t, int), P(1), &value, 4, 1);
    }
    if (in && (IS("empty") || IS("kernel") || IS("child") || IS("destroy-node"))) {
        /* `in G`, or `in capture:S` for the graph into which stream S captures. */
        void *graph;
        if (!strncmp(in, "capture:", 8)) {
            int status;
            u64 id;
            void **tips;
            size_t n;
            capture_info(handle(STREAM, in + 8), &status, &id, &graph, &tips, &n);
        } else {
            graph = handle(GRAPH, in);
        }
        size_t n = after ? node_list(after, deps, graph) : 0;
        void **at = n ? deps : 0;
        if (IS("destroy-node")) {
            n = node_list(W(1), deps, graph);
            return CALL(cudaGraphDestroyNode, (void *), deps[0]);
        }
        struct name *node = place(NODE, W(1));
        if (IS("empty"))
            return CALL(cudaGraphAddEmptyNode, (void **, void *, void **, size_t), &node->handle, graph, at, n);
        if (IS("child"))
            return CALL(cudaGraphAddChildGraphNode, (void **, void *, void **, size_t, void *), &node->handle, graph, at, n, handle(GRAPH, of));
        struct { void *function; struct dim3 grid, block; unsigned shared; void *parameters, *extra; } parameters =
            {kernel, {1, 1, 1}, {1, 1, 1}, 0, 0, 0};
        return CALL(cudaGraphAddKernelNode, (void **, void *, void **, size_t, void *), &node->handle, graph, at, n, &parameters);
    }

    /* Other calls that a program may make while it captures. */
    if (IS("load-library")) {
        void *loaded = 0;
        return CALL(cudaLibraryLoadData, (void **, const void *, void *, void *, unsigned, void *, void *, unsigned), &loaded, ptx, 0, 0, 0, 0, 0, 0);
    }
    if (IS("unload-library"))
        return CALL(cudaLibraryUnload, (void *), kernel_library);
    if (IS("function-attributes")) {
        char attributes[512];
        return CALL(cudaFuncGetAttributes, (void *, const void *), attributes, kernel);
    }
    if (IS("occupancy")) {
        int blocks;
        return CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessor, (int *, const void *, int, size_t), &blocks, kernel, 32, 0);
    }
    if (IS("device-attribute")) {
        int value;
        return CALL(cudaDeviceGetAttribute, (int *, int, int), &value, 16, 0);
    }
    if (IS("device-properties")) {
        char properties[4096];
        return CALL(cudaGetDeviceProperties, (void *, int), properties, 0);
    }
    if (IS("set-device"))
        return CALL(cudaSetDevice, (int), (int)number(W(1)));
    if (IS("get-device")) {
        int device;
        return CALL(cudaGetDevice, (int *), &device);
    }
    if (IS("device-reset"))
        return CALL(cudaDeviceReset, (void), );
    if (IS("get-limit")) {
        size_t value;
        return CALL(cudaDeviceGetLimit, (size_t *, int), &value, 0);
    }
    if (IS("set-limit"))
        return CALL(cudaDeviceSetLimit, (int, size_t), 0, 2048);
    if (IS("stream-flags")) {
        unsigned value;
        return CALL(cudaStreamGetFlags, (void *, unsigned *), S(1), &value);
    }
    if (IS("stream-priority")) {
        int value;
        return CALL(cudaStreamGetPriority, (void *, int *), S(1), &value);
    }
    if (IS("last-error"))
        return CALL(cudaGetLastError, (void), );
    if (IS("peek-error"))
        return CALL(cudaPeekAtLastError, (void), );
    if (IS("sleep")) {
        alarm(0);
        sleep((unsigned)number(W(1)));
        return 0;
    }
    if (IS("exit"))
        _exit((say("-> exit\n"), 0));
    if (IS("exit-normally")) {
        say("-> exit\n");
        exit(0);
    }
    say("\nunknown call %s\n", op);
    _exit(4);
}

/* ---- threads -------------------------------------------------------------- */

static struct worker { pthread_t thread; sem_t go, done; char **words; int count, code, started; } workers[MAX_THREADS];

static void *work(void *argument)
{
    struct worker *worker = argument;
    for (;;) {
        sem_wait(&worker->go);
        if (!worker->words)
            return 0;
        worker->code = call(worker->words, worker->count);
        sem_post(&worker->done);
    }
}

/* Thread 0 is also one of these, so that every program starts with new threads. */
static int call_in(int thread, char **words, int count)
{
    struct worker *worker = &workers[thread];
    if (!worker->started) {
        worker->started = 1;
        sem_init(&worker->go, 0, 0);
        sem_init(&worker->done, 0, 0);
        pthread_create(&worker->thread, 0, work, worker);
    }
    worker->words = words;
    worker->count = count;
    sem_post(&worker->go);
    while (sem_wait(&worker->done))
        ;
    return worker->code;
}

static void end_threads(void)
{
    for (int i = 0; i < MAX_THREADS; i++)
        if (workers[i].started) {
            workers[i].words = 0;
            sem_post(&workers[i].go);
            pthread_join(workers[i].thread, 0);
            workers[i].started = 0;
        }
}

/* Lines that the recorder adds are written in brackets. */
static void run_line(const char *line, int of_program)
{
    char copy[1024], *words[MAX_WORDS], *rest = 0;
    int count = 0, thread = 0;
    snprintf(copy, sizeof copy, "%s", line);
    for (char *word = strtok_r(copy, " ", &rest); word && count < MAX_WORDS; word = strtok_r(0, " ", &rest))
        words[count++] = word;
    if (!count)
        return;
    char **first = words;
    if (words[0][0] == '@') {
        thread = atoi(words[0] + 1);
        first++, count--;
    }
    say(of_program ? "%s " : "(%s) ", line);
    note[0] = 0;
    int code = call_in(thread, first, count);
    if (of_program && !quiet)
        describe_streams();
    if (code == ABSENT)
        say("-> absent%s\n", note);
    else
        say("-> %d%s\n", code, note);
}

/* Calls after the program's own lines: for the captures, the streams, the events and the last error. */
static void run_end(void)
{
    char line[sizeof(struct name) + 64];
    for (int i = 0; i < name_count[STREAM]; i++) {
        struct name *n = &names[STREAM][i];
        int status = 0;
        if (n->dead || !n->handle)
            continue;
        CALL(cudaStreamIsCapturing, (void *, int *), n->handle, &status);
        if (status) {
            snprintf(line, sizeof line, "end %s", n->text);
            run_line(line, 0);
        }
    }
    run_line("last-error", 0);
    for (int i = 0; i < name_count[STREAM]; i++)
        if (!names[STREAM][i].dead && names[STREAM][i].handle) {
            snprintf(line, sizeof line, "sync %s", names[STREAM][i].text);
            run_line(line, 0);
        }
    for (int i = 0; i < name_count[EVENT]; i++)
        if (!names[EVENT][i].dead && names[EVENT][i].handle) {
            snprintf(line, sizeof line, "query-event %s", names[EVENT][i].text);
            run_line(line, 0);
        }
    run_line("device-sync", 0);
    run_line("attributes", 0);
    run_line("last-error", 0);
}

static void load(const char *path)
{
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        say("%s\n", dlerror());
        _exit(5);
    }
    int code = CALL(cudaLibraryLoadData, (void **, const void *, void *, void *, unsigned, void *, void *, unsigned),
        &kernel_library, ptx, 0, 0, 0, 0, 0, 0);
    if (!code)
        code = CALL(cudaLibraryGetKernel, (void **, void *, const char *), &kernel, kernel_library, "nothing");
    if (!code)
        code = CALL(cudaLibraryGetKernel, (void **, void *, const char *), &add_to, kernel_library, "add_to");
    if (!code)
        code = CALL(cudaLibraryGetKernel, (void **, void *, const char *), &set_to, kernel_library, "set_to");
    if (!code)
        code = CALL(cudaLibraryGetKernel, (void **, void *, const char *), &count_down, kernel_library, "count_down");
    if (code) {
        say("no kernel: code %d\n", code);
        _exit(5);
    }
}

/* The number of the last capture: begins and ends one, and returns its number. */
static u64 last_capture(void)
{
    void *stream = 0, *graph = 0, **tips;
    int status;
    u64 id = 0;
    size_t count;
    CALL(cudaStreamCreateWithFlags, (void **, unsigned), &stream, 1);
    CALL(cudaStreamBeginCapture, (void *, int), stream, 2);
    capture_info(stream, &status, &id, &graph, &tips, &count);
    CALL(cudaStreamEndCapture, (void *, void **), stream, &graph);
    CALL(cudaGraphDestroy, (void *), graph);
    CALL(cudaStreamDestroy, (void *), stream);
    return id;
}

/* Restores the state of the process for the next program. Returns whether that succeeded. */
static int clean_up(void)
{
    end_threads();
    for (int i = 0; i < name_count[STREAM]; i++)
        if (!names[STREAM][i].dead && names[STREAM][i].handle)
            CALL(cudaStreamDestroy, (void *), names[STREAM][i].handle);
    for (int i = 0; i < name_count[EVENT]; i++)
        if (!names[EVENT][i].dead && names[EVENT][i].handle)
            CALL(cudaEventDestroy, (void *), names[EVENT][i].handle);
    memset(names, 0, sizeof names);
    memset(name_count, 0, sizeof name_count);
    host_calls = 0;
    void *p = 0;
    if (CALL(cudaDeviceSynchronize, (void), ) || CALL(cudaMalloc, (void **, size_t), &p, 4096) || CALL(cudaFree, (void *), p)
        || CALL(cudaDeviceGraphMemTrim, (int), 0))
        return 0;
    for (int i = 0; i < 4; i++) {
        u64 value = 0;
        if (i % 2)
            CALL(cudaDeviceSetGraphMemAttribute, (int, int, void *), 0, i, &value);
        if (CALL(cudaDeviceGetGraphMemAttribute, (int, int, void *), 0, i, &value) || value)
            return 0;
    }
    return CALL(cudaGetLastError, (void), ) == 0;
}

static void run_program(char *name, char **lines, int count)
{
    alarm(LIMIT_SECONDS);
    id_base = last_capture();
    say("== %s\n", name);
    for (int i = 0; i < count; i++)
        run_line(lines[i], 1);
    run_end();
    say("done\n");
    if (!clean_up())
        _exit(0);
}

/* ---- all programs --------------------------------------------------------- */

struct program { char *name; char **lines; int count; char *trace; };
struct batch { int first, count; pid_t process; int fd; };

/* Reads the traces of a batch from its file. Returns how many of its programs have run. */
static int collect(struct program *programs, struct batch *batch, int status)
{
    static char text[1 << 24];
    lseek(batch->fd, 0, SEEK_SET);
    ssize_t length = 0, now;
    while ((now = read(batch->fd, text + length, sizeof text - 1 - length)) > 0)
        length += now;
    text[length] = 0;
    close(batch->fd);
    int ran = 0, broken = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    for (char *at = strncmp(text, "== ", 3) ? strstr(text, "\n== ") : text; at && *at;) {
        at += *at == '\n';
        char *end = strstr(at, "\n== ");
        size_t size = end ? (size_t)(end - at) + 1 : strlen(at);
        struct program *program = &programs[batch->first + ran++];
        int last = !end && (broken || WEXITSTATUS(status)), open = size && at[size - 1] != '\n';
        char how[64] = "";
        if (last)
            snprintf(how, sizeof how, "!broken off by %s %d\n", broken ? "signal" : "exit", broken ? broken : WEXITSTATUS(status));
        if (asprintf(&program->trace, "%.*s%s%s", (int)size, at, open ? "\n" : "", how) < 0)
            exit(3);
        at = end;
    }
    if (!ran) {
        if (asprintf(&programs[batch->first].trace, "== %s\n%s!did not start\n", programs[batch->first].name, text) < 0)
            exit(3);
        ran = 1;
    }
    return ran;
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "recorder LIBCUDART PROGRAMS OUTPUT [JOBS] [quiet]\n");
        return 64;
    }
    int jobs = argc > 4 ? atoi(argv[4]) : 1, total = 0, capacity = 0;
    quiet = argc > 5 && !strcmp(argv[5], "quiet");
    /* The number of seconds after which no further program is started. */
    long limit = getenv("RECORDER_LIMIT") ? atol(getenv("RECORDER_LIMIT")) : 0, begun = time(0);
    FILE *in = fopen(argv[2], "r"), *out = fopen(argv[3], "w");
    if (!in || !out) {
        perror("recorder");
        return 66;
    }
    struct program *programs = 0;
    char *line = 0;
    size_t room = 0;
    ssize_t length;
    while ((length = getline(&line, &room, in)) > 0) {
        line[strcspn(line, "\n#")] = 0;
        length = strlen(line);
        while (length && line[length - 1] == ' ')
            line[--length] = 0;
        if (!length)
            continue;
        if (!strncmp(line, "== ", 3)) {
            if (total == capacity)
                programs = realloc(programs, (capacity = capacity * 2 + 64) * sizeof *programs);
            programs[total++] = (struct program){strdup(line + 3), 0, 0, 0};
        } else if (total) {
            struct program *program = &programs[total - 1];
            program->lines = realloc(program->lines, (program->count + 1) * sizeof *program->lines);
            program->lines[program->count++] = strdup(line);
        }
    }
    /* Batches of programs that run in one process, one after the other. If a process ends early,
     * the remaining programs are a new batch. */
    int size = getenv("RECORDER_BATCH") ? atoi(getenv("RECORDER_BATCH")) : 1;
    struct batch *waiting = calloc(total + 1, sizeof *waiting), *running = calloc(jobs, sizeof *running);
    int open = 0, written = 0, busy = 0;
    for (int first = total; first > 0;) {
        int count = first % size ? first % size : size;
        first -= count;
        waiting[open++] = (struct batch){first, count, 0, -1};
    }
    while (open || busy) {
        if (limit && time(0) - begun >= limit)
            open = 0;
        while (busy < jobs && open) {
            struct batch batch = waiting[--open];
            char path[] = "/tmp/capture-XXXXXX";
            batch.fd = mkstemp(path);
            unlink(path);
            batch.process = fork();
            if (!batch.process) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                out_fd = batch.fd;
                load(argv[1]);
                for (int i = 0; i < batch.count; i++)
                    run_program(programs[batch.first + i].name, programs[batch.first + i].lines, programs[batch.first + i].count);
                _exit(0);
            }
            running[busy++] = batch;
        }
        if (!busy)
            break;
        int status;
        pid_t ended = wait(&status);
        for (int i = 0; i < busy; i++)
            if (running[i].process == ended) {
                struct batch batch = running[i];
                running[i] = running[--busy];
                int ran = collect(programs, &batch, status);
                if (ran < batch.count)
                    waiting[open++] = (struct batch){batch.first + ran, batch.count - ran, 0, -1};
                break;
            }
    }
    for (; written < total; written++)
        if (programs[written].trace)
            fputs(programs[written].trace, out);
    return fclose(out) ? 74 : 0;
}
