/* stamp.h: what the stamps of one change are made of (core/db_clock.h gives it). */
#ifndef TABLE_MODEL_STAMP_H
#define TABLE_MODEL_STAMP_H

#include <stdint.h>

struct stamp_time {
    int64_t us;             /* the database clock */
    int64_t versions_to_ms; /* updates within one millisecond get distinct versions up to here */
    uint64_t unit, slot;    /* a row's stamp is microseconds * unit + slot */
};

#endif
