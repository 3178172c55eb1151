/* geo.h: GEO_POINT fields of search indexes: points, distances, boxes, polygons, geohashes.
 *
 * A point is kept in cells of 180/2^32 degrees of latitude and 360/2^32 of longitude, and is found
 * by its cell: so a point typed exactly on the bottom or left edge of a box is mostly out of it. */
#ifndef SEARCH_FIELD_GEO_H
#define SEARCH_FIELD_GEO_H

#include "base/ctx.h"
#include "widerow_search.h"

/* The cell: floor(degrees / (180/2^32)) and floor(degrees / (360/2^32)). */
struct geo_point {
    int32_t lat, lon;
};

/* "lat,lon" in decimal, blanks around the comma and at the ends allowed. False: it is something
 * else, or latitude is not within 90 or longitude not within 180 degrees. lat and lon, as typed,
 * may be NULL. */
bool geo_of_text(struct wr_bytes text, struct geo_point *point, double *lat, double *lon);

/* False: out of range, or not a number. */
bool geo_of_degrees(double lat, double lon, struct geo_point *point);

/* Degrees of the cell's lower corner. */
double geo_lat(struct geo_point p);
double geo_lon(struct geo_point p);

/* Great-circle distance on a sphere of 6371008.7714 m (haversine). */
double geo_metres(double lat1, double lon1, double lat2, double lon2);

/* Cells from..to, both in. Where left > right it goes over the date line. */
struct geo_box {
    int32_t top, bottom, left, right;
    bool empty;
};

/* False: a text is no point, or the top left one is below the bottom right one. */
bool geo_box_make(struct wr_bytes top_left, struct wr_bytes bottom_right, struct geo_box *out);

/* A box that holds every point within `metres`, and some more: what is not in it is not near. */
void geo_box_of_circle(double lat, double lon, double metres, struct geo_box *out);

/* The points of which geo_metres() from (lat, lon) is at most `metres`, for many of them: nearly
 * all are told apart without a sine. */
struct geo_circle {
    double lat, lon, metres;
    struct geo_box box; /* geo_box_of_circle() */
    double cosine;      /* of `lat` */
    double least, most; /* of the cosines in the box */
    double haversine;   /* of `metres`; above 1: all points are in it */
};

void geo_circle_make(double lat, double lon, double metres, struct geo_circle *out);

/* Of points in its box. */
bool geo_circle_has(const struct geo_circle *circle, struct geo_point p);

bool geo_box_has(const struct geo_box *box, struct geo_point p);

#define GEO_POLYGON_POINTS_MAX 10000

struct geo_polygon {
    const double *lats, *lons; /* in the context's arena; the last one is joined to the first */
    size_t count;
    struct geo_box bounds;
};

/* E_PARAMETER: fewer than 3 points or too many, or a text that is none. */
int geo_polygon_make(struct ctx *c, const struct wr_bytes *points, size_t count,
                     struct geo_polygon *out);

/* Even-odd rule on the degrees of the cell. Edges are straight on the plane of degrees. */
bool geo_polygon_has(const struct geo_polygon *polygon, struct geo_point p);

#define GEO_HASH_MAX 12

/* Letters of the geohash, with a NUL; precision 1 to 12, what is beyond is the nearest. */
void geo_hash(struct geo_point p, int precision, char out[GEO_HASH_MAX + 1]);

struct geo_cell {
    double top, left, bottom, right; /* degrees */
};

/* The cell of all points with that geohash. False: it is none. */
bool geo_hash_cell(struct wr_bytes hash, struct geo_cell *out);

#endif
