/* process.c: KILL, of the connections of one's own access key. */
#include "sql/run/compute.h"

#include "base/number.h"

/* Lindorm has the number in quotes. */
static bool is_number(const struct wr_value *v, int64_t *out)
{
    if (v->type == WR_VARCHAR)
        return number_integer(v->bytes, out);
    *out = v->integer;
    return v->type == WR_BIGINT;
}

int run_kill(struct run *r, const struct statement *s)
{
    const struct processes *p = &r->session->conf.processes;
    struct wr_value v;
    int64_t number;

    RUN_TRY(compute_value(r, s->where, &v));
    if (!is_number(&v, &number))
        return run_fail(r, FAULT_UNSUPPORTED, "KILL [QUERY] takes the number of a connection");
    if (p->kill && p->kill(p->arg, (uint64_t)number, !s->name.ptr))
        return 0;
    return run_fail(r, FAULT_UNKNOWN_PROCESS, (unsigned long long)number);
}
