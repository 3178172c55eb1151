/* vectors.h: the test vectors of the wire protocol: test/golden/wire-vectors.txt, search-vectors.txt. */
#ifndef TEST_WIRE_VECTORS_H
#define TEST_WIRE_VECTORS_H

#include "show.h"

struct vector {
    bytes name;
    bytes data;
    bool used;
};

struct vectors {
    struct arena arena;
    struct vector list[256];
    size_t count;
};

static inline int hex_digit(char ch)
{
    return ch >= 'a' ? ch - 'a' + 10 : ch - '0';
}

static inline bytes hex_decode(struct arena *a, bytes hex)
{
    uint8_t *p = arena_alloc(a, hex.len / 2 + 1);
    const char *s = hex.ptr;

    for (size_t i = 0; i < hex.len / 2; i++)
        p[i] = (uint8_t)(hex_digit(s[2 * i]) << 4 | hex_digit(s[2 * i + 1]));
    return bytes_of(p, hex.len / 2);
}

/* Tests run at the root of the repository or beside this file. */
static inline FILE *vectors_open(const char *name)
{
    char path[128];
    FILE *f;

    snprintf(path, sizeof(path), "test/golden/%s", name);
    f = fopen(path, "r");
    snprintf(path, sizeof(path), "../../golden/%s", name);
    return f ? f : fopen(path, "r");
}

static inline void vectors_load(struct vectors *v, const char *name)
{
    FILE *f = vectors_open(name);
    char *line = NULL;
    size_t size = 0;
    ssize_t n;

    assert_non_null(f);
    arena_init(&v->arena, NULL, 0);
    while ((n = getline(&line, &size, f)) > 0) {
        char *description, *hex;

        if (line[0] == '#' || line[0] == '\n')
            continue;
        line[strcspn(line, "\n")] = 0;
        description = strchr(line, '\t');
        assert_non_null(description);
        hex = strchr(description + 1, '\t');
        assert_non_null(hex);
        assert_true(v->count < PORT_COUNT(v->list));
        v->list[v->count++] = (struct vector){
            .name = arena_copy(&v->arena, bytes_of(line, (size_t)(description - line))),
            .data = hex_decode(&v->arena, bytes_str(hex + 1)),
        };
    }
    free(line);
    fclose(f);
}

/* The bytes of a vector, which then counts as covered. */
static inline bytes vector(struct vectors *v, const char *name)
{
    for (size_t i = 0; i < v->count; i++) {
        if (!bytes_equal(v->list[i].name, bytes_str(name)))
            continue;
        v->list[i].used = true;
        return v->list[i].data;
    }
    print_error("no vector %s\n", name);
    _fail(__FILE__, __LINE__);
    return BYTES_NONE;
}

#endif
