/* bench_load.h: what a benchmark asks for, and what came of it; how requests travel is
 * bench_front.h.
 *
 * A front takes a job when it has a connection free, sends the job's request, and hands the outcome
 * back. One thread. */
#ifndef BENCH_BENCH_LOAD_H
#define BENCH_BENCH_LOAD_H

#include "base/ctx.h"
#include "bench/bench_hist.h"
#include "bench/bench_zipf.h"
#include "widerow.h"

#define BENCH_COLUMNS 10       /* of a record, unless told otherwise */
#define BENCH_COLUMN_BYTES 100 /* of a column's value, unless told otherwise */
#define BENCH_COLUMNS_MAX 1000
#define BENCH_COLUMN_BYTES_MAX 65536
#define BENCH_ROW_BYTES_MAX (1u << 20) /* of a record's values together */
#define BENCH_KEY_BYTES 24
#define BENCH_BATCH_ROWS 200
#define BENCH_BATCH_BYTES (2u << 20) /* of the values of a batch: fewer rows if they are large */
#define BENCH_WIDE_STEP 500          /* columns of the wide row that one request loads */
#define BENCH_CELLS 16               /* rows with one big cell each */
#define BENCH_INDEXES_MAX 2          /* global indexes, of the first columns, one each */
#define BENCH_GROUP_ROWS 3           /* rows that share a value of the partition key */
/* Bytes of a transaction's id at most. On a pool it has the table's name and the value of the key,
 * in hexadecimals. */
#define BENCH_TRANSACTION_ID 640

enum bench_kind {
    BENCH_READ,      /* GetRow, all columns */
    BENCH_UPDATE,    /* UpdateRow of one column */
    BENCH_WRITE,     /* PutRow over a record that is there */
    BENCH_WRITE_IF,  /* the same on condition that it is there */
    BENCH_INSERT,    /* PutRow of a new record */
    BENCH_SCAN,      /* GetRange of 1 to 100 records */
    BENCH_MODIFY,    /* GetRow and then UpdateRow of it, timed as one */
    BENCH_PAGE,      /* GetRange of as many records as one answer holds */
    BENCH_BATCH,     /* BatchWriteRow of BENCH_BATCH_ROWS records that are there */
    BENCH_LOAD,      /* the same, of the records one after another */
    BENCH_INCREMENT, /* UpdateRow: one more in a column of the one hot row */
    BENCH_COUNT,     /* UpdateRow: one more in a column of a record */
    /* Of one and the same row, so that the two widths can be compared. */
    BENCH_WIDE_READ,     /* GetRow of one column of the wide row */
    BENCH_WIDE_UPDATE,   /* UpdateRow of one column of it */
    BENCH_WIDE_LOAD,     /* UpdateRow of its columns, BENCH_WIDE_STEP at a time */
    BENCH_NARROW_READ,   /* GetRow of one column of the first record */
    BENCH_NARROW_UPDATE, /* UpdateRow of one column of it */
    BENCH_CELL_READ,     /* GetRow of a row with one big cell */
    BENCH_CELL_WRITE,    /* PutRow of one */
    BENCH_UPDATE_OTHER,  /* UpdateRow of one column that no index of BENCH_INDEXES_MAX has */
    BENCH_INDEX_PAGE,    /* GetRange of the first index, as BENCH_PAGE */
    BENCH_STREAM_PAGE,   /* GetStreamRecord of as many records as one answer holds */
    BENCH_TRANSACTION,   /* a local transaction: three PutRows and a GetRow; timed as one */
    BENCH_KINDS
};

/* What must be there before a workload runs. */
enum bench_needs {
    BENCH_NEEDS_RECORDS,
    BENCH_NEEDS_WIDE,   /* the wide row */
    BENCH_NEEDS_CELLS,  /* the big cells */
    BENCH_NEEDS_STREAM, /* records of a table with a stream */
    BENCH_NEEDS_INDEX,  /* records of a table with an index at least */
    /* Records of a table with transactions, BENCH_GROUP_ROWS with each value of its partition key.
     */
    BENCH_NEEDS_GROUPS,
};

/* A workload: of 100 jobs, how many of each kind. */
struct bench_mix {
    const char *name;
    const char *summary;
    uint8_t share[BENCH_KINDS];
    enum bench_choice { BENCH_UNIFORM, BENCH_ZIPFIAN, BENCH_LATEST } choice;
    enum bench_needs needs;
};

/* The workload that loads what another one needs. */
const struct bench_mix *bench_mix_loader(enum bench_needs needs);

/* Where such things are, unless told otherwise: tables that are made otherwise have other names. */
const char *bench_table_name(enum bench_needs needs);

/* NULL if no workload has this name. */
const struct bench_mix *bench_mix_find(const char *name);

/* What may be set. */
struct bench_conf {
    const struct bench_mix *mix;
    enum bench_choice choice;
    bytes table;
    uint64_t records;               /* loaded before, numbered from 0 */
    uint32_t columns, column_bytes; /* of a record */
    uint32_t wide_columns;          /* of the wide row */
    uint32_t cell_bytes;            /* of a big cell */
    uint32_t indexes;               /* of a table that is made */
    bool stream;                    /* a table that is made has one */
    const bytes *iterators;         /* BENCH_STREAM_PAGE reads from these (bench_shard.h) */
    size_t iterator_count;
    uint64_t ops;         /* jobs to do; 0: until the time is over */
    uint64_t seconds;     /* counts if `ops` is 0 */
    uint64_t connections; /* requests under way at most */
    uint64_t rate;        /* jobs to start a second; 0: each connection starts when it is free */
    bool progress;        /* a line on stderr each second */
};

struct bench_job {
    enum bench_kind kind;
    unsigned step;    /* BENCH_MODIFY: 0 reads, 1 writes; BENCH_TRANSACTION: enum bench_step */
    uint64_t record;  /* its number, or the first one's */
    uint32_t limit;   /* BENCH_SCAN: records */
    int64_t start_us; /* when it was due; its latency counts from there */
    char transaction[BENCH_TRANSACTION_ID];
    size_t transaction_bytes;
};

struct bench_load {
    struct bench_conf conf;
    struct clock *clock;
    struct rng rng;
    struct bench_zipf zipf;
    char *text; /* where column values are cut from */
    size_t text_bytes;
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

/* To be called with each answer of StartLocalTransaction, before bench_load_done(): keeps its id.
 */
int bench_load_began(struct ctx *c, struct bench_job *job, const struct wr_reply *reply);

/* What became of it: code 0 and the rows carried, or an error that is worth another try. True: the
 * job has another request; ask bench_load_request() again. */
bool bench_load_done(struct bench_load *l, struct bench_job *job, int code, uint64_t rows,
                     int64_t now_us);

/* Ends the run's time and, on a terminal, its progress line. */
void bench_load_end(struct bench_load *l);

/* "read", "update", ... */
const char *bench_kind_name(enum bench_kind kind);

/* How many cells a GetRow of this job answers with if what it needs was loaded; of the other jobs
 * 0. */
size_t bench_load_cells(const struct bench_load *l, const struct bench_job *job);
/* May a GetRow of this job be answered with so many cells? A whole record may have the counter of
 * BENCH_COUNT as well. */
bool bench_load_fits(const struct bench_load *l, const struct bench_job *job, size_t cells);

/* Rows of a batch. */
uint64_t bench_batch_rows(const struct bench_conf *conf);

/* For the setup: the table of a benchmark (with indexes, a stream or transactions); the request
 * that finds a row only if all that `needs` was loaded; and how many jobs the loader has. */
void bench_table_request(const struct bench_conf *conf, struct ctx *c, struct wr_request *out);
void bench_probe_request(const struct bench_conf *conf, struct ctx *c, struct wr_request *out);
uint64_t bench_loader_ops(const struct bench_conf *conf);

#endif
