/* series_place.h: in which period of a series a row lies, and what the period's table is like.
 * Pure. */
#ifndef TABLE_MODEL_SERIES_PLACE_H
#define TABLE_MODEL_SERIES_PLACE_H

#include "base/ctx.h"
#include "table/model/schema.h"

/* Which key column the time is; the number of key columns: it is an attribute. */
size_t series_time_at(const struct schema *s);

/* Is it an attribute? Then one key may stand in several periods. */
bool series_by_attribute(const struct schema *s);

/* The period of a time. E_PARAMETER: it is none, or out of bounds. */
int series_period_of(struct ctx *c, const struct schema *s, const struct wr_value *time,
                     int64_t *number);

/* Where a row lies, by its key or by what is written of it (`change`; NULL where it is read). */
enum series_place {
    SERIES_PERIOD,  /* in *number */
    SERIES_UNKNOWN, /* in any: the time is an attribute, which a read does not name */
    SERIES_NO_ROW,  /* the key does not fit the table, which is found out elsewhere */
};
int series_place(struct ctx *c, const struct schema *s, const struct wr_key *key,
                 const struct wr_row_change *change, enum series_place *place, int64_t *number);

/* The first and the last period that rows between two bounds may lie in. The upper one counts. */
void series_bounds(const struct schema *s, const struct wr_key *low, const struct wr_key *high,
                   int64_t *first, int64_t *last);

/* May it be written there? E_PARAMETER, with the period's name. */
int series_check_write(struct ctx *c, const struct schema *s, int64_t number);
/* The same of a period whose table is frozen, which the series' description may not say yet. */
int series_refuse_write(struct ctx *c, const struct schema *s, int64_t number);

/* The name of a period's table, in the arena. */
bytes series_table_name(struct arena *a, const struct schema *s, int64_t number);

/* The description of a period's table, for the catalog to store. In the arena of c, shares texts
 * with s. */
struct schema *series_new_table(struct ctx *c, const struct schema *s, uint32_t id, int64_t number);

/* A period's table follows its series: options, defined columns, throughput. */
void series_follow(struct schema *table, const struct schema *s);

#endif
