#include "server/ticket.h"

#include "base/rng.h"

#include <inttypes.h>
#include <stdio.h>

#define SECRET_BYTES 32

void ticket_office_init(struct ticket_office *o, struct clock *clock)
{
    uint8_t secret[SECRET_BYTES];

    rng_secret(secret, sizeof(secret));
    sign_key_init(&o->key, bytes_of(secret, sizeof(secret)));
    o->clock = clock;
    atomic_init(&o->address, NULL);
}

/* "<when it ends>.<signature over that and the folder>" */
static void format(const struct ticket_office *o, bytes dir, int64_t end_ms,
                   char out[TICKET_TEXT + 1])
{
    char signature[SIGN_SHA1_TEXT + 1];
    struct arena a;

    arena_init(&a, NULL, 0);
    sign_text(&o->key, arena_printf(&a, "%" PRId64 "\n%.*s", end_ms, BYTES_FMT(dir)), signature);
    arena_release(&a);
    snprintf(out, TICKET_TEXT + 1, "%" PRId64 ".%s", end_ms, signature);
}

void ticket_issue(const struct ticket_office *o, bytes dir, char out[TICKET_TEXT + 1])
{
    format(o, dir, clock_mono_ms(o->clock) + TICKET_VALID_MS, out);
}

static bool read_end(bytes ticket, int64_t *end_ms)
{
    const char *p = ticket.ptr;
    uint64_t n = 0;

    for (size_t i = 0; i < ticket.len && i < 19; i++) {
        if (p[i] == '.' && i) {
            *end_ms = (int64_t)n;
            return true;
        }
        if (p[i] < '0' || p[i] > '9')
            return false;
        n = n * 10 + (uint64_t)(p[i] - '0');
    }
    return false;
}

bool ticket_check(const struct ticket_office *o, bytes dir, bytes ticket, const char **why)
{
    char expected[TICKET_TEXT + 1];
    int64_t end_ms;

    *why = "A backup needs a ticket of this server (the header X-Widerow-Ticket): make it with "
           "`widerow backup` of this release and an access key of this server.";
    if (!ticket.len)
        return false;
    *why = "This server has not given out the ticket for this folder: the endpoint and this admin "
           "port are of two servers, or the server was started anew meanwhile.";
    if (!read_end(ticket, &end_ms))
        return false;
    format(o, dir, end_ms, expected);
    if (!sign_equal(bytes_str(expected), ticket))
        return false;
    *why = "The ticket is too old; begin the backup again.";
    return clock_mono_ms(o->clock) <= end_ms;
}
