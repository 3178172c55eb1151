/* mariadb.c: asks a MariaDB server for records of the shape of `widerow bench`, with prepared
 * statements, one thread a connection (the client library waits for each answer).
 *
 *   mariadb PORT load RECORDS                           200 rows a statement
 *   mariadb PORT read|write RECORDS SECONDS CONNECTIONS
 *
 * A measurement prints "RATE": requests a second. */
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

static const char create_text[] =
    "CREATE TABLE bench (id VARCHAR(64) CHARACTER SET latin1 COLLATE latin1_bin PRIMARY KEY,"
    "field0 VARCHAR(100), field1 VARCHAR(100), field2 VARCHAR(100), field3 VARCHAR(100),"
    "field4 VARCHAR(100), field5 VARCHAR(100), field6 VARCHAR(100), field7 VARCHAR(100),"
    "field8 VARCHAR(100), field9 VARCHAR(100)) ENGINE=ROCKSDB DEFAULT CHARSET latin1 "
    "COLLATE latin1_bin";
static const char read_text[] = "SELECT * FROM bench WHERE id = ?";
static const char write_text[] = "REPLACE INTO bench VALUES (?,?,?,?,?,?,?,?,?,?,?)";

struct run {
    unsigned port;
    uint64_t records;
    double seconds;
    bool writes;
    atomic_ullong done;
    atomic_bool failed;
};

struct worker {
    struct run *run;
    uint64_t seed;
    pthread_t thread;
};

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* xorshift64* */
static uint64_t next(uint64_t *s)
{
    *s ^= *s >> 12;
    *s ^= *s << 25;
    *s ^= *s >> 27;
    return *s * 0x2545f4914f6cdd1du;
}

static void make_key(char out[KEY_BYTES + 1], uint64_t record)
{
    snprintf(out, KEY_BYTES + 1, "user%020llu", (unsigned long long)record);
}

static void make_letters(char *out, size_t size, uint64_t *seed)
{
    for (size_t i = 0; i < size; i++)
        out[i] = (char)('a' + next(seed) % 26);
}

static bool connect_to(MYSQL *m, unsigned port)
{
    return mysql_init(m) && mysql_real_connect(m, "127.0.0.1", "bench", "", "bench", port, NULL, 0);
}

/* ---- loading */

static int load(unsigned port, uint64_t records)
{
    MYSQL m;
    char *text = malloc(BATCH_ROWS * (COLUMNS * (COLUMN_BYTES + 3) + KEY_BYTES + 8) + 64);
    char letters[COLUMN_BYTES + 1] = "", key[KEY_BYTES + 1];
    uint64_t seed = 1;
    int code = !connect_to(&m, port) || !text || mysql_query(&m, create_text);

    for (uint64_t i = 0; i < records && code == 0;) {
        char *p = text + sprintf(text, "INSERT INTO bench VALUES ");

        for (int n = 0; n < BATCH_ROWS && i < records; n++, i++) {
            make_key(key, i);
            p += sprintf(p, "%s('%s'", n ? "," : "", key);
            for (int k = 0; k < COLUMNS; k++) {
                make_letters(letters, COLUMN_BYTES, &seed);
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

/* ---- measuring */

struct statement {
    MYSQL_STMT *s;
    char key[KEY_BYTES + 1];
    char columns[COLUMNS + 1][COLUMN_BYTES];
    unsigned long key_bytes, column_bytes[COLUMNS + 1];
    MYSQL_BIND in[COLUMNS + 1], out[COLUMNS + 1];
};

static bool prepare(MYSQL *m, const struct run *r, struct statement *t)
{
    const char *text = r->writes ? write_text : read_text;

    memset(t, 0, sizeof(*t));
    t->key_bytes = KEY_BYTES;
    t->in[0] = (MYSQL_BIND){.buffer_type = MYSQL_TYPE_STRING,
                            .buffer = t->key,
                            .buffer_length = KEY_BYTES,
                            .length = &t->key_bytes};
    for (int i = 0; i <= COLUMNS; i++) {
        t->column_bytes[i] = COLUMN_BYTES;
        t->out[i] = (MYSQL_BIND){.buffer_type = MYSQL_TYPE_STRING,
                                 .buffer = t->columns[i],
                                 .buffer_length = COLUMN_BYTES,
                                 .length = &t->column_bytes[i]};
        if (i)
            t->in[i] = t->out[i];
    }
    t->s = mysql_stmt_init(m);
    return t->s && mysql_stmt_prepare(t->s, text, strlen(text)) == 0 &&
           mysql_stmt_bind_param(t->s, t->in) == 0 &&
           (r->writes || mysql_stmt_bind_result(t->s, t->out) == 0);
}

static bool ask(const struct run *r, struct statement *t, uint64_t *seed)
{
    bool good;

    make_key(t->key, next(seed) % r->records);
    if (r->writes) {
        t->columns[1 + next(seed) % COLUMNS][next(seed) % COLUMN_BYTES] = 'x';
        return mysql_stmt_execute(t->s) == 0;
    }
    good = mysql_stmt_execute(t->s) == 0 && mysql_stmt_fetch(t->s) == 0;
    return mysql_stmt_free_result(t->s) == 0 && good && t->column_bytes[COLUMNS] == COLUMN_BYTES;
}

static void *work(void *arg)
{
    struct worker *w = arg;
    struct run *r = w->run;
    MYSQL m;
    struct statement t = {0};
    bool good = connect_to(&m, r->port) && prepare(&m, r, &t);
    double end = now() + r->seconds;

    for (int i = 0; i <= COLUMNS; i++)
        make_letters(t.columns[i], COLUMN_BYTES, &w->seed);
    for (; good && now() < end; atomic_fetch_add(&r->done, good))
        good = ask(r, &t, &w->seed);
    if (!good && !atomic_exchange(&r->failed, true))
        fprintf(stderr, "mariadb: %s\n", t.s ? mysql_stmt_error(t.s) : mysql_error(&m));
    if (t.s)
        mysql_stmt_close(t.s);
    mysql_close(&m);
    mysql_thread_end();
    return NULL;
}

static int measure(struct run *r, unsigned connections)
{
    struct worker *workers = calloc(connections, sizeof(*workers));
    pthread_attr_t attr;
    double start = now();

    if (!workers)
        return 1;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    for (unsigned i = 0; i < connections; i++) {
        workers[i] = (struct worker){.run = r, .seed = 1000 + i + (uint64_t)(start * 1e6)};
        if (pthread_create(&workers[i].thread, &attr, work, &workers[i]) != 0)
            abort();
    }
    for (unsigned i = 0; i < connections; i++)
        pthread_join(workers[i].thread, NULL);
    printf("%.0f\n", (double)atomic_load(&r->done) / (now() - start));
    free(workers);
    return atomic_load(&r->failed);
}

int main(int argc, char **argv)
{
    struct run r = {0};
    unsigned long connections = argc == 6 ? strtoul(argv[5], NULL, 10) : 1;

    if (argc >= 4) {
        r.port = (unsigned)strtoul(argv[1], NULL, 10);
        r.records = strtoull(argv[3], NULL, 10);
        r.writes = strcmp(argv[2], "write") == 0;
    }
    if (argc == 6)
        r.seconds = strtod(argv[4], NULL);
    if (r.records == 0 || (argc != 4 && argc != 6) || connections == 0 ||
        connections > CONNECTIONS_MAX) {
        fprintf(stderr, "usage: mariadb PORT load RECORDS\n"
                        "       mariadb PORT read|write RECORDS SECONDS CONNECTIONS\n");
        return 2;
    }
    mysql_library_init(0, NULL, NULL);
    return argc == 4 ? load(r.port, r.records) : measure(&r, (unsigned)connections);
}
