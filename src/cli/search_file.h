/* search_file.h: the schema of a search index as a file of JSON, which `widerow search describe`
 * prints and `create` reads:
 *
 *   {"fields": [{"name": "title", "type": "text", "analyzer": "max_word"},
 *               {"name": "tags", "type": "keyword", "array": true},
 *               {"name": "at", "type": "date", "formats": ["yyyy-MM-dd"]},
 *               {"name": "day", "type": "keyword", "virtual": true, "sources": ["at"]},
 *               {"name": "v", "type": "vector", "dimension": 512, "metric": "cosine"}],
 *    "sort": ["title", "-at"], "routing": ["id"]}
 *
 * A field may have "index", "sort_and_agg" and "store", true or false. */
#ifndef CLI_SEARCH_FILE_H
#define CLI_SEARCH_FILE_H

#include "base/buf.h"
#include "base/ctx.h"
#include "widerow.h"

/* Memory is that of c; the failure says the line's place by its words. */
int search_file_read(struct ctx *c, const char *path, struct wr_search_schema *out);

/* Appended, a field a line. */
void search_file_put(struct buf *b, const struct wr_search_schema *s);

/* "text", "keyword" and so on. */
const char *search_file_type(enum wr_field_type type);

#endif
