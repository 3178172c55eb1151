#include "search/result/collect.h"
#include "search/result/collect_memory.h"

/* Names of one level: none is empty, none is there twice. */
static int check_name(struct collect *k, const char *what, const struct wr_bytes *name, size_t at,
                      const void *list, size_t size)
{
    if (!name->len)
        return fail(k->c, E_PARAMETER, "[%s] the name is empty", what);
    for (size_t i = 0; i < at; i++)
        if (bytes_equal(*(const struct wr_bytes *)((const char *)list + i * size), *name))
            return fail(k->c, E_PARAMETER, "[%s] the name '%.*s' is there twice", what,
                        BYTES_FMT(*name));
    return E_OK;
}

int collectors_make(struct collect *k, const struct wr_aggregation *aggregations,
                    size_t aggregation_count, const struct wr_group_by *group_bys,
                    size_t group_by_count, int level, struct collectors *out)
{
    *out = (struct collectors){.k = k, .aggregations = aggregations};
    if (aggregation_count > COLLECT_NAMES_MAX || group_by_count > COLLECT_NAMES_MAX)
        return fail(k->c, E_PARAMETER,
                    "There are at most %d aggregations and group-bys of a level.",
                    COLLECT_NAMES_MAX);
    if (level > COLLECT_LEVELS_MAX)
        return fail(k->c, E_PARAMETER, "Group-bys have at most %d levels.", COLLECT_LEVELS_MAX);
    out->metrics = ARENA_ARRAY(&k->c->arena, struct metric *, aggregation_count);
    out->groups = ARENA_ARRAY(&k->c->arena, struct group_by *, group_by_count);
    for (size_t i = 0; i < aggregation_count; i++) {
        TRY(check_name(k, "aggregation", &aggregations[i].name, i, aggregations,
                       sizeof(aggregations[0])));
        TRY(metric_make(k, &aggregations[i], &out->metrics[i]));
        out->metric_count++;
    }
    for (size_t i = 0; i < group_by_count; i++) {
        TRY(check_name(k, "group_by", &group_bys[i].name, i, group_bys, sizeof(group_bys[0])));
        TRY(group_make(k, &group_bys[i], level, &out->groups[i]));
        out->group_count++;
    }
    return E_OK;
}

int collectors_segment(struct collectors *s, const struct segment *segment)
{
    for (size_t i = 0; i < s->metric_count; i++)
        metric_segment(s->metrics[i], segment);
    for (size_t i = 0; i < s->group_count; i++)
        TRY(group_segment(s->groups[i], segment));
    return E_OK;
}

void collectors_segment_end(struct collectors *s)
{
    for (size_t i = 0; i < s->group_count; i++)
        group_finish(s->groups[i]);
}

void collectors_window(struct collectors *s, uint32_t base, const uint64_t *bits)
{
    for (size_t i = 0; i < s->group_count; i++)
        group_window(s->groups[i], base, bits);
}

void collectors_add(struct collectors *s, uint32_t doc, uint32_t bucket)
{
    for (size_t i = 0; i < s->metric_count; i++)
        metric_add(s->metrics[i], doc, bucket);
    for (size_t i = 0; i < s->group_count; i++)
        group_add(s->groups[i], doc, bucket);
}

void collectors_add_window(struct collectors *s, uint32_t base, const uint64_t *bits)
{
    collectors_window(s, base, bits);
    for (size_t i = 0; i < s->metric_count; i++)
        metric_window(s->metrics[i], base, bits);
    for (size_t i = 0; i < s->group_count; i++)
        group_add_window(s->groups[i], base, bits);
}

int collectors_result(struct collectors *s, uint32_t bucket,
                      const struct wr_aggregation_result **aggregations,
                      const struct wr_group_by_result **group_bys)
{
    struct wr_aggregation_result *of_metrics;
    struct wr_group_by_result *of_groups;

    for (size_t i = 0; i < s->group_count; i++)
        group_finish(s->groups[i]);
    TRY(collect_go_on(s->k));
    of_metrics = collect_alloc(s->k, s->metric_count * sizeof(of_metrics[0]));
    of_groups = collect_alloc(s->k, s->group_count * sizeof(of_groups[0]));
    for (size_t i = 0; i < s->metric_count; i++)
        TRY(metric_result(s->metrics[i], bucket, &of_metrics[i]));
    for (size_t i = 0; i < s->group_count; i++)
        TRY(group_result(s->groups[i], bucket, &of_groups[i]));
    *aggregations = of_metrics;
    *group_bys = of_groups;
    return E_OK;
}
