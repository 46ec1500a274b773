// The kernel in C++, as nvcc compiles it, for counting instructions: the body of a WHILE
// node that counts its rounds and ends the loop. Its Rust twin is in kernels-rs/.

extern "C" __global__ void next_round(cudaGraphConditionalHandle handle, unsigned *rounds,
                                      unsigned long long wanted) {
  if (threadIdx.x == 0) {
    const unsigned next = *rounds + 1;
    *rounds = next;
    cudaGraphSetConditional(handle, next < wanted);
  }
}
