// Graphs whose child graphs have memory nodes, each dumped and measured in a process of
// its own: record DIRECTORY NAME writes DIRECTORY/NAME.dot, verbose, and prints a
// line for measured.txt. NAME is a number, the seed of a random programme, or graphs in
// a notation: graphs are parted by "-", a graph is a chain of nodes parted by "_",
// A32 allocates 32 MiB, F0 frees what node 0 allocates, C1 is graph 1 as child graph,
// K does nothing. The child graphs are built where they are added, or with a leading
// "first-" before all others.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#define CHECK(call)                                                        \
  do {                                                                     \
    const cudaError_t code = (call);                                       \
    if (code != cudaSuccess) {                                             \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(code));   \
      std::exit(1);                                                        \
    }                                                                      \
  } while (false)

struct Node {
  char kind = 'K';
  std::size_t mib = 0;  // of an alloc node
  int other = -1;       // the alloc node that is freed, or the number of the child graph
  std::vector<int> dependencies;
  void *address = nullptr;
  cudaGraphNode_t handle = nullptr;
};

struct Graph {
  std::vector<Node> nodes;
  cudaGraph_t handle = nullptr;
};

// graphs[0] is launched; each other one is the child of an earlier one.
struct Programme {
  std::vector<Graph> graphs;
  bool children_first = false;

  void build(std::size_t number) {
    Graph &graph = graphs[number];
    CHECK(cudaGraphCreate(&graph.handle, 0));
    for (Node &node : graph.nodes) {
      std::vector<cudaGraphNode_t> after;
      for (int other : node.dependencies) after.push_back(graph.nodes[other].handle);
      cudaGraphNodeParams params{};
      switch (node.kind) {
        case 'A':
          params.type = cudaGraphNodeTypeMemAlloc;
          params.alloc.poolProps.allocType = cudaMemAllocationTypePinned;
          params.alloc.poolProps.location = {cudaMemLocationTypeDevice, {0}};
          params.alloc.bytesize = node.mib << 20;
          break;
        case 'F':
          params.type = cudaGraphNodeTypeMemFree;
          params.free.dptr = graph.nodes[node.other].address;
          break;
        case 'C':
          if (graphs[node.other].handle == nullptr) build(node.other);
          params.type = cudaGraphNodeTypeGraph;
          params.graph.graph = graphs[node.other].handle;
          params.graph.ownership = cudaGraphChildGraphOwnershipMove;
          break;
        default:
          params.type = cudaGraphNodeTypeEmpty;
      }
      CHECK(cudaGraphAddNode(&node.handle, graph.handle, after.data(), nullptr, after.size(), &params));
      if (node.kind == 'A') node.address = params.alloc.dptr;
    }
  }
};

static Programme written(std::string text) {
  Programme programme;
  if (text.rfind("first-", 0) == 0) {
    programme.children_first = true;
    text.erase(0, 6);
  }
  const char *at = text.c_str();
  while (*at) {
    Graph graph;
    for (; *at && *at != '-'; at += *at == '_') {
      Node node;
      node.kind = *at++;
      char *end = nullptr;
      const long number = std::strtol(at, &end, 10);
      at = end;
      if (node.kind == 'A') node.mib = number; else node.other = static_cast<int>(number);
      const int here = static_cast<int>(graph.nodes.size());
      if (here > 0) node.dependencies.push_back(here - 1);
      graph.nodes.push_back(node);
    }
    programme.graphs.push_back(graph);
    at += *at == '-';
  }
  return programme;
}

static Programme random_programme(unsigned seed) {
  std::mt19937 generator(seed);
  const auto below = [&](int bound) { return static_cast<int>(generator() % bound); };
  Programme programme;
  programme.children_first = below(2);
  const int graphs = 2 + below(3);
  // Which graph holds each child, and as which of its nodes.
  std::vector<std::vector<int>> children(graphs);
  for (int child = 1; child < graphs; ++child) children[below(child)].push_back(child);
  for (int number = 0; number < graphs; ++number) {
    Graph graph;
    std::vector<int> unfreed;
    std::vector<int> to_come = children[number];
    const int length = 2 + below(8);
    for (int step = 0; step < length || !to_come.empty(); ++step) {
      Node node;
      const int here = static_cast<int>(graph.nodes.size());
      const int roll = below(10);
      if (!to_come.empty() && (roll < 3 || step >= length)) {
        node.kind = 'C';
        node.other = to_come.back();
        to_come.pop_back();
      } else if (roll < 6) {
        node.kind = 'A';
        node.mib = 1 + below(100);
        unfreed.push_back(here);
      } else if (roll < 8 && !unfreed.empty()) {
        node.kind = 'F';
        const int which = below(static_cast<int>(unfreed.size()));
        node.other = unfreed[which];
        unfreed.erase(unfreed.begin() + which);
        node.dependencies.push_back(node.other);
      }
      if (here > 0 && below(4)) {
        const int other = below(3) ? here - 1 : below(here);
        if (node.dependencies.empty() || node.dependencies[0] != other) node.dependencies.push_back(other);
      }
      graph.nodes.push_back(node);
    }
    // One graph in five leaves its last allocation.
    const std::size_t left = below(5) == 0 ? 1 : 0;
    while (unfreed.size() > left) {
      Node node;
      node.kind = 'F';
      node.other = unfreed.back();
      unfreed.pop_back();
      for (int other = 0; other < static_cast<int>(graph.nodes.size()); ++other) node.dependencies.push_back(other);
      graph.nodes.push_back(node);
    }
    programme.graphs.push_back(graph);
  }
  return programme;
}

static unsigned long long attribute(cudaGraphMemAttributeType which) {
  unsigned long long bytes = 0;
  CHECK(cudaDeviceGetGraphMemAttribute(0, which, &bytes));
  return bytes;
}

static void print_memory() {
  std::printf(" used %llu reserved %llu", attribute(cudaGraphMemAttrUsedMemCurrent),
              attribute(cudaGraphMemAttrReservedMemCurrent));
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  const std::string name = argv[2];
  const bool is_seed = name.find_first_not_of("0123456789") == std::string::npos;
  Programme programme = is_seed ? random_programme(std::stoul(name)) : written(name);
  CHECK(cudaFree(nullptr));
  if (programme.children_first)
    for (std::size_t number = programme.graphs.size(); number-- > 1;)
      if (programme.graphs[number].handle == nullptr) programme.build(number);
  programme.build(0);
  const std::string file = std::string(argv[1]) + "/" + name + ".dot";
  const cudaGraph_t graph = programme.graphs[0].handle;
  CHECK(cudaGraphDebugDotPrint(graph, file.c_str(), cudaGraphDebugDotFlagsVerbose));
  cudaGraphExec_t exec = nullptr;
  cudaStream_t stream = nullptr;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaStreamCreate(&stream));
  std::printf("%s", name.c_str());
  for (int launch = 0; launch < 2; ++launch) {
    std::printf(" launch %d", static_cast<int>(cudaGraphLaunch(exec, stream)));
    CHECK(cudaStreamSynchronize(stream));
    print_memory();
  }
  CHECK(cudaDeviceGraphMemTrim(0));
  std::printf(" trim 0");
  print_memory();
  std::printf("\n");
}
