/* form.h: structs of programs that were compiled with another widerow.h ("Versions" there).
 *
 * When an operation's struct grows, form.c keeps its size of before as the first one; when one of
 * the other structs does, the constant here. test/unit/table/core/form_test.c fails until then. */
#ifndef TABLE_CORE_FORM_H
#define TABLE_CORE_FORM_H

#include "base/port.h"
#include "widerow.h"

/* Sizes as of version 0.1.0. */
#define FORM_OPTIONS_FIRST sizeof(struct wr_options)
#define FORM_CELL_PUT_FIRST sizeof(struct wr_cell_put)
#define FORM_CELL_GET_FIRST sizeof(struct wr_cell_get)

/* What counts of a request, by operation: today, and as of version 0.1.0. */
extern const uint32_t form_sizes[WR_OP_COUNT];
extern const uint32_t form_first_sizes[WR_OP_COUNT];

/* Fills the struct at `to`, of `own` bytes, from a program's struct of `size` bytes, or of `first`
 * if `size` is 0; what the program's lacks becomes zeros. NULL, or what is wrong. Any thread. */
const char *form_read(void *to, size_t own, const void *from, size_t size, size_t first);

/* The same for a request, of which `to` gets what its operation takes; on failure it is empty but
 * for the operation. */
const char *form_read_request(struct wr_request *to, const struct wr_request *from);

/* How many bytes of the request its program has set; 0 of what is no operation. */
static inline size_t form_size(const struct wr_request *r)
{
    uint32_t op = (uint32_t)r->op;

    if (PORT_UNLIKELY(op >= WR_OP_COUNT))
        return 0;
    return r->size ? r->size : form_first_sizes[op];
}

/* The request can be used as it stands: it is as this library's header has it, and asks for nothing
 * that came later. An operation that the library does not know is refused elsewhere. */
static inline bool form_is_own(const struct wr_request *r)
{
    uint32_t op = (uint32_t)r->op;

    if (PORT_UNLIKELY(op >= WR_OP_COUNT))
        return true;
    return !r->reserved[0] && form_size(r) == form_sizes[op];
}

#endif
