/* Launches each kernel of blocks.fatbin (argument 1) on the same numbers. Then prints a checksum
   of the memory and some of its numbers. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef struct { unsigned x, y, z; } dim3;

void **__cudaRegisterFatBinary(void *);
void __cudaRegisterFatBinaryEnd(void **);
void __cudaUnregisterFatBinary(void **);
void __cudaRegisterFunction(void **, const char *, char *, const char *, int, void *, void *, dim3 *, dim3 *, int *);
int cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, void *);
int cudaMalloc(void **, size_t);
int cudaFree(void *);
int cudaMemcpy(void *, const void *, size_t, int);
int cudaDeviceSynchronize(void);

enum { WORDS = 8192 };

static struct {
    const char *name;
    unsigned grid_x, grid_y, block_x, block_y;
    size_t shared;
    unsigned count;
    char stub;
} kernels[] = {
    {"tree_sum", 8, 1, 128, 1, 0, 1000, 0},
    {"reverse_dynamic", 4, 1, 96, 1, 96 * 4, 384, 0},
    {"shuffles", 4, 1, 128, 1, 0, 512, 0},
    {"scan", 4, 1, 128, 1, 0, 512, 0},
    {"histogram", 3, 1, 100, 1, 0, 5000, 0},
    {"atomics", 4, 1, 128, 1, 0, 512, 0},
    {"integers", 16, 1, 128, 1, 0, 2048, 0},
    {"floats", 16, 1, 128, 1, 0, 2048, 0},
    {"functions", 16, 1, 128, 1, 0, 2048, 0},
    {"local_array", 8, 1, 64, 1, 0, 512, 0},
    {"branches", 16, 1, 128, 1, 0, 2048, 0},
    {"tiles", 2, 2, 16, 16, 0, 0, 0},
    {"variables", 4, 1, 100, 1, 0, 400, 0},
    {"variables", 2, 1, 32, 1, 0, 64, 0},
    {"vectors", 8, 1, 128, 1, 0, 4000, 0},
    {"locks", 3, 1, 70, 1, 0, 0, 0},
    {"counting_barriers", 4, 1, 150, 1, 0, 600, 0},
    {"calls", 8, 1, 64, 1, 0, 512, 0},
};

static struct { int magic, version; const void *data; void *file; } wrapper = {0x466243B1, 1, NULL, NULL};

int main(int argc, char **argv) {
    static char file[1 << 17];
    FILE *input = argc > 1 ? fopen(argv[1], "rb") : NULL;
    if (!input || fread(file, 1, sizeof file, input) == 0)
        return 2;
    fclose(input);
    wrapper.data = file;
    void **binary = __cudaRegisterFatBinary(&wrapper);
    size_t kinds = sizeof kernels / sizeof *kernels;
    for (size_t k = 0; k < kinds; k++)
        __cudaRegisterFunction(binary, &kernels[k].stub, (char *)kernels[k].name, kernels[k].name, -1, 0, 0, 0, 0, 0);
    __cudaRegisterFatBinaryEnd(binary);

    static unsigned words[WORDS];
    void *there;
    if (cudaMalloc(&there, sizeof words) != 0)
        return 1;
    for (size_t k = 0; k < kinds; k++) {
        unsigned noise = 12345;
        for (int i = 0; i < WORDS; i++) {
            noise = noise * 1664525u + 1013904223u;
            words[i] = noise ^ noise >> 15;
        }
        if (strcmp(kernels[k].name, "locks") == 0)
            words[0] = 0;
        int code = cudaMemcpy(there, words, sizeof words, 1);
        dim3 grid = {kernels[k].grid_x, kernels[k].grid_y, 1};
        dim3 block = {kernels[k].block_x, kernels[k].block_y, 1};
        int count = (int)kernels[k].count;
        void *args[] = {&there, &count};
        code |= cudaLaunchKernel(&kernels[k].stub, grid, block, args, kernels[k].shared, NULL);
        code |= cudaDeviceSynchronize() | cudaMemcpy(words, there, sizeof words, 2);
        unsigned long long sum = 0xcbf29ce484222325;
        for (int i = 0; i < WORDS; i++)
            sum = (sum ^ words[i]) * 0x100000001b3;
        printf("%s %d %016llx", kernels[k].name, code, sum);
        for (unsigned i = 0; i < 4; i++)
            printf(" %x", words[i]);
        for (unsigned i = 0; i < 4; i++)
            printf(" %x", words[kernels[k].count + i]);
        printf("\n");
    }
    int code = cudaFree(there);
    __cudaUnregisterFatBinary(binary);
    return code;
}
