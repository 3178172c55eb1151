#include "server/shared_limits.h"

#include "base/err.h"
#include "base/port.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NAME "limits"
#define TEXT_MAX 16384

static void limits_format(const struct limits *limits, char *out, size_t size)
{
    size_t n = 0;

    for (size_t i = 0; limits_name(i) && n < size; i++)
        n += (size_t)snprintf(out + n, size - n, "%s=%" PRId64 "\n", limits_name(i),
                              limits_value(limits, i));
}

/* False: it does not tell of that limit. */
static bool stored_value(const char *stored, const char *name, int64_t *value)
{
    size_t n = strlen(name);

    for (const char *line = stored; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, n) == 0 && line[n] == '=')
            return sscanf(line + n + 1, "%" SCNd64, value) == 1;
    }
    return false;
}

size_t shared_limits_differ(const struct limits *limits, const char *stored, char *out, size_t size)
{
    size_t count = 0, n = 0;

    out[0] = 0;
    for (size_t i = 0; limits_name(i); i++) {
        int64_t theirs = 0, ours = limits_value(limits, i);

        if (!stored_value(stored, limits_name(i), &theirs) || theirs == ours)
            continue;
        if (n < size)
            n += (size_t)snprintf(out + n, size - n, "%s%s %" PRId64 ", not %" PRId64,
                                  count ? ", " : "", limits_name(i), ours, theirs);
        count++;
    }
    return count;
}

void shared_limits_compare(struct wr_db *db, const struct limits *limits, struct log *log)
{
    char message[1024], *ours = mem_alloc(TEXT_MAX);
    struct wr_text stored, next;
    int code = wr_text_load(db, NAME, &stored, message, sizeof(message));

    limits_format(limits, ours, TEXT_MAX);
    next = (struct wr_text){stored.version, ours, strlen(ours)};
    if (!code && stored.text && shared_limits_differ(limits, stored.text, message, sizeof(message)))
        log_warn(log,
                 "limits: not those of the server that started last: %s. Give all servers over the "
                 "same data the same.",
                 message);
    if (!code && (!stored.text || strcmp(stored.text, ours) != 0))
        code = wr_text_store(db, NAME, &next, message, sizeof(message));
    if (code && code != E_CONFLICT)
        log_warn(log, "limits: not compared with the other servers': %s", message);
    wr_text_clear(&stored);
    mem_free(ours);
}
