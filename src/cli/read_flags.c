#include "cli/read_flags.h"

static size_t count_words(const char *list)
{
    size_t n = 1;

    for (; *list; list++)
        n += *list == ',';
    return n;
}

static bool among(const bytes *names, size_t count, bytes name)
{
    for (size_t i = 0; i < count; i++)
        if (bytes_equal(names[i], name))
            return true;
    return false;
}

/* --columns, then what the filter needs, then the key. */
static int choose_columns(struct ctx *c, const struct read_flag_options *o, bytes key,
                          struct read_flags *out)
{
    const char *at = o->columns ? o->columns : "", *end;
    bytes *names = ARENA_ARRAY(&c->arena, bytes, count_words(at) + FILTER_NODES_MAX + 1);
    size_t n = 0;

    for (; *at; at = *end ? end + 1 : end) {
        end = strchrnul(at, ',');
        if (end == at)
            return fail(c, E_PARAMETER, "--columns %s: a name between the commas is missing",
                        o->columns);
        names[n++] = bytes_of(at, (size_t)(end - at));
    }
    out->shown = names;
    out->shown_count = n;
    for (size_t i = 0; i < out->filter.column_count; i++)
        if (!among(names, n, out->filter.columns[i]))
            names[n++] = out->filter.columns[i];
    if (!among(names, n, key))
        names[n++] = key;
    out->read.columns = names;
    out->read.column_count = n;
    return 0;
}

int read_flags_make(struct ctx *c, const struct read_flag_options *o, bytes key,
                    struct read_flags *out)
{
    struct wr_read_options *r = &out->read;

    *out = (struct read_flags){.versions = o->versions != 0};
    r->has_max_versions = true;
    r->max_versions = o->versions ? (int32_t)o->versions : 1;
    if (o->keys_only && (o->columns || o->versions))
        return fail(c, E_PARAMETER, "--keys-only excludes --columns and --versions");
    if (o->since_ms && o->until_ms && o->since_ms >= o->until_ms)
        return fail(c, E_PARAMETER, "--since is not before --until");
    if (o->since_ms || o->until_ms) {
        r->has_start = r->has_end = true;
        r->start_ms = (int64_t)o->since_ms;
        r->end_ms = o->until_ms ? (int64_t)o->until_ms : INT64_MAX;
    }
    if (o->filter) {
        TRY(filter_parse(c, o->filter, &out->filter));
        r->filter = out->filter.root;
    }
    return o->columns || o->keys_only ? choose_columns(c, o, key, out) : 0;
}

void read_flags_apply(struct ctx *c, const struct read_flags *s, struct wr_row *row)
{
    struct wr_cell *kept;
    size_t n = 0;

    if (!s->shown || s->read.column_count == s->shown_count)
        return;
    kept = ARENA_ARRAY(&c->arena, struct wr_cell, row->cell_count);
    for (size_t i = 0; i < row->cell_count; i++)
        if (among(s->shown, s->shown_count, row->cells[i].name))
            kept[n++] = row->cells[i];
    row->cells = kept;
    row->cell_count = n;
}
