/* layout_form.h: the forms in which a table may lay out its partition key, as the advisor weighs
 * them. The text is that of `widerow create --layout`. */
#ifndef ADVISOR_LAYOUT_FORM_H
#define ADVISOR_LAYOUT_FORM_H

#include "base/bytes.h"

enum layout_kind {
    LAYOUT_FORM_PLAIN,
    LAYOUT_FORM_HASH,      /* buckets by the hash of the partition key */
    LAYOUT_FORM_COMPOSITE, /* the first key columns together are the partition key */
    LAYOUT_FORM_REVERSE,   /* buckets by a number modulo n, or by a text's last four bytes */
    LAYOUT_FORM_RANDOM,    /* buckets by a hash of the whole key: one partition key spreads, too */
};

struct layout_form {
    enum layout_kind kind;
    unsigned n; /* buckets, or columns; plain: unused */
};

#define LAYOUT_FORM_BYTES 24

/* "hash:16" into `out`; returns it. */
const char *layout_form_format(struct layout_form layout, char *out);

static inline bool layout_form_buckets(struct layout_form layout)
{
    return layout.kind == LAYOUT_FORM_HASH || layout.kind == LAYOUT_FORM_REVERSE ||
           layout.kind == LAYOUT_FORM_RANDOM;
}

#endif
