#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>

static const struct err_info infos[] = {
#define ERR(number, name, applied, http, code, mysql, text, note)                                  \
    [number] = {#name, APPLIED_##applied, http, code, mysql, text},
#include "base/err.def"
#undef ERR
};

const struct err_info *err_info(int code)
{
    return &infos[code >= 0 && code < E_COUNT ? code : E_INTERNAL];
}

int err_refuse(char *message, size_t size, int code, const char *fmt, ...)
{
    va_list args;

    if (!message)
        return code;
    va_start(args, fmt);
    vsnprintf(message, size, fmt, args);
    va_end(args);
    return code;
}
