/* advise.h: which key a table should have, told from a survey of its records.
 *
 * A candidate is a partition key (one to three columns) in a layout. It is judged by the rules of
 * advise_rule.def; its verdict is its worst reason's. */
#ifndef ADVISOR_ADVISE_H
#define ADVISOR_ADVISE_H

#include "advisor/query.h"
#include "advisor/simulate.h"

#include <stdio.h>

#define ADVISE_CANDIDATES_MAX 256
#define ADVISE_KEY_MAX 4 /* key columns, the Tablestore front's limit */
#define ADVISE_REASONS_MAX 24
#define ADVISE_REPEATED_MAX 1024

enum verdict { VERDICT_GOOD, VERDICT_FAIR, VERDICT_BAD };

enum rule {
#define RULE(name, function, fair, bad, worse, text) RULE_##name,
#include "advisor/advise_rule.def"
    RULE_COUNT
};

struct rule_info {
    const char *name; /* "text_number" */
    double fair, bad;
    bool over; /* a higher figure is worse */
    const char *text;
};

struct reason {
    enum rule rule;
    enum verdict verdict;
    double figure; /* INFINITY: never */
    bytes text;
};

struct candidate {
    size_t columns[SIMULATE_PARTS_MAX]; /* the partition key */
    size_t column_count;
    size_t key[ADVISE_KEY_MAX]; /* the whole primary key, partition key first */
    size_t key_count;
    double repeated;        /* share of the records whose key another one has, estimated */
    uint32_t repeated_seen; /* records judged by */
    struct layout_form layout;
    enum verdict verdict;
    struct reason reasons[ADVISE_REASONS_MAX]; /* worst first */
    size_t reason_count;
    double different;     /* partition keys, estimated */
    double largest_bytes; /* of the largest partition key, estimated */
    bytes largest_text;   /* its value if it is one column */
    enum reach reach[QUERIES_MAX];
    struct simulation simulation;
};

struct advise {
    /* Set by the caller. */
    const struct survey *survey;
    const struct ranks *ranks;
    struct query queries[QUERIES_MAX];
    size_t query_count;
    uint64_t partition_bytes; /* the largest that a partition may be */
    uint32_t partitions;      /* of the simulation */
    unsigned buckets;         /* of bucket layouts */
    const char *table;        /* for the line that makes it */
    struct advise_traffic {
        double accesses; /* rows read, written and refused of late; 0: not known */
        double hottest;  /* of them, those for the hottest partition key, at least */
        size_t column;   /* the table's partition key */
        bytes key;       /* the hottest value */
    } traffic;
    /* Filled by advise(). */
    struct candidate *candidates; /* best first; in the arena */
    size_t candidate_count;
    struct arena *arena;
    /* By column: whether texts joined with ':' keep its order, and what separator does. */
    struct advise_separator {
        uint32_t pairs; /* in the wrong order with ':' */
        bytes a, b;     /* the first of them */
        char good;      /* 0: none of the common ones */
    } separators[SURVEY_COLUMNS_MAX];
    struct advise_repeated {
        uint32_t columns; /* a bit each */
        uint32_t seen;    /* records compared */
        double share;
    } repeated[ADVISE_REPEATED_MAX]; /* what was found out already */
    size_t repeated_count;
};

void advise(struct ctx *c, struct advise *a);

/* ---- for the parts of it */

extern const struct rule_info rule_infos[RULE_COUNT];

/* Adds all reasons to a candidate whose columns, layout and simulation are there. `parent`: the
 * candidate with one column less, or NULL. */
void rule_judge(const struct advise *a, struct candidate *k, const struct candidate *parent);

/* The verdict of a figure. */
enum verdict rule_verdict(enum rule rule, double figure);

const char *verdict_name(enum verdict verdict);

/* The first pair of values a, b of a column with a before b and yet a+separator after b+separator.
 * *pairs: how many neighbours are in the wrong order. False: the separator keeps the order. */
bool rule_breaks_order(const struct rank_column *col, char separator, bytes *a, bytes *b,
                       uint32_t *pairs);

/* The same for the texts of a column of any type, with ':' and what mends it. */
struct advise_separator rule_find_separator(const struct rank_column *col, struct arena *arena);

/* The `widerow create` line of a candidate. */
bytes advise_create_line(const struct advise *a, const struct candidate *k, struct arena *arena);

/* The same as SQL's CREATE TABLE, with all columns of the sample; names that SQL needs quoted are.
 */
bytes advise_create_table(const struct advise *a, const struct candidate *k, struct arena *arena);

/* "CardID, SellerID" of columns. */
bytes advise_names(const struct advise *a, const size_t *columns, size_t count, const char *between,
                   struct arena *arena);

/* "CardID,SoldAt": the columns of a secondary index that would serve a query which the candidate's
 * key does not; len 0: it does, or an index would begin with nothing but a time. */
bytes advise_index_columns(const struct advise *a, const struct candidate *k, size_t query,
                           struct arena *arena);

/* What the rest of the report says once. */
struct advise_head {
    const char *source; /* the file or table */
    uint64_t records, bytes, bad_lines;
    double seconds;    /* that reading took */
    uint64_t left_out; /* columns that were too many */
};

void advise_print_text(const struct advise *a, const struct advise_head *head, size_t limit,
                       FILE *out);
void advise_print_json(const struct advise *a, const struct advise_head *head, FILE *out);
void advise_print_html(const struct advise *a, const struct advise_head *head, FILE *out);

#endif
