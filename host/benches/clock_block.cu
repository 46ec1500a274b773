// The kernel in C++, as nvcc compiles it, for counting instructions: spins for at
// least `clock_count` clocks of its multiprocessor. Its Rust twin is in kernels-rs/.

extern "C" __global__ void clock_block(long long clock_count) {
  const long long start = clock64();
  while (clock64() - start < clock_count) {
  }
}
