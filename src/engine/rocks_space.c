/* rocks_space.c: the space left on the disk that holds the data.
 *
 * It is better not to come to its end: with little left, apply() answers E_NO_SPACE beforehand to
 * all but deletions and what the system partition needs (no deletion goes without it, nor a start),
 * so that what is there stays open, and nothing needs mending. Once little is left, a quarter more
 * must be free before writes are taken again, so that readiness does not flap at the edge.
 *
 * Compaction. It writes its result before it removes what it was made from, so it may need as much
 * as it reads. Left alone it would take the last byte, fail, give all of it back, and begin again:
 * reads interrupted and deletions refused with each turn. So RocksDB may begin a compaction by
 * itself only while there is room for all that is due. When there is not, the room thread tries one
 * in its own time, watches the disk meanwhile, and breaks it off in time; what comes of it is often
 * much smaller than what went in, after deletions above all. */
#include "engine/rocks.h"

#include "base/fault.h"

#include <dirent.h>
#include <sys/stat.h>

#define SPACE_CHECK_US 100000
#define ROOM_CHECK_MS 200
#define ROOM_WATCH_US 3000
#define ROOM_PAUSE_US_MIN 1000000
#define ROOM_PAUSE_US_MAX 60000000
#define SWITCH_BYTES_MIN MIB /* switching writes a few bytes itself */
#define OPEN_BYTES (2 * MIB)
/* Of an enum that RocksDB's C header takes but does not name: files of the last level, too, unless
 * the same compaction has made them. */
#define BOTTOM_TOO 3

/* ---- writing */

/* What must stay free: room for the write buffers of a moment and for a compaction to begin with.
 */
static uint64_t space_reserve(uint64_t total)
{
    return rocks_clamp(total / 50, 16 * MIB, 256 * MIB);
}

/* False: the system does not tell. */
static bool space_left(struct rocks *r, uint64_t *left, uint64_t *reserve)
{
    uint64_t total;

    if (!folder_space(&r->folder, left, &total))
        return false;
    *reserve = space_reserve(total);
    return true;
}

static bool space_is_short(struct rocks *r)
{
    uint64_t left, reserve;

    if (fault_hit(FAULT_rocks_disk_full))
        return true;
    if (!space_left(r, &left, &reserve))
        return false;
    return left < (atomic_load(&r->space_short) ? reserve + reserve / 4 : reserve);
}

bool rocks_space_short(struct rocks *r)
{
    long long now = clock_mono_us(r->clock), checked = atomic_load(&r->space_checked_us);
    bool is;

    if (now - checked < SPACE_CHECK_US ||
        !atomic_compare_exchange_strong(&r->space_checked_us, &checked, now))
        return atomic_load(&r->space_short);
    is = space_is_short(r);
    if (atomic_exchange(&r->space_short, is) != is)
        log_warn(r->log, is ? "storage: the disk is nearly full: only deletions are accepted"
                            : "storage: there is space again");
    return is;
}

/* ---- opening */

bool rocks_space_to_open(struct rocks *r)
{
    uint64_t left, reserve, logs = 0;
    DIR *d;
    struct dirent *entry;

    if (fault_hit(FAULT_rocks_disk_full))
        return false;
    if (!space_left(r, &left, &reserve) || !(d = opendir(r->folder.db)))
        return true;
    while ((entry = readdir(d))) {
        size_t n = strlen(entry->d_name);
        struct stat st;

        if (n > 4 && strcmp(entry->d_name + n - 4, ".log") == 0 &&
            fstatat(dirfd(d), entry->d_name, &st, 0) == 0)
            logs += (uint64_t)st.st_size;
    }
    closedir(d);
    /* The logs become table files, and only then they go. */
    return left >= logs + logs / 8 + OPEN_BYTES;
}

bool rocks_space_to_compact(struct rocks *r, uint64_t due)
{
    uint64_t left, reserve, most = rocks_compaction_bytes(r->memory_bytes);

    if (fault_hit(FAULT_rocks_disk_full))
        return false;
    return !space_left(r, &left, &reserve) || left >= reserve + (due < most ? due : most);
}

uint64_t rocks_compaction_due(rocksdb_t *db)
{
    uint64_t n = 0;

    return rocksdb_property_int(db, "rocksdb.estimate-pending-compaction-bytes", &n) == 0 ? n : 0;
}

/* ---- the room thread */

/* How the thread's tries went. */
struct room {
    bool tried;
    uint64_t sequence; /* at the last try: without a change the next would come as far */
    int64_t pause_us, next_us;
    int64_t uncover_us; /* when range tombstones may be compacted away again */
};

/* A compaction that is watched. */
struct squeeze {
    struct handle *h;
    struct key_range range; /* both empty: all keys */
    bool bottom;            /* rewrites files of the last level, too */
    atomic_bool done;
};

static void *squeeze_main(void *arg)
{
    struct squeeze *s = arg;
    rocksdb_compactoptions_t *how = rocksdb_compactoptions_create();

    rocksdb_compactoptions_set_exclusive_manual_compaction(how, 0);
    if (s->bottom)
        rocksdb_compactoptions_set_bottommost_level_compaction(how, BOTTOM_TOO);
    rocksdb_compact_range_opt(s->h->db, how, s->range.start.ptr, s->range.start.len,
                              s->range.end.ptr, s->range.end.len);
    rocksdb_compactoptions_destroy(how);
    atomic_store(&s->done, true);
    return NULL;
}

/* Compacts as long as the disk has more than `floor` left. True if it came to its end. */
static bool squeeze(struct rocks *r, struct handle *h, const struct key_range *range, bool bottom,
                    uint64_t floor)
{
    struct squeeze s = {.h = h, .range = *range, .bottom = bottom};
    uint64_t left, reserve;
    pthread_t thread;
    bool broken = false;

    atomic_init(&s.done, false);
    if (!thread_start(&thread, "wr-room", squeeze_main, &s))
        return false;
    while (!broken && !atomic_load(&s.done)) {
        rocks_sleep_us(ROOM_WATCH_US);
        broken = atomic_load(&r->failed) || rocks_closing(r) || !space_left(r, &left, &reserve) ||
                 left < floor;
    }
    if (broken)
        rocksdb_disable_manual_compaction(h->db); /* waits for its end */
    pthread_join(thread, NULL);
    if (broken)
        rocksdb_enable_manual_compaction(h->db);
    return !broken;
}

/* Says whether RocksDB may compact by itself. */
static void compaction_switch(struct rocks *r, struct handle *h, bool off)
{
    const char *const names[] = {"disable_auto_compactions"};
    const char *const values[] = {off ? "true" : "false"};
    char *err = NULL;

    rocksdb_set_options(h->db, 1, names, values, &err);
    if (err) {
        log_warn(r->log, "storage: cannot %s compaction: %s", off ? "hold back" : "let go on", err);
        rocksdb_free(err);
        return;
    }
    rocks_options_tidy(r);
    atomic_store(&h->compaction_off, off);
}

/* Of several ranges it is the one around all. */
void rocks_covered_add(struct rocks *r, const struct key_range *range)
{
    pthread_mutex_lock(&r->lock);
    kept_range_widen(&r->covered, range);
    pthread_mutex_unlock(&r->lock);
}

/* Compacts range tombstones away that are in the way of bulks, wherever they lie: one that a view
 * kept alive on its way to the last level stays there, as RocksDB does not look for it again.
 * False: none is. */
static bool uncover(struct rocks *r, struct handle *h, uint64_t floor)
{
    struct kept_range covered;

    pthread_mutex_lock(&r->lock);
    covered = r->covered;
    r->covered = (struct kept_range){0};
    pthread_mutex_unlock(&r->lock);
    if (!covered.is)
        return false;
    atomic_store(&r->squeezing, true);
    squeeze(r, h, &covered.range, true, floor);
    atomic_store(&r->squeezing, false);
    kept_range_free(&covered);
    return true;
}

static void room_check(struct rocks *r, struct handle *h, struct room *room)
{
    uint64_t due = rocks_compaction_due(h->db), sequence, left, reserve, floor;
    bool off = atomic_load(&h->compaction_off), fits;
    int64_t now_us = clock_mono_us(r->clock);

    if (!space_left(r, &left, &reserve) || left < SWITCH_BYTES_MIN)
        return;
    /* Not both ways at the same number. */
    fits = rocks_space_to_compact(r, off ? due + reserve / 4 : due) && !rocks_damage_is(r);
    if (fits == off)
        compaction_switch(r, h, !fits);
    if (fits || rocks_damage_is(r)) {
        /* As long as a view keeps them it gains nothing, so not at once again. */
        if (fits && now_us >= room->uncover_us && uncover(r, h, reserve))
            room->uncover_us = clock_mono_us(r->clock) + ROOM_PAUSE_US_MIN;
        *room = (struct room){.uncover_us = room->uncover_us};
        return;
    }
    sequence = rocksdb_get_latest_sequence_number(h->db);
    /* Without a change another try gains nothing, unless a snapshot has gone or others have made
     * room; so there is one now and then. */
    if (now_us < room->next_us ||
        (room->tried && sequence == room->sequence && now_us < room->next_us + ROOM_PAUSE_US_MAX))
        return;
    /* Writes that are still taken shall not end because of this. It begins with a flush, which
     * cannot be broken off. */
    floor = rocks_space_short(r) ? reserve / 8 : reserve;
    if (left < floor + rocks_property(h, "rocksdb.cur-size-all-mem-tables"))
        return;
    atomic_store(&r->squeezing, true);
    if (squeeze(r, h, &(struct key_range){BYTES_NONE, BYTES_NONE}, false, floor))
        room->pause_us = 0;
    atomic_store(&r->squeezing, false);
    room->tried = true;
    room->sequence = sequence;
    room->pause_us =
        (int64_t)rocks_clamp((uint64_t)room->pause_us * 2, ROOM_PAUSE_US_MIN, ROOM_PAUSE_US_MAX);
    room->next_us = clock_mono_us(r->clock) + room->pause_us;
}

void *rocks_room(void *arg)
{
    struct rocks *r = arg;
    struct room room = {0};

    while (rocks_pause(r, ROOM_CHECK_MS)) {
        struct entry in;
        struct ctx c;

        if (atomic_load(&r->failed))
            continue;
        ctx_init(&c, r->clock, NULL, NULL, 0);
        if (rocks_enter(&c, r, VIEW_LATEST, &in) == E_OK) {
            if (rocks_damage_is(r))
                rocks_damage_look(r, in.handle);
            room_check(r, in.handle, &room);
            rocks_obsolete_look(r, in.handle);
            if (!rocks_space_short(r)) /* it may have to flush */
                rocks_tombstones_look(r, in.handle);
            rocks_leave(&in);
        }
        ctx_release(&c);
    }
    return NULL;
}
