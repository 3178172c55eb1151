#include "sql/run/walks.h"

#include "sql/run/plan.h"
#include "sql/run/texts.h"

#include <inttypes.h>

struct walk *walks_begin(struct run *r, struct walks *w, const struct walk *like)
{
    struct walk **at = &w->first;

    while (*at && ((*at)->path != like->path || !bytes_equal((*at)->signs, like->signs)))
        at = &(*at)->next;
    if (!*at) {
        *at = ARENA_NEW(r->arena, struct walk);
        **at = *like;
        (*at)->signs = arena_copy(r->arena, like->signs);
        (*at)->bounds = arena_copy(r->arena, like->bounds);
    }
    (*at)->count++;
    return *at;
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
                     arena_printf(r->arena, "%s%" PRIu64, least, w->rows),
                     arena_printf(r->arena, "%s%" PRId64, least, w->units),
                     BYTES_LIT("no")};

    return texts_row(r, texts, PORT_COUNT(texts));
}

int walks_send(struct run *r, const struct walks *w, bytes refusal)
{
    bytes refused[] = {
        BYTES_NONE, BYTES_LIT("full scan"), BYTES_NONE, BYTES_NONE, BYTES_NONE, BYTES_NONE,
        refusal};

    RUN_TRY(texts_columns(r, (const char *[]){"TABLE", "ACCESS", "BOUNDS", "WALKS", "ROWS",
                                              "READ_CU", "REFUSED", NULL}));
    if (refusal.len)
        return texts_row(r, refused, PORT_COUNT(refused));
    for (const struct walk *i = w->first; i; i = i->next)
        RUN_TRY(walk_send(r, i));
    return 0;
}
