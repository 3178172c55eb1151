#include "by_sql.h"

#include "base/invariant.h"

#include <mariadb/errmsg.h>
#include <mariadb/mysql.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define TEXT_MAX 1024
#define LOCK_WAIT 1205 /* somebody has the value, or changes the row all the time */
#define POINT "SELECT g, r, v, w, n FROM %s WHERE g = ? AND r = ?"

struct by_sql {
    const struct server *server;
    MYSQL *mysql; /* NULL: not connected */
    MYSQL_STMT *point;
    size_t count;
    char text[TEXT_MAX];
    size_t len;
};

struct by_sql *by_sql_open(const struct server *s)
{
    struct by_sql *q = mem_zalloc(sizeof(*q));

    q->server = s;
    return q;
}

static void disconnect(struct by_sql *q)
{
    if (q->point)
        mysql_stmt_close(q->point);
    if (q->mysql)
        mysql_close(q->mysql);
    q->point = NULL;
    q->mysql = NULL;
}

void by_sql_close(struct by_sql *q)
{
    if (!q)
        return;
    disconnect(q);
    mem_free(q);
}

size_t by_sql_count(const struct by_sql *q)
{
    return q->count;
}

static void __attribute__((format(printf, 2, 3))) add(struct by_sql *q, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    q->len += (size_t)vsnprintf(q->text + q->len, TEXT_MAX - q->len, fmt, args);
    va_end(args);
    invariant(q->len < TEXT_MAX);
}

/* ---- the connection ---- */

static bool connect_now(struct by_sql *q, const char *table)
{
    const char *port = strrchr(q->server->sql_address, ':');
    int n;

    q->mysql = mysql_init(NULL);
    if (!mysql_real_connect(q->mysql, "127.0.0.1", (const char *)q->server->target.key_id.ptr,
                            (const char *)q->server->target.key_secret.ptr,
                            (const char *)q->server->target.instance.ptr,
                            (unsigned)strtoul(port ? port + 1 : "0", NULL, 10), NULL, 0)) {
        disconnect(q);
        return false;
    }
    n = snprintf(q->text, TEXT_MAX, POINT, table);
    q->point = mysql_stmt_init(q->mysql);
    if (mysql_stmt_prepare(q->point, q->text, (unsigned long)n) == 0)
        return true;
    disconnect(q);
    return false;
}

/* How an operation ended of which the server said this. */
static uint8_t outcome_of(struct by_sql *q, struct worker *k, const struct op *o, unsigned code,
                          const char *message)
{
    bool lost = code >= CR_MIN_ERROR && code <= CR_MAX_ERROR;

    if (code == 0)
        return DONE;
    if (code == LOCK_WAIT)
        return NOTHING;
    if (!lost || !k->w->conf.disturb)
        worker_problem(k, "a statement was refused that is correct", 0, message);
    disconnect(q);
    return o->type == OP_READ ? NOTHING : MAYBE;
}

/* q->text, with the rows or the count that it has. The outcome is that of operations like `o`. */
static uint8_t say(struct by_sql *q, struct worker *k, const struct op *o, MYSQL_RES **rows,
                   size_t *affected)
{
    unsigned code = 0;

    if (mysql_real_query(q->mysql, q->text, (unsigned long)q->len) == 0) {
        *affected = (size_t)mysql_affected_rows(q->mysql);
        *rows = mysql_store_result(q->mysql);
    }
    code = mysql_errno(q->mysql);
    return outcome_of(q, k, o, code, code ? mysql_error(q->mysql) : "");
}

static uint8_t say_alone(struct by_sql *q, struct worker *k, const struct op *o)
{
    MYSQL_RES *rows = NULL;
    size_t affected;
    uint8_t outcome = say(q, k, o, &rows, &affected);

    if (rows)
        mysql_free_result(rows);
    return outcome;
}

/* ---- reads ---- */

static struct op *op_of(struct plan *p, long group, long row)
{
    for (int i = 0; i < p->count; i++)
        if (p->ops[i].group == group && row >= 0 && row < GROUP_ROWS && p->ops[i].rows & 1u << row)
            return &p->ops[i];
    return NULL;
}

/* columns[]: g, r, v, w, n; NULL is none. A row may have been asked for twice. */
static void take_row(struct worker *k, struct plan *p, const long *const columns[2 + COLUMNS])
{
    struct op *first = op_of(p, *columns[0], *columns[1]);
    struct row_state row = {.has = ROW_EXISTS};

    if (!first || first->seen[*columns[1]].has) {
        worker_problem(k, "rows that were not asked for, or one twice", 0, "");
        return;
    }
    for (int i = 0; i < COLUMNS; i++)
        if (columns[2 + i]) {
            row.has |= 1u << i;
            row.column[i] = (int32_t)*columns[2 + i];
        }
    for (int i = 0; i < p->count; i++)
        if (p->ops[i].group == first->group && p->ops[i].rows & 1u << *columns[1])
            p->ops[i].seen[*columns[1]] = row;
}

static void take_rows(struct worker *k, struct plan *p, MYSQL_RES *rows)
{
    for (MYSQL_ROW r; (r = mysql_fetch_row(rows)) != NULL;) {
        const long *columns[2 + COLUMNS];
        long values[2 + COLUMNS];

        for (int i = 0; i < 2 + COLUMNS; i++) {
            values[i] = r[i] ? strtol(r[i], NULL, 10) : 0;
            columns[i] = r[i] ? &values[i] : NULL;
        }
        take_row(k, p, columns);
    }
    mysql_free_result(rows);
}

static void bind_long(MYSQL_BIND *b, long *value, my_bool *null)
{
    *b = (MYSQL_BIND){.buffer_type = MYSQL_TYPE_LONGLONG, .buffer = value, .is_null = null};
}

/* By the prepared statement. */
static uint8_t read_point(struct by_sql *q, struct worker *k, struct plan *p)
{
    struct op *o = &p->ops[0];
    MYSQL_BIND in[2], out[2 + COLUMNS];
    long key[2] = {o->group, __builtin_ctz(o->rows)}, values[2 + COLUMNS];
    const long *columns[2 + COLUMNS];
    my_bool null[2 + COLUMNS] = {0}, not = 0;
    int code = 1;

    for (int i = 0; i < 2; i++)
        bind_long(&in[i], &key[i], &not );
    for (int i = 0; i < 2 + COLUMNS; i++)
        bind_long(&out[i], &values[i], &null[i]);
    if (!mysql_stmt_bind_param(q->point, in) && !mysql_stmt_execute(q->point) &&
        !mysql_stmt_bind_result(q->point, out))
        while ((code = mysql_stmt_fetch(q->point)) == 0) {
            for (int i = 0; i < 2 + COLUMNS; i++)
                columns[i] = null[i] ? NULL : &values[i];
            take_row(k, p, columns);
        }
    if (code == MYSQL_NO_DATA)
        return DONE;
    return outcome_of(q, k, o, mysql_stmt_errno(q->point), mysql_stmt_error(q->point));
}

static void add_key(struct by_sql *q, int group, int row)
{
    add(q, "g = %d AND r = %d", group, row);
}

static uint8_t read_rows(struct by_sql *q, struct worker *k, struct plan *p)
{
    MYSQL_RES *rows = NULL;
    size_t affected;
    uint8_t outcome;

    add(q, "SELECT g, r, v, w, n FROM %s WHERE ", k->w->conf.table);
    if (p->kind == PLAN_RANGE)
        add(q, "g = %d ORDER BY r%s", p->ops[0].group, p->backward ? " DESC" : "");
    for (int i = 0; i < p->count && p->kind != PLAN_RANGE; i++) {
        add(q, i ? " OR (" : "(");
        add_key(q, p->ops[i].group, __builtin_ctz(p->ops[i].rows));
        add(q, ")");
    }
    outcome = say(q, k, &p->ops[0], &rows, &affected);
    if (rows)
        take_rows(k, p, rows);
    return outcome;
}

static void issue_read(struct by_sql *q, struct worker *k, struct plan *p)
{
    uint8_t outcome;

    for (int i = 0; i < p->count; i++) {
        p->ops[i].columns = ALL_COLUMNS;
        memset(p->ops[i].seen, 0, sizeof(p->ops[i].seen));
    }
    outcome =
        p->kind == PLAN_GET && rng_below(&k->rng, 2) ? read_point(q, k, p) : read_rows(q, k, p);
    for (int i = 0; i < p->count; i++)
        p->ops[i].outcome = outcome;
}

/* ---- changes ---- */

/* Can it be said, perhaps once it is a little different? */
static bool can_change(const struct change *c)
{
    if (c->type == CHANGE_UPDATE)
        return c->existence != EXIST_NO;
    return c->existence == EXIST_ANY && !c->compares;
}

/* In a transaction all is said: what cannot be is said without its condition. */
static void make_sayable(struct change *c)
{
    if (!can_change(c)) {
        c->existence = EXIST_ANY;
        c->compares = false;
    }
}

static void add_value(struct by_sql *q, const struct change *c, int column)
{
    if (c->sets & 1u << column)
        add(q, ", %d", c->column[column]);
    else
        add(q, ", NULL");
}

/* What is removed is set to NULL, and of a put so is all that it does not set. */
static void add_upsert(struct by_sql *q, const char *table, int group, const struct change *c)
{
    uint8_t named = c->type == CHANGE_PUT ? ALL_COLUMNS : c->sets | c->removes;

    add(q, "UPSERT INTO %s (g, r", table);
    for (int i = 0; i < COLUMNS; i++)
        if (named & 1u << i)
            add(q, ", %c", "vwn"[i]);
    add(q, ") VALUES (%d, %d", group, c->row);
    for (int i = 0; i < COLUMNS; i++)
        if (named & 1u << i)
            add_value(q, c, i);
    add(q, ")");
}

/* What a column becomes, in UPDATE; an increment is one request, or reads the row and writes it
 * unless it has changed (`reads`). */
static void add_assignment(struct by_sql *q, const struct change *c, int column, bool reads)
{
    char name = "vwn"[column];

    add(q, "%c = ", name);
    if (c->compares)
        add(q, "IF(v = %d, ", c->expect);
    if (c->sets & 1u << column)
        add(q, "%d", c->column[column]);
    else if (c->removes & 1u << column)
        add(q, "NULL");
    else if (reads || c->compares)
        add(q, "IFNULL(n, 0) + %d", c->delta);
    else
        add(q, "n + %d", c->delta);
    if (c->compares)
        add(q, ", %c)", name);
}

static void add_update(struct by_sql *q, struct worker *k, int group, const struct change *c)
{
    uint8_t named = c->sets | c->removes;
    bool reads = rng_below(&k->rng, 2);

    if (c->increments)
        named |= 1u << COLUMN_N;
    add(q, "UPDATE %s SET ", k->w->conf.table);
    for (int i = 0, n = 0; i < COLUMNS; i++)
        if (named & 1u << i) {
            add(q, n++ ? ", " : "");
            add_assignment(q, c, i, reads);
        }
    add(q, " WHERE ");
    add_key(q, group, c->row);
}

/* An UPDATE tells whether the row was there, and nothing else. */
static void issue_change(struct by_sql *q, struct worker *k, struct op *o)
{
    struct change *c = &o->changes[0];
    bool updates = c->type == CHANGE_UPDATE && (c->existence || c->compares || c->increments);
    MYSQL_RES *rows = NULL;
    size_t affected = 0;

    o->returned = false;
    if (updates) {
        c->existence = EXIST_YES;
        c->untold = c->compares;
        add_update(q, k, o->group, c);
    } else if (c->type == CHANGE_DELETE) {
        add(q, "DELETE FROM %s WHERE ", k->w->conf.table);
        add_key(q, o->group, c->row);
    } else {
        add_upsert(q, k->w->conf.table, o->group, c);
    }
    o->outcome = say(q, k, o, &rows, &affected);
    if (o->outcome == DONE && updates && !affected)
        o->outcome = REFUSED;
    if (rows)
        mysql_free_result(rows);
}

static void add_row(struct by_sql *q, struct worker *k, int group, struct change *c, bool first)
{
    int32_t value = c->sets & 1u << COLUMN_V ? c->column[COLUMN_V] : workload_value(k->w);

    *c = (struct change){.row = c->row, .type = CHANGE_UPDATE, .sets = 3};
    c->column[COLUMN_V] = c->column[COLUMN_W] = value;
    add(q, first ? "UPSERT INTO %s (g, r, v, w) VALUES" : "", k->w->conf.table);
    add(q, "%s(%d, %d, %d, %d)", first ? " " : ", ", group, c->row, value, value);
}

/* Several rows of one statement: each sets v and w. Of one operation, or each of its own. */
static void issue_rows(struct by_sql *q, struct worker *k, struct op *ops, int count)
{
    uint8_t outcome;

    for (int i = 0; i < count; i++)
        for (int j = 0; j < ops[i].change_count; j++)
            add_row(q, k, ops[i].group, &ops[i].changes[j], i + j == 0);
    outcome = say_alone(q, k, &ops[0]);
    for (int i = 0; i < count; i++)
        ops[i].outcome = outcome;
}

/* ---- transactions ---- */

static void issue(struct by_sql *q, struct worker *k, struct plan *p)
{
    q->len = 0;
    if (p->kind <= PLAN_RANGE)
        issue_read(q, k, p);
    else if (p->kind == PLAN_CHANGE)
        issue_change(q, k, &p->ops[0]);
    else
        issue_rows(q, k, p->ops, p->count);
    q->count++;
}

static uint8_t say_word(struct by_sql *q, struct worker *k, const struct op *o, const char *word)
{
    q->len = 0;
    add(q, "%s", word);
    return say_alone(q, k, o);
}

/* It holds the value from its first statement on. */
static bool begin(struct by_sql *q, struct worker *k, int group)
{
    static const struct op read = {.type = OP_READ};

    if (say_word(q, k, &read, "START TRANSACTION") != DONE)
        return false;
    q->len = 0;
    add(q, "SELECT g FROM %s WHERE ", k->w->conf.table);
    add_key(q, group, 0);
    add(q, " FOR UPDATE");
    return say_alone(q, k, &read) == DONE;
}

static bool issue_steps(struct by_sql *q, struct worker *k, struct plan *p)
{
    bool ok = true;

    for (int i = 0; i < p->ops[0].step_count && ok; i++) {
        struct plan *step = &p->steps[i];

        for (int j = 0; step->kind == PLAN_CHANGE && j < step->ops[0].change_count; j++)
            make_sayable(&step->ops[0].changes[j]);
        issue(q, k, step);
        ok = step->ops[0].outcome == DONE || step->ops[0].outcome == REFUSED;
    }
    return ok;
}

static void issue_txn(struct by_sql *q, struct worker *k, struct plan *p)
{
    static const struct op write = {.type = OP_WRITE};
    uint8_t outcome = NOTHING;
    struct timespec t;

    if (begin(q, k, p->ops[0].group) && issue_steps(q, k, p)) {
        clock_gettime(CLOCK_MONOTONIC, &t);
        p->end_ns = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
        outcome = say_word(q, k, &write, p->aborts ? "ROLLBACK" : "COMMIT");
        if (p->aborts)
            outcome = outcome == DONE ? REFUSED : NOTHING;
    } else if (q->mysql) {
        say_word(q, k, &write, "ROLLBACK");
    }
    txn_finish(p, outcome);
}

/* ---- */

/* Of rows that are each for themselves, where a transaction may have one, nobody knows which of the
 * others are in: too many such make a history that takes too long to check. */
static bool can_say(const struct worker *k, const struct plan *p)
{
    if (p->kind == PLAN_BATCH_WRITE && k->w->conf.txns)
        return false;
    return p->kind != PLAN_ATOMIC && !p->continues &&
           (p->kind != PLAN_CHANGE || can_change(&p->ops[0].changes[0]));
}

static void give_up(struct worker *k, struct plan *p)
{
    for (int i = 0; i < p->count; i++)
        p->ops[i].outcome = NOTHING;
    if (p->kind == PLAN_TXN)
        txn_finish(p, NOTHING);
    if (!k->w->conf.disturb)
        worker_problem(k, "no connection to the MySQL port", 0, "");
}

bool by_sql_issue(struct by_sql *q, struct worker *k, struct plan *p)
{
    struct timespec t;

    if (k->transaction.ptr || !can_say(k, p))
        return false;
    if (!q->mysql && !connect_now(q, k->w->conf.table))
        give_up(k, p);
    else if (p->kind == PLAN_TXN)
        issue_txn(q, k, p);
    else
        issue(q, k, p);
    clock_gettime(CLOCK_MONOTONIC, &t);
    k->answer_ns = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
    return true;
}
