// A second preloaded library. It counts what a launch must not do: allocate memory, write
// files, or wait for a lock.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>

unsigned long counted;
void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t), *__libc_memalign(size_t, size_t);
void *malloc(size_t size) { ++counted; return __libc_malloc(size); }
void *calloc(size_t n, size_t size) { ++counted; return __libc_calloc(n, size); }
void *realloc(void *p, size_t size) { ++counted; return __libc_realloc(p, size); }
int posix_memalign(void **p, size_t align, size_t size) { ++counted; return (*p = __libc_memalign(align, size)) ? 0 : 12; }
static void *next(const char *name) { return dlsym(RTLD_NEXT, name); }
ssize_t write(int fd, const void *data, size_t size) {
  ++counted;
  return ((ssize_t(*)(int, const void *, size_t))next("write"))(fd, data, size);
}
// Rust's standard library waits for a lock by the futex system call, through this function.
long syscall(long number, ...) {
  ++counted;
  va_list list;
  va_start(list, number);
  long a[6];
  for (int i = 0; i < 6; ++i) a[i] = va_arg(list, long);
  va_end(list);
  return ((long (*)(long, ...))next("syscall"))(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
