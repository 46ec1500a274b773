// The kernels of `kernels.cu` with the same names. `shared_sum` has arithmetic that is not
// simulated: 16-bit floating-point numbers.
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
    short from = (short)numbers[0], result;
    asm("add.f16 %0, %1, %1;" : "=h"(result) : "h"(from));
    *sum = result;
}
