/* told.h: documents, queries and answers as lines of text, which a program of another language
 * reads.
 *
 *   S name type array         a field: long, double, keyword, text or geo; array 0 or 1
 *   D key name=value …        a document; texts have '_' for ' ', an array is JSON of plain values
 *   X key                     it is gone again
 *   C                         those were all: what follows are queries
 *   Q limit sort total aggregations groups query    then its answer:
 *     T total
 *     H key score             a hit, in order; NaN without scores
 *     A op:field number       an aggregation
 *     G field key count       a group, in order; of a histogram field/interval
 *     .
 *   U n                       so many documents follow, which replace those with their keys: how many
 *                             a processor second is answered
 *   M n                       so many queries follow and are measured: two numbers are answered
 *   R                         all is thrown away: the next index */
#ifndef TEST_LUCENE_TOLD_H
#define TEST_LUCENE_TOLD_H

#include "search/searcher.h"

#include <stdio.h>

void tell_schema(FILE *to, const struct wr_search_schema *d);
void tell_document(FILE *to, bytes key, const struct wr_row *row);
/* A condition, its words separated by blanks:
 *
 *   all | term F V | terms F n V… | range F low high in_low in_high ('-': open) | exists F
 *   prefix F V | wildcard F V | match F and minimum n V… | phrase F n V…
 *   box F top,left bottom,right | circle F lat,lon metres | const weight Q
 *   bool minimum must filter must_not should Q… (minimum -1: not given) | dismax tie n Q…
 *
 * each after `*weight` where that is not 1. */
void tell_condition(FILE *to, const struct wr_search_condition *q);
/* The line of a query: its sort is `key`, `score`, or a field with `+` or `-` before it; total is 0
 * or 1; aggregations are op:field, groups are fields, `;` between them, or `-`. */
void tell_query(FILE *to, const struct wr_search *s);
void tell_answer(FILE *to, const struct search_hits *hits, const struct wr_search *s);

#endif
