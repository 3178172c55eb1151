#include "base/descriptor.h"

#include <limits.h>
#include <sys/resource.h>

#define TABLES_MIN 24
#define TABLES_MAX 4096
/* Logs, manifests, tables being written, folders, a backup; the admin port; loops and bells. */
#define OTHERS 48
#define CONNECTIONS_MIN 8
#define SECOND_SHARE 3 /* the second port's part, where both ask for more than there is */

static int as_int(rlim_t n)
{
    return n == RLIM_INFINITY || n > INT_MAX ? INT_MAX : (int)n;
}

int descriptor_limit(void)
{
    struct rlimit r;

    return getrlimit(RLIMIT_NOFILE, &r) ? INT_MAX : as_int(r.rlim_cur);
}

int descriptor_limit_raise(void)
{
    struct rlimit r;

    if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur != r.rlim_max) {
        r.rlim_cur = r.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &r);
    }
    return descriptor_limit();
}

int descriptor_tables(int limit)
{
    int share = limit / 4;

    return share < TABLES_MIN ? TABLES_MIN : share > TABLES_MAX ? TABLES_MAX : share;
}

int descriptor_connections(int limit)
{
    int left = limit - descriptor_tables(limit) - OTHERS;

    return left < CONNECTIONS_MIN ? CONNECTIONS_MIN : left;
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

void descriptor_share(int connections, int *first, int *second)
{
    int part = least(*second, connections / SECOND_SHARE);

    if (*first <= connections - *second)
        return;
    *first = least(*first, connections - part);
    *second = connections - *first;
}
