/* process.c: KILL and SHOW PROCESSLIST: the connections of one's own access key. */
#include "sql/run/compute.h"
#include "sql/run/texts.h"

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

int run_show_processes(struct run *r, const struct statement *s)
{
    const struct processes *p = &r->session->conf.processes;
    struct process *list = NULL;
    size_t count = p->list ? p->list(p->arg, r->arena, &list) : 0;

    (void)s;
    RUN_TRY(texts_columns(
        r, (const char *[]){"Id", "User", "Host", "db", "Command", "Time", "State", "Info", NULL}));
    for (size_t i = 0; i < count; i++) {
        const struct process *at = &list[i];
        bytes texts[] = {arena_printf(r->arena, "%llu", (unsigned long long)at->number),
                         at->user,
                         at->host,
                         at->database.len ? at->database : BYTES_NONE,
                         bytes_str(at->sql.ptr ? "Query" : "Sleep"),
                         arena_printf(r->arena, "%lld", (long long)at->seconds),
                         BYTES_LIT(""),
                         at->sql};

        RUN_TRY(texts_row(r, texts, PORT_COUNT(texts)));
    }
    return 0;
}
