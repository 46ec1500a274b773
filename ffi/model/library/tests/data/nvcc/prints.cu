// Kernels for the test `prints`: the text that printf writes, and when it appears.
#include <cstdio>

extern "C" {

// Every conversion, with flags, widths and precisions.
__global__ void formats(int number, const char *text)
{
    printf("plain\n");
    printf("[%d] [%5d] [%-5d] [%05d] [%+d] [% d] [%i]\n", number, number, number, number, number, number, -number);
    printf("[%u] [%x] [%X] [%#x] [%o] [%#o] [%08x]\n", number, number, number, number, number, number, number);
    printf("[%ld] [%lld] [%lu] [%llx] [%hd]\n", -5000000000L, 1LL << 62, ~0UL, ~0ULL >> 4, 70000);
    printf("[%c] [%3c] [%%] [%s] [%8s] [%-8s] [%.2s]\n", 'x', 'y', "text", "text", "text", "text");
    printf("[%f] [%.2f] [%8.3f] [%-10.1f] [%+.0f] [%F]\n", 3.14159, 2.675, -1.0 / 3, 99.95, 0.5, 1e9);
    printf("[%e] [%.2E] [%g] [%g] [%g] [%G] [%.3g] [%#g]\n", 12345.678, 0.00012345, 1e-5, 123456789.0, 0.1f, 1e20, 1234.5, 2.0);
    printf("[%f] [%f] [%e] [%g] [%5.1f]\n", 1.0 / 0.0, -1.0 / 0.0, 0.0, -0.0, 0.0 / 0.0 * -1.0);
    printf("[%a] [%.3d] [%8.5d] [%.0d] [%*d] [%.*f]\n", 1.5, 7, -42, 0, 6, 42, 3, 2.0 / 3);
    printf("[%p] [%s] [%d%%]\n", (void *)0xabcdef, text ? text : "none", 50);
    printf("no end of line, ");
    int all = printf("%d %d %d\n", 1, 2, 3), none = printf("");
    printf("returned %d %d\n", all, none);
}

// Threads of a warp, and of several.
__global__ void threads(void)
{
    if (threadIdx.x % 2 == 0)
        printf("block %d thread %d\n", blockIdx.x, threadIdx.x);
}

__global__ void says(int number)
{
    printf("kernel %d\n", number);
}

} // extern "C"
