#include "base/err.h"

static const struct err_info infos[] = {
#define ERR(name, applied, http, code, mysql, text)                                                \
    {#name, APPLIED_##applied, http, code, mysql, text},
#include "base/err.def"
#undef ERR
};

const struct err_info *err_info(int code)
{
    return &infos[code >= 0 && code < E_COUNT ? code : E_INTERNAL];
}
