/* The code that nvcc generates for a program with kernels, written by hand. Argument 1 is the fat binary. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct { unsigned x, y, z; } dim3;
typedef struct { void *func; dim3 grid, block; unsigned shared; void **args, **extra; } kernel_node;

void **__cudaRegisterFatBinary(void *);
void __cudaRegisterFatBinaryEnd(void **);
void __cudaUnregisterFatBinary(void **);
void __cudaRegisterFunction(void **, const char *, char *, const char *, int, void *, void *, dim3 *, dim3 *, int *);
unsigned __cudaPushCallConfiguration(dim3, dim3, size_t, void *);
int __cudaPopCallConfiguration(dim3 *, dim3 *, size_t *, void *);
int cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, void *);
int cudaMalloc(void **, size_t);
int cudaMemcpy(void *, const void *, size_t, int);
int cudaGraphCreate(void **, unsigned);
int cudaGraphAddKernelNode(void **, void *, void *const *, size_t, const kernel_node *);
int cudaGraphInstantiateWithFlags(void **, void *, unsigned long long);
int cudaGraphLaunch(void *, void *);
int cudaDeviceSynchronize(void);
int cudaPeekAtLastError(void);

static void launch(const void *stub, void **args) {
    dim3 grid, block;
    size_t shared;
    void *stream;
    int code = __cudaPopCallConfiguration(&grid, &block, &shared, &stream);
    if (code != 0 || cudaLaunchKernel(stub, grid, block, args, shared, stream) != 0)
        printf("not launched\n");
}

static void count(int *numbers, int length, int add) {
    void *args[] = {&numbers, &length, &add};
    launch((const void *)count, args);
}

static void halve(const float *from, float *to, int length) {
    void *args[] = {&from, &to, &length};
    launch((const void *)halve, args);
}

static void shared_sum(const int *numbers, int *sum) {
    void *args[] = {&numbers, &sum};
    launch((const void *)shared_sum, args);
}

static struct { int magic, version; const void *data; void *file; } wrapper = {0x466243B1, 1, NULL, NULL};

static void add(void **binary, const void *stub, const char *name) {
    __cudaRegisterFunction(binary, stub, (char *)name, name, -1, 0, 0, 0, 0, 0);
}

int main(int argc, char **argv) {
    static char file[1 << 16];
    FILE *input = argc > 1 ? fopen(argv[1], "rb") : NULL;
    if (!input || fread(file, 1, sizeof file, input) == 0)
        return 2;
    fclose(input);
    wrapper.data = file;
    void **binary = __cudaRegisterFatBinary(&wrapper);
    add(binary, (const void *)count, "count");
    add(binary, (const void *)halve, "halve");
    add(binary, (const void *)shared_sum, "shared_sum");
    __cudaRegisterFatBinaryEnd(binary);

    enum { LENGTH = 1000 };
    dim3 grid = {8, 1, 1}, block = {128, 1, 1};
    static int numbers[LENGTH];
    static float floats[LENGTH], halves[LENGTH];
    void *there, *from, *to;
    int code = cudaMalloc(&there, sizeof numbers);
    code |= cudaMalloc(&from, sizeof floats) | cudaMalloc(&to, sizeof halves);
    code |= cudaMemcpy(there, numbers, sizeof numbers, 1) | cudaMemcpy(to, halves, sizeof halves, 1);

    if (__cudaPushCallConfiguration(grid, block, 0, NULL) == 0)
        count(there, LENGTH, 7);
    code |= cudaMemcpy(numbers, there, sizeof numbers, 2);
    printf("count %d %d\n", numbers[0], numbers[LENGTH - 1]);

    for (int i = 0; i < LENGTH; i++)
        floats[i] = (float)i;
    code |= cudaMemcpy(from, floats, sizeof floats, 1);
    if (__cudaPushCallConfiguration(grid, block, 0, NULL) == 0)
        halve(from, to, LENGTH);
    code |= cudaMemcpy(halves, to, sizeof halves, 2);
    printf("halve %g %g\n", halves[1], halves[LENGTH - 1]);

    void *graph, *node, *exec;
    int length = LENGTH, more = -1;
    void *args[] = {&there, &length, &more};
    kernel_node params = {(void *)count, grid, block, 0, args, NULL};
    code |= cudaGraphCreate(&graph, 0) | cudaGraphAddKernelNode(&node, graph, NULL, 0, &params);
    code |= cudaGraphInstantiateWithFlags(&exec, graph, 0) | cudaGraphLaunch(exec, NULL);
    code |= cudaMemcpy(numbers, there, sizeof numbers, 2);
    printf("node %d %d\n", numbers[0], numbers[LENGTH - 1]);

    dim3 one = {1, 1, 1};
    if (__cudaPushCallConfiguration(one, block, 0, NULL) == 0)
        shared_sum(there, to);
    if (__cudaPushCallConfiguration(one, block, 0, NULL) == 0)
        shared_sum(there, to);
    code |= cudaDeviceSynchronize();
    printf("codes %d\n", code);

    size_t left;
    if (__cudaPopCallConfiguration(&grid, &block, &left, &node) == 0)
        printf("a configuration was left\n");
    __cudaUnregisterFatBinary(binary);
    printf("unregistered %d\n", cudaLaunchKernel((const void *)count, one, block, args, 0, NULL));
    return 0;
}
