#include "search/query/bounds.h"

#include "base/late.h"

int query_in_time(struct query *q)
{
    return ctx_late(q->c) ? fail(q->c, E_BUSY, "The search took too long.") : E_OK;
}

int query_too_large(struct query *q)
{
    return fail(q->c, E_MEMORY, "A search query takes more memory than a request may.");
}
