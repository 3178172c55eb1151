#include "search/query/minimum.h"

static bool read_number(const char **p, const char *end, int64_t *out)
{
    bool negative = *p < end && **p == '-';
    const char *start = *p += negative;

    *out = 0;
    for (; *p < end && **p >= '0' && **p <= '9' && *p - start < 6; ++*p)
        *out = *out * 10 + (**p - '0');
    if (*p == start)
        return false;
    if (negative)
        *out = -*out;
    return true;
}

/* A number, perhaps of per cents, of all clauses. */
static bool read_share(const char **p, const char *end, int64_t clauses, int64_t *out)
{
    if (!read_number(p, end, out))
        return false;
    if (*p < end && **p == '%') {
        ++*p;
        *out = *out * clauses / 100;
    }
    if (*out < 0)
        *out += clauses;
    if (*out < 0)
        *out = 0;
    return true;
}

static bool read_text(bytes text, int64_t clauses, int64_t *out)
{
    const char *p = text.ptr, *end = p + text.len;

    *out = clauses;
    while (p < end && *p == ' ')
        p++;
    while (p < end) {
        const char *at = p;
        int64_t above, share;

        if (read_number(&p, end, &above) && p < end && *p == '<') {
            p++;
            if (!read_share(&p, end, clauses, &share))
                return false;
            if (clauses > above)
                *out = share;
        } else {
            p = at;
            if (!read_share(&p, end, clauses, out))
                return false;
        }
        while (p < end && *p == ' ')
            p++;
    }
    return true;
}

int minimum_match(struct ctx *c, const struct wr_minimum_match *m, int64_t clauses,
                  int64_t otherwise, int64_t *out)
{
    if (m->text.ptr && m->text.len) {
        if (!read_text(m->text, clauses, out))
            return fail(c, E_PARAMETER,
                        "Invalid minimum_should_match '%.*s'. It is a number (3, -1), a share "
                        "(75%%, -25%%), or shares above numbers (2<75%%).",
                        BYTES_FMT(m->text));
        return E_OK;
    }
    *out = m->given ? m->number : otherwise;
    if (*out < 0)
        *out = *out + clauses < 0 ? 0 : *out + clauses;
    return E_OK;
}
