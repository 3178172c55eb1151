/* result.h: what a statement answers: the columns of its rows, the rows, or how many were changed;
 * and why it failed. The doors turn it into packets and messages. */
#ifndef SQL_RESULT_H
#define SQL_RESULT_H

#include "base/bytes.h"
#include "widerow.h"

/* A column of a result. */
struct column {
    bytes database, table; /* empty: it is computed */
    bytes name;            /* as it is shown */
    bytes stored_name;     /* in the table */
    enum wr_type type;     /* WR_NULL, in Tablestore's dialect: as each value is */
    enum wr_type likely;   /* WR_NULL, or where the type is that: what values are, as a rule */
    uint32_t length;       /* of CHAR, BINARY, VARCHAR in characters or bytes; 0: not declared */
    uint8_t digits;        /* of DECIMAL, ... */
    uint8_t fraction;      /* ... behind the point */
    bool key, not_null;
    bool undeclared; /* its values are of several types, and come as texts or bytes */
    bool is_rest;    /* never given to a sink (undeclared.h) */
};

/* Takes an answer as it is made, on the thread that runs the statement; may block. Not 0: nobody
 * wants the rest, and the statement ends without another word. Values are of the column's type or
 * WR_NULL, and live during the call. */
struct sink {
    int (*columns)(struct sink *s, const struct column *columns, size_t count);
    int (*row)(struct sink *s, const struct wr_value *values);
};

/* Why a statement failed: MySQL's number of the error and its SQLSTATE. */
struct fault {
    uint16_t number; /* 0: it did not */
    const char *state;
    bytes text; /* in the arena of the statement */
    int code;   /* enum wr_error: what a request came to, or the like; 0: the statement is wrong */
};

#endif
