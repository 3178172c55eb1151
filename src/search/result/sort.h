/* sort.h: the order of hits: by what, and how two compare. */
#ifndef SEARCH_RESULT_SORT_H
#define SEARCH_RESULT_SORT_H

#include "search/field/document.h"
#include "search/segment/view.h"

#define SORTERS_MAX 16
#define SORT_POINTS_MAX 16

/* Where a hit stands that has no value, and where one that has. */
enum sort_place { SORT_FIRST = 0, SORT_VALUE = 1, SORT_LAST = 2 };

/* By one sorter. `text` counts where the sorter is of texts. */
struct sort_value {
    enum sort_place place;
    int64_t number;
    bytes text;
};

struct sort_by {
    enum wr_sorter_type type;
    bool descending, texts;
    size_t field; /* FIELD, GEO */
    enum wr_sort_mode mode;
    struct sort_value missing;
    bool has_missing_field;
    size_t missing_field;
    bool as_real; /* a mean of integers, or integers beside reals */
    double lats[SORT_POINTS_MAX], lons[SORT_POINTS_MAX];
    size_t points;
};

struct sort {
    const struct search_schema *schema;
    struct sort_by by[SORTERS_MAX];
    size_t count;
    bool by_key;     /* nothing but the primary key, ascending */
    bool key_breaks; /* equal hits stand in the order of their keys, also from page to page */
    bool scores;     /* some sorter needs them */
};

/* From a request's sort, or where that gives none from the index's. E_PARAMETER. */
int sort_make(struct ctx *c, const struct search_schema *s, const struct wr_sort *given,
              struct sort *out);

/* sort->count values of a hit; texts are views of the segment. */
void sort_values(const struct sort *sort, const struct segment *s, uint32_t doc, float score,
                 struct sort_value *out);

/* Below, at, above 0: as the first stands before, with, behind the second. Keys are not compared.
 */
int sort_compare(const struct sort *sort, const struct sort_value *a, const struct sort_value *b);

/* What a page ended with, as bytes, and back. False: it is no token of this sort. */
bytes sort_token(struct arena *a, const struct sort *sort, const struct sort_value *values,
                 bytes key);
/* With a token the sort comes out of it, too. E_PARAMETER. */
int sort_read_token(struct ctx *c, const struct search_schema *s, bytes token, struct sort *sort,
                    struct sort_value *values, bytes *key);

#endif
