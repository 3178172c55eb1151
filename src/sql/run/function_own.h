/* function_own.h: what the files of the scalar functions share. */
#ifndef SQL_RUN_FUNCTION_OWN_H
#define SQL_RUN_FUNCTION_OWN_H

#include "base/bytes.h"

#include <sqlite3.h>
#include <stdbool.h>

typedef void function_fn(sqlite3_context *c, int count, sqlite3_value **v);

struct function {
    const char *name;
    int count; /* of values; -1: any */
    function_fn *fn;
    bool same; /* the same values give the same, whenever */
};

/* Makes them known, with `data` as their user data; SQLITE_OK, or SQLite's code. */
static inline int function_create(struct sqlite3 *sqlite, const struct function *functions,
                                  size_t count, void *data)
{
    int code = SQLITE_OK;

    for (size_t i = 0; i < count && code == SQLITE_OK; i++)
        code =
            sqlite3_create_function_v2(sqlite, functions[i].name, functions[i].count,
                                       SQLITE_UTF8 | (functions[i].same ? SQLITE_DETERMINISTIC : 0),
                                       data, functions[i].fn, NULL, NULL, NULL);
    return code;
}

/* A value as the text, or the bytes, that it is; valid as SQLite's own pointer is. */
static inline bytes function_bytes(sqlite3_value *v)
{
    const void *p = sqlite3_value_type(v) == SQLITE_BLOB ? sqlite3_value_blob(v)
                                                         : (const void *)sqlite3_value_text(v);

    return bytes_of(p ? p : "", p ? (size_t)sqlite3_value_bytes(v) : 0);
}

/* True: one is NULL, and so is the result, which is set. */
static inline bool function_any_null(sqlite3_context *c, int count, sqlite3_value **v)
{
    for (int i = 0; i < count; i++)
        if (sqlite3_value_type(v[i]) == SQLITE_NULL) {
            sqlite3_result_null(c);
            return true;
        }
    return false;
}

/* The result is this text, which is copied. */
static inline void function_result(sqlite3_context *c, bytes text)
{
    sqlite3_result_text64(c, text.ptr, text.len, SQLITE_TRANSIENT, SQLITE_UTF8);
}

/* Of function_text.c. */
int function_texts_register(struct sqlite3 *sqlite);

#endif
