/* mem.c: the one place that calls the allocator. */
#include "base/port.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void mem_exhausted(size_t size)
{
    fprintf(stderr, "widerow: out of memory asking for %zu bytes\n", size);
    abort();
}

void *mem_alloc(size_t size)
{
    void *p = malloc(size ? size : 1);

    if (!p)
        mem_exhausted(size);
    return p;
}

void *mem_zalloc(size_t size)
{
    void *p = calloc(1, size ? size : 1);

    if (!p)
        mem_exhausted(size);
    return p;
}

void *mem_alloc_aligned(size_t alignment, size_t size)
{
    void *p = aligned_alloc(alignment, size);

    if (!p)
        mem_exhausted(size);
    return p;
}

void *mem_realloc(void *ptr, size_t size)
{
    void *p = realloc(ptr, size ? size : 1);

    if (!p)
        mem_exhausted(size);
    return p;
}

void mem_free(void *ptr)
{
    free(ptr);
}

char *mem_strdup(const char *s)
{
    size_t n = strlen(s) + 1;

    return memcpy(mem_alloc(n), s, n);
}
