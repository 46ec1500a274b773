// The C++ side of `cargo xtask bench`: the same operations as the Rust side in
// graph_memory/, in the same order, by direct calls through NVIDIA's headers.
//
// Built with nvcc where there is a GPU, or with any C++17 compiler against the
// headers and the model runtime. It reads one operation a line and answers each
// with one JSON object a line; the operations and their fields are described in
// the Rust side's protocol module, which is the other half of every comparison.

#include <cuda_runtime_api.h>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

[[noreturn]] void fail(const char *call, cudaError_t code) {
  throw std::runtime_error(std::string(call) + " failed: " + std::to_string(code) + " " +
                           cudaGetErrorName(code));
}

#define CHECK(call)                                       \
  do {                                                    \
    const cudaError_t code_ = (call);                     \
    if (code_ != cudaSuccess) fail(#call, code_);         \
  } while (false)

constexpr unsigned kBlockThreads = 32;

using Nanoseconds = std::int64_t;
using Clock = std::chrono::steady_clock;

template <typename Action>
Nanoseconds timed(Action &&action) {
  const auto start = Clock::now();
  action();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count();
}

// One JSON object, field by field.
class Answer {
 public:
  Answer &field(const char *name, std::int64_t value) { return raw(name, std::to_string(value)); }
  Answer &text(const char *name, const std::string &value) {
    std::string quoted = "\"";
    for (const char c : value) {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
    return raw(name, quoted + "\"");
  }
  void send() const { std::cout << '{' << body_ << '}' << std::endl; }

 private:
  Answer &raw(const char *name, const std::string &value) {
    if (!body_.empty()) body_ += ", ";
    body_ += '"' + std::string(name) + "\": " + value;
    return *this;
  }
  std::string body_;
};

// `name key=value key=value`, all values non-negative integers.
struct Request {
  std::string name;
  std::map<std::string, std::size_t> values;

  explicit Request(const std::string &line) {
    std::istringstream words(line);
    words >> name;
    for (std::string word; words >> word;) {
      const auto equals = word.find('=');
      if (equals == std::string::npos) throw std::runtime_error("not key=value: " + word);
      values[word.substr(0, equals)] = std::stoull(word.substr(equals + 1));
    }
  }
  std::size_t get(const char *key) const {
    const auto found = values.find(key);
    if (found == values.end()) throw std::runtime_error(name + " needs " + key);
    return found->second;
  }
};

struct Graph {
  cudaGraphExec_t exec = nullptr;

  void destroy() const { CHECK(cudaGraphExecDestroy(exec)); }
};

cudaStream_t new_stream() {
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return stream;
}

class Bench {
 public:
  Bench(int device, const std::string &ptx_file) : device_(device) {
    CHECK(cudaSetDevice(device_));
    CHECK(cudaFree(nullptr));
    std::ifstream file(ptx_file, std::ios::binary);
    if (!file) throw std::runtime_error("cannot read " + ptx_file);
    const std::string ptx((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    CHECK(cudaLibraryLoadData(&library_, ptx.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0));
    CHECK(cudaLibraryGetKernel(&kernel_, library_, "clock_block"));
  }

  void relaunch(const Request &request) const {
    const std::size_t launches = request.get("launches"), batch = request.get("batch");
    const cudaStream_t stream = new_stream();
    const Graph graph = alloc_spin_free(request.get("bytes"));
    CHECK(cudaGraphLaunch(graph.exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    Nanoseconds total = 0;
    for (std::size_t done = 0; done < launches; done += batch) {
      const std::size_t now = std::min(batch, launches - done);
      total += timed([&] {
        for (std::size_t i = 0; i < now; ++i) CHECK(cudaGraphLaunch(graph.exec, stream));
      });
      CHECK(cudaStreamSynchronize(stream));
    }
    graph.destroy();
    CHECK(cudaStreamDestroy(stream));
    Answer().field("launch_ns", total).send();
  }

  void life(const Request &request) const {
    const std::size_t graphs = request.get("graphs"), bytes = request.get("bytes");
    const Nanoseconds total = timed([&] {
      for (std::size_t i = 0; i < graphs; ++i) alloc_spin_free(bytes).destroy();
    });
    Answer().field("life_ns", total).send();
  }

  void scale(const Request &request) const {
    const std::size_t count = request.get("graphs"), bytes = request.get("bytes");
    std::vector<cudaStream_t> streams;
    for (std::size_t i = 0; i < request.get("streams"); ++i) streams.push_back(new_stream());
    CHECK(cudaDeviceGraphMemTrim(device_));
    std::vector<Graph> graphs;
    graphs.reserve(count);
    const std::int64_t resident_before = resident_bytes();
    const Nanoseconds create = timed([&] {
      for (std::size_t i = 0; i < count; ++i) graphs.push_back(alloc_spin_free(bytes));
    });
    const auto launch_all = [&] {
      Nanoseconds total = 0;
      for (std::size_t done = 0; done < count; done += request.get("batch")) {
        const std::size_t end = std::min(count, done + request.get("batch"));
        total += timed([&] {
          for (std::size_t i = done; i < end; ++i)
            CHECK(cudaGraphLaunch(graphs[i].exec, streams[i % streams.size()]));
        });
        for (const cudaStream_t stream : streams) CHECK(cudaStreamSynchronize(stream));
      }
      return total;
    };
    const Nanoseconds first = launch_all();
    const std::int64_t resident_launched = resident_bytes();
    const Nanoseconds again = launch_all();
    const std::uint64_t used = attribute(cudaGraphMemAttrUsedMemCurrent);
    const Nanoseconds destroy = timed([&] {
      for (const Graph &graph : graphs) graph.destroy();
    });
    CHECK(cudaDeviceGraphMemTrim(device_));
    for (const cudaStream_t stream : streams) CHECK(cudaStreamDestroy(stream));
    Answer()
        .field("create_ns", create)
        .field("first_launch_ns", first)
        .field("relaunch_ns", again)
        .field("destroy_ns", destroy)
        .field("resident_before_bytes", resident_before)
        .field("resident_launched_bytes", resident_launched)
        .field("used_bytes", static_cast<std::int64_t>(used))
        .send();
  }

  void mapping(const Request &request) const {
    const std::size_t bytes = request.get("bytes");
    CHECK(cudaDeviceGraphMemTrim(device_));
    const cudaStream_t one = new_stream(), other = new_stream();
    Answer answer;
    // Times the call alone; the next step begins when the stream is idle.
    const auto step = [&](const char *name, cudaStream_t stream, auto call) {
      answer.field(name, timed(call));
      CHECK(cudaStreamSynchronize(stream));
    };
    const auto launch = [&](const Graph &graph, cudaStream_t stream) {
      return [&graph, stream] { CHECK(cudaGraphLaunch(graph.exec, stream)); };
    };
    const Graph first = alloc_spin_free(bytes);
    step("first_launch_ns", one, launch(first, one));
    step("relaunch_ns", one, launch(first, one));
    step("other_stream_ns", other, launch(first, other));
    answer.field("trim_ns", timed([&] { CHECK(cudaDeviceGraphMemTrim(device_)); }));
    step("after_trim_ns", other, launch(first, other));
    first.destroy();
    CHECK(cudaDeviceGraphMemTrim(device_));
    const Graph second = alloc_spin_free(bytes);
    step("upload_ns", one, [&] { CHECK(cudaGraphUpload(second.exec, one)); });
    step("after_upload_ns", one, launch(second, one));
    second.destroy();
    CHECK(cudaDeviceGraphMemTrim(device_));

    void *plain = nullptr;
    answer.field("malloc_ns", timed([&] { CHECK(cudaMalloc(&plain, bytes)); }));
    answer.field("free_ns", timed([&] { CHECK(cudaFree(plain)); }));

    // A pool keeps nothing over a synchronisation unless told to, so the first
    // allocation takes new memory; the second finds what was just freed.
    void *pooled = nullptr;
    const auto take = [&] { CHECK(cudaMallocAsync(&pooled, bytes, one)); };
    const auto give = [&] { CHECK(cudaFreeAsync(pooled, one)); };
    answer.field("malloc_async_ns", timed(take));
    give();
    answer.field("malloc_async_again_ns", timed(take));
    give();
    CHECK(cudaStreamSynchronize(one));
    CHECK(cudaStreamDestroy(one));
    CHECK(cudaStreamDestroy(other));
    answer.send();
  }

 private:
  // Allocate, run a kernel that ends at once, free.
  Graph alloc_spin_free(std::size_t bytes) const {
    cudaGraph_t graph = nullptr;
    CHECK(cudaGraphCreate(&graph, 0));
    cudaMemAllocNodeParams alloc{};
    alloc.poolProps.allocType = cudaMemAllocationTypePinned;
    alloc.poolProps.location.type = cudaMemLocationTypeDevice;
    alloc.poolProps.location.id = device_;
    alloc.bytesize = bytes;
    cudaGraphNode_t alloc_node = nullptr, kernel_node = nullptr, free_node = nullptr;
    CHECK(cudaGraphAddMemAllocNode(&alloc_node, graph, nullptr, 0, &alloc));
    std::int64_t clocks = 0;
    void *arguments[] = {&clocks};
    cudaKernelNodeParams kernel{};
    kernel.func = reinterpret_cast<void *>(kernel_);
    kernel.gridDim = dim3(1);
    kernel.blockDim = dim3(kBlockThreads);
    kernel.kernelParams = arguments;
    CHECK(cudaGraphAddKernelNode(&kernel_node, graph, &alloc_node, 1, &kernel));
    CHECK(cudaGraphAddMemFreeNode(&free_node, graph, &kernel_node, 1, alloc.dptr));
    Graph made;
    CHECK(cudaGraphInstantiateWithFlags(&made.exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    return made;
  }

  std::uint64_t attribute(cudaGraphMemAttributeType which) const {
    std::uint64_t bytes = 0;
    CHECK(cudaDeviceGetGraphMemAttribute(device_, which, &bytes));
    return bytes;
  }

  // Resident memory of this process; 0 where the system does not tell.
  static std::int64_t resident_bytes() {
    std::ifstream statm("/proc/self/statm");
    std::int64_t pages = 0, resident = 0;
    if (!(statm >> pages >> resident)) return 0;
    return resident * sysconf(_SC_PAGESIZE);
  }

  int device_;
  cudaLibrary_t library_ = nullptr;
  cudaKernel_t kernel_ = nullptr;
};

// Loads the runtime, creates the context and ends.
void floor_program(int device) {
  CHECK(cudaSetDevice(device));
  CHECK(cudaFree(nullptr));
}

void serve(int device, const std::string &ptx_file) {
  const Bench bench(device, ptx_file);
  Answer().send();
  const std::map<std::string, void (Bench::*)(const Request &) const> operations = {
      {"relaunch", &Bench::relaunch}, {"life", &Bench::life}, {"scale", &Bench::scale},
      {"mapping", &Bench::mapping},
  };
  for (std::string line; std::getline(std::cin, line);) {
    try {
      const Request request(line);
      const auto found = operations.find(request.name);
      if (found == operations.end()) throw std::runtime_error("no operation " + request.name);
      (bench.*found->second)(request);
    } catch (const std::exception &error) {
      Answer().text("error", error.what()).send();
    }
  }
}

}  // namespace

int main(int argc, char **argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  try {
    if (words.size() == 2 && words[0] == "floor") {
      floor_program(std::stoi(words[1]));
      return 0;
    }
    if (words.size() == 3 && words[0] == "serve") {
      serve(std::stoi(words[1]), words[2]);
      return 0;
    }
  } catch (const std::exception &error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
  std::cerr << "usage: counterpart floor DEVICE | serve DEVICE PTX\n";
  return 64;
}
