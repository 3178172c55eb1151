/* rocks_space.c: the space left on the disk that holds the data. It is better not to come to its
 * end: with little left, apply() answers E_NO_SPACE beforehand to all but deletions and what the
 * system partition needs (no deletion goes without it, nor a start), so that what is there stays
 * open, compaction has room to make room, and nothing needs mending. */
#include "engine/rocks.h"

#include "base/fault.h"

#define SPACE_CHECK_US 100000

/* What must stay free: room for the write buffers of a moment and for a compaction to begin with.
 */
bool rocks_space_is_short(struct rocks *r)
{
    uint64_t left, total;

    if (fault_hit(FAULT_rocks_disk_full))
        return true;
    return folder_space(&r->folder, &left, &total) &&
           left < rocks_clamp(total / 50, 16 * MIB, 256 * MIB);
}

/* The same, asking the system only now and then. */
bool rocks_space_short(struct rocks *r)
{
    long long now = clock_mono_us(r->clock), checked = atomic_load(&r->space_checked_us);
    bool is;

    if (now - checked < SPACE_CHECK_US ||
        !atomic_compare_exchange_strong(&r->space_checked_us, &checked, now))
        return atomic_load(&r->space_short);
    is = rocks_space_is_short(r);
    if (atomic_exchange(&r->space_short, is) != is)
        log_warn(r->log, is ? "storage: the disk is nearly full: only deletions are accepted"
                            : "storage: there is space again");
    return is;
}
