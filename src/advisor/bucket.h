/* bucket.h: the bucket that the server would put a record into, by the server's own function
 * (table/model/layout.h). */
#ifndef ADVISOR_BUCKET_H
#define ADVISOR_BUCKET_H

#include "base/ctx.h"
#include "widerow.h"

#define BUCKET_COLUMNS_MAX 4

/* A layout of a partition key of some columns. */
struct bucket_layout;

/* `layout`: as `widerow create --layout` takes it ("hash:16"). `types`: of the partition key's
 * columns, WR_BIGINT or WR_VARCHAR each; at most BUCKET_COLUMNS_MAX. In the arena of c, and usable
 * as long as c is. NULL: the layout has no buckets, or the server would refuse it. */
struct bucket_layout *bucket_layout_new(struct ctx *c, const char *layout,
                                        const enum wr_type *types, size_t count);

/* The bucket of a record, by the texts of its columns. `rest`: a number that stands for the key
 * columns behind the partition key, which a random layout takes along. */
unsigned bucket_of(struct bucket_layout *l, const bytes *texts, int64_t rest);

#endif
