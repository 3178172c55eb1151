/* bench_load.h: what a benchmark asks for, and what came of it; how requests travel is
 * bench_door.h.
 *
 * A door takes a job when it has a connection free, sends the job's request, and hands the outcome
 * back. One thread. */
#ifndef CLI_BENCH_LOAD_H
#define CLI_BENCH_LOAD_H

#include "base/ctx.h"
#include "base/rng.h"
#include "cli/bench_hist.h"
#include "widerow.h"

#define BENCH_COLUMNS 10
#define BENCH_COLUMN_BYTES 100
#define BENCH_KEY_BYTES 24
#define BENCH_BATCH_ROWS 200

enum bench_kind {
    BENCH_READ,      /* GetRow, all columns */
    BENCH_UPDATE,    /* UpdateRow of one column */
    BENCH_WRITE,     /* PutRow over a record that is there */
    BENCH_INSERT,    /* PutRow of a new record */
    BENCH_SCAN,      /* GetRange of 1 to 100 records */
    BENCH_MODIFY,    /* GetRow and then UpdateRow of it, timed as one */
    BENCH_PAGE,      /* GetRange of as many records as one answer holds */
    BENCH_BATCH,     /* BatchWriteRow of BENCH_BATCH_ROWS records that are there */
    BENCH_LOAD,      /* the same, of the records one after another */
    BENCH_INCREMENT, /* UpdateRow: one more in a column of the one hot row */
    BENCH_KINDS
};

/* A workload: of 100 jobs, how many of each kind. */
struct bench_mix {
    const char *name;
    const char *summary;
    uint8_t share[BENCH_KINDS];
    enum bench_choice { BENCH_UNIFORM, BENCH_ZIPFIAN, BENCH_LATEST } choice;
};

/* NULL if no workload has this name. */
const struct bench_mix *bench_mix_find(const char *name);

/* What may be set. */
struct bench_conf {
    const struct bench_mix *mix;
    enum bench_choice choice;
    bytes table;
    uint64_t records;     /* loaded before, numbered from 0 */
    uint64_t ops;         /* jobs to do; 0: until the time is over */
    uint64_t seconds;     /* counts if `ops` is 0 */
    uint64_t connections; /* requests under way at most */
    uint64_t rate;        /* jobs to start a second; 0: each connection starts when it is free */
    bool progress;        /* a line on stderr each second */
};

struct bench_job {
    enum bench_kind kind;
    unsigned step;    /* BENCH_MODIFY: 0 reads, 1 writes */
    uint64_t record;  /* its number, or the first one's */
    uint32_t limit;   /* BENCH_SCAN: records */
    int64_t start_us; /* when it was due; its latency counts from there */
};

struct bench_zipf {
    uint64_t n;
    double theta, alpha, zeta_n, eta;
};

struct bench_load {
    struct bench_conf conf;
    struct clock *clock;
    struct rng rng;
    struct bench_zipf zipf;
    char *text;            /* where column values are cut from */
    uint64_t insert_first; /* number in the key of the first record inserted by this run */
    uint64_t inserts;      /* started */
    int64_t start_us, end_us, line_us;
    uint64_t started, finished;
    uint64_t line_finished; /* at the last progress line */
    uint64_t rows;          /* read or written */
    uint64_t errors;        /* answers that ask to try again later */
    uint64_t late;          /* due within the time and never started */
    struct bench_hist hist[BENCH_KINDS];
};

/* `l` is the caller's and stays where it is; release it. The run starts with bench_load_start(). */
void bench_load_init(struct bench_load *l, const struct bench_conf *conf, struct clock *clock);
void bench_load_release(struct bench_load *l);
void bench_load_start(struct bench_load *l);

/* The next job, if one is due at now_us. Else false, and *wait_us says when to ask again (-1:
 * never, all are started). */
bool bench_load_next(struct bench_load *l, int64_t now_us, struct bench_job *job, int64_t *wait_us);

/* The job's request, in the arena of c; `instance` stays empty. It may point into the load's texts.
 */
void bench_load_request(struct bench_load *l, const struct bench_job *job, struct ctx *c,
                        struct wr_request *out);

/* What became of it: code 0 and the rows carried, or an error that is worth another try. True: the
 * job has another request; ask bench_load_request() again. */
bool bench_load_done(struct bench_load *l, struct bench_job *job, int code, uint64_t rows,
                     int64_t now_us);

/* Ends the run's time and, on a terminal, its progress line. */
void bench_load_end(struct bench_load *l);

/* "read", "update", ... */
const char *bench_kind_name(enum bench_kind kind);

/* The table of a benchmark, and the request for one record. For the setup. */
void bench_table_request(bytes table, struct ctx *c, struct wr_request *out);
void bench_record_request(bytes table, uint64_t record, struct ctx *c, struct wr_request *out);

#endif
