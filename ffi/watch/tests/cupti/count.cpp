// Counts calls of the driver through CUPTI's callbacks, for a comparison with what the watch
// library recorded in the same process. This is a test program; the library does not use
// CUPTI.
//
// It is built as a shared library. CUDA_INJECTION64_PATH names it, so that the driver loads
// it when CUDA starts. At exit it writes the file PID.counts into the folder that
// COUNT_FOLDER names. Each line has a name, the number of calls that succeeded, and the
// number that failed.
#include <cupti.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>

namespace {

// In the order of NAMES.
enum Kind { INSTANTIATE, LAUNCH, UPLOAD, UPDATE, DESTROY, BEGIN, END, TRIM, KINDS };
const char *const NAMES[KINDS] = {"instantiate", "launch", "upload", "update", "destroy", "begin", "end", "trim"};
std::atomic<unsigned long> succeeded[KINDS], failed[KINDS];

// The functions by the beginning of their names, because variants have suffixes.
int kind_of(const char *function) {
  static const struct { const char *start; Kind kind; } STARTS[] = {
      {"cuGraphInstantiate", INSTANTIATE}, {"cuGraphLaunch", LAUNCH},        {"cuGraphUpload", UPLOAD},
      {"cuGraphExecUpdate", UPDATE},       {"cuGraphExecDestroy", DESTROY},  {"cuStreamBeginCapture", BEGIN},
      {"cuStreamEndCapture", END},         {"cuDeviceGraphMemTrim", TRIM},
  };
  for (const auto &entry : STARTS)
    if (!std::strncmp(function, entry.start, std::strlen(entry.start))) return entry.kind;
  return -1;
}

void CUPTIAPI called(void *, CUpti_CallbackDomain domain, CUpti_CallbackId, const void *data) {
  if (domain != CUPTI_CB_DOMAIN_DRIVER_API) return;
  const auto *info = static_cast<const CUpti_CallbackData *>(data);
  if (info->callbackSite != CUPTI_API_EXIT) return;
  const int kind = kind_of(info->functionName);
  if (kind < 0) return;
  const auto result = info->functionReturnValue ? *static_cast<const CUresult *>(info->functionReturnValue) : CUDA_SUCCESS;
  ++(result == CUDA_SUCCESS ? succeeded : failed)[kind];
}

void write() {
  const char *folder = std::getenv("COUNT_FOLDER");
  const std::string path = std::string(folder ? folder : ".") + "/" + std::to_string(getpid()) + ".counts";
  if (FILE *file = std::fopen(path.c_str(), "w")) {
    for (int kind = 0; kind < KINDS; ++kind)
      std::fprintf(file, "%s %lu %lu\n", NAMES[kind], succeeded[kind].load(), failed[kind].load());
    std::fclose(file);
  }
}

}  // namespace

extern "C" int InitializeInjection(void) {
  static CUpti_SubscriberHandle subscriber;
  if (cuptiSubscribe(&subscriber, called, nullptr) != CUPTI_SUCCESS ||
      cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API) != CUPTI_SUCCESS) {
    std::fprintf(stderr, "CUPTI did not subscribe a callback\n");
    return 1;
  }
  std::atexit(write);
  return 1;
}
