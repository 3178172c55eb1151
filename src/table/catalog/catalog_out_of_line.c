/* catalog_out_of_line.c: the mark that a table has data out of line. */
#include "table/catalog/catalog_txn.h"

/* It has no call, so it carries its context itself. */
struct mark {
    struct catalog_txn txn;
    struct ctx c;
    struct table *table;
    void (*done)(void *arg, int code);
    void *arg;
};

bool catalog_is_out_of_line(const struct table *t)
{
    return atomic_load(&t->has_out_of_line) &&
           (!db_is_shared(t->db) || atomic_load(&t->traffic->notified_out_of_line));
}

/* Another server, or another request, may have stored the mark: then the others are told by us,
 * too, for nobody knows whether it lived to do so. */
static int mark_decide(struct catalog_txn *x)
{
    struct schema s = catalog_txn_draft(x);

    if (db_is_shared(x->db) && !atomic_load(&x->now->traffic->notified_out_of_line))
        x->notify_ms =
            CATALOG_FRESH_NOTIFY_MS; /* the silent look before they put (catalog_is_fresh) */
    if (atomic_load(&x->now->has_out_of_line))
        return E_OK;
    s.has_out_of_line = true;
    return catalog_txn_put(x, &s);
}

static void mark_done(struct catalog_txn *x, int code)
{
    struct mark *m = PORT_CONTAINER(x, struct mark, txn);
    void (*done)(void *arg, int code) = m->done;
    void *arg = m->arg;

    if (!code) {
        atomic_store(&m->table->has_out_of_line, true);
        atomic_store(&m->table->traffic->notified_out_of_line, true);
    }
    catalog_txn_release(x);
    table_release(m->table);
    ctx_release(&m->c);
    mem_free(m);
    /* Dropped or replaced meanwhile: what is written to the old table goes with it. */
    done(arg, code == E_NOT_EXIST ? E_OK : code);
}

void catalog_mark_out_of_line(struct wr_db *db, struct table *t, void (*done)(void *arg, int code),
                              void *arg)
{
    struct mark *m;

    if (catalog_is_out_of_line(t)) {
        done(arg, E_OK);
        return;
    }
    m = mem_zalloc(sizeof(*m));
    ctx_init(&m->c, &db->clock, &db->log, NULL, 0);
    m->table = table_ref(t);
    m->done = done;
    m->arg = arg;
    m->txn = (struct catalog_txn){.db = db,
                                  .c = &m->c,
                                  .instance = m->table->schema.instance,
                                  .name = m->table->schema.d.table,
                                  .id = t->schema.id,
                                  .decide = mark_decide,
                                  .done = mark_done};
    catalog_txn_begin(&m->txn);
}
