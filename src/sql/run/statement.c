#include "sql/parse/parse.h"
#include "sql/run/described.h"
#include "sql/run/index.h"
#include "sql/run/run.h"
#include "sql/run/table.h"
#include "sql/run/select.h"
#include "sql/run/transaction.h"
#include "sql/run/user_variable.h"
#include "sql/run/warning.h"

#include <stdio.h>

struct session *session_new(const struct session_conf *conf)
{
    struct session *s = mem_zalloc(sizeof(*s));

    s->conf = *conf;
    snprintf(s->version, sizeof(s->version), SESSION_VERSION_PREFIX "%s", wr_version());
    s->database_text = mem_strdup("");
    s->database = bytes_str(s->database_text);
    return s;
}

void session_free(struct session *s)
{
    if (!s)
        return;
    transaction_drop(s);
    select_engine_free(s->select);
    described_forget(s);
    warnings_forget(s);
    user_variables_forget(s);
    mem_free(s->database_text);
    mem_free(s);
}

bool session_can_rest(const struct session *s)
{
    return s->select != NULL;
}

void session_rest(struct session *s)
{
    select_engine_free(s->select);
    s->select = NULL;
}

bool session_use(struct session *s, bytes instance)
{
    char *text;

    if (!s->conf.access.enter(s->conf.access.arg, instance))
        return false;
    text = mem_zalloc(instance.len + 1);
    memcpy(text, instance.ptr, instance.len);
    mem_free(s->database_text);
    s->database_text = text;
    s->database = bytes_of(text, instance.len);
    return true;
}

bool session_autocommits(const struct session *s)
{
    return !s->transaction.manual;
}

bool session_in_transaction(const struct session *s)
{
    return s->transaction.said || s->transaction.id.ptr;
}

void session_reset(struct session *s)
{
    transaction_drop(s);
    user_variables_forget(s);
}

bytes session_database(const struct session *s)
{
    return s->database;
}

/* ---- statements ---- */

static int run_use(struct run *r, const struct statement *s)
{
    if (session_use(r->session, s->name))
        return 0;
    return run_fail(r, FAULT_UNKNOWN_DATABASE, RUN_TEXT(s->name));
}

/* OFFLINE TABLE, which old versions of Lindorm want before DROP, and ONLINE TABLE. */
static int run_table_word(struct run *r, const struct statement *s)
{
    struct sql_table *t;

    return table_find_bare(r, &s->table, &t);
}

static int run_index_word(struct run *r, const struct statement *s)
{
    (void)s;
    return run_fail(
        r, FAULT_UNSUPPORTED,
        "An index is built when it is created, and SHOW INDEX tells how far: drop it to "
        "end that");
}

static int run_alter_system(struct run *r, const struct statement *s)
{
    (void)s;
    return run_fail(r, FAULT_UNSUPPORTED,
                    "Settings are the operator's: doc/operations.md has them, and a change of a "
                    "database or of the system is none of SQL's");
}

static int run_select_statement(struct run *r, const struct statement *s)
{
    if (s->for_update)
        RUN_TRY(transaction_lock(r, s->select));
    return run_select(r, s->select);
}

/* Nothing is ever locked so. */
static int run_lock(struct run *r, const struct statement *s)
{
    if (run_is_word(s->name, "UNLOCK"))
        return 0;
    return run_fail(r, FAULT_UNSUPPORTED,
                    "Tables are not locked: START TRANSACTION and SELECT ... FOR UPDATE lock the "
                    "rows of one value of the first key column, and dumps are made with "
                    "--skip-lock-tables");
}

static int run_drop_mapping_elsewhere(struct run *r, const struct statement *s)
{
    (void)s;
    return run_fail(r, FAULT_UNSUPPORTED,
                    "There are no mapping tables here: they are SQLQuery's, at the HTTP port");
}

typedef int statement_fn(struct run *r, const struct statement *s);

/* What Tablestore has; all else is not of it. */
static const struct {
    statement_fn *run;
    enum outcome_kind kind;
} tablestore[STATEMENT_COUNT] = {
    [STATEMENT_SELECT] = {run_select_statement, OUTCOME_SELECT},
    [STATEMENT_CREATE_TABLE] = {run_create_mapping, OUTCOME_CREATE_TABLE},
    [STATEMENT_DROP_MAPPING] = {run_drop_mapping, OUTCOME_DROP_TABLE},
    [STATEMENT_ALTER_TABLE] = {run_alter_mapping, OUTCOME_ALTER_TABLE},
    [STATEMENT_SHOW] = {run_show_mapping, OUTCOME_SHOW},
    [STATEMENT_DESCRIBE] = {run_describe_mapping, OUTCOME_DESCRIBE},
};

static int run_tablestore(struct run *r, const struct statement *s)
{
    r->out->kind = tablestore[s->type].kind;
    if (tablestore[s->type].run)
        return tablestore[s->type].run(r, s);
    return run_fail(
        r, FAULT_UNSUPPORTED,
        "SQLQuery serves SELECT, SHOW TABLES, SHOW INDEX, DESCRIBE, CREATE TABLE, ALTER "
        "TABLE and DROP MAPPING TABLE; other statements are the MySQL port's");
}

static statement_fn *const statements[STATEMENT_COUNT] = {
    [STATEMENT_SELECT] = run_select_statement,
    [STATEMENT_UPSERT] = run_upsert,
    [STATEMENT_UPDATE] = run_update,
    [STATEMENT_DELETE] = run_delete,
    [STATEMENT_CREATE_TABLE] = run_create_table,
    [STATEMENT_CREATE_TABLE_LIKE] = run_create_table_like,
    [STATEMENT_DROP_TABLE] = run_drop_table,
    [STATEMENT_DROP_MAPPING] = run_drop_mapping_elsewhere,
    [STATEMENT_ALTER_TABLE] = run_alter_table,
    [STATEMENT_TRUNCATE] = run_truncate,
    [STATEMENT_CREATE_INDEX] = run_create_index,
    [STATEMENT_DROP_INDEX] = run_drop_index,
    [STATEMENT_ALTER_INDEX] = run_alter_index,
    [STATEMENT_CREATE_DATABASE] = run_user,
    [STATEMENT_DROP_DATABASE] = run_user,
    [STATEMENT_CREATE_USER] = run_user,
    [STATEMENT_ALTER_USER] = run_user,
    [STATEMENT_DROP_USER] = run_user,
    [STATEMENT_GRANT] = run_user,
    [STATEMENT_REVOKE] = run_user,
    [STATEMENT_TABLE_WORD] = run_table_word,
    [STATEMENT_INDEX_WORD] = run_index_word,
    [STATEMENT_ALTER_SYSTEM] = run_alter_system,
    [STATEMENT_USE] = run_use,
    [STATEMENT_SET] = run_set,
    [STATEMENT_SHOW] = run_show,
    [STATEMENT_DESCRIBE] = run_describe,
    [STATEMENT_EXPLAIN] = run_explain,
    [STATEMENT_TRANSACTION] = run_transaction,
    [STATEMENT_KILL] = run_kill,
    [STATEMENT_LOCK] = run_lock,
};

/* What SHOW STATUS tells. */
static void units_add(struct session *s, const struct outcome *out)
{
    struct units u = {.read = out->checked, .written = out->written};

    for (const struct consumed *c = out->consumed; c; c = c->next)
        u.read += c->read;
    s->last = u;
    s->all.read += u.read;
    s->all.written += u.written;
}

/* What looks at the warnings leaves them as they are. */
static bool is_diagnosis(const struct statement *s)
{
    return s->type == STATEMENT_SHOW &&
           (s->show == SHOW_WARNINGS || (s->show == SHOW_OTHER && run_is_word(s->name, "ERRORS")));
}

/* The statement has ended. */
static void outcome_note(struct session *s, struct outcome *out)
{
    if (out->fault.number)
        warning_add_fault(s, &out->fault);
    out->warnings = warnings_count(s);
}

static int64_t deadline_of(const struct session *s)
{
    return s->conf.deadline_ms ? s->conf.deadline_ms
                               : clock_mono_ms(s->conf.clock) + SESSION_STATEMENT_MS;
}

/* ---- before it runs ---- */

struct shape_sink {
    struct sink sink;
    struct arena *arena;
    struct prepared_shape *out;
};

static int on_shape(struct sink *s, const struct column *columns, size_t count)
{
    struct shape_sink *w = PORT_CONTAINER(s, struct shape_sink, sink);
    struct column *own = ARENA_ARRAY(w->arena, struct column, count);

    memcpy(own, columns, count * sizeof(*own));
    w->out->columns = own;
    w->out->column_count = count;
    return -1; /* no row is wanted */
}

static int on_shape_row(struct sink *s, const struct wr_value *values)
{
    (void)s, (void)values;
    return -1;
}

/* What it would answer with is said up to the columns. A fault comes when it runs, if at all: with
 * other values for the question marks, or when its table is there, it may be none. */
static void shape_find(struct run *r, const struct statement *s)
{
    switch (s->type) {
    case STATEMENT_SELECT:
        run_select(r, s->select);
        break;
    case STATEMENT_EXPLAIN:
    case STATEMENT_SHOW:
    case STATEMENT_DESCRIBE:
        statements[s->type](r, s);
        break;
    default:
        break;
    }
}

bool session_prepare(struct session *s, struct arena *a, struct arena *kept, bytes sql,
                     struct prepared_shape *out, struct fault *fault)
{
    struct shape_sink sink = {.sink = {on_shape, on_shape_row}, .arena = a, .out = out};
    struct outcome outcome = {.affected = 0};
    struct run r = {.session = s,
                    .arena = a,
                    .sql = sql,
                    .sink = &sink.sink,
                    .out = &outcome,
                    .only_columns = true,
                    .deadline_ms = deadline_of(s)};
    struct parse_fault why;
    struct statement *tree;

    *out = (struct prepared_shape){.parameters = 0};
    if (parse_statement(kept, sql, &tree, &why)) {
        run_fail(&r, FAULT_SYNTAX, why.line, why.column, RUN_TEXT(why.text));
        *fault = outcome.fault;
        return false;
    }
    out->parameters = tree->parameter_count;
    out->tree = tree;
    r.parameters = ARENA_ARRAY(a, struct wr_value, tree->parameter_count); /* NULLs */
    if (!run_is_tablestore(&r))
        shape_find(&r, tree);
    return true;
}

/* Not 0: it is none, and the fault is said. */
static int tree_read(struct run *r, const struct statement **out)
{
    struct parse_fault fault;
    struct statement *tree;

    if (parse_statement(r->arena, r->sql, &tree, &fault))
        return run_fail(r, FAULT_SYNTAX, fault.line, fault.column, RUN_TEXT(fault.text));
    *out = tree;
    return 0;
}

/* False: it is none, and so the statement has ended. */
static bool tree_begin(struct run *r, const struct statement **out)
{
    if (!tree_read(r, out))
        return true;
    warnings_forget(r->session);
    outcome_note(r->session, r->out);
    return false;
}

void session_run(struct session *s, struct arena *a, bytes sql, const struct statement *tree,
                 const struct wr_value *values, size_t value_count, struct sink *sink,
                 struct outcome *out)
{
    struct run r = {
        .session = s, .arena = a, .sql = sql, .parameters = values, .sink = sink, .out = out};

    *out = (struct outcome){.affected = 0};
    r.deadline_ms = deadline_of(s);
    if (!tree && !tree_begin(&r, &tree))
        return;
    if (is_diagnosis(tree)) {
        statements[tree->type](&r, tree);
        return;
    }
    warnings_forget(s);
    if (tree->parameter_count != value_count)
        run_fail(&r, FAULT_UNSUPPORTED,
                 "The statement has another number of question marks than values were given");
    else if (run_is_tablestore(&r))
        run_tablestore(&r, tree);
    else if (!transaction_statement(&r, tree))
        statements[tree->type](&r, tree);
    if (!out->fault.number && tree->type != STATEMENT_SHOW)
        units_add(s, out);
    outcome_note(s, out);
}

/* ---- without waiting ---- */

/* Of these types some are one request. */
static bool may_be_single(enum statement_type type)
{
    return type == STATEMENT_SELECT || type == STATEMENT_UPSERT || type == STATEMENT_UPDATE ||
           type == STATEMENT_DELETE;
}

static bool is_in_transaction(const struct session *s)
{
    return s->transaction.manual || s->transaction.said || s->transaction.id.ptr;
}

enum session_begun session_begin(struct session *s, struct arena *a, bytes sql,
                                 const struct statement *tree, const struct wr_value *values,
                                 size_t value_count, struct sink *sink, struct outcome *out,
                                 struct deferred **deferred)
{
    struct deferred *d = ARENA_NEW(a, struct deferred);
    struct run *r = &d->run;

    *r = (struct run){
        .session = s, .arena = a, .sql = sql, .parameters = values, .sink = sink, .out = out};
    r->deferred = *deferred = d;
    *out = (struct outcome){.affected = 0};
    r->deadline_ms = deadline_of(s);
    if (is_in_transaction(s) || run_is_tablestore(r))
        return SESSION_WHOLE;
    if (!tree && !tree_begin(r, &tree))
        return SESSION_ENDED;
    if (tree->parameter_count != value_count || !may_be_single(tree->type))
        return SESSION_WHOLE;
    warnings_forget(s);
    statements[tree->type](r, tree);
    if (d->whole)
        return SESSION_WHOLE;
    if (!out->fault.number && d->end)
        return SESSION_REQUEST;
    if (!out->fault.number)
        units_add(s, out);
    outcome_note(s, out);
    return SESSION_ENDED;
}

bool session_end(struct deferred *d, struct wr_reply *reply)
{
    if (!deferred_end(d, reply))
        return false;
    if (!d->run.out->fault.number)
        units_add(d->run.session, d->run.out);
    outcome_note(d->run.session, d->run.out);
    return true;
}
