/* widerow_search.h: search indexes of tables: schemas, queries, sorting, aggregations, and what
 * they give.
 *
 * A search index has a document for each row of its table, which follows the row a moment later.
 * One request, `struct wr_search`, asks for the documents that match a query, in an order, from a
 * position, and for figures of all that match.
 *
 * As in widerow.h: views never own, a request and all it points to stays until its reply arrived,
 * and a reply owns what it points to. The numbers of enums are those of the wire, and stored: never
 * change one. Trees (queries, group-bys) that a front decodes are bounded in depth by it
 * (WR_SEARCH_DEPTH_MAX).
 */
#ifndef WIDEROW_SEARCH_H
#define WIDEROW_SEARCH_H

#include <widerow.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WR_SEARCH_DEPTH_MAX 32

/* ---- schemas ---- */

enum wr_field_type {
    WR_FIELD_LONG = 1,
    WR_FIELD_DOUBLE = 2,
    WR_FIELD_BOOLEAN = 3,
    WR_FIELD_KEYWORD = 4,
    WR_FIELD_TEXT = 5,
    WR_FIELD_NESTED = 6,
    WR_FIELD_GEO_POINT = 7,
    WR_FIELD_DATE = 8, /* nanoseconds since 1970-01-01 UTC */
    WR_FIELD_VECTOR = 9,
    WR_FIELD_FUZZY_KEYWORD = 10,
    WR_FIELD_IP = 11,
    WR_FIELD_JSON = 12,
    WR_FIELD_FLATTENED = 13,
};

enum wr_index_options {
    WR_INDEX_OPTIONS_NONE = 0, /* not given */
    WR_INDEX_DOCS = 1,
    WR_INDEX_FREQS = 2,
    WR_INDEX_POSITIONS = 3,
    WR_INDEX_OFFSETS = 4,
};

enum wr_analyzer_type {
    WR_ANALYZER_NONE = 0, /* not given: single word for a TEXT field */
    WR_ANALYZER_SINGLE_WORD = 1,
    WR_ANALYZER_SPLIT = 2,
    WR_ANALYZER_FUZZY = 3,
    WR_ANALYZER_MIN_WORD = 4,
    WR_ANALYZER_MAX_WORD = 5,
};

/* How a text becomes tokens. Members that do not go with the type are kept for the answer and not
 * used. */
struct wr_analyzer {
    enum wr_analyzer_type type;
    bool case_sensitive;
    bool delimit_word;            /* single word: also between letters and digits */
    struct wr_bytes delimiter;    /* split; ptr NULL: a blank */
    int32_t min_chars, max_chars; /* fuzzy; 0: not given, 1 and 7 */
    struct wr_bytes parameter;    /* as it was sent, for the answer; ptr NULL: none */
};

/* A flag that a client may leave out. */
enum wr_given {
    WR_NOT_GIVEN = 0,
    WR_GIVEN_FALSE = 1,
    WR_GIVEN_TRUE = 2,
};

struct wr_vector_options {
    int32_t data_type; /* 2: 32-bit floats */
    int32_t dimension;
    int32_t metric_type; /* 0 euclidean, 1 cosine, 2 dot product */
};

/* A field. Of NESTED and JSON fields `children` are the fields within, whose names are short. */
struct wr_search_field {
    struct wr_bytes name;
    enum wr_field_type type;
    enum wr_index_options options;
    struct wr_analyzer analyzer;
    enum wr_given index, sort_and_agg, store, is_array;
    bool is_virtual, highlighting;
    const struct wr_bytes *sources; /* of a virtual field: columns of the table */
    size_t source_count;
    const struct wr_bytes *date_formats;
    size_t date_format_count;
    bool has_vector;
    struct wr_vector_options vector;
    int32_t json_type;       /* 1 object, 2 nested; 0: not given */
    int32_t text_similarity; /* 1 BM25, 2 short text; 0: not given */
    const struct wr_search_field *children;
    size_t child_count;
};

/* ---- values of queries ---- */

/* The bare value of a term or bound: BIGINT, DOUBLE, BOOLEAN or VARCHAR; WR_NULL: not given. */
typedef struct wr_value wr_search_value;

struct wr_geo_point {
    double latitude, longitude;
};

/* ---- queries ---- */

enum wr_query_type {
    WR_QUERY_MATCH = 1,
    WR_QUERY_MATCH_PHRASE = 2,
    WR_QUERY_TERM = 3,
    WR_QUERY_RANGE = 4,
    WR_QUERY_PREFIX = 5,
    WR_QUERY_BOOL = 6,
    WR_QUERY_CONST_SCORE = 7,
    WR_QUERY_FUNCTION_SCORE = 8,
    WR_QUERY_NESTED = 9,
    WR_QUERY_WILDCARD = 10,
    WR_QUERY_MATCH_ALL = 11,
    WR_QUERY_GEO_BOUNDING_BOX = 12,
    WR_QUERY_GEO_DISTANCE = 13,
    WR_QUERY_GEO_POLYGON = 14,
    WR_QUERY_TERMS = 15,
    WR_QUERY_EXISTS = 16,
    WR_QUERY_KNN_VECTOR = 17,
    WR_QUERY_FUNCTIONS_SCORE = 18,
    WR_QUERY_SUFFIX = 19,
    WR_QUERY_DIS_MAX = 20,
};

struct wr_query;
struct wr_sort;
struct wr_highlight;

struct wr_query_list {
    const struct wr_query *queries;
    size_t count;
};

struct wr_query_match { /* MATCH and MATCH_PHRASE */
    struct wr_bytes text;
    bool all; /* every token must match */
    bool has_minimum;
    int32_t minimum;              /* tokens that must match; not with `all` */
    struct wr_bytes minimum_text; /* "2", "75%", "-1"; ptr NULL: not given, else it wins */
    int32_t slop;                 /* MATCH_PHRASE */
};

struct wr_query_terms { /* TERM has one */
    const struct wr_value *terms;
    size_t count;
};

struct wr_query_range {
    struct wr_value from, to; /* WR_NULL: open */
    bool include_lower, include_upper;
};

struct wr_query_bool {
    struct wr_query_list must, must_not, filter, should;
    bool has_minimum;
    int32_t minimum;
    struct wr_bytes minimum_text;
};

struct wr_query_nested {
    struct wr_bytes path;
    const struct wr_query *query;
    int32_t score_mode; /* 1 none, 2 avg, 3 max, 4 total, 5 min; 0: not given, avg */
    bool has_inner_hits;
    const struct wr_sort *inner_sort;  /* NULL: document order */
    int32_t inner_offset, inner_limit; /* -1: not given */
    const struct wr_highlight *inner_highlight;
};

struct wr_query_geo { /* BOUNDING_BOX: top left, bottom right; DISTANCE: the center; POLYGON:
                         corners */
    const struct wr_bytes *points; /* "lat,lon" */
    size_t count;
    double distance_m;
};

struct wr_query_knn {
    int32_t top_k;
    const float *vector;
    size_t dimension;
    const struct wr_query *filter; /* NULL: none */
    bool has_min_score;
    float min_score;
    int32_t num_candidates; /* 0: not given */
};

enum wr_decay_math { WR_DECAY_GAUSS = 1, WR_DECAY_EXP = 2, WR_DECAY_LINEAR = 3 };
enum wr_decay_param { WR_DECAY_DATE = 1, WR_DECAY_NUMERIC = 2, WR_DECAY_GEO = 3 };

/* A length of time; the units' numbers are the wire's. */
enum wr_time_unit {
    WR_UNIT_YEAR = 1,
    WR_UNIT_QUARTER = 2,
    WR_UNIT_MONTH = 3,
    WR_UNIT_WEEK = 4,
    WR_UNIT_DAY = 5,
    WR_UNIT_HOUR = 6,
    WR_UNIT_MINUTE = 7,
    WR_UNIT_SECOND = 8,
    WR_UNIT_MILLISECOND = 9,
};

struct wr_time_span {
    int32_t value;
    enum wr_time_unit unit; /* 0: not given */
};

enum wr_score_function {
    WR_FUNCTION_ONE = 0,
    WR_FUNCTION_FIELD = 1,
    WR_FUNCTION_RANDOM = 2,
    WR_FUNCTION_DECAY = 3
};

/* One function of FUNCTIONS_SCORE. */
struct wr_function {
    enum wr_score_function type;
    struct wr_bytes field; /* FIELD and DECAY */
    /* FIELD */
    float factor;     /* 1 if it was not given */
    int32_t modifier; /* 1 none … 10 reciprocal (doc/data-model.md); 0: none */
    bool has_missing;
    double missing;
    /* DECAY */
    enum wr_decay_math math;
    enum wr_decay_param param;
    double decay;                 /* 0: not given, 0.5 */
    int32_t multi_value_mode;     /* 1 max, 2 min, 3 sum, 4 avg; 0: not given, min */
    double origin, scale, offset; /* NUMERIC; GEO: scale and offset in metres */
    struct wr_bytes origin_text;  /* GEO "lat,lon", DATE in a format of the field; ptr NULL: none */
    bool has_origin_ns;
    int64_t origin_ns; /* DATE */
    struct wr_time_span scale_span, offset_span;
    float weight;                  /* 1 if it was not given */
    const struct wr_query *filter; /* NULL: counts for all */
};

struct wr_query_functions {       /* FUNCTION_SCORE: one function FIELD, mode multiply */
    const struct wr_query *query; /* NULL: all rows */
    const struct wr_function *functions;
    size_t count;
    int32_t score_mode;   /* 1 avg, 2 max, 3 sum, 4 min, 5 multiply, 6 first; 0: multiply */
    int32_t combine_mode; /* 1 multiply, 2 avg, 3 max, 4 sum, 5 min, 6 replace; 0: multiply */
    bool has_min_score, has_max_score;
    float min_score, max_score;
};

struct wr_query_dis_max {
    struct wr_query_list queries;
    float tie_breaker;
};

/* A node of a query. `field` is empty where a type has none. */
struct wr_query {
    enum wr_query_type type;
    struct wr_bytes field;
    float weight; /* 1 if it was not given */
    union {
        struct wr_query_match match; /* MATCH, MATCH_PHRASE */
        struct wr_query_terms terms; /* TERM, TERMS */
        struct wr_query_range range;
        struct wr_bytes text; /* PREFIX, WILDCARD, SUFFIX */
        struct wr_query_bool bools;
        const struct wr_query *inner; /* CONST_SCORE */
        struct wr_query_nested nested;
        struct wr_query_geo geo;
        struct wr_query_knn knn;
        struct wr_query_functions functions; /* FUNCTION_SCORE, FUNCTIONS_SCORE */
        struct wr_query_dis_max dis_max;
    };
};

/* ---- sorting ---- */

enum wr_sorter_type {
    WR_SORT_FIELD = 1,
    WR_SORT_GEO_DISTANCE = 2,
    WR_SORT_SCORE = 3,
    WR_SORT_PRIMARY_KEY = 4,
    WR_SORT_DOC = 5,
};

struct wr_nested_filter {
    struct wr_bytes path;
    const struct wr_query *query;
};

struct wr_sorter {
    enum wr_sorter_type type;
    bool descending; /* already what is meant where the order was not given */
    bool has_order;  /* it was given */
    struct wr_bytes field;
    int32_t mode;            /* 0 min, 1 max, 2 avg; -1: not given: min ascending, max descending */
    struct wr_value missing; /* WR_NULL: not given, last; VARCHAR "_first", "_last", or a value */
    struct wr_bytes missing_field;         /* ptr NULL: none; goes before `missing` */
    const struct wr_nested_filter *nested; /* NULL: none */
    const struct wr_bytes *points;         /* GEO_DISTANCE: the nearest counts */
    size_t point_count;
    int32_t distance_type; /* 0 arc, 1 plane */
};

struct wr_sort {
    const struct wr_sorter *sorters;
    size_t count;
    bool no_key_sorter; /* the primary key is not appended */
};

/* ---- aggregations ---- */

enum wr_aggregation_type {
    WR_AGG_AVG = 1,
    WR_AGG_MAX = 2,
    WR_AGG_MIN = 3,
    WR_AGG_SUM = 4,
    WR_AGG_COUNT = 5,
    WR_AGG_DISTINCT_COUNT = 6,
    WR_AGG_TOP_ROWS = 7,
    WR_AGG_PERCENTILES = 8,
};

struct wr_aggregation {
    struct wr_bytes name;
    enum wr_aggregation_type type;
    struct wr_bytes field;   /* not TOP_ROWS; COUNT: "*" is rows */
    struct wr_value missing; /* WR_NULL: rows without the field are left out */
    bool has_limit;
    int32_t limit;              /* TOP_ROWS; not given: 1 */
    const struct wr_sort *sort; /* TOP_ROWS; NULL: that of the request */
    const double *percentiles;
    size_t percentile_count;
};

struct wr_aggregations {
    const struct wr_aggregation *aggregations;
    size_t count;
};

enum wr_group_by_type {
    WR_GROUP_FIELD = 1,
    WR_GROUP_RANGE = 2,
    WR_GROUP_FILTER = 3,
    WR_GROUP_GEO_DISTANCE = 4,
    WR_GROUP_HISTOGRAM = 5,
    WR_GROUP_DATE_HISTOGRAM = 6,
    WR_GROUP_GEO_GRID = 7,
    WR_GROUP_COMPOSITE = 8,
};

struct wr_range {
    double from, to; /* [from, to); infinities: open */
};

enum wr_group_sorter_type {
    WR_GROUP_SORT_KEY = 1,
    WR_GROUP_SORT_ROWS = 2,
    WR_GROUP_SORT_AGGREGATION = 3
};

struct wr_group_sorter {
    enum wr_group_sorter_type type;
    bool descending;
    struct wr_bytes aggregation; /* a sub-aggregation's name */
};

struct wr_group_bys;

struct wr_group_by {
    struct wr_bytes name;
    enum wr_group_by_type type;
    struct wr_bytes field;
    bool has_size;
    int32_t size; /* FIELD, GEO_GRID, COMPOSITE; not given: 10 */
    bool has_min_doc_count;
    int64_t min_doc_count; /* FIELD, HISTOGRAM, DATE_HISTOGRAM; not given: 1 */
    const struct wr_group_sorter *sorters;
    size_t sorter_count;
    const struct wr_range *ranges; /* RANGE, GEO_DISTANCE (metres) */
    size_t range_count;
    struct wr_query_list filters;
    struct wr_geo_point origin; /* GEO_DISTANCE */
    struct wr_value interval, offset,
        missing; /* HISTOGRAM; DATE_HISTOGRAM has `missing`; WR_NULL: not given */
    bool has_field_range;
    struct wr_value range_min, range_max;           /* HISTOGRAM, DATE_HISTOGRAM */
    struct wr_time_span interval_span, offset_span; /* DATE_HISTOGRAM */
    struct wr_bytes time_zone;                      /* "+hh:mm"; ptr NULL: UTC */
    int32_t precision;                              /* GEO_GRID: 1 to 12 */
    const struct wr_group_bys *sources;             /* COMPOSITE */
    bool has_suggested_size;
    int32_t suggested_size;     /* COMPOSITE */
    struct wr_bytes next_token; /* COMPOSITE: of the answer before; ptr NULL: from the start */
    struct wr_aggregations sub_aggregations;
    const struct wr_group_bys *sub_group_bys; /* NULL: none */
};

struct wr_group_bys {
    const struct wr_group_by *group_bys;
    size_t count;
};

/* ---- highlights ---- */

struct wr_highlight_field {
    struct wr_bytes field;
    int32_t number_of_fragments, fragment_size; /* -1: not given: 1 and 100 */
    struct wr_bytes pre_tag, post_tag;          /* ptr NULL: <em>, </em> */
    int32_t fragments_order;                    /* 1 as in the text, 2 by score; 0: not given */
};

struct wr_highlight {
    const struct wr_highlight_field *fields;
    size_t count;
    int32_t encoder; /* 1 plain, 2 HTML; 0: not given */
};

/* ---- requests ---- */

enum wr_search_columns {
    WR_COLUMNS_ALL = 1,
    WR_COLUMNS_SPECIFIED = 2,
    WR_COLUMNS_NONE = 3,
    WR_COLUMNS_ALL_FROM_INDEX = 4,
};

/* Which cells of a row an answer has. The key is always there. */
struct wr_columns_to_get {
    enum wr_search_columns type; /* not given on the wire: NONE */
    const struct wr_bytes *names;
    size_t count;
};

struct wr_query_flow {
    struct wr_bytes index;
    int32_t weight; /* percent */
};

struct wr_search_schema {
    const struct wr_search_field *fields;
    size_t field_count;
    int32_t number_of_shards; /* 0: not given */
    const struct wr_bytes *routing_fields;
    size_t routing_field_count;
    int32_t routing_partition_size; /* 0: not given */
    enum wr_given custom_column_version;
    const struct wr_sort *index_sort; /* NULL: the primary key, ascending */
};

struct wr_create_search_index {
    struct wr_bytes table, index;
    struct wr_search_schema schema;
    struct wr_bytes
        source;    /* this becomes the reindex of that one; ptr NULL: an index of its own */
    int32_t ttl_s; /* seconds; -1: never */
};

struct wr_update_search_index {
    struct wr_bytes table, index;
    struct wr_bytes switch_with; /* ptr NULL: not asked for */
    const struct wr_query_flow *flows;
    size_t flow_count;
    bool has_ttl;
    int32_t ttl_s;
    const struct wr_search_field *added;
    size_t added_count;
};

struct wr_search_index_name { /* DeleteSearchIndex, DescribeSearchIndex */
    struct wr_bytes table, index;
    bool no_sync_stat; /* DescribeSearchIndex: the answer is without it */
};

struct wr_list_search_index {
    struct wr_bytes table; /* ptr NULL: of all tables */
};

/* Search. */
struct wr_search {
    struct wr_bytes table, index;
    struct wr_columns_to_get columns;
    const struct wr_query *query; /* NULL: all rows */
    int32_t offset;               /* 0 if it was not given, or was -1 with a token */
    int32_t limit;                /* -1: not given, 10 */
    struct wr_bytes collapse;     /* a field; ptr NULL: none */
    const struct wr_sort *sort;   /* NULL: the index's */
    int32_t track_total;          /* -1: no count, INT32_MAX: exact, else it may stop there */
    struct wr_bytes token;        /* next_token of the answer before; ptr NULL: from the start */
    struct wr_aggregations aggregations;
    const struct wr_group_bys *group_bys; /* NULL: none */
    const struct wr_highlight *highlight; /* NULL: none */
    const struct wr_query *filter; /* of what the query found, before aggregations; NULL: none */
    int32_t timeout_ms;            /* 0: not given */
};

struct wr_compute_splits {
    struct wr_bytes table;
    bool has_index;
    struct wr_bytes index;
};

struct wr_parallel_scan {
    struct wr_bytes table, index;
    struct wr_columns_to_get columns;
    struct wr_bytes session;      /* ptr NULL: none */
    const struct wr_query *query; /* NULL: all rows */
    int32_t limit;                /* -1: not given, 2000 */
    int32_t alive_s;              /* -1: not given, 60 */
    struct wr_bytes token;
    int32_t parallel_id;  /* 0 if it was not given */
    int32_t max_parallel; /* 1 if it was not given */
    int32_t timeout_ms;
};

/* ---- replies ---- */

struct wr_search_index_list {
    const struct wr_search_index_name *indexes; /* by table, then by name */
    size_t count;
};

struct wr_search_index_description {
    struct wr_search_schema schema; /* every option as it is in effect */
    bool has_sync;
    bool following;            /* else rows from before it are still on their way in */
    int64_t sync_timestamp_ns; /* writes before it can be found */
    int64_t storage_bytes, row_count;
    int64_t metering_s;      /* when these were counted, UTC seconds */
    struct wr_bytes brother; /* the reindex, or what this one is the reindex of; ptr NULL: none */
    const struct wr_query_flow *flows;
    size_t flow_count;
    int64_t creation_us; /* UTC microseconds */
    int32_t ttl_s;
    bool failed;
    struct wr_bytes status_text;
};

struct wr_highlight_result {
    struct wr_bytes field;
    const struct wr_bytes *fragments;
    size_t count;
};

struct wr_inner_hits;

struct wr_search_hit {
    double score; /* NaN: none was computed */
    const struct wr_highlight_result *highlights;
    size_t highlight_count;
    const struct wr_inner_hits *inner;
    size_t inner_count;
    int32_t nested_offset; /* of inner hits; -1: a row */
};

struct wr_inner_hits {
    struct wr_bytes path;
    const struct wr_search_hit *hits;
    size_t count;
};

struct wr_percentile {
    double key;
    struct wr_value value;
};

struct wr_aggregation_result {
    struct wr_bytes name;
    enum wr_aggregation_type type;
    double value;              /* AVG, MAX, MIN, SUM */
    int64_t count;             /* COUNT, DISTINCT_COUNT */
    const struct wr_row *rows; /* TOP_ROWS */
    size_t row_count;
    const struct wr_percentile *percentiles; /* by key */
    size_t percentile_count;
};

struct wr_aggregation_results {
    const struct wr_aggregation_result *results; /* in the order of the request */
    size_t count;
};

struct wr_group_by_results;

/* One group. Which members count follows from the type of its group-by. */
struct wr_group {
    struct wr_bytes key;                        /* FIELD, GEO_GRID (a geohash) */
    struct wr_value number;                     /* HISTOGRAM: BIGINT or DOUBLE */
    int64_t time_ms;                            /* DATE_HISTOGRAM */
    struct wr_range range;                      /* RANGE, GEO_DISTANCE */
    struct wr_geo_point top_left, bottom_right; /* GEO_GRID */
    const struct wr_bytes *keys; /* COMPOSITE: one a source; ptr NULL: rows without the field */
    int64_t row_count;
    struct wr_aggregation_results aggregations;
    const struct wr_group_by_results *group_bys; /* NULL: none were asked for */
};

struct wr_group_by_result {
    struct wr_bytes name;
    enum wr_group_by_type type;
    const struct wr_group *groups;
    size_t count;
    const struct wr_bytes *source_names; /* COMPOSITE */
    size_t source_count;
    struct wr_bytes next_token; /* COMPOSITE; ptr NULL: that was all */
};

struct wr_group_by_results {
    const struct wr_group_by_result *results; /* in the order of the request */
    size_t count;
};

struct wr_search_result {
    int64_t total_hits; /* -1: not asked for */
    const struct wr_row *rows;
    const struct wr_search_hit *hits; /* one a row */
    size_t row_count;
    struct wr_bytes next_token; /* ptr NULL: none */
    struct wr_aggregation_results aggregations;
    struct wr_group_by_results group_bys;
    struct wr_capacity consumed;
};

struct wr_splits_result {
    struct wr_bytes session; /* text */
    int32_t splits;
};

struct wr_parallel_scan_result {
    const struct wr_row *rows;
    size_t row_count;
    struct wr_bytes next_token; /* ptr NULL: the end */
};

#ifdef __cplusplus
}
#endif

#endif
