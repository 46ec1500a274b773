// Kernels for the test `blocks`: the code that compilers generate for shared memory,
// barriers, atomics, shuffles, local arrays, switches and conversions. All kernels have the
// same parameters, so that the program launches them in one loop over a table.

extern "C" {

// Sums of a block, in a tree.
__global__ void tree_sum(unsigned *words, int count)
{
    __shared__ unsigned part[128];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    part[threadIdx.x] = i < count ? words[i] : 0;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        words[blockIdx.x] = part[0];
}

// The numbers of a block in reverse, through dynamic shared memory.
__global__ void reverse_dynamic(unsigned *words, int count)
{
    extern __shared__ unsigned whole[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    whole[threadIdx.x] = words[i];
    __syncthreads();
    words[i] = whole[blockDim.x - 1 - threadIdx.x];
}

// Sums of a warp by shuffles, and votes.
__global__ void shuffles(unsigned *words, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned value = words[i];
    unsigned sum = value;
    for (int by = 16; by > 0; by /= 2)
        sum += __shfl_down_sync(~0u, sum, by);
    unsigned first = __shfl_sync(~0u, sum, 0);
    unsigned other = __shfl_xor_sync(~0u, value, 5);
    unsigned up = __shfl_up_sync(~0u, value, 3);
    double wide = __shfl_sync(~0u, (double)value, 7, 8);
    unsigned odd = __ballot_sync(~0u, value & 1);
    unsigned votes = __any_sync(~0u, value > 0xf0000000u) + 2 * __all_sync(~0u, value > 1000u);
    unsigned most = __reduce_max_sync(~0u, value) ^ __reduce_add_sync(~0u, value & 0xff);
    words[i] = first ^ other ^ (up * 3) ^ odd ^ votes ^ most ^ (unsigned)wide ^ __popc(__activemask());
}

// Sums of all numbers before one, in a block of four warps.
__global__ void scan(unsigned *words, int count)
{
    __shared__ unsigned of_warp[4];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned sum = words[i];
    for (int by = 1; by < 32; by *= 2) {
        unsigned left = __shfl_up_sync(~0u, sum, by);
        if (lane >= by)
            sum += left;
    }
    if (lane == 31)
        of_warp[warp] = sum;
    __syncthreads();
    for (int w = 0; w < warp; w++)
        sum += of_warp[w];
    words[i] = sum;
}

// A histogram: atomics on shared memory, then on global memory.
__global__ void histogram(unsigned *words, int count)
{
    __shared__ unsigned bins[64];
    if (threadIdx.x < 64)
        bins[threadIdx.x] = 0;
    __syncthreads();
    for (int i = 64 + blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        atomicAdd(&bins[words[i] % 64], 1);
    __syncthreads();
    if (threadIdx.x < 64)
        atomicAdd(&words[threadIdx.x], bins[threadIdx.x]);
}

// Every atomic whose outcome does not depend on the order of threads.
__global__ void atomics(unsigned *words, int count)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned value = words[64 + t];
    atomicAdd(&words[0], value);
    atomicSub(&words[1], value);
    atomicMin(&words[2], value);
    atomicMax(&words[3], value);
    atomicMin((int *)&words[4], (int)value);
    atomicMax((int *)&words[5], (int)value);
    atomicAnd(&words[6], value | 0x0f0f0000);
    atomicOr(&words[7], value & 0x00ff00ff);
    atomicXor(&words[8], value);
    if (t == 0)
        words[9] = words[10] = words[11] = 3;
    __syncthreads();
    if (blockIdx.x == 0) {
        atomicInc(&words[9], 17);
        atomicDec(&words[10], 17);
        unsigned seen = words[11], expected;
        do {
            expected = seen;
            seen = atomicCAS(&words[11], expected, expected * 5 + 1);
        } while (seen != expected);
    }
    atomicAdd((unsigned long long *)&words[12], (unsigned long long)value << 7);
    atomicMax((unsigned long long *)&words[14], (unsigned long long)value * value);
    if (t == 0)
        words[16] = words[18] = words[19] = 0;
    __syncthreads();
    if (blockIdx.x == 0) {
        atomicAdd((float *)&words[16], (float)(value % 100));
        atomicAdd((double *)&words[18], (double)(value % 1000));
    }
    if (t == 5)
        words[20] = atomicExch(&words[21], 77);
}

// Whole numbers: division, remainder, high products, bits, and 64 bits.
__global__ void integers(unsigned *words, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned a = words[i], b = words[(i + 1) % count] | 1;
    int s = (int)a, t = (int)b;
    long long w = ((long long)s << 20) + t;
    unsigned long long u = ((unsigned long long)a << 32) | b;
    unsigned h = a / b + a % b;
    h = h * 31 + (unsigned)(s / t) + (unsigned)(s % t);
    h = h * 31 + __umulhi(a, b) + (unsigned)__mulhi(s, t);
    h = h * 31 + __popc(a) + __clz(b) + __ffs(a) + __brev(a);
    h = h * 31 + __funnelshift_l(a, b, i) + __funnelshift_r(a, b, i) + __byte_perm(a, b, 0x5270);
    h = h * 31 + (unsigned)max(s, t) + (unsigned)min(a, b) + (unsigned)abs(s);
    h = h * 31 + (unsigned)(w / (t % 1000 + 1001)) + (unsigned)(u % (a | 1)) + (unsigned)__umul64hi(u, u * 3);
    h = h * 31 + __popcll(u) + __clzll(w) + (unsigned)(w >> (i % 64)) + (unsigned)(u << (i % 64));
    h = h * 31 + __sad(s, t, a) + __mul24(s, t) + ((a >> 5) & 0x3f) + ((s << 3) >> 27);
    h = h * 31 + (unsigned)(short)a * (unsigned char)b + (unsigned)(signed char)(a >> 9);
    h ^= (a & b) | (~a & words[(i + 2) % count]);
    words[count + i] = h;
}

// Floating-point numbers, where the result is exact by IEEE 754, and conversions.
__global__ void floats(unsigned *words, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned a = words[i];
    float f = (float)(int)a * 1e-3f, g = (float)(a % 1000) + 0.5f;
    double d = (double)a / 3.0, e = sqrt(d) - floor(d);
    float x = sqrtf(fabsf(f)) / g + fmaf(f, g, -1.5f);
    x = fminf(x, 1e6f) + fmaxf(g, -f) - truncf(f) + ceilf(g * 0.3f) - rintf(f) + copysignf(g, f);
    long long n = (long long)d - llrint(e) + (long long)(double)f;
    unsigned h = __float_as_uint(x) ^ (unsigned)(int)f ^ (unsigned)__float2int_rn(g) ^ (unsigned)__float2int_ru(f);
    h = h * 31 + (unsigned)n + (unsigned)(n >> 32) + (unsigned)__float2uint_rd(g * 7.7f);
    h = h * 31 + (unsigned)__double_as_longlong(e) + __float_as_uint((float)d) + __float_as_uint((float)n);
    h = h * 31 + (f < g) + 2 * (x != x) + 4 * !(f > g) + 8 * (fmod(d, 7.0) < 3.0) + 16 * isnan(sqrtf(f));
    h = h * 31 + (unsigned)(unsigned char)(g / 5) + (unsigned)(short)f + (unsigned)(long long)((double)f * 1e15);
    words[count + i] = h;
}

// Functions that are approximations on the device, compared to three digits.
__global__ void functions(unsigned *words, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float f = (float)(words[i] % 10007) * 0.01f + 0.01f;
    float sum = sinf(f) + cosf(f * 500.0f) + expf(-f) + logf(f) + rsqrtf(f) + powf(f, 0.3f) + tanhf(f - 50);
    double more = sin((double)f) + exp(-(double)f) + log((double)f) + atan2((double)f, 3.0);
    words[count + i] = (unsigned)(int)rint(sum * 20) * 1000 + (unsigned)(int)rint(more * 20);
}

// A local array of each thread, with computed indices.
__global__ void local_array(unsigned *words, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned own[24];
    for (int k = 0; k < 24; k++)
        own[k] = words[(i + k) % count];
    for (int k = 0; k < 100; k++) {
        unsigned at = (own[k % 24] + k) % 24;
        own[at] = own[at] * 5 + own[(at + 7) % 24];
    }
    unsigned h = 0;
    for (int k = 0; k < 24; k++)
        h = h * 31 + own[k];
    words[count + i] = h;
}

// A switch, loops of different lengths, and threads that return early.
__global__ void branches(unsigned *words, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned v = words[i], h = 1;
    if (v % 17 == 3)
        return;
    for (unsigned k = 0; k < v % 40; k++) {
        if (k % 7 == v % 5)
            continue;
        switch ((v >> k % 32) % 8) {
        case 0: h += 11; break;
        case 1: h ^= v; break;
        case 2: h *= 13; break;
        case 3: h -= k; break;
        case 4: h = (h << 3) | (h >> 29); break;
        case 5: h += words[count - 1 - k] & 15; break;
        case 6: h = ~h; break;
        default: h += 5; if (h % 50 == 0) k += 3;
        }
        if (h % 101 == 0)
            break;
    }
    words[count + i] = h;
}

// Tiles of two matrices of 32 by 32 numbers.
__global__ void tiles(unsigned *words, int count)
{
    __shared__ unsigned a[16][17], b[16][17];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    unsigned sum = 0;
    for (int t = 0; t < 2; t++) {
        a[threadIdx.y][threadIdx.x] = words[y * 32 + t * 16 + threadIdx.x];
        b[threadIdx.y][threadIdx.x] = words[1024 + (t * 16 + threadIdx.y) * 32 + x];
        __syncthreads();
        for (int k = 0; k < 16; k++)
            sum += a[threadIdx.y][k] * b[k][threadIdx.x];
        __syncthreads();
    }
    words[2048 + y * 32 + x] = sum;
}

__constant__ unsigned primes[8] = {2, 3, 5, 7, 11, 13, 17, 19};
__device__ unsigned launches;
__device__ float weights[4] = {0.5f, -1.25f, 3.0f, 100.0f};

// Variables of the module: constants, and one that keeps its value from launch to launch.
__global__ void variables(unsigned *words, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0)
        words[count] = ++launches;
    words[i] = words[i] * primes[i % 8] + (unsigned)(int)(weights[i % 4] * 8);
}

// Loads and stores of several numbers at a time.
__global__ void vectors(unsigned *words, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i * 4 >= count)
        return;
    uint4 four = ((const uint4 *)words)[i];
    ushort2 two = ((const ushort2 *)words)[i];
    uchar4 bytes = ((const uchar4 *)words)[count - 1 - i];
    four.x += four.w * 3;
    four.y ^= two.x | two.y << 3;
    four.z -= bytes.x + bytes.y * bytes.z - bytes.w;
    ((uint4 *)(words + count))[i] = four;
}

// Each thread takes a lock, also within a warp.
__global__ void locks(unsigned *words, int count)
{
    if (threadIdx.x == 0 && blockIdx.x == 0)
        words[1] = 0;
    for (bool done = false; !done;) {
        if (atomicCAS(&words[0], 0u, 1u) == 0u) {
            words[1] = words[1] + threadIdx.x;
            __threadfence();
            atomicExch(&words[0], 0u);
            done = true;
        }
    }
}

// Barriers that count.
__global__ void counting_barriers(unsigned *words, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned v = words[i];
    int odd = __syncthreads_count(v & 1);
    int any = __syncthreads_or(v > 0xff000000u), all = __syncthreads_and(v > 100);
    words[i] = odd * 4 + (any != 0) * 2 + (all != 0);
}

__device__ __noinline__ unsigned mixed(unsigned a, unsigned b, unsigned long long c)
{
    for (unsigned k = 0; k < b % 5; k++)
        a = a * 3 + (unsigned)(c >> k);
    return a ^ b;
}

// Calls of a function that is not part of the kernel.
__global__ void calls(unsigned *words, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    words[count + i] = mixed(words[i], words[(i + 9) % count], (unsigned long long)words[i] * 77777);
}

} // extern "C"
