/* group_key.h: the keys of groups: which a document belongs to, and what is told of them. */
#ifndef SEARCH_RESULT_GROUP_KEY_H
#define SEARCH_RESULT_GROUP_KEY_H

#include "search/result/collect.h"

#define GROUP_KEYS_MAX DOCUMENT_ELEMENTS_MAX /* of one document */
#define GROUP_SOURCES_MAX 16

struct group_key;

int group_key_make(struct collect *k, const struct wr_group_by *g, struct group_key **out);
void group_key_segment(struct group_key *key, const struct segment *s);
/* The keys of a document; how many. */
size_t group_key_of(struct group_key *key, uint32_t doc, int64_t *out);
/* Where keys are the terms of the segment's column and nothing else, it; else NULL. */
const struct segment_column *group_key_terms(const struct group_key *key);
int64_t group_key_of_term(struct group_key *key, uint32_t term);
int group_key_compare(const struct group_key *key, int64_t a, int64_t b);
/* What the answer tells of a key. */
int group_key_fill(const struct group_key *key, int64_t value, struct wr_group *out);
/* The keys of a histogram's range. False: there is none (any more). */
bool group_key_first(const struct group_key *key, int64_t *value);
bool group_key_next(const struct group_key *key, int64_t *value);
/* Is it behind a composite's token? */
bool group_key_wanted(const struct group_key *key, int64_t value);
/* A composite's sources, and where the next page begins. */
void group_key_page(const struct group_key *key, int64_t last, bool more,
                    struct wr_group_by_result *out);

#endif
