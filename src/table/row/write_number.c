/* write_number.c: generated keys of a batch, in its order.
 *
 * Rows of one batch that agree in all columns in front of the numbered one get rising numbers in
 * the order of the batch. On one map they do because batches land in the order in which they were
 * applied. Where partitions are objects a group may be refused while those behind it land (its
 * partition was split during the walk, or another server changed one of its rows), and its rows
 * draw anew, above what has landed. So no two groups of such rows are under way together: a row
 * whose predecessor is in another group, or waits itself, waits for the next round. That is rare,
 * since a walk has such rows as neighbours, whatever order they came in.
 *
 * A random layout spreads even such rows over the partitions, and would have them all wait. There
 * the numbers of a batch are in no order. */
#include "table/row/write_own.h"

/* The column that is numbered; 0: there is none, for the first one never is. */
static size_t number_column(const struct table *t)
{
    for (size_t i = 1; i < t->schema.d.key_count; i++)
        if (t->schema.d.key[i].auto_increment)
            return i;
    return 0;
}

bool write_number_ordered(const struct wr_db *db, const struct table *t)
{
    return db_is_shared(db) && t->schema.location.layout.form != LAYOUT_RANDOM &&
           number_column(t) != 0;
}

/* Do the generated keys of two rows of one table differ behind their front alone? */
static bool same_front(const struct write_row *a, const struct write_row *b)
{
    size_t count = number_column(a->m.table);
    struct wr_key x = {a->m.key.columns, count}, y = {b->m.key.columns, count};

    return key_compare(a->m.table->schema.location.key, &x, &y) == 0;
}

/* The row before r that draws a smaller number, of those that the walk came by in this round. */
static const struct write_row *predecessor(const struct write_call *w, const struct write_row *r)
{
    for (size_t i = (size_t)(r - w->rows); i-- > 0 && w->rows[i].table_at == r->table_at;) {
        const struct write_row *b = &w->rows[i];

        if (b->m.generated && b->walked == r->walked)
            return same_front(b, r) ? b : NULL;
    }
    return NULL;
}

bool write_number_waits(const struct write_call *w, const struct write_row *r)
{
    const struct write_row *b;

    if (PORT_LIKELY(!r->m.generated) || !write_number_ordered(w->call->db, r->m.table))
        return false;
    b = predecessor(w, r);
    return b && (b < &w->rows[w->group_first] || b->state == WRITE_ROW_LATER);
}
