/* A program that was linked with a libcudart of version CUDA_MAJOR, with its own prototypes. It
 * calls functions whose arguments differ between versions under the same name, and a function
 * that is not simulated. */
#include <stddef.h>
#include <stdio.h>

typedef struct CUgraph_st *cudaGraph_t;
typedef struct CUgraphNode_st *cudaGraphNode_t;
typedef struct CUgraphExec_st *cudaGraphExec_t;

int cudaGraphCreate(cudaGraph_t *, unsigned);
int cudaGraphAddEmptyNode(cudaGraphNode_t *, cudaGraph_t, const cudaGraphNode_t *, size_t);
int cudaGraphInstantiate(cudaGraphExec_t *, cudaGraph_t, unsigned long long);
int cudaGraphLaunch_ptsz(cudaGraphExec_t, void *);
int cudaMipmappedArrayGetSparseProperties(void *, void *);
int cudaPeekAtLastError(void);
int cudaGetDriverEntryPoint(const char *, void **, unsigned long long, int *);
int cudaGetDriverEntryPoint_ptsz(const char *, void **, unsigned long long, int *);
#if CUDA_MAJOR < 13
int cudaGraphGetEdges(cudaGraph_t, cudaGraphNode_t *, cudaGraphNode_t *, size_t *);
int cudaGraphGetEdges_v2(cudaGraph_t, cudaGraphNode_t *, cudaGraphNode_t *, void *, size_t *);
#else
int cudaGraphGetEdges(cudaGraph_t, cudaGraphNode_t *, cudaGraphNode_t *, void *, size_t *);
#endif

int main(void) {
    cudaGraph_t graph;
    cudaGraphNode_t a, b, from[2] = {0}, to[2] = {0};
    cudaGraphExec_t exec;
    size_t count = 2, all = 0;
    int code = cudaGraphCreate(&graph, 0);
    code |= cudaGraphAddEmptyNode(&a, graph, NULL, 0);
    code |= cudaGraphAddEmptyNode(&b, graph, &a, 1);
#if CUDA_MAJOR < 13
    code |= cudaGraphGetEdges(graph, from, to, &count);
    code |= cudaGraphGetEdges_v2(graph, NULL, NULL, NULL, &all);
#else
    code |= cudaGraphGetEdges(graph, from, to, NULL, &count);
    code |= cudaGraphGetEdges(graph, NULL, NULL, NULL, &all);
#endif
    code |= cudaGraphInstantiate(&exec, graph, 0);
    code |= cudaGraphLaunch_ptsz(exec, NULL);
    printf("codes %d, edges %zu of %zu, %d\n", code, count, all, from[0] == a && to[0] == b);
    void *launch, *twin, *none;
    int found, missing;
    code = cudaGetDriverEntryPoint("cuGraphLaunch", &launch, 0, &found);
    code |= cudaGetDriverEntryPoint_ptsz("cuGraphLaunch", &twin, 0, &found);
    code |= cudaGetDriverEntryPoint("cuNothing", &none, 0, &missing);
    printf("entry points %d, %d, %d, %d\n", code, launch && twin && launch != twin, found, !none && missing == 1);
    code = cudaMipmappedArrayGetSparseProperties(NULL, NULL);
    code = cudaMipmappedArrayGetSparseProperties(NULL, NULL);
    printf("not simulated %d, last error %d\n", code, cudaPeekAtLastError());
    return 0;
}
