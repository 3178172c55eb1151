/* runner.c: runs spec scripts. README.md in this folder describes them and how to call this.
 *
 * A file opens a database of its own, with the settings it asks for. Its cases run one after the
 * other on it; each begins with the file's own statements before the first case, and its tables are
 * dropped when it is over. */
#include "door.h"

#include "base/fault.h"
#include "table/model/value.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LINES_MAX 20000
#define SETTINGS_MAX 16
#define SHOWN_MAX 1500

/* One statement: a line and the indented lines below it. */
struct statement {
    char *text;
    int line;
};

#define SERVERS_MAX 4

struct runner {
    struct door_conf conf;
    const char *door_name;
    bool http;
    bool sql;
    bool verbose;
    bool every_code;
    bool lag;           /* what is read may follow what was written later: reads are sent again */
    const char *only;   /* a part of the names of the cases to run; NULL: all */
    const char *layout; /* of tables that name none themselves; NULL: plain */
    struct wr_setting always[SETTINGS_MAX];
    size_t always_count;
    struct wr_setting settings[SETTINGS_MAX * 2];
    char dir[256];

    /* Engines that many processes may share: every request goes to the next server. */
    struct door *door; /* whose turn it is */
    struct door *doors[SERVERS_MAX];
    int servers, turn, files;
    struct wr_setting engine_settings[8];
    char namespace[64]; /* of the file that runs */
    struct statement *statements;
    size_t statement_count;
    int passed, failed, skipped;
    int laid_out; /* tables that got `layout` */
    bool given[E_COUNT];
};

static struct door *next_door(struct runner *r);

/* ---- what scripts need */

void script_die(const struct script *s, const char *fmt, ...)
{
    va_list args;

    fprintf(stderr, "%s:%d: ", s->file, s->line);
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fprintf(stderr, "\n");
    exit(2);
}

const struct wr_value *script_get(const struct script *s, bytes name)
{
    for (size_t i = 0; i < s->variable_count; i++)
        if (bytes_equal(s->variables[i].name, name))
            return &s->variables[i].value;
    return NULL;
}

void script_set(struct script *s, bytes name, const struct wr_value *v)
{
    struct wr_value *old = (struct wr_value *)(uintptr_t)script_get(s, name);

    if (old) {
        *old = *v;
        return;
    }
    if (s->variable_count == VARIABLES_MAX)
        script_die(s, "more than %d variables", VARIABLES_MAX);
    s->variables[s->variable_count].name = name;
    s->variables[s->variable_count++].value = *v;
}

static int64_t wall_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- one statement */

enum outcome { PASSED, FAILED, SKIPPED };

/* A case under way. */
struct run {
    struct runner *r;
    struct script s;
    struct clock clock;
    bool brief; /* say nothing of failures */
};

static void show(const char *what, const char *text, size_t len)
{
    printf("    %-8s ", what);
    for (size_t i = 0; i < len && i < SHOWN_MAX; i++)
        putchar(text[i] == '\n' ? ' ' : text[i]);
    printf("%s\n", len > SHOWN_MAX ? " ..." : "");
}

static enum outcome failure(struct run *run, const char *text, const struct token *arrow,
                            bytes actual)
{
    const char *expected = strstr(text, "->");

    (void)arrow;
    if (run->brief)
        return FAILED;
    printf("%s:%d: failed\n", run->s.file, run->s.line);
    show("request", text, expected ? (size_t)(expected - text) : strlen(text));
    if (expected)
        show("expected", expected + 2, strlen(expected + 2));
    show("actual", actual.ptr, actual.len);
    return FAILED;
}

/* The tokens behind the arrow; none means "ok". */
static struct tokens expectation(struct cursor *p)
{
    static const struct token ok[] = {{TOKEN_WORD, {"ok", 2}}, {TOKEN_END, {NULL, 0}}};
    struct tokens t = {ok, 1};

    if (p->at->kind == TOKEN_END)
        return t;
    expect(p, "->");
    t = (struct tokens){p->at, 0};
    while (t.items[t.count].kind != TOKEN_END)
        t.count++;
    return t;
}

/* Every cell that comes back carries its own checksum, but for those of a row matrix, which have no
 * timestamp either: the block has one for all. */
static const char *check_cells(const struct wr_row *row)
{
    for (size_t i = 0; i < row->cell_count; i++) {
        const struct wr_cell *cell = &row->cells[i];

        if (cell->timestamp_ms != WR_TIMESTAMP_NONE &&
            cell->crc8 != value_crc8(cell->name, &cell->value, cell->timestamp_ms))
            return "a cell came back with a wrong checksum";
    }
    return NULL;
}

static const char *check_answer(const struct wr_request *req, const struct answer *a)
{
    const char *fault = a->fault;

    if (fault || a->reply.code)
        return fault;
    if (req->op == WR_OP_GET_ROW)
        return check_cells(&a->reply.row.row);
    if (req->op == WR_OP_GET_RANGE)
        for (size_t i = 0; i < a->reply.range.row_count && !fault; i++)
            fault = check_cells(&a->reply.range.rows[i]);
    return fault;
}

static void note_codes(struct runner *r, const struct tokens *expected)
{
    for (size_t i = 0; i < expected->count; i++) {
        int code =
            expected->items[i].kind == TOKEN_WORD ? error_of_name(expected->items[i].text) : -1;

        if (code > 0)
            r->given[code] = true;
    }
}

/* Answers of which any part may be mentioned, in any order. */
static bool lists_items(const struct tokens *expected)
{
    const struct token *t = &expected->items[0];

    return token_is(t, "table") || token_is(t, "heat") || token_is(t, "sizes") ||
           token_is(t, "partitions");
}

#define TOUCH_TRIES 300
#define TOUCH_PAUSE_US 200000

/* On a pool whose disks are late a server may be out of touch with the others for some seconds, in
 * which it refuses what it does not know, having changed nothing. */
static bool is_out_of_touch(const struct answer *a)
{
    return a->reply.code == E_UNAVAILABLE && a->reply.message &&
           (strstr(a->reply.message, "has not heard of the others") ||
            strstr(a->reply.message, "out of touch with the others"));
}

/* That is no script's matter: it asks again, as SDKs do. */
static void ask(struct run *run, struct door *d, const struct wr_request *req, struct answer *a)
{
    door_exec(d, &run->s.c, req, a);
    for (int tries = 0; tries < TOUCH_TRIES && is_out_of_touch(a); tries++) {
        answer_release(a);
        usleep(TOUCH_PAUSE_US);
        door_exec(d, &run->s.c, req, a);
    }
}

/* Executes; a table gets the layout of the whole run, if it names none and its key fits. */
static void exec(struct run *run, struct wr_request *req, struct answer *a)
{
    const char *layout = run->r->layout;

    if (!layout || req->op != WR_OP_CREATE_TABLE || req->create_table.layout.ptr) {
        ask(run, next_door(run->r), req, a);
        return;
    }
    req->create_table.layout = bytes_str(layout);
    ask(run, next_door(run->r), req, a);
    run->r->laid_out += a->reply.code == 0;
    if (a->reply.code != E_PARAMETER || !strstr(a->reply.message, "key layout"))
        return;
    answer_release(a);
    req->create_table.layout = BYTES_NONE;
    ask(run, next_door(run->r), req, a);
}

#define BUSY_TRIES 20
#define BUSY_PAUSE_US 250000

/* While other suites keep the disk busy a server may say "come again", having changed nothing: SDKs
 * do, and so do scripts that expect anything else. */
static void exec_again(struct run *run, struct wr_request *req, const struct tokens *expected,
                       struct answer *a)
{
    int tries = 0;

    exec(run, req, a);
    while (a->reply.code == E_BUSY && !token_is(&expected->items[0], "BUSY") &&
           tries++ < BUSY_TRIES) {
        answer_release(a);
        usleep(BUSY_PAUSE_US);
        exec(run, req, a);
    }
}

static enum outcome run_request(struct run *run, struct cursor *p, struct wr_request *req,
                                const char *text)
{
    struct script *s = &run->s;
    struct tokens expected = expectation(p), actual;
    struct answer a;
    const char *fault;
    bytes printed;
    bool same;

    exec_again(run, req, &expected, &a);
    printed = arena_copy(&s->c.arena, print_answer(s, req, &a, &expected));
    fault = check_answer(req, &a);
    if (fault) {
        printed = arena_printf(&s->c.arena, "%s: %.*s", fault, BYTES_FMT(printed));
        answer_release(&a);
        return failure(run, text, NULL, printed);
    }
    answer_release(&a);
    actual = lex(s, printed);
    same =
        lists_items(&expected) ? match_items(s, &expected, &actual) : match(s, &expected, &actual);
    if (!same)
        return failure(run, text, NULL, printed);
    note_codes(run->r, &expected);
    return PASSED;
}

/* fill t (pk=1..5000) a=1: rows in batches as large as they may be. */
static enum outcome run_fill(struct run *run, struct cursor *p, const char *text)
{
    struct wr_table_write t;
    size_t count;
    const struct wr_row_change *changes = parse_fill(p, &t.table, &count);

    for (size_t at = 0; at < count; at += t.change_count) {
        struct wr_request req = {.op = WR_OP_BATCH_WRITE_ROW, .instance = BYTES_LIT("spec")};
        size_t size = 0, n = 0;
        struct answer a;
        bool ok;

        for (; n < 200 && at + n < count && (n == 0 || size < 400000); n++)
            for (size_t k = 0; k < changes[at].row.cell_count; k++)
                size += 32 + changes[at].row.cells[k].value.bytes.len *
                                 (value_is_bytes(changes[at].row.cells[k].value.type) != 0);
        t.changes = changes + at;
        t.change_count = n;
        req.batch_write_row = (struct wr_batch_write_row){.tables = &t, .table_count = 1};
        ask(run, next_door(run->r), &req, &a);
        ok = !a.reply.code && !a.fault;
        for (size_t i = 0; ok && i < n; i++)
            ok = !a.reply.batch.tables[0].rows[i].code;
        answer_release(&a);
        if (!ok)
            return failure(run, text, NULL, BYTES_LIT("a batch failed"));
    }
    return PASSED;
}

/* drain <range or scan>: all pages to the end; gives "count=N pages=M cu=R". */
static enum outcome run_drain(struct run *run, struct cursor *p, const char *text)
{
    struct script *s = &run->s;
    struct wr_request req;
    struct tokens expected, actual;
    size_t rows = 0, pages = 0, units = 0;
    bytes printed;

    if (!parse_request(p, &req) || req.op != WR_OP_GET_RANGE)
        script_die(s, "drain is followed by a range or a scan");
    expected = expectation(p);
    for (bool more = true; more && pages < 100000; pages++) {
        struct answer a;

        ask(run, next_door(run->r), &req, &a);
        if (a.reply.code || a.fault) {
            printed = arena_printf(&s->c.arena, "%s %s", a.fault ? a.fault : "", a.reply.message);
            answer_release(&a);
            return failure(run, text, NULL, printed);
        }
        rows += a.reply.range.row_count;
        units += (size_t)a.reply.range.consumed.read;
        more = a.reply.range.next.count != 0;
        if (more) {
            struct wr_key_column *next =
                ARENA_ARRAY(&s->c.arena, struct wr_key_column, a.reply.range.next.count);

            for (size_t i = 0; i < a.reply.range.next.count; i++) {
                next[i].name = arena_copy(&s->c.arena, a.reply.range.next.columns[i].name);
                next[i].value = value_copy(&s->c.arena, &a.reply.range.next.columns[i].value);
            }
            req.get_range.start = (struct wr_key){next, a.reply.range.next.count};
        }
        answer_release(&a);
    }
    printed = arena_printf(&s->c.arena, "drained rows=%zu pages=%zu units=%zu", rows, pages, units);
    actual = lex(s, printed);
    return match_items(s, &expected, &actual) ? PASSED : failure(run, text, NULL, printed);
}

/* check $a < $b */
static enum outcome run_check(struct run *run, struct cursor *p, const char *text)
{
    struct wr_value a = parse_value(p), b;
    const struct token *op = p->at++;
    bool ok;
    int r;

    b = parse_value(p);
    if (a.type != b.type)
        return failure(run, text, NULL, BYTES_LIT("two types"));
    r = value_compare(&a, &b);
    ok = token_is(op, "=")    ? r == 0
         : token_is(op, "!=") ? r != 0
         : token_is(op, "<")  ? r < 0
         : token_is(op, "<=") ? r <= 0
         : token_is(op, ">")  ? r > 0
                              : r >= 0;
    if (ok)
        return PASSED;
    return failure(run, text, NULL,
                   arena_printf(&run->s.c.arena, "%" PRId64 " and %" PRId64, a.integer, b.integer));
}

static enum outcome run_statement(struct run *run, const struct statement *st);

#define UNTIL_TRIES 300
#define UNTIL_PAUSE_US 200000

/* until $a < $b: the statement above is run again until that is so, for a minute at most. */
static enum outcome run_until(struct run *run, struct cursor *p, const struct statement *st)
{
    bool brief = run->brief;

    for (int i = 0;; i++) {
        struct cursor again = *p;
        enum outcome o;

        run->brief = brief || i < UNTIL_TRIES;
        o = run_check(run, &again, st->text);
        run->brief = brief;
        if (o == PASSED || i == UNTIL_TRIES)
            return o;
        usleep(UNTIL_PAUSE_US);
        o = run_statement(run, st - 1);
        run->s.line = st->line;
        if (o != PASSED)
            return o;
    }
}

/* Sent again until it has the answer that is expected, for a minute at most. */
static enum outcome run_patiently(struct run *run, const struct statement *st)
{
    bool brief = run->brief;

    for (int i = 0;; i++) {
        enum outcome o;

        run->brief = brief || i < UNTIL_TRIES;
        o = run_statement(run, st);
        run->brief = brief;
        if (o != FAILED || i == UNTIL_TRIES)
            return o;
        usleep(UNTIL_PAUSE_US);
    }
}

/* eventually REQUEST -> answer */
static enum outcome run_eventually(struct run *run, const struct statement *st)
{
    struct statement inner = {st->text + strlen("eventually"), st->line};

    return run_patiently(run, &inner);
}

static enum outcome run_raw(struct run *run, struct cursor *p, const char *text)
{
    struct script *s = &run->s;
    struct tokens expected, actual;
    bytes printed;

    if (!run->r->http)
        return SKIPPED;
    door_http_raw(next_door(run->r), p, &printed);
    expected = expectation(p);
    actual = lex(s, printed);
    if (!match(s, &expected, &actual))
        return failure(run, text, NULL, printed);
    note_codes(run->r, &expected);
    return PASSED;
}

static void open_door(struct runner *r);
static void close_door(struct runner *r);

static enum outcome run_restart(struct run *run)
{
    struct runner *r = run->r;

    if (strcmp(r->conf.engine, "mem") == 0 || r->conf.endpoint)
        return SKIPPED;
    close_door(r);
    open_door(r);
    return PASSED;
}

/* fault "name:error:1": arms a fault point of this process (base/fault.h); "" disarms all. */
static enum outcome run_fault(struct run *run, struct cursor *p)
{
#ifdef WR_FAULTS
    bytes list = parse_name(p);

    if (run->r->http)
        return SKIPPED;
    if (!fault_arm(arena_printf(&run->s.c.arena, "%.*s", BYTES_FMT(list)).ptr))
        script_die(&run->s, "no such fault");
    return PASSED;
#else
    (void)run;
    (void)p;
    return SKIPPED;
#endif
}

/* Whether the table would not take another rekeying yet: what the last one left is being removed.
 */
static bool ends_rekeying(struct run *run, bytes table)
{
    struct wr_request req = {.op = WR_OP_REKEY_TABLE, .instance = BYTES_LIT("spec")};
    struct answer a;
    bool ends;

    req.rekey_table.table = table;
    req.rekey_table.action = WR_REKEY_START;
    req.rekey_table.layout = BYTES_LIT("none such");
    ask(run, run->r->door, &req, &a);
    ends = a.reply.message && strstr(a.reply.message, "at the end of a rekeying");
    answer_release(&a);
    return ends;
}

/* rekeyed t: waits until the table is not being rekeyed any more, and could be again. */
static enum outcome run_rekeyed(struct run *run, struct cursor *p, const char *text)
{
    struct wr_request req = {.op = WR_OP_REKEY_TABLE, .instance = BYTES_LIT("spec")};

    req.rekey_table.table = parse_name(p);
    for (int i = 0; i < 6000; i++) {
        struct answer a;
        bool going;

        ask(run, run->r->door, &req, &a);
        going = !a.reply.code && a.reply.rekey.target.ptr;
        answer_release(&a);
        going |= ends_rekeying(run, req.rekey_table.table);
        if (!going)
            return PASSED;
        usleep(10000);
    }
    return failure(run, text, NULL, BYTES_LIT("still being rekeyed"));
}

/* indexed t: waits until all indexes of the table are complete. */
static enum outcome run_indexed(struct run *run, struct cursor *p, const char *text)
{
    struct wr_request req = {.op = WR_OP_DESCRIBE_TABLE, .instance = BYTES_LIT("spec")};

    req.describe_table.table = parse_name(p);
    for (int i = 0; i < 6000; i++) {
        struct answer a;
        bool building = false;
        int code;

        ask(run, run->r->door, &req, &a);
        code = a.reply.code;
        for (size_t k = 0; !code && k < a.reply.description.index_count; k++)
            building |= a.reply.description.indexes[k].sync_phase == 1;
        answer_release(&a);
        if (!code && !building)
            return PASSED;
        usleep(10000);
    }
    return failure(run, text, NULL, BYTES_LIT("an index is still being built"));
}

/* "turns": several servers answer by turns. */
static bool by_turns(const struct run *run, bytes word)
{
    return run->r->servers > 1 && bytes_equal(word, BYTES_LIT("turns"));
}

static bool only_here(struct run *run, struct cursor *p)
{
    bool here = false;

    while (p->at->kind == TOKEN_WORD) {
        here |= token_is(p->at, run->r->conf.engine) || token_is(p->at, run->r->door_name) ||
                by_turns(run, p->at->text);
        p->at++;
    }
    return here;
}

/* "unless splice": skips the case when the run's layout has this part, or its engine this name. */
static enum outcome run_unless(struct run *run, struct cursor *p)
{
    bytes word = parse_name(p);
    const char *layout = run->r->layout ? run->r->layout : "";

    return bytes_equal(word, bytes_str(run->r->conf.engine)) || by_turns(run, word) ||
                   memmem(layout, strlen(layout), word.ptr, word.len)
               ? SKIPPED
               : PASSED;
}

static enum outcome run_statement(struct run *run, const struct statement *st)
{
    struct script *s = &run->s;
    struct wr_request req;
    struct tokens t;
    struct cursor p;
    bool late;

    s->line = st->line;
    t = lex(s, bytes_str(st->text));
    p = (struct cursor){s, t.items};
    if (take(&p, "only"))
        return only_here(run, &p) ? PASSED : SKIPPED;
    if (take(&p, "unless"))
        return run_unless(run, &p);
    if (take(&p, "known"))
        return PASSED;
    if (take(&p, "sleep")) {
        /* "sleep second": to the beginning of the next second of the clock. */
        if (take(&p, "second"))
            usleep((useconds_t)(1010 - wall_ms() % 1000) * 1000);
        else
            usleep((useconds_t)parse_number(&p) * 1000);
        return PASSED;
    }
    if (take(&p, "now")) {
        s->now_ms = wall_ms();
        return PASSED;
    }
    if (take(&p, "let")) {
        bytes name = parse_name(&p);
        struct wr_value v;

        expect(&p, "=");
        if (token_is(p.at, "now"))
            v = (struct wr_value){.type = WR_BIGINT, .integer = parse_time(&p)};
        else
            v = parse_value(&p);
        script_set(s, name, &v);
        return PASSED;
    }
    if (take(&p, "restart"))
        return run_restart(run);
    if (take(&p, "rekeyed"))
        return run_rekeyed(run, &p, st->text);
    if (take(&p, "indexed"))
        return run_indexed(run, &p, st->text);
    if (take(&p, "check"))
        return run_check(run, &p, st->text);
    if (take(&p, "until"))
        return run_until(run, &p, st);
    if (take(&p, "eventually"))
        return run_eventually(run, st);
    if (take(&p, "fill"))
        return run_fill(run, &p, st->text);
    if (take(&p, "drain"))
        return run_drain(run, &p, st->text);
    if (take(&p, "http"))
        return run_raw(run, &p, st->text);
    if (take(&p, "fault"))
        return run_fault(run, &p);
    late = take(&p, "late");
    if (!parse_request(&p, &req))
        script_die(s, "no such statement: '%.*s'", BYTES_FMT(p.at->text));
    if (late)
        req.deadline_ms = 1; /* of a clock that began long ago */
    return run_request(run, &p, &req, st->text);
}

/* ---- one case */

static bool exec_retry(struct run *run, const struct wr_request *req, struct answer *a)
{
    for (int i = 0; i < 30; i++) {
        ask(run, next_door(run->r), req, a);
        if (a->reply.code != E_TOO_FREQUENT && a->reply.code != E_QUOTA)
            return true;
        answer_release(a);
        usleep(100000);
    }
    return false;
}

/* Else it is the next case that fails, and nobody sees why. */
static void is_done(const struct answer *a, const char *what)
{
    if (a->fault || (a->reply.code && a->reply.code != E_NOT_EXIST))
        printf("behind the case %s failed: %s\n", what, a->fault ? a->fault : a->reply.message);
}

/* A table is not dropped while it has one. */
static void drop_search_indexes(struct run *run)
{
    struct wr_request list = {.op = WR_OP_LIST_SEARCH_INDEX, .instance = BYTES_LIT("spec")};
    struct answer indexes, dropped;

    if (!exec_retry(run, &list, &indexes))
        return;
    for (size_t i = 0; !indexes.reply.code && i < indexes.reply.search_indexes.count; i++) {
        struct wr_request drop = {.op = WR_OP_DELETE_SEARCH_INDEX, .instance = BYTES_LIT("spec")};

        drop.delete_search_index = indexes.reply.search_indexes.indexes[i];
        if (!exec_retry(run, &drop, &dropped))
            continue;
        is_done(&dropped, "dropping a search index");
        answer_release(&dropped);
    }
    answer_release(&indexes);
}

static bool starts(const struct statement *st, const char *word)
{
    size_t n = strlen(word);

    return strncmp(st->text, word, n) == 0 && (isspace((unsigned char)st->text[n]) || !st->text[n]);
}

static bool uses_search(const struct run *run)
{
    for (size_t i = 0; i < run->r->statement_count; i++)
        if (starts(&run->r->statements[i], "search_index"))
            return true;
    return false;
}

static void drop_tables(struct run *run)
{
    struct wr_request list = {.op = WR_OP_LIST_TABLE, .instance = BYTES_LIT("spec")};
    struct answer tables, dropped;

    if (uses_search(run))
        drop_search_indexes(run);
    if (!exec_retry(run, &list, &tables))
        return;
    is_done(&tables, "listing its tables");
    for (size_t i = 0; !tables.reply.code && i < tables.reply.table_list.count; i++) {
        struct wr_request drop = {.op = WR_OP_DELETE_TABLE, .instance = BYTES_LIT("spec")};

        drop.delete_table.table = tables.reply.table_list.tables[i];
        if (!exec_retry(run, &drop, &dropped))
            continue;
        is_done(&dropped, "dropping a table");
        answer_release(&dropped);
    }
    answer_release(&tables);
}

/* Does it read rows? */
static bool reads_rows(const struct statement *st)
{
    return starts(st, "get") || starts(st, "batch_get") || starts(st, "range") ||
           starts(st, "scan") || starts(st, "drain") || starts(st, "bulk_export");
}

static enum outcome run_line(struct run *run, const struct statement *st)
{
    return run->r->lag && reads_rows(st) ? run_patiently(run, st) : run_statement(run, st);
}

/* The statements before the first case, and then those of [from, to). */
static enum outcome run_body(struct run *run, size_t setup, size_t from, size_t to)
{
    for (size_t i = setup; i < run->r->statement_count && !starts(&run->r->statements[i], "case");
         i++) {
        enum outcome o = run_line(run, &run->r->statements[i]);

        if (o != PASSED)
            return o;
    }
    for (size_t i = from; i < to; i++) {
        enum outcome o = run_line(run, &run->r->statements[i]);

        if (o != PASSED)
            return o;
    }
    return PASSED;
}

static void run_case(struct runner *r, const char *file, size_t setup, size_t from, size_t to)
{
    const struct statement *name = &r->statements[from];
    struct run *run = mem_zalloc(sizeof(*run));
    const char *known = NULL;
    enum outcome o;

    if (r->only && !strstr(name->text, r->only)) {
        mem_free(run);
        return;
    }
    for (size_t i = from + 1; i < to; i++)
        if (starts(&r->statements[i], "known"))
            known = r->statements[i].text + 5;
    run->r = r;
    run->brief = known != NULL;
    run->s.file = file;
    run->s.now_ms = wall_ms();
    clock_real_init(&run->clock);
    ctx_init(&run->s.c, &run->clock, NULL, NULL, 0);
    o = run_body(run, setup, from + 1, to);
    drop_tables(run);
    if (known && o == FAILED) {
        printf("%s:%d: known:%s\n", file, name->line, known);
        o = SKIPPED;
    } else if (known && o == PASSED) {
        printf("%s:%d: passes now, so the mark can go:%s\n", file, name->line, known);
        o = FAILED;
    } else if (o == FAILED) {
        printf("    in %s\n", name->text);
    }
    if (r->verbose)
        printf("%s:%d: %s %s\n", file, name->line,
               o == PASSED   ? "passed"
               : o == FAILED ? "FAILED"
                             : "skipped",
               name->text);
    r->passed += o == PASSED;
    r->failed += o == FAILED;
    r->skipped += o == SKIPPED;
    ctx_release(&run->s.c);
    mem_free(run);
}

/* ---- one file */

static char *file_read(const char *name)
{
    FILE *f = fopen(name, "r");
    char *text;
    long size;

    if (!f) {
        fprintf(stderr, "%s: %s\n", name, strerror(errno));
        exit(2);
    }
    fseek(f, 0, SEEK_END);
    size = ftell(f);
    rewind(f);
    text = mem_zalloc((size_t)size + 1);
    if (fread(text, 1, (size_t)size, f) != (size_t)size)
        text[0] = 0;
    fclose(f);
    return text;
}

/* Cuts the text into statements, in place. */
static void file_cut(struct runner *r, char *text)
{
    bool open = false;
    int line = 1;

    r->statement_count = 0;
    for (char *p = text; *p; line++) {
        char *end = strchr(p, '\n'), *next = end ? end + 1 : p + strlen(p);

        if (*p == ' ' || *p == '\t') {
            /* Belongs to the statement above: the newline between them stays. */
            if (!open) {
                fprintf(stderr, "line %d is indented, but no statement stands right above it\n",
                        line);
                exit(2);
            }
            p[-1] = '\n';
        } else if (*p != '\n' && *p != '#') {
            if (r->statement_count == LINES_MAX) {
                fprintf(stderr, "a file of more than %d statements\n", LINES_MAX);
                exit(2);
            }
            r->statements[r->statement_count++] = (struct statement){p, line};
        }
        open = *p != '\n' && *p != '#';
        if (end)
            *end = 0;
        p = next;
    }
}

static void folder_empty(const char *dir)
{
    DIR *d = opendir(dir);
    struct dirent *e;

    while (d && (e = readdir(d))) {
        char path[600];

        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
        if (unlink(path)) {
            folder_empty(path);
            rmdir(path);
        }
    }
    if (d)
        closedir(d);
}

static void open_door(struct runner *r)
{
    char message[300] = "";

    for (int i = 0; i < r->servers; i++) {
        struct door_conf conf = r->conf;
        char dir[300];

        if (i) {
            snprintf(dir, sizeof(dir), "%s/server-%d", r->dir, i);
            mkdir(dir, 0700);
            conf.dir = dir;
        }
        r->doors[i] = r->sql    ? door_sql_open(&conf, message, sizeof(message))
                      : r->http ? door_http_open(&conf, message, sizeof(message))
                                : door_library_open(&conf, message, sizeof(message));
        if (!r->doors[i]) {
            fprintf(stderr, "spec: %s\n", message);
            exit(2);
        }
    }
    r->turn = 0;
    r->door = r->doors[0];
}

static void close_door(struct runner *r)
{
    for (int i = 0; i < r->servers; i++)
        door_close(r->doors[i]);
    r->door = NULL;
}

static struct door *next_door(struct runner *r)
{
    r->door = r->doors[r->turn++ % r->servers];
    return r->door;
}

/* "set name=value", "strict" and "server --flag=value" at the head of the file. Returns where its
 * statements begin. */
static size_t read_settings(struct runner *r)
{
    size_t n = 0, i = 0;

    r->conf.strict = false;
    r->conf.server_flag = NULL;
    /* Every case makes tables; the file that is about this limit sets it. */
    r->settings[n++] = (struct wr_setting){"table_ops_per_s_max", "0"};
    for (; i < r->statement_count; i++) {
        char *at = r->statements[i].text + 4;

        if (starts(&r->statements[i], "strict")) {
            r->conf.strict = true;
            continue;
        }
        if (starts(&r->statements[i], "server")) {
            r->conf.server_flag = r->statements[i].text + 7;
            continue;
        }
        if (!starts(&r->statements[i], "set") || n == SETTINGS_MAX)
            break;
        r->settings[n].name = at;
        at = strchr(at, '=');
        if (!at)
            break;
        *at = 0;
        r->settings[n++].value = at + 1;
    }
    for (size_t k = 0; k < r->always_count; k++)
        r->settings[n++] = r->always[k];
    r->conf.settings = r->settings;
    r->conf.setting_count = n;
    return i;
}

/* Whether the server runs as the file's head wants it. Ours is started so; of another only those
 * settings are known that the command line names. */
static bool set_up(const struct runner *r, const char *file)
{
    const char *missing = r->conf.strict ? "--strict" : r->conf.server_flag;

    /* Behind the file's own settings stand those of the command line; before them one that no case
     * is about. */
    for (size_t i = 1; i + r->always_count < r->conf.setting_count && !missing; i++) {
        const struct wr_setting *want = &r->settings[i];
        bool known = false;

        for (size_t k = 0; k < r->always_count; k++)
            known |= strcmp(r->always[k].name, want->name) == 0 &&
                     strcmp(r->always[k].value, want->value) == 0;
        if (!known)
            missing = want->name;
    }
    if (r->conf.endpoint && missing)
        printf("SKIPPED %s: needs a server with %s, which --set may tell\n", file, missing);
    return !r->conf.endpoint || !missing;
}

static void run_file(struct runner *r, const char *file)
{
    char *text = file_read(file);
    size_t setup;
    bool fits;
    int64_t start = wall_ms();

    file_cut(r, text);
    setup = read_settings(r);
    fits = set_up(r, file);
    folder_empty(r->dir);
    if (r->conf.engine_setting_count)
        snprintf(r->namespace, sizeof(r->namespace), "%s-%d", strrchr(r->dir, '/') + 1, ++r->files);
    open_door(r);
    for (size_t i = setup; i < r->statement_count; i++) {
        size_t end = i + 1;

        if (!starts(&r->statements[i], "case"))
            continue;
        while (end < r->statement_count && !starts(&r->statements[end], "case"))
            end++;
        if (fits)
            run_case(r, file, setup, i, end);
        else
            r->skipped++;
    }
    close_door(r);
    if (r->verbose)
        printf("%s: %" PRId64 " ms\n", file, wall_ms() - start);
    fflush(stdout);
    mem_free(text);
}

/* ---- codes */

/* Codes that no script can make a door give, and why. Through the library those of the HTTP door
 * cannot be given either. */
static const char *why_not_given(int code, bool http)
{
    switch (code) {
    case E_SESSION_BUSY:
        return "a script sends one request after the other: unit/table/txn";
    case E_PARTITION:
        return "no partition moves on one machine";
    case E_CAPACITY:
    case E_HOT_PARTITION:
        return "throughput is counted, not enforced";
    case E_FORBIDDEN_CAPACITY:
        return "every instance may reserve throughput";
    case E_UNSURE:
        return "an answer is lost only where storage is remote";
    case E_UNAVAILABLE:
    case E_NO_SPACE:
        return "needs a failing disk: fault.spec, on rocks through the library";
    case E_INTERNAL:
    case E_CORRUPT:
    case E_FORMAT:
        return "needs damaged data: test/crash";
    case E_LOCKED:
    case E_DATA_LOSS:
        return "given when the database is opened, not to a request: test/crash";
    case E_BUSY:
        return http ? "needs overload" : NULL;
    case E_PERMISSION:
    case E_TUNNEL_PERMISSION:
        return "there are no policies";
    case E_TUNNEL_UNAVAILABLE:
        return "needs overload: unit/wire/ots";
    case E_SEARCH_INDEX:
        return "a pool has no search indexes";
    case E_SEARCH_SESSION:
        return "needs a scan that is left alone for its time";
    case E_TUNNEL_EXPIRED:
        return "needs a stream's hours to pass: unit/table/tunnel";
    case E_AUTH:
    case E_BODY_TOO_LARGE:
    case E_METHOD:
    case E_REQUEST_TIMEOUT:
    case E_UNSUPPORTED:
        return http ? NULL : "the HTTP door's";
    default:
        return NULL;
    }
}

static bool report_codes(const struct runner *r)
{
    bool all = true;

    for (int i = 1; i < E_COUNT; i++) {
        const char *why = why_not_given(i, r->http);

        if (r->given[i])
            continue;
        printf("code %s was never given%s%s\n", err_info(i)->name, why ? ": " : "", why ? why : "");
        all &= why != NULL;
    }
    return all;
}

/* ---- the command line */

static void usage(void)
{
    fprintf(stderr, "spec --engine NAME --door library|http|sql [--widerowd PATH] [--set "
                    "NAME=VALUE]...\n"
                    "            [--endpoint http://HOST:PORT --instance NAME]\n"
                    "            [--engine-set NAME=VALUE]... [--servers N]\n"
                    "            [--layout LAYOUT] [--case PART-OF-NAME] [--every-code] "
                    "[--lag] [--verbose] FILE.spec...\n");
    exit(2);
}

static void add_setting(struct runner *r, char *text)
{
    char *at = strchr(text, '=');

    if (!at || r->always_count == SETTINGS_MAX)
        usage();
    *at = 0;
    r->always[r->always_count++] = (struct wr_setting){text, at + 1};
}

/* The namespace is ours: one a file. */
static void add_engine_setting(struct runner *r, char *text)
{
    char *at = strchr(text, '=');
    size_t n = r->conf.engine_setting_count;

    if (!at || n + 1 >= PORT_COUNT(r->engine_settings))
        usage();
    *at = 0;
    r->conf.engine_settings = r->engine_settings;
    if (!n)
        r->engine_settings[n++] = (struct wr_setting){"namespace", r->namespace};
    r->engine_settings[n++] = (struct wr_setting){text, at + 1};
    r->conf.engine_setting_count = n;
}

static void check_endpoint(const struct door_conf *conf)
{
    if (strncmp(conf->endpoint, "http://", strlen("http://")) != 0 || !conf->instance ||
        !getenv("WIDEROW_ACCESS_KEY_ID") || !getenv("WIDEROW_ACCESS_KEY_SECRET")) {
        fprintf(
            stderr,
            "spec: --endpoint takes http://HOST:PORT, and wants --instance beside it and a key in "
            "WIDEROW_ACCESS_KEY_ID and WIDEROW_ACCESS_KEY_SECRET\n");
        exit(2);
    }
}

/* Returns the index of the first file. */
static int read_flags(struct runner *r, int argc, char **argv)
{
    int i = 1;

    for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
        const char *flag = argv[i] + 2;

        if (strcmp(flag, "verbose") == 0) {
            r->verbose = true;
            continue;
        }
        if (strcmp(flag, "every-code") == 0) {
            r->every_code = true;
            continue;
        }
        if (strcmp(flag, "lag") == 0) {
            r->lag = true;
            continue;
        }
        if (++i == argc)
            usage();
        if (strcmp(flag, "engine") == 0)
            r->conf.engine = argv[i];
        else if (strcmp(flag, "door") == 0)
            r->door_name = argv[i];
        else if (strcmp(flag, "widerowd") == 0)
            r->conf.widerowd = argv[i];
        else if (strcmp(flag, "case") == 0)
            r->only = argv[i];
        else if (strcmp(flag, "layout") == 0)
            r->layout = argv[i];
        else if (strcmp(flag, "endpoint") == 0)
            r->conf.endpoint = argv[i];
        else if (strcmp(flag, "instance") == 0)
            r->conf.instance = argv[i];
        else if (strcmp(flag, "set") == 0)
            add_setting(r, argv[i]);
        else if (strcmp(flag, "engine-set") == 0)
            add_engine_setting(r, argv[i]);
        else if (strcmp(flag, "servers") == 0)
            r->servers = (int)strtol(argv[i], NULL, 10);
        else
            usage();
    }
    if (r->conf.endpoint) {
        r->door_name = "http";
        r->conf.engine = "other";
        check_endpoint(&r->conf);
    }
    r->http = strcmp(r->door_name, "http") == 0;
    r->sql = strcmp(r->door_name, "sql") == 0;
    if (r->servers < 1 || r->servers > SERVERS_MAX)
        usage();
    if (i == argc || (!r->http && !r->sql && strcmp(r->door_name, "library") != 0))
        usage();
    return i;
}

/* Every case drops all tables of its instance behind it, so nobody else's may be there. */
static bool instance_empty(struct runner *r)
{
    struct wr_request list = {.op = WR_OP_LIST_TABLE, .instance = BYTES_LIT("spec")};
    struct clock clock;
    struct ctx c;
    struct answer a;
    bool empty;

    clock_real_init(&clock);
    ctx_init(&c, &clock, NULL, NULL, 0);
    open_door(r);
    door_exec(r->door, &c, &list, &a);
    empty = !a.reply.code && !a.fault && a.reply.table_list.count == 0;
    if (a.reply.code || a.fault)
        fprintf(stderr, "spec: the server at %s does not list its tables: %s\n", r->conf.endpoint,
                a.fault ? a.fault : a.reply.message);
    else if (!empty)
        fprintf(stderr,
                "spec: the instance %s has tables, and these scripts drop all that they find: "
                "give them an instance of their own\n",
                r->conf.instance);
    answer_release(&a);
    close_door(r);
    ctx_release(&c);
    return empty;
}

int main(int argc, char **argv)
{
    struct runner *r = mem_zalloc(sizeof(*r));
    const char *tmp = getenv("TMPDIR");
    bool ok;
    int i;

    r->conf.engine = "mem";
    r->conf.widerowd = "build/widerowd";
    r->door_name = "library";
    r->servers = 1;
    i = read_flags(r, argc, argv);
    snprintf(r->dir, sizeof(r->dir), "%s/widerow-spec-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(r->dir)) {
        fprintf(stderr, "spec: %s: %s\n", r->dir, strerror(errno));
        return 2;
    }
    r->conf.dir = r->dir;
    r->statements = mem_zalloc(sizeof(*r->statements) * LINES_MAX);
    ok = !r->conf.endpoint || instance_empty(r);
    for (; ok && i < argc; i++)
        run_file(r, argv[i]);
    folder_empty(r->dir);
    rmdir(r->dir);
    ok &= r->failed == 0;
    if (r->layout && !r->laid_out) {
        printf("no table got the layout %s\n", r->layout);
        ok = false;
    }
    if (r->every_code)
        ok &= report_codes(r);
    printf("spec-%s-%s: %d passed, %d failed, %d skipped\n", r->conf.engine, r->door_name,
           r->passed, r->failed, r->skipped);
    mem_free(r->statements);
    mem_free(r);
    return ok ? 0 : 1;
}
