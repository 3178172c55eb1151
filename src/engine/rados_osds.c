/* rados_osds.c: whether OSDs have room for what rows take in them.
 *
 * Rows live in the omap, which an OSD keeps in RocksDB on BlueFS. An overwritten row stays there
 * until a compaction drops it, and a compaction writes what it keeps before it drops anything. An
 * OSD that finds no room for that ends ("bluefs _allocate allocation failed"), and it may do so
 * long before its ratio makes the pool full: of 1 GiB, three were lost with 0.8 of it in use when
 * last seen. So the OSDs themselves are asked for what BlueFS holds. As long as one of them has
 * less free than a compaction of all of it may take (at most COMPACTION_BYTES_MAX), only what
 * removes is written, as in a full pool.
 *
 * The question is a command to the OSD, which needs no manager but the right `osd 'allow *'`.
 * Without that, or while an OSD gives no answer, the ratio alone tells (rados_room.c). A server
 * asks a few OSDs a second, by turns. */
#include "engine/rados.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define LOOK_EVERY_US 1000000
#define ASKED_AT_ONCE 8
#define LIST_EVERY_MS                                                                              \
    60000 /* the OSDs there are; and how long one that was silent is left alone                    \
           */
#define COMPACTION_BYTES_MAX (4ull << 30)
#define MARGIN_BYTES (64ull << 20) /* written between two looks, and by the OSD for itself */

struct osd {
    int id;
    bool tight;
    int64_t silent_ms; /* monotonic: when it gave no answer; 0: it gave one */
};

struct rados_osds {
    struct rados *r;
    struct service service;
    struct osd *list;
    size_t count, next; /* whose turn it is */
    int64_t listed_ms;
    bool refused;
};

/* The text of an answer, which ends with a NUL, or NULL; mem_free() it. */
static char *take_text(char *out, size_t len)
{
    char *text = NULL;

    if (out) {
        text = mem_alloc(len + 1);
        memcpy(text, out, len);
        text[len] = 0;
        rados_buffer_free(out);
    }
    return text;
}

static char *ask_monitor(struct rados *r, const char *command)
{
    char *out = NULL, *status = NULL;
    size_t out_len = 0, status_len = 0;
    int result =
        rados_mon_command(r->cluster, &command, 1, "", 0, &out, &out_len, &status, &status_len);

    if (status)
        rados_buffer_free(status);
    if (result >= 0)
        return take_text(out, out_len);
    if (out)
        rados_buffer_free(out);
    return NULL;
}

static char *ask_osd(struct rados *r, int id, const char *command, int *result)
{
    char *out = NULL, *status = NULL;
    size_t out_len = 0, status_len = 0;

    *result =
        rados_osd_command(r->cluster, id, &command, 1, "", 0, &out, &out_len, &status, &status_len);
    if (status)
        rados_buffer_free(status);
    return take_text(out, out_len);
}

/* The number behind a name in a JSON text; 0: it is not there. */
static uint64_t number_of(const char *text, const char *name)
{
    char quoted[64];
    const char *at;

    snprintf(quoted, sizeof(quoted), "\"%s\":", name);
    at = strstr(text, quoted);
    return at ? strtoull(at + strlen(quoted), NULL, 10) : 0;
}

/* "[0,1,2]": those that are known keep what is known of them. */
static void list_take(struct rados_osds *o, const char *text)
{
    size_t most = 1, n = 0;
    struct osd *list;

    for (const char *p = text; *p; p++)
        most += *p == ',';
    list = mem_zalloc(most * sizeof(*list));
    for (const char *p = text; *p && n < most;) {
        char *end;
        long id = strtol(p, &end, 10);

        if (end == p) {
            p++;
            continue;
        }
        list[n] = (struct osd){.id = (int)id};
        for (size_t i = 0; i < o->count; i++)
            if (o->list[i].id == id)
                list[n] = o->list[i];
        n++;
        p = end;
    }
    mem_free(o->list);
    o->list = list;
    o->count = n;
}

static void list_osds(struct rados_osds *o)
{
    int64_t now = clock_mono_ms(o->r->clock);
    char *text;

    if (o->listed_ms && now - o->listed_ms < LIST_EVERY_MS)
        return;
    o->listed_ms = now;
    text = ask_monitor(o->r, "{\"prefix\": \"osd ls\", \"format\": \"json\"}");
    if (text)
        list_take(o, text);
    mem_free(text);
}

/* True: a compaction could find no room. */
static bool is_tight(const char *bluefs, const char *store)
{
    uint64_t total = number_of(bluefs, "db_total_bytes") + number_of(bluefs, "slow_total_bytes");
    uint64_t used = number_of(bluefs, "db_used_bytes") + number_of(bluefs, "slow_used_bytes");
    uint64_t taken = used + number_of(store, "bluestore_allocated");
    uint64_t need = (used < COMPACTION_BYTES_MAX ? used : COMPACTION_BYTES_MAX) + MARGIN_BYTES;

    return total && (taken > total || total - taken < need);
}

static void look_at(struct rados_osds *o, struct osd *osd)
{
    int64_t now = clock_mono_ms(o->r->clock);
    int result, second;
    char *bluefs, *store;

    if (osd->silent_ms && now - osd->silent_ms < LIST_EVERY_MS)
        return;
    bluefs = ask_osd(o->r, osd->id, "{\"prefix\": \"perf dump\", \"logger\": \"bluefs\"}", &result);
    store = result < 0 ? NULL
                       : ask_osd(o->r, osd->id,
                                 "{\"prefix\": \"perf dump\", \"logger\": \"bluestore\", "
                                 "\"counter\": \"bluestore_allocated\"}",
                                 &second);
    osd->tight = bluefs && store && is_tight(bluefs, store);
    osd->silent_ms = result < 0 ? now : 0;
    mem_free(bluefs);
    mem_free(store);
    if ((result == -EPERM || result == -EACCES) && !o->refused) {
        o->refused = true;
        log_warn(o->r->log, "engine: this user may not ask OSDs for their room; give it "
                            "osd 'allow *', or keep OSDs far from full");
    }
}

static void look(struct rados_osds *o)
{
    bool tight = false;

    list_osds(o);
    for (size_t i = 0; i < o->count && i < ASKED_AT_ONCE && !service_stopping(&o->service); i++)
        look_at(o, &o->list[o->next++ % o->count]);
    for (size_t i = 0; i < o->count; i++)
        tight |= o->list[i].tight;
    if (atomic_exchange(&o->r->tight, tight) == tight)
        return;
    if (tight)
        log_error(o->r->log, "engine: an OSD has too little room to compact what rows take in it; "
                             "only what removes is still written");
    else
        log_info(o->r->log, "engine: all OSDs have room again");
}

static void *osds_main(void *arg)
{
    struct rados_osds *o = arg;

    while (service_sleep(&o->service, LOOK_EVERY_US))
        if (!o->refused)
            look(o);
    return NULL;
}

struct rados_osds *rados_osds_start(struct rados *r)
{
    struct rados_osds *o = mem_zalloc(sizeof(*o));

    o->r = r;
    if (service_start(&o->service, "wr-osds", osds_main, o))
        return o;
    mem_free(o);
    return NULL;
}

void rados_osds_stop(struct rados_osds *o)
{
    if (!o)
        return;
    service_stop(&o->service);
    mem_free(o->list);
    mem_free(o);
}
