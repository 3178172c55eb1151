/* pb_read.h: protobuf bytes read field by field, without a copy of them: for messages that nest as
 * deep as a client likes, whose reader has to bound that.
 *
 *   for (r = pb_reader_of(in); pb_next(&r);)
 *       switch (r.field) {
 *       case 1: out->name = pb_bytes(&r); break;
 *       case 2: out->size = pb_int32(&r); break;
 *       }
 *   if (r.bad) ...
 *
 * A field that nobody asks for is passed over. What is no message, and a field that is asked for as
 * something that it is not, sets `bad`, ends the loop and gives zeros and empty views. */
#ifndef WIRE_PB_READ_H
#define WIRE_PB_READ_H

#include "base/buf.h"

struct pb_reader {
    struct reader in;
    unsigned field, type; /* of the current field */
    uint64_t number;
    bytes view; /* never NULL, so that "given, empty" stays given */
    bool bad;
};

static inline struct pb_reader pb_reader_of(bytes in)
{
    return (struct pb_reader){.in = reader_of(in)};
}

/* Goes to the next field; false: there is none. */
bool pb_next(struct pb_reader *r);

/* The current field. */
int64_t pb_int64(struct pb_reader *r);
int32_t pb_int32(struct pb_reader *r);
bool pb_bool(struct pb_reader *r);
double pb_double(struct pb_reader *r);
double pb_finite(struct pb_reader *r);       /* a double; one that is no number is bad */
double pb_finite_float(struct pb_reader *r); /* the same of a float */
bytes pb_bytes(struct pb_reader *r);

/* How often a field is there. */
size_t pb_count(bytes in, unsigned field);

/* A repeated field of numbers of `size` bytes each (4 or 8) may be packed. How many there are: */
size_t pb_count_fixed(bytes in, unsigned field, size_t size);
/* The bytes of those of the current field: one number, or several. */
bytes pb_fixed(struct pb_reader *r, size_t size);

#endif
