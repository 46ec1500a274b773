// The kernel in C++, as nvcc compiles it, for counting instructions: writes the negated
// square of each number. Its Rust twin is in kernels-rs/.

extern "C" __global__ void negated_squares(const int *input, int *output,
                                           unsigned long long count) {
  const unsigned long long at =
      static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (at < count) {
    const unsigned number = input[at];
    output[at] = static_cast<int>(0u - number * number);
  }
}
