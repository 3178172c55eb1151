/* golden.h: stored bytes that must never change, held in text files beside this header.
 *
 * A line of such a file is a name, a blank and hexadecimal bytes; lines that start with # are
 * comments. A test gives the bytes that the code makes now; they must be those in the file, entry
 * for entry. Bytes that differ mean that data on somebody's disk can no longer be read: then the
 * format needs a new version byte and the old entries stay.
 *
 * To add an entry, add it to the test and run the test once with GOLDEN_WRITE=1, from the root of
 * the repository: the file is written anew. Look at the difference; only new lines are right. */
#ifndef GOLDEN_H
#define GOLDEN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#undef fail /* ctx.h has one of another meaning */

#include "base/buf.h"
#include "base/rng.h"

struct golden {
    const char *name; /* no blanks */
    const char *note; /* a comment above the line; may be NULL */
    bytes value;
};

/* cmocka's own fail_msg() needs the macro that was taken away above. */
#define golden_fail(...)                                                                           \
    do {                                                                                           \
        print_error(__VA_ARGS__);                                                                  \
        print_error("\n");                                                                         \
        _fail(__FILE__, __LINE__);                                                                 \
    } while (0)

#define GOLDEN_DIR "test/golden/"

static inline void golden_write(const char *path, const char *title, const struct golden *cases,
                                size_t count)
{
    FILE *f = fopen(path, "w");

    if (!f)
        golden_fail("%s: cannot be written", path);
    fprintf(f, "# %s\n# Made by GOLDEN_WRITE=1; see golden.h and doc/format.md.\n", title);
    for (size_t i = 0; i < count; i++) {
        if (cases[i].note)
            fprintf(f, "\n# %s\n", cases[i].note);
        fprintf(f, "%s ", cases[i].name);
        for (size_t k = 0; k < cases[i].value.len; k++)
            fprintf(f, "%02x", bytes_u8(cases[i].value)[k]);
        fprintf(f, "\n");
    }
    fclose(f);
}

static inline void golden_compare(const char *line, const struct golden *wanted)
{
    size_t name_len = strlen(wanted->name), at;
    char hex[3];

    if (strncmp(line, wanted->name, name_len) != 0 || line[name_len] != ' ')
        golden_fail("expected entry %s, found: %.40s", wanted->name, line);
    line += name_len + 1;
    for (at = 0; at < wanted->value.len; at++) {
        snprintf(hex, sizeof(hex), "%02x", bytes_u8(wanted->value)[at]);
        if (strncmp(line + 2 * at, hex, 2) != 0)
            golden_fail("%s: byte %zu is now %s, on disk it is %.2s", wanted->name, at, hex,
                        line + 2 * at);
    }
    if (line[2 * at] != '\n')
        golden_fail("%s: now %zu bytes, on disk it is longer", wanted->name, at);
}

/* `file` is a name in GOLDEN_DIR; tests run from the root of the repository. */
static inline void golden_check(const char *file, const char *title, const struct golden *cases,
                                size_t count)
{
    static char line[65536];
    char path[256];
    size_t seen = 0;
    FILE *f;

    snprintf(path, sizeof(path), GOLDEN_DIR "%s", file);
    if (getenv("GOLDEN_WRITE"))
        golden_write(path, title, cases, count);
    f = fopen(path, "r");
    if (!f)
        golden_fail("%s: not found; run from the root of the repository", path);
    while (fgets(line, sizeof(line), f)) {
        if (line[0] == '#' || line[0] == '\n')
            continue;
        if (seen == count)
            golden_fail("%s: an entry that the test no longer makes: %.40s", path, line);
        golden_compare(line, &cases[seen++]);
    }
    fclose(f);
    if (seen != count)
        golden_fail("%s: no entry %s", path, cases[seen].name);
}

/* Calls `decode` with every truncation of `value` and with `flips` copies in which one to three
 * bits are wrong. Each copy has memory of its own, so that a sanitizer sees a read past its end. */
static inline void golden_damage(bytes value, int flips, void (*decode)(bytes damaged, void *arg),
                                 void *arg)
{
    struct rng rng;

    for (size_t n = 0; n < value.len; n++) {
        uint8_t *copy = malloc(n ? n : 1);

        memcpy(copy, value.ptr, n);
        decode(bytes_of(copy, n), arg);
        free(copy);
    }
    rng_init(&rng, value.len);
    for (int i = 0; i < flips && value.len; i++) {
        uint8_t *copy = malloc(value.len);

        memcpy(copy, value.ptr, value.len);
        for (uint64_t k = 0; k <= rng_below(&rng, 3); k++)
            copy[rng_below(&rng, value.len)] ^= (uint8_t)(1u << rng_below(&rng, 8));
        decode(bytes_of(copy, value.len), arg);
        free(copy);
    }
}

#endif
