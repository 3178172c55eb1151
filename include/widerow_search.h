/* widerow_search.h: search indexes, as widerow.h includes it: schemas, queries, sorting,
 * aggregations, and what they give. Rules about values, limits and texts are in doc/data-model.md,
 * "Search indexes".
 *
 * All pointers are views, as in widerow.h: what a request points to is the caller's until the reply
 * arrives, what a reply points to goes with it. */
#include "widerow.h"

#ifndef WIDEROW_SEARCH_H
#define WIDEROW_SEARCH_H

#ifdef __cplusplus
extern "C" {
#endif

/* ---- schemas ---- */

/* The numbers are stored: never change one. */
enum wr_field_type {
    WR_FIELD_LONG = 1,
    WR_FIELD_DOUBLE = 2,
    WR_FIELD_BOOLEAN = 3,
    WR_FIELD_KEYWORD = 4,
    WR_FIELD_TEXT = 5,
    WR_FIELD_NESTED = 6,
    WR_FIELD_GEO_POINT = 7,
    WR_FIELD_DATE = 8,
    WR_FIELD_VECTOR = 9,
    WR_FIELD_FUZZY_KEYWORD = 10,
    WR_FIELD_IP = 11,
    WR_FIELD_JSON = 12,
    WR_FIELD_FLATTENED = 13,
};

/* What a field asks of its analyzer: the members that the analyzer does not know are without
 * meaning. */
struct wr_analyzer_options {
    bool case_sensitive;
    bool delimit_word;         /* single_word: letters and digits apart */
    struct wr_bytes delimiter; /* split; ptr NULL: one blank */
    int32_t min_chars;         /* fuzzy; 0: 1 */
    int32_t max_chars;         /* fuzzy; 0: 7 */
};

struct wr_vector_options {
    bool given;
    int32_t data_type; /* 2: 32-bit floats */
    int32_t dimension;
    int32_t metric; /* 0 euclidean, 1 cosine, 2 dot product */
};

/* A field of an index. Flags are effective values: a door fills in what was not sent. */
struct wr_field_schema {
    struct wr_bytes name; /* the column's; in NESTED and JSON the child's short name */
    enum wr_field_type type;
    int32_t index_options;    /* 1 DOCS to 4 OFFSETS; 0: not given */
    struct wr_bytes analyzer; /* TEXT; ptr NULL: not given, which is single_word */
    struct wr_analyzer_options analyzer_options;
    /* The message that these came in: kept and told again as it was. ptr NULL: none. */
    struct wr_bytes analyzer_parameter;
    bool index;
    bool sort_and_agg;
    bool store_given;
    bool store; /* with store_given; else true for all but TEXT */
    bool is_array;
    bool is_virtual;
    bool highlighting;
    const struct wr_bytes *source_fields; /* of a virtual field */
    size_t source_field_count;
    const struct wr_bytes *date_formats;
    size_t date_format_count;
    struct wr_vector_options vector;
    int32_t json_type;  /* 0: not given; 1 object, 2 nested */
    int32_t similarity; /* TEXT; 0: not given; 1 BM25, 2 SHORT_TEXT */
    const struct wr_field_schema *children;
    size_t child_count;
};

enum wr_order {
    WR_ORDER_ASC = 0,
    WR_ORDER_DESC = 1,
};

/* Of an array's values, the one that counts for sorting. */
enum wr_sort_mode {
    WR_SORT_MODE_NONE = 0, /* not given: the least for ASC, the greatest for DESC */
    WR_SORT_MODE_MIN = 1,
    WR_SORT_MODE_MAX = 2,
    WR_SORT_MODE_AVG = 3,
};

enum wr_sorter_type {
    WR_SORTER_FIELD = 1,
    WR_SORTER_GEO = 2, /* distance to the nearest of `points` */
    WR_SORTER_SCORE = 3,
    WR_SORTER_KEY = 4, /* the primary key */
    WR_SORTER_DOC = 5, /* inner hits only */
};

struct wr_search_condition;

struct wr_sorter {
    enum wr_sorter_type type;
    enum wr_order order;
    bool order_given; /* a schema tells again only what it was told */
    enum wr_sort_mode mode;
    struct wr_bytes field;         /* FIELD, GEO */
    struct wr_value missing;       /* WR_NULL: not given. VARCHAR "_first" and "_last" are places */
    struct wr_bytes missing_field; /* its value counts instead; goes before `missing` */
    const struct wr_bytes *points; /* "lat,lon" */
    size_t point_count;
    bool plane;                  /* GEO: flat instead of arc */
    struct wr_bytes nested_path; /* which children count; ptr NULL: no nested filter */
    const struct wr_search_condition *nested_filter;
};

struct wr_sort {
    bool given;
    const struct wr_sorter *sorters;
    size_t count;
    bool no_default_key_sorter;
};

struct wr_search_schema {
    const struct wr_field_schema *fields;
    size_t field_count;
    int32_t shards;                        /* 0: not given */
    const struct wr_bytes *routing_fields; /* columns of the primary key */
    size_t routing_field_count;
    bool has_routing_partition_size;
    int32_t routing_partition_size;
    bool custom_column_version;
    struct wr_sort index_sort;
};

/* ---- queries ---- */

/* The numbers are those of the protocol's messages. */
enum wr_condition_type {
    WR_SEARCH_MATCH = 1,
    WR_SEARCH_MATCH_PHRASE = 2,
    WR_SEARCH_TERM = 3,
    WR_SEARCH_RANGE = 4,
    WR_SEARCH_PREFIX = 5,
    WR_SEARCH_BOOL = 6,
    WR_SEARCH_CONST_SCORE = 7,
    WR_SEARCH_FUNCTION_SCORE = 8,
    WR_SEARCH_NESTED = 9,
    WR_SEARCH_WILDCARD = 10,
    WR_SEARCH_MATCH_ALL = 11,
    WR_SEARCH_GEO_BOX = 12,
    WR_SEARCH_GEO_DISTANCE = 13,
    WR_SEARCH_GEO_POLYGON = 14,
    WR_SEARCH_TERMS = 15,
    WR_SEARCH_EXISTS = 16,
    WR_SEARCH_KNN_VECTOR = 17,
    WR_SEARCH_FUNCTIONS_SCORE = 18,
    WR_SEARCH_SUFFIX = 19,
    WR_SEARCH_DIS_MAX = 20,
};

/* How many clauses must match. */
struct wr_minimum_match {
    bool given;
    int32_t number;       /* with `given` */
    struct wr_bytes text; /* "75%", "2<75%", "-1"; ptr NULL: not given. Goes before the number */
};

struct wr_bool_condition {
    const struct wr_search_condition *must, *must_not, *filter, *should;
    size_t must_count, must_not_count, filter_count, should_count;
    struct wr_minimum_match minimum;
};

struct wr_range_bounds {
    struct wr_value from, to; /* WR_NULL: open */
    bool include_from, include_to;
};

struct wr_geo_condition {
    const struct wr_bytes *points; /* box: top left, bottom right; distance: the centre; polygon */
    size_t point_count;
    double metres; /* distance */
};

enum wr_score_function_type {
    WR_SCORE_CONSTANT = 0, /* none given: 1 */
    WR_SCORE_FIELD_VALUE = 1,
    WR_SCORE_RANDOM = 2,
    WR_SCORE_DECAY = 3,
};

/* An interval of the calendar or of the clock. */
struct wr_date_interval {
    bool given;
    int32_t value;
    int32_t unit; /* 1 year, 2 quarter, 3 month, 4 week, 5 day, 6 hour, 7 minute, 8 second,
                     9 millisecond */
};

struct wr_score_function {
    enum wr_score_function_type type;
    struct wr_bytes field;
    double weight; /* 1 where not given */
    const struct wr_search_condition *filter;
    /* FIELD_VALUE */
    double factor;    /* 1 where not given */
    int32_t modifier; /* 1 none, 2 log, 3 log1p, 4 log2p, 5 ln, 6 ln1p, 7 ln2p, 8 square, 9 sqrt,
                         10 reciprocal */
    bool has_missing;
    double missing;
    /* DECAY */
    int32_t curve;                /* 1 gauss, 2 exp, 3 linear */
    int32_t param_type;           /* 1 date, 2 numeric, 3 geo */
    double decay;                 /* 0.5 where not given */
    int32_t multi_value;          /* 1 max, 2 min, 3 sum, 4 avg, of the distances; 0: not given */
    double origin, scale, offset; /* numeric; geo: scale and offset in metres */
    struct wr_bytes origin_text;  /* geo "lat,lon"; date in one of the field's formats */
    bool has_origin_ns;
    int64_t origin_ns;                                       /* date, nanoseconds since 1970 */
    struct wr_date_interval scale_interval, offset_interval; /* date */
};

struct wr_functions_condition {
    const struct wr_search_condition *query; /* NULL: all rows */
    const struct wr_score_function *functions;
    size_t count;
    int32_t score_mode;   /* 1 avg, 2 max, 3 sum, 4 min, 5 multiply, 6 first; 0: not given */
    int32_t combine_mode; /* 1 multiply, 2 avg, 3 max, 4 sum, 5 min, 6 replace; 0: not given */
    bool has_min, has_max;
    double min_score, max_score;
};

struct wr_knn_condition {
    int32_t top_k;
    const float *vector;
    size_t dimension;
    const struct wr_search_condition *filter;
    double min_score;
    int32_t num_candidates;
};

struct wr_highlight_field {
    struct wr_bytes field;
    int32_t fragments;     /* 0: not given */
    int32_t fragment_size; /* 0: not given */
    struct wr_bytes pre_tag, post_tag;
    int32_t order; /* 1 as in the text, 2 by score; 0: not given */
};

struct wr_highlight {
    bool given;
    const struct wr_highlight_field *fields;
    size_t count;
    int32_t encoder; /* 1 plain, 2 HTML; 0: not given */
};

struct wr_inner_hits {
    bool given;
    struct wr_sort sort;
    int32_t offset, limit; /* limit -1: not given */
    struct wr_highlight highlight;
};

struct wr_nested_condition {
    struct wr_bytes path;
    const struct wr_search_condition *query;
    int32_t score_mode; /* 1 none, 2 avg, 3 max, 4 total, 5 min; 0: not given */
    struct wr_inner_hits inner_hits;
};

/* MATCH, MATCH_PHRASE. */
struct wr_match_condition {
    struct wr_bytes text;
    bool all;     /* MATCH: every token (AND) */
    int32_t slop; /* MATCH_PHRASE */
    struct wr_minimum_match minimum;
};

struct wr_terms_condition {
    const struct wr_value *values;
    size_t count;
};

struct wr_dis_max_condition {
    const struct wr_search_condition *queries;
    size_t count;
    double tie_breaker;
};

/* A query, or a part of one: what a row has to fulfil, and how its score comes about. */
struct wr_search_condition {
    enum wr_condition_type type;
    double weight;         /* 1 where not given */
    struct wr_bytes field; /* of those that are about one */
    union {
        struct wr_match_condition match; /* MATCH, MATCH_PHRASE */
        struct wr_value term;
        struct wr_terms_condition terms;
        struct wr_range_bounds range;
        struct wr_bytes pattern; /* PREFIX, SUFFIX, WILDCARD */
        struct wr_bool_condition boolean;
        const struct wr_search_condition *inner; /* CONST_SCORE; FUNCTION_SCORE, by `field` */
        struct wr_nested_condition nested;
        struct wr_geo_condition geo;
        struct wr_functions_condition functions;
        struct wr_knn_condition knn;
        struct wr_dis_max_condition dis_max;
    };
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

struct wr_aggregation {
    struct wr_bytes name;
    enum wr_aggregation_type type;
    struct wr_bytes field;   /* COUNT: "*" is rows */
    struct wr_value missing; /* WR_NULL: not given */
    const double *percentiles;
    size_t percentile_count;
    bool has_limit; /* TOP_ROWS; not given: 1 */
    int32_t limit;
    struct wr_sort sort;
};

struct wr_number_range {
    double from, to; /* infinite where not given; `from` is in, `to` is not */
};

enum wr_group_sorter_type {
    WR_GROUP_SORT_KEY = 1,
    WR_GROUP_SORT_COUNT = 2,
    WR_GROUP_SORT_AGGREGATION = 3,
};

struct wr_group_sorter {
    enum wr_group_sorter_type type;
    enum wr_order order;
    struct wr_bytes aggregation; /* its name */
};

struct wr_group_by {
    struct wr_bytes name;
    enum wr_group_by_type type;
    struct wr_bytes field;
    bool has_size;
    int32_t size;
    bool has_suggested_size; /* COMPOSITE */
    int32_t suggested_size;
    const struct wr_group_sorter *sorters;
    size_t sorter_count;
    bool has_min_count;
    int64_t min_count;
    const struct wr_number_range *ranges; /* RANGE, GEO_DISTANCE */
    size_t range_count;
    double origin_lat, origin_lon; /* GEO_DISTANCE */
    const struct wr_search_condition *filters;
    size_t filter_count;
    struct wr_value interval, offset;     /* HISTOGRAM; WR_NULL: not given */
    struct wr_value range_min, range_max; /* both histograms */
    struct wr_value missing;
    struct wr_date_interval date_interval, date_offset; /* DATE_HISTOGRAM */
    struct wr_bytes time_zone;                          /* "+08:00"; ptr NULL: UTC */
    int32_t precision;                                  /* GEO_GRID: letters of the geohash */
    const struct wr_group_by *sources;                  /* COMPOSITE */
    size_t source_count;
    struct wr_bytes next_token;
    const struct wr_aggregation *aggregations; /* of each group */
    size_t aggregation_count;
    const struct wr_group_by *group_bys;
    size_t group_by_count;
};

struct wr_percentile {
    double at;
    struct wr_value value;
};

struct wr_aggregation_result {
    struct wr_bytes name;
    enum wr_aggregation_type type;
    double real;   /* AVG, MAX, MIN, SUM */
    int64_t count; /* COUNT, DISTINCT_COUNT */
    const struct wr_row *rows;
    size_t row_count;
    const struct wr_percentile *percentiles;
    size_t percentile_count;
};

struct wr_group {
    int64_t count;
    struct wr_bytes key;             /* FIELD, GEO_GRID */
    struct wr_value value;           /* HISTOGRAM; DATE_HISTOGRAM: milliseconds */
    struct wr_number_range range;    /* RANGE, GEO_DISTANCE */
    double top, left, bottom, right; /* GEO_GRID: the cell, in degrees */
    const struct wr_bytes *keys;     /* COMPOSITE: one a source; ptr NULL: null */
    const struct wr_aggregation_result
        *aggregations; /* in the order in which they were asked for */
    size_t aggregation_count;
    const struct wr_group_by_result *group_bys;
    size_t group_by_count;
};

struct wr_group_by_result {
    struct wr_bytes name;
    enum wr_group_by_type type;
    const struct wr_group *groups;
    size_t count;
    const struct wr_bytes *sources; /* COMPOSITE: names */
    size_t source_count;
    struct wr_bytes next_token; /* COMPOSITE; ptr NULL: there are no more groups */
};

/* ---- operations ---- */

struct wr_search_index_name {
    struct wr_bytes table; /* ListSearchIndex: ptr NULL for all tables of the instance */
    struct wr_bytes index;
};

struct wr_create_search_index {
    struct wr_bytes table, index;
    struct wr_search_schema schema;
    struct wr_bytes source_index; /* ptr NULL: no reindex of another */
    bool has_ttl;
    int32_t ttl_s; /* -1: for ever */
};

struct wr_query_flow_weight {
    struct wr_bytes index;
    int32_t weight; /* per cent */
};

struct wr_update_search_index {
    struct wr_bytes table, index;
    struct wr_bytes switch_index; /* ptr NULL: not given */
    const struct wr_query_flow_weight *weights;
    size_t weight_count;
    bool has_ttl;
    int32_t ttl_s;
    const struct wr_field_schema *added_fields;
    size_t added_field_count;
};

struct wr_describe_search_index {
    struct wr_bytes table, index;
    bool no_sync_stat; /* it is not to be told */
};

struct wr_search_index_list {
    const struct wr_search_index_name *indexes;
    size_t count;
};

enum wr_search_sync_phase {
    WR_SEARCH_FULL = 1, /* rows of before are being read */
    WR_SEARCH_INCR = 2, /* changes are followed */
};

enum wr_search_index_status {
    WR_SEARCH_PENDING = 1,
    WR_SEARCH_FAILED = 2,
    WR_SEARCH_RUNNING = 3,
};

struct wr_search_index_description {
    struct wr_search_schema schema;
    bool has_sync_stat;
    enum wr_search_sync_phase phase;
    int64_t synced_us; /* changes up to this time are found, UTC microseconds */
    int64_t storage_bytes, row_count, metered_s;
    struct wr_bytes brother; /* ptr NULL: none */
    const struct wr_query_flow_weight *weights;
    size_t weight_count;
    int64_t creation_us;
    int32_t ttl_s;
    enum wr_search_index_status status;
    struct wr_bytes status_text; /* why it is not RUNNING; else empty */
};

enum wr_search_columns {
    WR_SEARCH_COLUMNS_NONE = 0, /* the key alone */
    WR_SEARCH_COLUMNS_ALL = 1,
    WR_SEARCH_COLUMNS_NAMED = 2,
    WR_SEARCH_COLUMNS_INDEX = 3, /* of the fields that the index stores */
};

struct wr_search {
    struct wr_bytes table, index;
    enum wr_search_columns columns;
    const struct wr_bytes *names; /* NAMED */
    size_t name_count;
    int32_t timeout_ms; /* 0: not given */
    bool has_offset, has_limit;
    int32_t offset, limit;                    /* not given: 0 and 10 */
    const struct wr_search_condition *query;  /* NULL: all rows */
    const struct wr_search_condition *filter; /* of what `query` found; NULL: none */
    struct wr_bytes collapse;                 /* a field; ptr NULL: none */
    struct wr_sort sort;
    int32_t track_total;   /* -1: rows are not counted; else up to at least so many */
    struct wr_bytes token; /* next_token of the page before; ptr NULL: the first page */
    const struct wr_aggregation *aggregations;
    size_t aggregation_count;
    const struct wr_group_by *group_bys;
    size_t group_by_count;
    struct wr_highlight highlight;
};

struct wr_search_result {
    int64_t total; /* -1: not counted */
    const struct wr_row *rows;
    const double *scores; /* one a row; NaN: none was computed */
    size_t count;
    struct wr_bytes next_token; /* ptr NULL: the page was not full */
    const struct wr_aggregation_result *aggregations;
    size_t aggregation_count;
    const struct wr_group_by_result *group_bys;
    size_t group_by_count;
    struct wr_capacity consumed;
};

struct wr_compute_splits {
    struct wr_bytes table, index;
    bool has_options; /* a request without them names no index */
};

struct wr_search_splits {
    struct wr_bytes session; /* text */
    int32_t splits;
};

struct wr_parallel_scan {
    struct wr_bytes table, index;
    enum wr_search_columns columns;
    const struct wr_bytes *names;
    size_t name_count;
    struct wr_bytes session; /* ptr NULL: none */
    int32_t timeout_ms;
    const struct wr_search_condition *query;
    bool has_limit;
    int32_t limit;
    int32_t alive_s; /* 0: not given */
    struct wr_bytes token;
    int32_t parallel_id, max_parallel; /* max_parallel 0: not given, which is 1 */
};

struct wr_scan_result {
    const struct wr_row *rows;
    size_t count;
    struct wr_bytes next_token; /* ptr NULL: all rows have been given */
};

#ifdef __cplusplus
}
#endif

#endif
