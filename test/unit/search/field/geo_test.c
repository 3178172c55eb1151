/* Geo points: texts, cells, distances, shapes; counts are those of the services' own tests. */
#include "search/field/geo.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "../../context.h"

static struct geo_point point(const char *text)
{
    struct geo_point p = {0, 0};

    if (!geo_of_text(bytes_str(text), &p, NULL, NULL))
        fail_msg("'%s' was taken for no point", text);
    return p;
}

static void test_texts(void **state)
{
    static const struct {
        const char *text;
        double lat, lon;
    } cases[] = {
        {"30.9,112.0", 30.9, 112},
        {" 30.3 , 117.0 ", 30.3, 117},
        {"-90,-180", -90, -180},
        {"+90,180", 90, 180},
        {".5,5.", .5, 5},
        {"1e1,-1.5E-1", 10, -.15},
        {"0,0", 0, 0},
        {"-0,\t0", 0, 0},
    };
    struct geo_point p;
    double lat, lon;

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(cases); i++) {
        assert_true(geo_of_text(bytes_str(cases[i].text), &p, &lat, &lon));
        assert_true(lat == cases[i].lat && lon == cases[i].lon);
        assert_true(geo_lat(p) <= lat && geo_lat(p) > lat - 1e-7);
        assert_true(geo_lon(p) <= lon && geo_lon(p) > lon - 1e-7);
    }
}

static void test_no_points(void **state)
{
    static const char *const texts[] = {
        "",
        ",",
        "1",
        "1,",
        ",1",
        "1,2,3",
        "1 2",
        "a,b",
        "0x1,2",
        "inf,1",
        "nan,nan",
        "1,nan",
        "90.1,0",
        "-90.0001,0",
        "0,181",
        "29,291",
        "0,-180.01",
        "1e999,0",
        "1e,0",
        "1e+,0",
        ".,.",
        "1. 5,2",
        "--1,2",
        "1,2\n",
        "1.2.3,4",
        "1p1,2",
        "+,-",
        "e1,1",
        "00000000000000000000000000000000000000000000000000000000000000001,1",
    };
    struct geo_point p;

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(texts); i++)
        if (geo_of_text(bytes_str(texts[i]), &p, NULL, NULL))
            fail_msg("'%s' was taken for a point", texts[i]);
    assert_false(geo_of_text(BYTES_NONE, &p, NULL, NULL));
    assert_false(geo_of_degrees(NAN, 0, &p));
    assert_false(geo_of_degrees(0, INFINITY, &p));
}

static void test_cells(void **state)
{
    (void)state;
    assert_int_equal(point("0,0").lat, 0);
    assert_int_equal(point("45,90").lat, 1 << 30);
    assert_int_equal(point("45,90").lon, 1 << 30);
    assert_int_equal(point("-90,-180").lat, INT32_MIN);
    assert_int_equal(point("-90,-180").lon, INT32_MIN);
    assert_int_equal(point("90,180").lat, INT32_MAX);
    assert_int_equal(point("90,180").lon, INT32_MAX);
    assert_int_equal(point("-0.00000001,0").lat, -1);
}

/* Row i of the Python suite: 30 + 0.05 (i / 100), 114 + 0.05 (i % 100). */
static struct geo_point row(int i, double *lat, double *lon)
{
    struct geo_point p;

    *lat = 30 + 0.05 * (i / 100);
    *lon = 114 + 0.05 * (i % 100);
    assert_true(geo_of_degrees(*lat, *lon, &p));
    return p;
}

static void test_distance(void **state)
{
    struct geo_box box;
    int near = 0, found = 0;
    double lat, lon;

    (void)state;
    assert_true(geo_metres(30, 120, 30, 120) == 0);
    assert_true(fabs(geo_metres(0, 0, 0, 180) - M_PI * 6371008.7714) < 1e-3);
    assert_true(fabs(geo_metres(90, 0, -90, 77) - M_PI * 6371008.7714) < 1e-3);
    geo_box_of_circle(32.5, 116.5, 300000, &box);
    for (int i = 0; i < 1000; i++) {
        struct geo_point p = row(i, &lat, &lon);

        if (geo_metres(32.5, 116.5, geo_lat(p), geo_lon(p)) > 300000)
            continue;
        near++;
        found += geo_box_has(&box, p);
    }
    assert_int_equal(near, 668);
    assert_int_equal(found, near);
}

static bool in_box(const char *top_left, const char *bottom_right, const char *text)
{
    struct geo_box box;

    assert_true(geo_box_make(bytes_str(top_left), bytes_str(bottom_right), &box));
    return geo_box_has(&box, point(text));
}

static void test_boxes(void **state)
{
    struct geo_box box;
    double lat, lon;
    int found = 0;

    (void)state;
    assert_true(geo_box_make(BYTES_LIT("30.9,112.0"), BYTES_LIT("30.2,119.0"), &box));
    for (int i = 0; i < 1000; i++)
        found += geo_box_has(&box, row(i, &lat, &lon));
    assert_int_equal(found, 500);
    assert_true(in_box("2,-2", "-2,2", "0,0"));
    assert_true(in_box("2,-2", "-2,2", "1,1"));
    assert_true(in_box("2,-2", "-2,2", "2,2"));
    assert_false(in_box("2,-2", "-2,2", "3,3"));
    /* Over the date line. */
    assert_true(in_box("10,170", "-10,-170", "0,175"));
    assert_true(in_box("10,170", "-10,-170", "0,-175"));
    assert_false(in_box("10,170", "-10,-170", "0,0"));
    assert_true(in_box("90,-180", "-90,180", "90,180"));
    assert_true(in_box("90,-180", "-90,180", "-90,-180"));
    /* Without area: on a cell, and between two of them, which is not all around the earth. */
    assert_true(in_box("0,0", "0,0", "0,0"));
    assert_false(in_box("5.1,5.1", "5.1,5.1", "0,0"));
    assert_false(geo_box_make(BYTES_LIT("1,0"), BYTES_LIT("2,1"), &box));
    assert_false(geo_box_make(BYTES_LIT("1,0"), BYTES_LIT("x"), &box));
    assert_false(geo_box_make(BYTES_LIT(""), BYTES_LIT("1,1"), &box));
}

/* Nothing near a centre is out of the box of its circle, wherever on earth. */
static void test_box_of_circle(void **state)
{
    static const double radii[] = {0, 1, 1000, 300000, 5e6, 1.2e7, 2.1e7, 1e300};

    (void)state;
    for (int lat = -90; lat <= 90; lat += 15)
        for (int lon = -180; lon <= 180; lon += 45)
            for (size_t r = 0; r < PORT_COUNT(radii); r++) {
                struct geo_box box;

                geo_box_of_circle(lat, lon, radii[r], &box);
                for (double a = -90; a <= 90; a += 7.5)
                    for (double o = -180; o <= 180; o += 7.5) {
                        struct geo_point p;

                        assert_true(geo_of_degrees(a, o, &p));
                        if (geo_metres(lat, lon, geo_lat(p), geo_lon(p)) <= radii[r])
                            assert_true(geo_box_has(&box, p));
                    }
            }
}

/* What is told without a sine is what the distance says: wherever on earth, and close to the line.
 */
static void test_circle(void **state)
{
    static const double radii[] = {0, 1, 1000, 300000, 5e6, 1.2e7, 2.1e7, 1e300};
    size_t in = 0, out = 0;

    (void)state;
    for (int lat = -90; lat <= 90; lat += 15)
        for (int lon = -180; lon <= 180; lon += 45)
            for (size_t r = 0; r < PORT_COUNT(radii); r++) {
                double reach = radii[r] < 2e7 ? radii[r] / 6371008.7714 * (180 / M_PI) : 180;
                struct geo_circle circle;

                geo_circle_make(lat, lon, radii[r], &circle);
                for (int i = -20; i <= 20; i++)
                    for (int k = -20; k <= 20; k++) {
                        struct geo_point p;
                        bool near;

                        if (!geo_of_degrees(lat + reach * i / 16, lon + reach * k / 16, &p) ||
                            !geo_box_has(&circle.box, p))
                            continue;
                        near = geo_metres(lat, lon, geo_lat(p), geo_lon(p)) <= radii[r];
                        assert_true(geo_circle_has(&circle, p) == near);
                        in += near;
                        out += !near;
                    }
            }
    assert_true(in > 10000 && out > 10000);
}

static void test_box_of_no_circle(void **state)
{
    struct geo_box box;

    (void)state;
    geo_box_of_circle(0, 0, -1, &box);
    assert_false(geo_box_has(&box, point("0,0")));
    geo_box_of_circle(0, 0, NAN, &box);
    assert_false(geo_box_has(&box, point("0,0")));
    geo_box_of_circle(0, 0, INFINITY, &box);
    assert_true(geo_box_has(&box, point("0,180")));
}

static struct geo_polygon polygon(const char *const *texts, size_t count)
{
    static bytes points[8];
    struct geo_polygon out;

    for (size_t i = 0; i < count; i++)
        points[i] = bytes_str(texts[i]);
    assert_int_equal(geo_polygon_make(&c, points, count, &out), 0);
    return out;
}

static void test_polygons(void **state)
{
    static const char *const triangle[] = {"0,0", "5,5", "5,0"};
    static const char *const concave[] = {"0,0", "10,0", "3,3", "0,10"};
    struct geo_polygon p = polygon(triangle, 3);

    (void)state;
    assert_true(geo_polygon_has(&p, point("4,2")));
    assert_false(geo_polygon_has(&p, point("2,4")));
    assert_false(geo_polygon_has(&p, point("6,0")));
    p = polygon(concave, 4);
    assert_true(geo_polygon_has(&p, point("1,1")));
    assert_true(geo_polygon_has(&p, point("2,2")));
    assert_true(geo_polygon_has(&p, point("3,3"))); /* a vertex */
    assert_false(geo_polygon_has(&p, point("4,4")));
    assert_true(geo_polygon_has(&p, point("8,0.5")));
    assert_false(geo_polygon_has(&p, point("8,2")));
}

static void test_no_polygons(void **state)
{
    static bytes points[GEO_POLYGON_POINTS_MAX + 1];
    struct geo_polygon p;

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(points); i++)
        points[i] = BYTES_LIT("1,1");
    assert_int_equal(geo_polygon_make(&c, points, 2, &p), E_PARAMETER);
    ctx_clear(&c);
    assert_int_equal(geo_polygon_make(&c, points, PORT_COUNT(points), &p), E_PARAMETER);
    ctx_clear(&c);
    assert_int_equal(geo_polygon_make(&c, points, 3, &p), 0);
    assert_false(geo_polygon_has(&p, point("1,1"))); /* it has no area */
    points[2] = BYTES_LIT("1;1");
    assert_int_equal(geo_polygon_make(&c, points, 3, &p), E_PARAMETER);
    assert_non_null(strstr(c.text, "Point 3"));
}

static void test_geohash(void **state)
{
    char hash[GEO_HASH_MAX + 1];
    struct geo_cell cell;

    (void)state;
    geo_hash(point("30.5,120.25"), 3, hash);
    assert_string_equal(hash, "wtm");
    assert_true(geo_hash_cell(bytes_str(hash), &cell));
    assert_true(cell.top == 30.9375 && cell.left == 119.53125);
    assert_true(cell.bottom == 29.53125 && cell.right == 120.9375);
    geo_hash(point("5,6"), 1, hash);
    assert_true(geo_hash_cell(bytes_str(hash), &cell));
    assert_true(cell.top == 45 && cell.left == 0);
    geo_hash(point("57.64911,10.40744"), 11, hash);
    assert_string_equal(hash, "u4pruydqqvj");
    geo_hash(point("51.500,-0.124"), 5, hash);
    assert_string_equal(hash, "gcpuv");
    geo_hash(point("1,1"), 0, hash);
    assert_int_equal(strlen(hash), 1);
    geo_hash(point("1,1"), 99, hash);
    assert_int_equal(strlen(hash), GEO_HASH_MAX);
    assert_false(geo_hash_cell(BYTES_LIT(""), &cell));
    assert_false(geo_hash_cell(BYTES_LIT("wta"), &cell));
    assert_false(geo_hash_cell(bytes_of("w\0", 2), &cell));
    assert_false(geo_hash_cell(BYTES_LIT("wtmwtmwtmwtmw"), &cell));
}

/* A point is in the cell that its geohash names, at every precision. */
static void test_geohash_cells(void **state)
{
    (void)state;
    for (double lat = -90; lat <= 90; lat += 3.7)
        for (double lon = -180; lon <= 180; lon += 7.3)
            for (int n = 1; n <= GEO_HASH_MAX; n++) {
                char hash[GEO_HASH_MAX + 1];
                struct geo_point p;
                struct geo_cell cell;

                assert_true(geo_of_degrees(lat, lon, &p));
                geo_hash(p, n, hash);
                assert_true(geo_hash_cell(bytes_str(hash), &cell));
                assert_true(geo_lat(p) >= cell.bottom && geo_lat(p) < cell.top);
                assert_true(geo_lon(p) >= cell.left && geo_lon(p) < cell.right);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_texts),    TEST(test_no_points),
        TEST(test_cells),    TEST(test_distance),
        TEST(test_boxes),    TEST(test_box_of_circle),
        TEST(test_circle),   TEST(test_box_of_no_circle),
        TEST(test_polygons), TEST(test_no_polygons),
        TEST(test_geohash),  TEST(test_geohash_cells),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
