/* port.h: what differs between compilers, and the calls that are banned here.
 *
 * malloc and free: only arena.c, buf.c and the `_new`/`_free` pairs of long-lived things call them,
 * through mem_alloc() and mem_free(); one place decides what happens when memory runs out. */
#ifndef BASE_PORT_H
#define BASE_PORT_H

#include <stddef.h>

#define PORT_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))
#define PORT_UNUSED __attribute__((unused))
#define PORT_NORETURN __attribute__((noreturn))
#define PORT_CONTAINER(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))
#define PORT_COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define PORT_LIKELY(x) __builtin_expect(!!(x), 1)
#define PORT_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* Memory for long-lived things; what belongs to a request comes from its arena. They never return
 * NULL: when memory runs out the process ends with a message (sizes from outside are checked
 * against limits first). */
void *mem_alloc(size_t size);                           /* not cleared */
void *mem_zalloc(size_t size);                          /* cleared */
void *mem_alloc_aligned(size_t alignment, size_t size); /* `size` a multiple of `alignment` */
void *mem_realloc(void *ptr, size_t size);              /* ptr may be NULL */
void mem_free(void *ptr);                               /* ptr may be NULL */
char *mem_strdup(const char *s);

/* Ends the process: `size` bytes cannot be had. */
PORT_NORETURN void mem_exhausted(size_t size);

#endif
