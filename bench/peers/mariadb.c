/* mariadb.c: asks a MariaDB server for records of the shape of `widerow bench`, with prepared
 * statements, one thread a connection (the client library waits for each answer).
 *
 *   mariadb PORT load RECORDS                           200 rows a statement
 *   mariadb PORT rows RECORDS                           all of them by one SELECT, as they come
 *   mariadb PORT WORKLOAD RECORDS SECONDS CONNECTIONS   read, write, write-if, ycsb-a, -b, -c, -d
 *                                                       or -f, as `widerow bench` does them
 *
 * It asks MyRocks as user bench; BENCH_SQL="innodb" asks InnoDB, and BENCH_SQL="widerow" the SQL
 * port of Widerow, as the key WIDEROW_ACCESS_KEY_ID in the instance WIDEROW_INSTANCE.
 *
 * A measurement prints "RATE": requests a second, or rows. */
#include "bench/bench_zipf.h"

#include <mysql.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COLUMNS 10
#define COLUMN_BYTES 100
#define KEY_BYTES 24
#define BATCH_ROWS 200
#define CONNECTIONS_MAX 1000
#define STACK_BYTES (256 << 10)

static char letters_pool[64 << 10];

#define FIELDS "field0,field1,field2,field3,field4,field5,field6,field7,field8,field9"
#define OF_MARIADB(engine)                                                                         \
    "CREATE TABLE bench (id VARCHAR(64) CHARACTER SET latin1 COLLATE latin1_bin PRIMARY KEY,"      \
    "field0 VARCHAR(100), field1 VARCHAR(100), field2 VARCHAR(100), field3 VARCHAR(100),"          \
    "field4 VARCHAR(100), field5 VARCHAR(100), field6 VARCHAR(100), field7 VARCHAR(100),"          \
    "field8 VARCHAR(100), field9 VARCHAR(100)) ENGINE=" engine " DEFAULT CHARSET latin1 "          \
    "COLLATE latin1_bin"

/* The servers that are asked, by BENCH_SQL. */
static const struct dialect {
    const char *name, *create, *replace;
} dialects[] = {
    {"myrocks", OF_MARIADB("ROCKSDB"), "REPLACE"},
    {"innodb", OF_MARIADB("InnoDB"), "REPLACE"},
    {"widerow",
     "CREATE TABLE bench (id VARCHAR, field0 VARCHAR, field1 VARCHAR, field2 VARCHAR,"
     "field3 VARCHAR, field4 VARCHAR, field5 VARCHAR, field6 VARCHAR, field7 VARCHAR,"
     "field8 VARCHAR, field9 VARCHAR, PRIMARY KEY (id))",
     "UPSERT"},
};
static const struct dialect *dialect = &dialects[0];

enum statement_kind { READ, WRITE, WRITE_IF, UPDATE, INSERT, STATEMENTS };

#define ALL_COLUMNS                                                                                \
    "field0=?,field1=?,field2=?,field3=?,field4=?,field5=?,field6=?,field7=?,field8=?,field9=?"

/* The key is the last parameter where `key_last`, else the first; between are `values` columns. */
static const struct {
    const char *text;
    unsigned values;
    bool key_last;
} statements[STATEMENTS] = {
    [READ] = {"SELECT * FROM bench WHERE id = ?", 0, false},
    [WRITE] = {" INTO bench (id," FIELDS ") VALUES (?,?,?,?,?,?,?,?,?,?,?)", COLUMNS, false},
    [WRITE_IF] = {"UPDATE bench SET " ALL_COLUMNS " WHERE id = ?", COLUMNS, true},
    [UPDATE] = {"UPDATE bench SET field0 = ? WHERE id = ?", 1, true},
    [INSERT] = {"INSERT INTO bench (id," FIELDS ") VALUES (?,?,?,?,?,?,?,?,?,?,?)", COLUMNS, false},
};

/* Of 100 jobs, how many run `second` (where `modify`, behind the first); all others run `first`. */
static const struct mix {
    const char *name;
    enum statement_kind first, second;
    unsigned share;
    bool modify, latest, zipfian;
} mixes[] = {
    {"read", READ, READ, 0, false, false, false},
    {"write", WRITE, WRITE, 0, false, false, false},
    {"write-if", WRITE_IF, WRITE_IF, 0, false, false, false},
    {"ycsb-a", READ, UPDATE, 50, false, false, true},
    {"ycsb-b", READ, UPDATE, 5, false, false, true},
    {"ycsb-c", READ, READ, 0, false, false, true},
    {"ycsb-d", READ, INSERT, 5, false, true, true},
    {"ycsb-f", READ, UPDATE, 50, true, false, true},
};

struct run {
    unsigned port, connections;
    uint64_t records, first_insert;
    double seconds;
    const struct mix *mix;
    struct bench_zipf zipf;
    atomic_ullong inserts; /* begun */
    atomic_ullong done;
    atomic_bool failed;
};

struct worker {
    struct run *run;
    struct rng rng;
    pthread_t thread;
};

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void make_key(char out[KEY_BYTES + 1], uint64_t record)
{
    snprintf(out, KEY_BYTES + 1, "user%020llu", (unsigned long long)record);
}

/* Cut from one text, as those of `widerow bench`, so that they compress as well. */
static void make_letters(char *out, size_t size, struct rng *rng)
{
    memcpy(out, letters_pool + rng_below(rng, sizeof(letters_pool) - size + 1), size);
}

static void make_pool(void)
{
    struct rng rng;

    rng_init(&rng, 1);
    for (size_t i = 0; i < sizeof(letters_pool); i++)
        letters_pool[i] = (char)('a' + rng_below(&rng, 26));
}

static bool connect_to(MYSQL *m, unsigned port)
{
    bool ours = strcmp(dialect->name, "widerow") == 0;

    return mysql_init(m) &&
           mysql_real_connect(m, "127.0.0.1", ours ? getenv("WIDEROW_ACCESS_KEY_ID") : "bench",
                              ours ? getenv("WIDEROW_ACCESS_KEY_SECRET") : "",
                              ours ? getenv("WIDEROW_INSTANCE") : "bench", port, NULL, 0);
}

/* ---- loading */

static int load(unsigned port, uint64_t records)
{
    MYSQL m;
    char *text = malloc(BATCH_ROWS * (COLUMNS * (COLUMN_BYTES + 3) + KEY_BYTES + 8) + 256);
    char letters[COLUMN_BYTES + 1] = "", key[KEY_BYTES + 1];
    struct rng rng;
    int code = !connect_to(&m, port) || !text || mysql_query(&m, dialect->create);

    rng_init(&rng, 2);
    for (uint64_t i = 0; i < records && code == 0;) {
        char *p = text + sprintf(text, "INSERT INTO bench (id," FIELDS ") VALUES ");

        for (int n = 0; n < BATCH_ROWS && i < records; n++, i++) {
            make_key(key, i);
            p += sprintf(p, "%s('%s'", n ? "," : "", key);
            for (int k = 0; k < COLUMNS; k++) {
                make_letters(letters, COLUMN_BYTES, &rng);
                p += sprintf(p, ",'%s'", letters);
            }
            *p++ = ')';
        }
        code = mysql_real_query(&m, text, (unsigned long)(p - text));
    }
    if (code)
        fprintf(stderr, "mariadb: %s\n", mysql_error(&m));
    mysql_close(&m);
    free(text);
    return code != 0;
}

/* ---- all rows */

/* Nothing is done with them: what a program does is its own. */
static int stream(unsigned port, uint64_t records)
{
    MYSQL m;
    MYSQL_RES *rows = NULL;
    uint64_t count = 0;
    bool good = connect_to(&m, port);
    double start = now();

    good = good && mysql_query(&m, "SELECT * FROM bench") == 0 && (rows = mysql_use_result(&m));
    while (good && mysql_fetch_row(rows))
        count++;
    good = good && mysql_errno(&m) == 0 && count == records;
    if (good)
        printf("%.0f\n", (double)count / (now() - start));
    else
        fprintf(stderr, "mariadb: %llu rows: %s\n", (unsigned long long)count, mysql_error(&m));
    if (rows)
        mysql_free_result(rows);
    mysql_close(&m);
    return !good;
}

/* ---- measuring */

struct client {
    MYSQL m;
    MYSQL_STMT *s[STATEMENTS];
    char key[KEY_BYTES + 1];
    char columns[COLUMNS][COLUMN_BYTES], key_out[KEY_BYTES + 1];
    unsigned long key_bytes, column_bytes[COLUMNS + 1];
    MYSQL_BIND out[COLUMNS + 1];
    bool bound;
};

static MYSQL_BIND text_bind(char *text, unsigned long size, unsigned long *length)
{
    *length = size;
    return (MYSQL_BIND){
        .buffer_type = MYSQL_TYPE_STRING, .buffer = text, .buffer_length = size, .length = length};
}

static bool prepare(struct client *c, enum statement_kind kind)
{
    MYSQL_BIND in[COLUMNS + 1], key = text_bind(c->key, KEY_BYTES, &c->key_bytes);
    char text[512];
    unsigned n = 0;

    snprintf(text, sizeof(text), "%s%s", kind == WRITE ? dialect->replace : "",
             statements[kind].text);
    if (!statements[kind].key_last)
        in[n++] = key;
    for (unsigned i = 0; i < statements[kind].values; i++)
        in[n++] = text_bind(c->columns[i], COLUMN_BYTES, &c->column_bytes[i + 1]);
    if (statements[kind].key_last)
        in[n] = key;
    c->s[kind] = mysql_stmt_init(&c->m);
    return c->s[kind] && mysql_stmt_prepare(c->s[kind], text, strlen(text)) == 0 &&
           mysql_stmt_bind_param(c->s[kind], in) == 0;
}

static bool prepare_all(struct client *c)
{
    bool good = true;

    c->out[0] = text_bind(c->key_out, KEY_BYTES, &c->column_bytes[0]);
    for (int i = 0; i < COLUMNS; i++)
        c->out[i + 1] = text_bind(c->columns[i], COLUMN_BYTES, &c->column_bytes[i + 1]);
    for (int kind = 0; kind < STATEMENTS && good; kind++)
        good = prepare(c, (enum statement_kind)kind);
    return good;
}

/* The number in the key of a record that is there. */
static uint64_t choose(struct run *r, struct rng *rng)
{
    uint64_t back, inserts;

    if (!r->mix->zipfian)
        return rng_below(rng, r->records);
    back = bench_zipf_next(&r->zipf, rng);
    if (!r->mix->latest)
        return bench_zipf_scatter(back) % r->records;
    /* Inserts that are still under way must not be asked for. */
    inserts = atomic_load(&r->inserts);
    inserts = inserts > r->connections ? inserts - r->connections : 0;
    return back < inserts ? r->first_insert + inserts - 1 - back
                          : r->records - 1 - (back - inserts);
}

static bool execute(struct client *c, enum statement_kind kind, struct rng *rng)
{
    bool good;

    for (unsigned i = 0; i < statements[kind].values; i++)
        make_letters(c->columns[i], COLUMN_BYTES, rng);
    good = mysql_stmt_execute(c->s[kind]) == 0;
    if (kind != READ)
        return good;
    if (good && !c->bound) /* Widerow tells the columns when a statement has run */
        c->bound = good = mysql_stmt_bind_result(c->s[READ], c->out) == 0;
    good = good && mysql_stmt_fetch(c->s[READ]) == 0;
    return mysql_stmt_free_result(c->s[READ]) == 0 && good &&
           c->column_bytes[COLUMNS] == COLUMN_BYTES;
}

static bool ask(struct run *r, struct client *c, struct rng *rng)
{
    const struct mix *mix = r->mix;
    bool second = rng_below(rng, 100) < mix->share;
    enum statement_kind kind = second && !mix->modify ? mix->second : mix->first;
    bool inserts = kind == INSERT;

    make_key(c->key, inserts ? r->first_insert + atomic_fetch_add(&r->inserts, 1) : choose(r, rng));
    return execute(c, kind, rng) && (!second || !mix->modify || execute(c, mix->second, rng));
}

static void report(struct client *c)
{
    const char *text = mysql_error(&c->m);

    for (int kind = 0; kind < STATEMENTS; kind++)
        if (c->s[kind] && mysql_stmt_errno(c->s[kind]))
            text = mysql_stmt_error(c->s[kind]);
    fprintf(stderr, "mariadb: %s\n", *text ? text : "a record is missing");
}

static void *work(void *arg)
{
    struct worker *w = arg;
    struct run *r = w->run;
    struct client *c = calloc(1, sizeof(*c));
    bool good = c && connect_to(&c->m, r->port) && prepare_all(c);
    double end = now() + r->seconds;

    for (; good && now() < end; atomic_fetch_add(&r->done, good))
        good = ask(r, c, &w->rng);
    if (!c)
        abort();
    if (!good && !atomic_exchange(&r->failed, true))
        report(c);
    for (int kind = 0; kind < STATEMENTS; kind++)
        if (c->s[kind])
            mysql_stmt_close(c->s[kind]);
    mysql_close(&c->m);
    mysql_thread_end();
    free(c);
    return NULL;
}

static int measure(struct run *r)
{
    struct worker *workers = calloc(r->connections, sizeof(*workers));
    pthread_attr_t attr;
    double start;

    if (!workers)
        return 1;
    if (r->mix->zipfian)
        bench_zipf_init(&r->zipf, r->records);
    /* Each run's inserts are new, whatever ran before. */
    r->first_insert = (uint64_t)time(NULL) * 1000000;
    start = now();
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    for (unsigned i = 0; i < r->connections; i++) {
        workers[i].run = r;
        rng_init(&workers[i].rng, r->first_insert + i);
        if (pthread_create(&workers[i].thread, &attr, work, &workers[i]) != 0)
            abort();
    }
    for (unsigned i = 0; i < r->connections; i++)
        pthread_join(workers[i].thread, NULL);
    printf("%.0f\n", (double)atomic_load(&r->done) / (now() - start));
    free(workers);
    return atomic_load(&r->failed);
}

int main(int argc, char **argv)
{
    const char *name = getenv("BENCH_SQL");
    struct run r = {0};

    for (size_t i = 0; name && i < sizeof(dialects) / sizeof(dialects[0]); i++)
        if (strcmp(dialects[i].name, name) == 0)
            dialect = &dialects[i];
    if (argc == 4 || argc == 6) {
        r.port = (unsigned)strtoul(argv[1], NULL, 10);
        r.records = strtoull(argv[3], NULL, 10);
    }
    if (argc == 6) {
        r.seconds = strtod(argv[4], NULL);
        r.connections = (unsigned)strtoul(argv[5], NULL, 10);
        for (size_t i = 0; i < sizeof(mixes) / sizeof(mixes[0]); i++)
            if (strcmp(mixes[i].name, argv[2]) == 0)
                r.mix = &mixes[i];
    }
    if (r.records == 0 ||
        (argc == 4 && strcmp(argv[2], "load") != 0 && strcmp(argv[2], "rows") != 0) ||
        (argc == 6 && (!r.mix || r.connections == 0 || r.connections > CONNECTIONS_MAX))) {
        fprintf(stderr, "usage: mariadb PORT load|rows RECORDS\n"
                        "       mariadb PORT WORKLOAD RECORDS SECONDS CONNECTIONS\n");
        return 2;
    }
    mysql_library_init(0, NULL, NULL);
    make_pool();
    if (argc == 6)
        return measure(&r);
    return strcmp(argv[2], "load") == 0 ? load(r.port, r.records) : stream(r.port, r.records);
}
