#include "sql/run/walks.h"

#include "sql/run/plan.h"
#include "sql/run/texts.h"

#include <inttypes.h>

struct walk *walks_begin(struct run *r, struct walks *w, const struct walk *like)
{
    struct walk **at = &w->first;
    struct reach *reach;

    while (*at && ((*at)->path != like->path || !bytes_equal((*at)->signs, like->signs)))
        at = &(*at)->next;
    if (!*at) {
        if (reach_find(r, like->table, like->path, &reach))
            return NULL;
        *at = ARENA_NEW(r->arena, struct walk);
        **at = *like;
        (*at)->signs = arena_copy(r->arena, like->signs);
        (*at)->bounds = arena_copy(r->arena, like->bounds);
        (*at)->reach = reach;
        (*at)->reached = reached_none(r, reach);
    }
    (*at)->count++;
    return *at;
}

void walk_reaches(struct run *r, struct walk *w, const struct key_part *part, size_t equal)
{
    reach_mark(r, w->reach, part, equal, &w->reached);
}

static bytes access_text(struct arena *a, const struct walk *w)
{
    bool whole =
        w->signs.len == w->path->key_count && bytes_u8(w->signs)[w->signs.len - 1] == PLAN_EQUAL;

    if (w->path->given)
        return arena_printf(a, "index %.*s%s", RUN_TEXT(w->path->name),
                            w->looks_up ? ", then rows by key" : "");
    return bytes_str(whole ? "get" : w->signs.len ? "key range" : "full scan");
}

static int walk_send(struct run *r, const struct walk *w)
{
    const char *least = w->more ? "at least " : "";
    bytes texts[] = {w->table->name,
                     access_text(r->arena, w),
                     w->bounds,
                     arena_printf(r->arena, "%" PRIu64, w->count),
                     reached_text(r->arena, w->reach, &w->reached),
                     arena_printf(r->arena, "%s%" PRIu64, least, w->rows),
                     arena_printf(r->arena, "%s%" PRId64, least, w->units),
                     BYTES_LIT("no")};

    return texts_row(r, texts, PORT_COUNT(texts));
}

int walks_columns(struct run *r)
{
    return texts_columns(r, (const char *[]){"TABLE", "ACCESS", "BOUNDS", "WALKS", "PARTITIONS",
                                             "ROWS", "READ_CU", "REFUSED", NULL});
}

int walks_send(struct run *r, const struct walks *w)
{
    RUN_TRY(walks_columns(r));
    for (const struct walk *i = w->first; i; i = i->next)
        RUN_TRY(walk_send(r, i));
    return 0;
}

int walks_refuse(struct run *r, const struct sql_table *t, bytes refusal)
{
    size_t paths;
    struct reach *reach;
    bytes texts[] = {t->name,       BYTES_LIT("full scan"),
                     BYTES_LIT(""), BYTES_LIT("1"),
                     BYTES_NONE,    BYTES_NONE,
                     BYTES_NONE,    refusal};

    RUN_TRY(reach_find(r, t, paths_of(r, t, &paths), &reach));
    texts[4] = arena_printf(r->arena, "%zu", reach->count);
    if (reach->stored_bytes)
        texts[6] =
            arena_printf(r->arena, "about %" PRIu64, reach->stored_bytes / CAPACITY_BYTES + 1);
    RUN_TRY(walks_columns(r));
    return texts_row(r, texts, PORT_COUNT(texts));
}
