#include "search/field/geo.h"

#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#define LAT_CELL (180.0 / 4294967296.0)
#define LON_CELL (360.0 / 4294967296.0)
#define EARTH_RADIUS 6371008.7714
#define RADIANS(degrees) ((degrees) * (M_PI / 180.0))
#define DEGREES(radians) ((radians) * (180.0 / M_PI))
#define NUMBER_BYTES_MAX 64

/* ---- points ---- */

/* 90 and 180 degrees belong to the last cell. */
static int32_t cell_of(double cells)
{
    if (cells >= (double)INT32_MAX)
        return INT32_MAX;
    return cells <= (double)INT32_MIN ? INT32_MIN : (int32_t)cells;
}

bool geo_of_degrees(double lat, double lon, struct geo_point *point)
{
    if (!(lat >= -90 && lat <= 90 && lon >= -180 && lon <= 180))
        return false;
    point->lat = cell_of(floor(lat / LAT_CELL));
    point->lon = cell_of(floor(lon / LON_CELL));
    return true;
}

double geo_lat(struct geo_point p)
{
    return p.lat * LAT_CELL;
}

double geo_lon(struct geo_point p)
{
    return p.lon * LON_CELL;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bytes trimmed(bytes b)
{
    const char *p = b.ptr;
    size_t len = b.len;

    while (len && is_blank(*p))
        p++, len--;
    while (len && is_blank(p[len - 1]))
        len--;
    return bytes_of(p, len);
}

static size_t skip_digits(const char *p, size_t len, size_t at)
{
    while (at < len && p[at] >= '0' && p[at] <= '9')
        at++;
    return at;
}

/* [+-] digits [. digits] [e [+-] digits], digits on at least one side of the point. */
static bool is_decimal(bytes b)
{
    const char *p = b.ptr;
    size_t at = b.len && (*p == '+' || *p == '-');
    size_t whole = skip_digits(p, b.len, at);
    size_t count = whole - at;
    size_t end;

    at = whole;
    if (at < b.len && p[at] == '.') {
        at = skip_digits(p, b.len, at + 1);
        count += at - whole - 1;
    }
    if (!count || at == b.len)
        return count > 0;
    if ((p[at++] | 0x20) != 'e')
        return false;
    at += at < b.len && (p[at] == '+' || p[at] == '-');
    end = skip_digits(p, b.len, at);
    return end > at && end == b.len;
}

/* A program that embeds the library may be in a locale that writes a comma for the point. */
static pthread_once_t locale_once = PTHREAD_ONCE_INIT;
static locale_t c_locale;

static void locale_make(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

static bool decimal(bytes text, double *out)
{
    char copy[NUMBER_BYTES_MAX + 1];
    bytes b = trimmed(text);

    if (!b.len || b.len > NUMBER_BYTES_MAX || !is_decimal(b))
        return false;
    memcpy(copy, b.ptr, b.len);
    copy[b.len] = 0;
    pthread_once(&locale_once, locale_make);
    *out = c_locale ? strtod_l(copy, NULL, c_locale) : strtod(copy, NULL);
    return true;
}

bool geo_of_text(bytes text, struct geo_point *point, double *lat, double *lon)
{
    const char *comma = text.len ? memchr(text.ptr, ',', text.len) : NULL;
    double typed_lat, typed_lon;
    size_t before;

    if (!comma)
        return false;
    before = (size_t)(comma - (const char *)text.ptr);
    if (!decimal(bytes_of(text.ptr, before), &typed_lat) ||
        !decimal(bytes_skip(text, before + 1), &typed_lon) ||
        !geo_of_degrees(typed_lat, typed_lon, point))
        return false;
    if (lat)
        *lat = typed_lat;
    if (lon)
        *lon = typed_lon;
    return true;
}

double geo_metres(double lat1, double lon1, double lat2, double lon2)
{
    double by_lat = sin(RADIANS(lat2 - lat1) / 2);
    double by_lon = sin(RADIANS(lon2 - lon1) / 2);
    double h = by_lat * by_lat + cos(RADIANS(lat1)) * cos(RADIANS(lat2)) * by_lon * by_lon;

    return 2 * EARTH_RADIUS * asin(sqrt(h < 1 ? h : 1));
}

/* ---- boxes ---- */

static void box_of_degrees(double top, double left, double bottom, double right,
                           struct geo_box *out)
{
    out->top = cell_of(floor(top / LAT_CELL));
    out->bottom = cell_of(ceil(bottom / LAT_CELL));
    out->left = cell_of(ceil(left / LON_CELL));
    out->right = cell_of(floor(right / LON_CELL));
    /* An edge that rounding has moved past the other one is no way round the earth. */
    out->empty = out->bottom > out->top || (left <= right && out->left > out->right);
}

bool geo_box_make(bytes top_left, bytes bottom_right, struct geo_box *out)
{
    struct geo_point unused;
    double top, left, bottom, right;

    if (!geo_of_text(top_left, &unused, &top, &left) ||
        !geo_of_text(bottom_right, &unused, &bottom, &right) || top < bottom)
        return false;
    box_of_degrees(top, left, bottom, right, out);
    return true;
}

bool geo_box_has(const struct geo_box *box, struct geo_point p)
{
    if (box->empty || p.lat < box->bottom || p.lat > box->top)
        return false;
    if (box->left > box->right)
        return p.lon >= box->left || p.lon <= box->right;
    return p.lon >= box->left && p.lon <= box->right;
}

/* Cells are rounded down and sines are not exact: a metre more costs nothing. */
#define CIRCLE_MARGIN 1.0

void geo_box_of_circle(double lat, double lon, double metres, struct geo_box *out)
{
    double angle = (metres + CIRCLE_MARGIN) / EARTH_RADIUS;
    double top = lat + DEGREES(angle);
    double bottom = lat - DEGREES(angle);
    double left = -180, right = 180;

    if (!(metres >= 0)) {
        *out = (struct geo_box){.empty = true};
        return;
    }
    if (top < 90 && bottom > -90) {
        double reach = DEGREES(asin(fmin(1, sin(angle) / cos(RADIANS(lat)))));

        if (reach < 179) {
            left = lon - reach < -180 ? lon - reach + 360 : lon - reach;
            right = lon + reach > 180 ? lon + reach - 360 : lon + reach;
        }
    }
    box_of_degrees(fmin(top, 90), left, fmax(bottom, -90), right, out);
}

/* ---- circles ---- */

/* Far more than what rounding can do to either side of a comparison. */
#define ROUNDING 1e-9

void geo_circle_make(double lat, double lon, double metres, struct geo_circle *out)
{
    double angle = metres / (2 * EARTH_RADIUS);

    *out = (struct geo_circle){
        .lat = lat,
        .lon = lon,
        .metres = metres,
        .cosine = cos(RADIANS(lat)),
        .haversine = angle < M_PI / 2 ? sin(angle) * sin(angle) : 2,
    };
    geo_box_of_circle(lat, lon, metres, &out->box);
    double top = cos(RADIANS(out->box.top * LAT_CELL));
    double bottom = cos(RADIANS(out->box.bottom * LAT_CELL));

    out->least = fmin(top, bottom);
    out->most = out->box.bottom <= 0 && out->box.top >= 0 ? 1 : fmax(top, bottom);
}

/* The square of an angle is above that of its sine, by less than a third of its own square. */
bool geo_circle_has(const struct geo_circle *c, struct geo_point p)
{
    double by_lat = RADIANS(geo_lat(p) - c->lat) / 2;
    double by_lon = fabs(geo_lon(p) - c->lon);
    double lat2 = by_lat * by_lat, lon2;

    by_lon = RADIANS(by_lon > 180 ? 360 - by_lon : by_lon) / 2;
    lon2 = by_lon * by_lon;
    if (lat2 + c->cosine * c->most * lon2 <= c->haversine * (1 - ROUNDING))
        return true;
    if (lat2 * (1 - lat2 / 3) + c->cosine * c->least * lon2 * (1 - lon2 / 3) >
        c->haversine * (1 + ROUNDING))
        return false;
    return geo_metres(c->lat, c->lon, geo_lat(p), geo_lon(p)) <= c->metres;
}
