/* A C program that uses the built library: the experiment with one graph, written with
 * its own prototypes and structs, as a program outside of this project would be. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int cudaError_t;
typedef struct CUgraph_st *cudaGraph_t;
typedef struct CUgraphNode_st *cudaGraphNode_t;
typedef struct CUgraphExec_st *cudaGraphExec_t;
typedef struct CUstream_st *cudaStream_t;

struct cudaMemLocation { int type; int id; };
struct cudaMemPoolProps {
    int allocType; int handleTypes; struct cudaMemLocation location;
    void *win32SecurityAttributes; unsigned char reserved[64];
};
struct cudaMemAllocNodeParams {
    struct cudaMemPoolProps poolProps; const void *accessDescs;
    size_t accessDescCount; size_t bytesize; void *dptr;
};

cudaError_t cudaGraphCreate(cudaGraph_t *, unsigned);
cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t *, cudaGraph_t, const cudaGraphNode_t *, size_t, struct cudaMemAllocNodeParams *);
cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t *, cudaGraph_t, const cudaGraphNode_t *, size_t, void *);
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *, cudaGraph_t, unsigned long long);
cudaError_t cudaGraphLaunch(cudaGraphExec_t, cudaStream_t);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t);
cudaError_t cudaGraphDestroy(cudaGraph_t);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaDeviceGetGraphMemAttribute(int, int, void *);
cudaError_t cudaDeviceGraphMemTrim(int);
const char *cudaGetErrorName(cudaError_t);

static void check(cudaError_t code, const char *call) {
    if (code != 0) {
        printf("%s: %s\n", call, cudaGetErrorName(code));
        exit(1);
    }
}
#define CHECK(call) check(call, #call)

static unsigned long long used(void) {
    unsigned long long bytes = 1;
    CHECK(cudaDeviceGetGraphMemAttribute(0, 0, &bytes));
    return bytes;
}

int main(void) {
    cudaGraph_t graph;
    cudaGraphNode_t alloc, release, again, last;
    cudaGraphExec_t exec;
    struct cudaMemAllocNodeParams params;
    void *first;

    memset(&params, 0, sizeof params);
    params.poolProps.allocType = 1;
    params.poolProps.location.type = 1;
    params.bytesize = 64u << 20;

    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddMemAllocNode(&alloc, graph, NULL, 0, &params));
    first = params.dptr;
    CHECK(cudaGraphAddMemFreeNode(&release, graph, &alloc, 1, first));
    CHECK(cudaGraphAddMemAllocNode(&again, graph, &release, 1, &params));
    CHECK(cudaGraphAddMemFreeNode(&last, graph, &again, 1, params.dptr));
    CHECK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    printf("same address %d\n", first == params.dptr);
    printf("before %llu\n", used() >> 20);
    CHECK(cudaGraphLaunch(exec, NULL));
    CHECK(cudaDeviceSynchronize());
    printf("after launch %llu\n", used() >> 20);
    CHECK(cudaDeviceGraphMemTrim(0));
    printf("after trim %llu\n", used() >> 20);
    printf("null exec %s\n", cudaGetErrorName(cudaGraphLaunch(NULL, NULL)));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    return 0;
}
