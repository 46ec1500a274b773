/* A library for CUDA_INJECTION64_PATH: prints that it was called, and makes a call. */
#include <stdio.h>

int cuDriverGetVersion(int *);

int InitializeInjection(void) {
    int version = 0;
    cuDriverGetVersion(&version);
    printf("injected into driver %d\n", version);
    return 1;
}
