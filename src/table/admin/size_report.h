/* size_report.h: what one server's size watch knows of a table, as it tells the others. */
#ifndef TABLE_ADMIN_SIZE_REPORT_H
#define TABLE_ADMIN_SIZE_REPORT_H

#include "base/buf.h"
#include "table/admin/size_walk.h"
#include "table/stats/sampler.h"

struct size_report {
    uint64_t passes;
    bool running;
    uint64_t running_bytes;
    uint64_t writes;        /* rows written to the table through that server */
    uint64_t writes_then;   /* and through all, when the pass began */
    int64_t start_s, end_s; /* of the pass that `found` is of; end_s 0: there was none */
    struct size_found found;
    struct sampler_watch traffic[WR_SIZES_MAX]; /* of each of the largest */
};

void size_report_put(struct buf *b, const struct size_report *r);

/* Keys point into `in`. False: it is none. */
bool size_report_read(bytes in, struct size_report *out);

/* The one of the last pass; at least one is given. */
const struct size_report *size_report_last(const struct size_report *reports, size_t n);

/* What all of them have seen of a value. */
struct sampler_watch size_report_traffic(const struct size_report *reports, size_t n,
                                         uint64_t hash);

#endif
