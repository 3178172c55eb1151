/* The entry points libFuzzer wants, and the choice of the target: FUZZ_TARGET=name, one of
 * target.def; FUZZ_TARGET=list prints the names. */
#include "fuzz.h"

#include "mutate.h"

#include <stdio.h>
#include <stdlib.h>

enum form { PARTS, RAW };

struct target {
    const char *name;
    enum form form;
    void (*run)(bytes in);
};

static const struct target targets[] = {
#define TARGET(name, form) {#name, form, fuzz_##name},
#include "target.def"
};

static const struct target *target;
static struct clock still;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);

void fuzz_broken(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
    abort();
}

void fuzz_ctx(struct ctx *c)
{
    ctx_init(c, &still, NULL, NULL, 0);
    c->arena.cap = FUZZ_MEMORY_MAX;
}

bool fuzz_decoded(struct ctx *c, int code)
{
    CHECK(c->arena.used <= FUZZ_MEMORY_MAX + (1 << 16)); /* texts of messages do not look at it */
    CHECK(code == c->code);
    if (!code)
        return true;
    CHECK(code != E_INTERNAL);
    CHECK(c->text && c->text[0]);
    ctx_clear(c);
    return false;
}

/* ---- parts */

/* The next field; false at the end, or at what is none. */
static bool part_next(struct reader *r, uint64_t *number, bytes *content, uint64_t *value)
{
    uint64_t tag = read_varint(r), n = read_varint(r);

    *number = tag >> 3;
    *content = BYTES_NONE;
    *value = n;
    if (r->bad || (tag & 7) == 0)
        return !r->bad;
    if ((tag & 7) != 2 || n > reader_left(r))
        return false;
    *content = read_bytes(r, (size_t)n);
    return true;
}

bytes fuzz_part(bytes in, unsigned number)
{
    struct reader r = reader_of(in);
    uint64_t n, value;
    bytes content;

    while (r.at < r.end && part_next(&r, &n, &content, &value))
        if (n == number && content.ptr)
            return content;
    return BYTES_LIT("");
}

uint64_t fuzz_number(bytes in, unsigned number)
{
    struct reader r = reader_of(in);
    uint64_t n, value;
    bytes content;

    while (r.at < r.end && part_next(&r, &n, &content, &value))
        if (n == number && !content.ptr)
            return value;
    return 0;
}

/* ---- libFuzzer */

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    const char *name = getenv("FUZZ_TARGET");

    (void)argc;
    (void)argv;
    clock_set_init(&still, 1700000000000000);
    for (size_t i = 0; i < PORT_COUNT(targets); i++) {
        if (name && strcmp(name, "list") == 0)
            puts(targets[i].name);
        else if (name && strcmp(name, targets[i].name) == 0)
            target = &targets[i];
    }
    if (!target) {
        if (!name || strcmp(name, "list") != 0)
            fprintf(stderr, "Set FUZZ_TARGET to a name of target.def, or to list.\n");
        exit(name && strcmp(name, "list") == 0 ? 0 : 2);
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    target->run(bytes_of(data, size));
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    return target->form == PARTS ? mutate_parts(data, size, max, seed)
                                 : LLVMFuzzerMutate(data, size, max);
}
