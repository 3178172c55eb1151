#include "search/field/geo.h"

int geo_polygon_make(struct ctx *c, const struct wr_bytes *points, size_t count,
                     struct geo_polygon *out)
{
    double *lats, *lons;

    if (count < 3 || count > GEO_POLYGON_POINTS_MAX)
        return fail(c, E_PARAMETER, "A polygon has %zu points. Give it 3 to %d.", count,
                    GEO_POLYGON_POINTS_MAX);
    lats = ARENA_ARRAY(&c->arena, double, count);
    lons = ARENA_ARRAY(&c->arena, double, count);
    *out = (struct geo_polygon){.lats = lats, .lons = lons, .count = count};
    for (size_t i = 0; i < count; i++) {
        struct geo_point p;

        if (!geo_of_text(points[i], &p, &lats[i], &lons[i]))
            return fail(c, E_PARAMETER,
                        "Point %zu of a polygon is none: write it as lat,lon in degrees, such as "
                        "30.5,120.25.",
                        i + 1);
        if (!i)
            out->bounds = (struct geo_box){p.lat, p.lat, p.lon, p.lon, false};
        out->bounds.bottom = p.lat < out->bounds.bottom ? p.lat : out->bounds.bottom;
        out->bounds.top = p.lat > out->bounds.top ? p.lat : out->bounds.top;
        out->bounds.left = p.lon < out->bounds.left ? p.lon : out->bounds.left;
        out->bounds.right = p.lon > out->bounds.right ? p.lon : out->bounds.right;
    }
    return 0;
}

bool geo_polygon_has(const struct geo_polygon *polygon, struct geo_point p)
{
    double lat = geo_lat(p);
    double lon = geo_lon(p);
    bool inside = false;

    if (!geo_box_has(&polygon->bounds, p))
        return false;
    for (size_t i = 0, before = polygon->count - 1; i < polygon->count; before = i++) {
        double from_lat = polygon->lats[before], to_lat = polygon->lats[i];
        double from_lon = polygon->lons[before], to_lon = polygon->lons[i];

        if ((from_lat > lat) != (to_lat > lat) &&
            lon < (to_lon - from_lon) * (lat - from_lat) / (to_lat - from_lat) + from_lon)
            inside = !inside;
    }
    return inside;
}
