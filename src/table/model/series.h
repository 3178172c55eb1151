/* series.h: a table that is a series of tables, one a period: what of it is stored. Pure; where
 * rows lie is series_place.h's.
 *
 * The series' own table has the name that clients know, and no row. A period's table is named
 * NAME@PERIOD, which is no name that a client can give.
 *
 * Periods below `frozen` take no writes, those below `archived` are in the archive, those below
 * `gone` were dropped. They only grow, so a clock that steps back makes nothing writable again. */
#ifndef TABLE_MODEL_SERIES_H
#define TABLE_MODEL_SERIES_H

#include "base/buf.h"
#include "base/ctx.h"
#include "table/model/period.h"

struct schema_series {
    struct wr_series_spec spec; /* spec.by 0: the table is no series */
    int64_t frozen, gone;       /* period numbers (period.h); PERIOD_NONE: none */
    const int64_t *periods;     /* those that have a table, ascending */
    size_t count;
    bytes archive;    /* "s3://BUCKET/PREFIX"; empty: none */
    int64_t archived; /* counts only with an archive */
};

#define SERIES_ARCHIVE_BYTES_MAX 1024

/* Of a period's table. */
struct schema_period {
    uint32_t series; /* the id of the series' table; 0: the table is of no period */
    int64_t number;
    bool frozen; /* takes no writes */
};

/* Payloads of the fields of a description (doc/format.md), and back; f->bad: it is damaged. The
 * list of periods lies in the arena. */
void series_encode(struct buf *f, const struct schema_series *s);
void series_decode(struct arena *a, struct reader *f, struct schema_series *out);
void series_period_encode(struct buf *f, const struct schema_period *p);
void series_period_decode(struct reader *f, struct schema_period *out);

/* May a table be such a series? E_PARAMETER, E_UNSUPPORTED. */
int series_check(struct ctx *c, const struct wr_create_table *t, const struct wr_series_spec *spec);

/* The numbers of hot and warm periods alone. */
int series_check_ages(struct ctx *c, const struct wr_series_spec *spec);

/* Where its archive is to be; empty: it has none. E_PARAMETER. */
int series_check_archive(struct ctx *c, bytes archive);

/* The first period with a table that must not be dropped, for it is not in the archive yet;
 * INT64_MAX: there is none such. */
int64_t series_kept(const struct schema_series *s);

/* Index in s->periods, or s->count. */
size_t series_find(const struct schema_series *s, int64_t number);

/* The list with `number` in it, or without it; in the arena. */
void series_add(struct arena *a, struct schema_series *s, int64_t number);
void series_remove(struct arena *a, struct schema_series *s, int64_t number);

#endif
