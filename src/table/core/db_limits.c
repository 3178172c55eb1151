#include "table/core/db_limits.h"

static void bound_request(struct limits *l, const struct memory *m)
{
    int64_t most = (int64_t)memory_of_request(m);

    if (l->request_memory_max > most)
        l->request_memory_max = most;
}

static void assign_lifted(struct wr_db *db, int64_t cell_bytes, struct limits *to)
{
    struct limits next;

    limits_assign(&next, &db->given);
    limits_lift(&next, cell_bytes);
    bound_request(&next, &db->memory);
    limits_assign(to, &next);
}

/* Under the lock. Requests that begin meanwhile see some limits changed and others not yet; they
 * are looked at again when their table is known. */
static void assign_all(struct wr_db *db)
{
    int64_t usual = db->given.cell_bytes_max;
    bool lifted = db->table_cell_bytes > usual;

    assign_lifted(db, usual, &db->limits);
    assign_lifted(db, lifted ? db->table_cell_bytes : usual, &db->lifted);
    atomic_store(&db->has_lifted, lifted);
}

void db_limits_give(struct wr_db *db, const struct limits *given)
{
    pthread_mutex_lock(&db->limits_lock);
    limits_assign(&db->given, given);
    assign_all(db);
    pthread_mutex_unlock(&db->limits_lock);
}

void db_limits_let_in(struct wr_db *db, int64_t cell_bytes)
{
    pthread_mutex_lock(&db->limits_lock);
    db->table_cell_bytes = cell_bytes;
    assign_all(db);
    pthread_mutex_unlock(&db->limits_lock);
}
