/* transaction_end.c: the statements that begin and end transactions, and those that do so unasked.
 */
#include "sql/run/compute.h"
#include "sql/run/transaction.h"
#include "sql/run/user_variable.h"

static struct transaction *of(struct run *r)
{
    return &r->session->transaction;
}

/* A commit that failed leaves nothing open: who hands his connection on would else have the next
 * one's START TRANSACTION commit it. */
static int commit(struct run *r)
{
    struct wr_request request = {WR_REQUEST(COMMIT_TRANSACTION), .instance = of(r)->database};
    bool lost = of(r)->lost;
    const struct wr_reply *reply;
    int code = 0;

    if (of(r)->id.ptr && !lost) {
        request.commit_transaction.id = of(r)->id;
        code = run_request(r, &request, &reply);
    }
    if (code)
        transaction_abort(r->session);
    else
        transaction_forget(of(r));
    return lost ? run_fail(r, FAULT_TRANSACTION_LOST) : code;
}

static int rollback(struct run *r)
{
    bool beside = of(r)->beside;

    transaction_abort(r->session);
    return beside ? run_fail(r, FAULT_TRANSACTION_BESIDE) : 0;
}

static int start(struct run *r, const struct statement *s)
{
    bool read_only = s->pattern.ptr && run_is_word(s->pattern, "ONLY");

    if (s->pattern.ptr && !read_only && !run_is_word(s->pattern, "WRITE") &&
        !run_is_word(s->pattern, "WORK"))
        return run_fail(r, FAULT_UNSUPPORTED,
                        "START TRANSACTION takes READ ONLY or READ WRITE: statements that read see "
                        "what is committed when they run, and no snapshot");
    RUN_TRY(commit(r));
    of(r)->said = true;
    of(r)->read_only = read_only;
    return 0;
}

int run_transaction(struct run *r, const struct statement *s)
{
    bool begins = run_is_word(s->name, "START") || run_is_word(s->name, "BEGIN");

    if (begins)
        return start(r, s);
    if (run_is_word(s->name, "SAVEPOINT") || run_is_word(s->name, "RELEASE") ||
        (s->pattern.ptr && !run_is_word(s->pattern, "WORK")))
        return run_fail(r, FAULT_UNSUPPORTED,
                        "COMMIT and ROLLBACK end the whole transaction: there are no savepoints or "
                        "chains (Django: atomic(savepoint=False); SQLAlchemy: begin() alone)");
    return run_is_word(s->name, "COMMIT") ? commit(r) : rollback(r);
}

/* Of autocommit, in the forms that there are. */
static int manual_read(struct run *r, const struct expr *e, bool *manual)
{
    struct wr_value v = {.type = WR_NULL};
    bool word = e->type == EXPR_COLUMN || e->type == EXPR_TEXT;

    if (word && run_is_word(e->text, "ON"))
        v = (struct wr_value){.type = WR_BIGINT, .integer = 1};
    else if (word && run_is_word(e->text, "OFF"))
        v = (struct wr_value){.type = WR_BIGINT, .integer = 0};
    else
        RUN_TRY(compute_value(r, e, &v));
    if (v.type == WR_BOOLEAN)
        v = (struct wr_value){.type = WR_BIGINT, .integer = v.boolean};
    if (v.type != WR_BIGINT || v.integer < 0 || v.integer > 1)
        return run_fail(r, FAULT_UNSUPPORTED, "autocommit is 0, 1, ON or OFF");
    *manual = !v.integer;
    return 0;
}

static bool is_autocommit(bytes name)
{
    static const char *const names[] = {"autocommit", "session.autocommit", "local.autocommit"};

    for (size_t i = 0; i < PORT_COUNT(names); i++)
        if (run_is_word(name, names[i]))
            return true;
    return false;
}

int run_set(struct run *r, const struct statement *s)
{
    for (const struct expr_item *i = s->assignments->first; i; i = i->next) {
        bool manual = false;

        if (bytes_starts(i->name, BYTES_LIT("@")))
            RUN_TRY(user_variable_set(r, i->name, i->expr));
        if (!is_autocommit(i->name))
            continue;
        RUN_TRY(manual_read(r, i->expr, &manual));
        if (of(r)->manual && !manual)
            RUN_TRY(commit(r));
        of(r)->manual = manual;
    }
    return 0;
}

int transaction_statement(struct run *r, const struct statement *s)
{
    switch (s->type) {
    case STATEMENT_SELECT:
    case STATEMENT_UPSERT:
    case STATEMENT_UPDATE:
    case STATEMENT_DELETE:
        return of(r)->lost ? run_fail(r, FAULT_TRANSACTION_LOST) : 0;
    case STATEMENT_EXPLAIN:
    case STATEMENT_SHOW:
    case STATEMENT_DESCRIBE:
    case STATEMENT_USE:
    case STATEMENT_SET:
    case STATEMENT_KILL:
    case STATEMENT_LOCK:
    case STATEMENT_TRANSACTION:
        return 0;
    default:
        return commit(r);
    }
}
