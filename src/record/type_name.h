/* type_name.h: how commands name the types of values. */
#ifndef RECORD_TYPE_NAME_H
#define RECORD_TYPE_NAME_H

#include "base/bytes.h"
#include "widerow.h"

/* "integer", "string", "binary", "double", "boolean". */
const char *type_name(enum wr_type type);

/* Back from these names, and from int, str, text, bytes, float, bool. False: it is none. */
bool type_parse(bytes name, enum wr_type *out);

/* True: a key column may be of that type. */
bool type_fits_key(enum wr_type type);

#endif
