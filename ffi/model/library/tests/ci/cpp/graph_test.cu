// Tests a graph with memory nodes: its result, and how much memory it holds.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define CHECK(condition)                                                     \
    if (!(condition)) {                                                      \
        std::printf("%s:%d: %s is false\n", __FILE__, __LINE__, #condition); \
        std::exit(1);                                                        \
    }
#define CUDA(call) CHECK((call) == cudaSuccess)

__global__ void scale(const float *from, float *to, float by, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        to[i] = from[i] * by;
}

int main() {
    const int count = 1 << 20;
    const size_t bytes = count * sizeof(float);
    float *numbers;
    CUDA(cudaMallocManaged(&numbers, bytes));
    for (int i = 0; i < count; i++)
        numbers[i] = i;

    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    float *scratch;
    CUDA(cudaStreamCreate(&stream));
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CUDA(cudaMallocAsync(&scratch, bytes, stream));
    scale<<<count / 256, 256, 0, stream>>>(numbers, scratch, 2, count);
    scale<<<count / 256, 256, 0, stream>>>(scratch, numbers, 2, count);
    CUDA(cudaFreeAsync(scratch, stream));
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    CUDA(cudaGraphLaunch(exec, stream));
    CUDA(cudaStreamSynchronize(stream));
    for (int i = 0; i < count; i++)
        CHECK(numbers[i] == 4.0f * i);

    unsigned long long used;
    CUDA(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &used));
    std::printf("the graph holds %llu MiB\n", used >> 20);
    CHECK(used == 32 << 20);
    CUDA(cudaGraphExecDestroy(exec));
    CUDA(cudaDeviceGraphMemTrim(0));
    CUDA(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrReservedMemCurrent, &used));
    CHECK(used == 0);
}
