// A second preloaded library, which wraps a function of the C library. With RTLD_NEXT it
// must find the C library's function, although the watch library is also preloaded.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
int puts(const char *text) {
  int (*next)(const char *) = (int (*)(const char *))dlsym(RTLD_NEXT, "puts");
  if (!next || next == puts) return -1;
  next("seen by the other library");
  return next(text);
}
