// Kernels for the test `nvcc`: integers, floating-point numbers, and one kernel that is not
// simulated.
extern "C" __global__ void count(int *numbers, int length, int add)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < length)
        numbers[i] = i + add;
}

extern "C" __global__ void halve(const float *from, float *to, int length)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < length)
        to[i] = from[i] * 0.5f + 1.0f;
}

extern "C" __global__ void shared_sum(const int *numbers, int *sum)
{
    __shared__ int all;
    if (threadIdx.x == 0)
        all = 0;
    __syncthreads();
    atomicAdd(&all, numbers[threadIdx.x]);
    __syncthreads();
    if (threadIdx.x == 0)
        *sum = all;
}
