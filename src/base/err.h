/* err.h: every outcome as a number, with what the fronts say of it. The rows stand in err.def. */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include "base/port.h"

#include <stddef.h>

enum err_applied { APPLIED_NO = 0, APPLIED_YES = 1, APPLIED_MAYBE = -1 };

enum err {
#define ERR(number, name, ...) E_##name = number,
#include "base/err.def"
#undef ERR
    E_COUNT,
    /* Inside the house only; they never reach a client. */
    E_LATER = 100, /* not an error: the answer comes through a completion */
    E_GUARD = 101, /* a batch's guard failed, nothing changed: read again, decide again */
};

struct err_info {
    const char *name; /* "PARAMETER" */
    enum err_applied applied;
    int http_status;
    const char *code; /* "OTSParameterInvalid" */
    int mysql_code;
    const char *text; /* used when nothing better was recorded */
};

/* Never NULL: a code out of range is E_INTERNAL. */
const struct err_info *err_info(int code);

/* A refusal where there is no request that could remember it: writes the text, returns the code. */
int err_refuse(char *message, size_t size, int code, const char *fmt, ...) PORT_PRINTF(4, 5);

#endif
