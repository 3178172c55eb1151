#include "search/field/document.h"
#include "search/field/geo.h"
#include "search/query/bounds.h"
#include "search/segment/order_reader.h"

/* Points of which the exact test decides, out of those whose latitudes may fit. */
struct shape {
    const struct wr_search_condition *condition;
    struct geo_box box; /* around all that fits */
    struct geo_circle circle;
    struct geo_polygon polygon;
};

#define MARKED_AT_ONCE 512 /* points, between two looks at the time */

static bool shape_has(const struct shape *s, struct geo_point p)
{
    if (!geo_box_has(&s->box, p))
        return false;
    if (s->condition->type == WR_SEARCH_GEO_BOX)
        return true;
    if (s->condition->type == WR_SEARCH_GEO_POLYGON)
        return geo_polygon_has(&s->polygon, p);
    return geo_circle_has(&s->circle, p);
}

static int unfit(struct query *q, const char *what)
{
    return fail(q->c, E_PARAMETER, "[geo query] field: %s. A point is a text 'latitude,longitude'.",
                what);
}

static int make_box(struct query *q, struct shape *s)
{
    const struct wr_geo_condition *g = &s->condition->geo;

    if (g->point_count != 2 || !geo_box_make(g->points[0], g->points[1], &s->box))
        return unfit(q, "the corners of the box are no points, or the upper one is below");
    return E_OK;
}

static int make_circle(struct query *q, struct shape *s)
{
    const struct wr_geo_condition *g = &s->condition->geo;
    struct geo_point centre;
    double lat, lon;

    if (g->point_count != 1 || !geo_of_text(g->points[0], &centre, &lat, &lon))
        return unfit(q, "the centre of the circle is no point");
    if (!(g->metres >= 0))
        return fail(q->c, E_PARAMETER, "The distance of a geo distance query is 0 or more metres.");
    geo_circle_make(lat, lon, g->metres, &s->circle);
    s->box = s->circle.box;
    return E_OK;
}

static int make_polygon(struct query *q, struct shape *s)
{
    const struct wr_geo_condition *g = &s->condition->geo;

    TRY(geo_polygon_make(q->c, g->points, g->point_count, &s->polygon));
    s->box = s->polygon.bounds;
    return E_OK;
}

/* Most points of the latitudes are beside the box: its longitudes are compared first, also where
 * they go over the date line, and without a jump, as one in so many is a guess that fails. Up to a
 * bound, to the end of the block, or of the latitudes. */
static uint32_t mark_block(struct order_reader *r, uint32_t i, int64_t top, const struct shape *s,
                           uint64_t *bits)
{
    const int64_t *values = (const int64_t *)r->values.data - r->values.first;
    uint32_t left = (uint32_t)s->box.left, span = (uint32_t)s->box.right - left;
    uint32_t end = r->values.end - i < MARKED_AT_ONCE ? r->values.end : i + MARKED_AT_ONCE;

    uint32_t near[MARKED_AT_ONCE], count = 0;

    for (; i < end && values[i] <= top; i++) {
        near[count] = i;
        count += (uint32_t)values[i] - left <= span;
    }
    for (uint32_t k = 0; k < count; k++)
        if (shape_has(s, document_unpack_point(values[near[k]]))) {
            uint32_t doc = order_reader_doc(r, near[k]);

            bits[doc / 64] |= 1ull << doc % 64;
        }
    return i;
}

/* By latitude those that may fit lie together in the order of values. */
static int mark_points(struct query *q, size_t field, const struct shape *s, uint64_t *bits)
{
    int64_t top = (int64_t)((uint64_t)(uint32_t)s->box.top << 32 | UINT32_MAX);
    struct order_reader r;
    int late = E_OK;
    uint32_t i;

    if (s->box.empty)
        return E_OK;
    order_reader_begin(&r, q->c, q->segment, field);
    i = order_reader_find(&r, (int64_t)((uint64_t)(uint32_t)s->box.bottom << 32));
    while (i < r.count && order_reader_value(&r, i) <= top && !r.rc && !late) {
        i = mark_block(&r, i, top, s, bits);
        late = query_in_time(q); /* a polygon may have thousands of sides */
    }
    order_reader_end(&r);
    return r.rc ? r.rc : late;
}

int node_geo(struct query *q, size_t field, const struct wr_search_condition *condition,
             struct node **out)
{
    struct shape s = {.condition = condition};
    uint64_t *bits;

    TRY(condition->type == WR_SEARCH_GEO_BOX        ? make_box(q, &s)
        : condition->type == WR_SEARCH_GEO_DISTANCE ? make_circle(q, &s)
                                                    : make_polygon(q, &s));
    if (!q->segment)
        return E_OK;
    TRY(node_bitmap(q, (float)condition->weight, out, &bits));
    return mark_points(q, field, &s, bits);
}
