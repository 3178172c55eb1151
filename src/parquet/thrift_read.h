/* thrift_read.h: Thrift's compact protocol, taken field by field from bytes that may be anything.
 *
 * What does not hold together sets `bad`; from then on everything is zero and no field follows, so
 * a reader may ask once at its end. */
#ifndef PARQUET_THRIFT_READ_H
#define PARQUET_THRIFT_READ_H

#include "base/buf.h"
#include "parquet/thrift.h"

/* Some of the types that thrift.h does not write. */
enum { THRIFT_I8 = 3, THRIFT_I16 = 4, THRIFT_DOUBLE = 7, THRIFT_SET = 10, THRIFT_MAP = 11 };

/* A struct whose fields are read one by one; begin with {0}. */
struct thrift_field {
    int id, type; /* of the field that was found */
};

/* The next field; its value follows. False: the struct has ended, or is bad. */
bool thrift_next(struct reader *r, struct thrift_field *f);

/* Values. They are of the field's type, or the field is passed over and `bad` set. */
int64_t thrift_read_int(struct reader *r, const struct thrift_field *f); /* of 8 to 64 bits */
int32_t thrift_read_i32(struct reader *r, const struct thrift_field *f);
bool thrift_read_bool(const struct thrift_field *f);
bytes thrift_read_binary(struct reader *r, const struct thrift_field *f); /* a view */
/* How many elements of `type` follow; never more than there are bytes. */
size_t thrift_read_list(struct reader *r, const struct thrift_field *f, int type);
bool thrift_is_struct(struct reader *r, const struct thrift_field *f);

/* Passes over the value of a field that nobody wants. */
void thrift_skip(struct reader *r, const struct thrift_field *f);

#endif
