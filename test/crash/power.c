/* power.c: what a power cut may leave. A preloaded library (preload/) records every write, sync and
 * change of a name that the server makes; from the record come states in which a disk may be found
 * after the power went at some point of it; on each a server must start and serve everything that
 * was acknowledged before that point.
 *
 * The rules of what a disk may hold, a little harsher than common file systems:
 *   - a write is there if a sync of its file began after it and ended before the cut; else any part
 *     of it may be there, in units of 512 bytes, whatever became of others;
 *   - a file's size may have grown without the bytes, which read as zeros then;
 *   - a name that was made, changed or removed is so if its folder was synced after it; of the
 * other changes in that folder the first few are there, as file systems that keep a journal do it.
 *
 * To show that the test can fail, it is run on a server that does not sync, where it must. */
#include "preload/record.h"
#include "server.h"
#include "tree.h"
#include "workload.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STATES_SHORT 60
#define STATES_NIGHTLY 1000
#define STATES_NO_SYNC 40 /* at most; one that fails is enough */
#define STATES_A_RECORD 100
#define WORK_US 700000
#define SECTOR 512
#define HANDLES_MAX 4096
#define PENDING_SYNCS 8
#define NAME_BYTES 300

struct write_op {
    uint64_t offset, size; /* of a truncation: the size is in offset */
    const uint8_t *data;   /* NULL: a truncation */
};

/* A file or folder, whatever its name. */
struct inode {
    uint8_t *base; /* what it held when the record began */
    uint64_t base_size;
    struct write_op *ops;
    int count, capacity;
    int durable; /* ops before this one are synced */
    bool folder;
};

enum name_type { NAME_CREATE, NAME_RENAME, NAME_UNLINK };

struct name_op {
    enum name_type type;
    char path[NAME_BYTES], to[NAME_BYTES];
    int inode;
    bool durable;
};

struct name {
    char path[NAME_BYTES];
    int inode;
};

struct names {
    struct name *all;
    int count, capacity;
};

struct handle {
    uint64_t number;
    int inode;
    char path[NAME_BYTES];
    int begun[PENDING_SYNCS]; /* how far the file (or the names) had come when syncs began */
    int begun_count;
};

struct replay {
    struct crash *run;
    const char *dir;
    struct inode *inodes;
    int inode_count, inode_capacity;
    struct names base, now; /* at the beginning; with all changes */
    struct name_op *name_ops;
    int name_count, name_capacity;
    struct handle *handles;
    int handle_count;
};

struct power {
    struct crash *run;
    struct server server;
    struct workload *workload;
    struct picture *picture;
    char dir[256], base[256], record_file[256];
    uint8_t *record;
    uint64_t record_size, begin; /* states are of moments after `begin` */
    uint64_t *ends;              /* where each event ends */
    uint32_t *types;
    int events;
    int unsynced; /* states whose cut found something not synced */
    struct crash_times ready;
};

/* ---- names */

#define GROW(array, count, capacity)                                                               \
    do {                                                                                           \
        if ((count) == (capacity)) {                                                               \
            (capacity) = (capacity) ? 2 * (capacity) : 64;                                         \
            (array) = mem_realloc((array), (size_t)(capacity) * sizeof(*(array)));                 \
        }                                                                                          \
    } while (0)

static struct name *names_find(const struct names *n, const char *path)
{
    for (int i = 0; i < n->count; i++)
        if (strcmp(n->all[i].path, path) == 0)
            return &n->all[i];
    return NULL;
}

static void names_set(struct names *n, const char *path, int inode)
{
    struct name *found = names_find(n, path);

    if (!found) {
        GROW(n->all, n->count, n->capacity);
        found = &n->all[n->count++];
        snprintf(found->path, sizeof(found->path), "%s", path);
    }
    found->inode = inode;
}

static void names_remove(struct names *n, const char *path)
{
    struct name *found = names_find(n, path);

    if (found)
        *found = n->all[--n->count];
}

static void names_apply(struct names *n, const struct name_op *op)
{
    if (op->type != NAME_CREATE)
        names_remove(n, op->path);
    if (op->type == NAME_CREATE)
        names_set(n, op->path, op->inode);
    if (op->type == NAME_RENAME)
        names_set(n, op->to, op->inode);
}

static bool in_folder(const char *path, const char *folder)
{
    size_t n = strlen(folder);

    return strncmp(path, folder, n) == 0 && path[n] == '/' && !strchr(path + n + 1, '/');
}

/* ---- replaying the record up to the cut */

static int inode_new(struct replay *r)
{
    GROW(r->inodes, r->inode_count, r->inode_capacity);
    r->inodes[r->inode_count] = (struct inode){0};
    return r->inode_count++;
}

static void name_change(struct replay *r, enum name_type type, const char *path, const char *to,
                        int inode)
{
    struct name_op *op;

    GROW(r->name_ops, r->name_count, r->name_capacity);
    op = &r->name_ops[r->name_count++];
    *op = (struct name_op){.type = type, .inode = inode};
    snprintf(op->path, sizeof(op->path), "%s", path);
    snprintf(op->to, sizeof(op->to), "%s", to);
    names_apply(&r->now, op);
}

static void inode_change(struct inode *inode, struct write_op op)
{
    GROW(inode->ops, inode->count, inode->capacity);
    inode->ops[inode->count++] = op;
}

static struct handle *handle_find(struct replay *r, uint64_t number)
{
    for (int i = r->handle_count - 1; i >= 0; i--)
        if (r->handles[i].number == number)
            return &r->handles[i];
    crash_give_up(r->run, "the record names a file that was not opened");
}

static void replay_open(struct replay *r, const struct record_header *h, const char *path)
{
    struct handle *handle = &r->handles[r->handle_count++];
    struct name *name = names_find(&r->now, path);
    struct stat st;

    if (r->handle_count == HANDLES_MAX)
        crash_give_up(r->run, "too many files were opened");
    *handle = (struct handle){.number = h->handle};
    snprintf(handle->path, sizeof(handle->path), "%s", path);
    if (name && !(h->offset & RECORD_CREATED)) {
        handle->inode = name->inode;
    } else {
        handle->inode = inode_new(r);
        if (h->offset & RECORD_CREATED)
            name_change(r, NAME_CREATE, path, "", handle->inode);
        else
            r->inodes[handle->inode].folder = stat(path, &st) == 0 && S_ISDIR(st.st_mode);
    }
    if ((h->offset & RECORD_EMPTIED) && !(h->offset & RECORD_CREATED))
        inode_change(&r->inodes[handle->inode], (struct write_op){0});
}

static void replay_sync_begin(struct replay *r, struct handle *handle)
{
    struct inode *inode = &r->inodes[handle->inode];

    if (handle->begun_count == PENDING_SYNCS)
        crash_give_up(r->run, "too many syncs of one file at a time");
    handle->begun[handle->begun_count++] = inode->folder ? r->name_count : inode->count;
}

/* Which of several syncs under way has ended is not recorded: the one that began first. */
static void replay_sync_end(struct replay *r, struct handle *handle, bool failed)
{
    struct inode *inode = &r->inodes[handle->inode];
    int begun = handle->begun[0];

    memmove(handle->begun, handle->begun + 1, (size_t)--handle->begun_count * sizeof(int));
    if (failed)
        return;
    if (!inode->folder) {
        inode->durable = begun > inode->durable ? begun : inode->durable;
        return;
    }
    for (int i = 0; i < begun; i++)
        if (in_folder(r->name_ops[i].path, handle->path))
            r->name_ops[i].durable = true;
}

static void replay_event(struct replay *r, const struct record_header *h, const uint8_t *data)
{
    char path[NAME_BYTES];
    struct name *name;

    snprintf(path, sizeof(path), "%.*s", (int)h->size, (const char *)data);
    switch ((enum record_type)h->type) {
    case RECORD_OPEN:
        replay_open(r, h, path);
        break;
    case RECORD_WRITE:
        inode_change(&r->inodes[handle_find(r, h->handle)->inode],
                     (struct write_op){h->offset, h->size, data});
        break;
    case RECORD_TRUNCATE:
        inode_change(&r->inodes[handle_find(r, h->handle)->inode],
                     (struct write_op){.offset = h->offset});
        break;
    case RECORD_SYNC_BEGIN:
        replay_sync_begin(r, handle_find(r, h->handle));
        break;
    case RECORD_SYNC_END:
        replay_sync_end(r, handle_find(r, h->handle), h->offset != 0);
        break;
    case RECORD_RENAME:
        name = names_find(&r->now, path);
        if (name)
            name_change(r, NAME_RENAME, path, (const char *)data + strlen(path) + 1, name->inode);
        break;
    case RECORD_UNLINK:
        name = names_find(&r->now, path);
        if (name)
            name_change(r, NAME_UNLINK, path, "", name->inode);
        break;
    }
}

static void replay_base(struct replay *r, const char *base)
{
    struct tree *tree = mem_alloc(sizeof(*tree));

    tree_list(r->run, base, tree);
    for (int i = 0; i < tree->count; i++) {
        char path[NAME_BYTES + 300];
        int n = inode_new(r);
        struct inode *inode = &r->inodes[n];
        FILE *f;

        snprintf(path, sizeof(path), "%s/%s", base, tree->files[i].name);
        inode->base_size = (uint64_t)tree->files[i].size;
        inode->base = mem_alloc(inode->base_size + 1);
        f = fopen(path, "r");
        if (!f || fread(inode->base, 1, inode->base_size, f) != inode->base_size)
            crash_give_up(r->run, "cannot read %s", path);
        fclose(f);
        snprintf(path, sizeof(path), "%s/%s", r->dir, tree->files[i].name);
        names_set(&r->base, path, n);
        names_set(&r->now, path, n);
    }
    mem_free(tree);
}

static struct replay replay_make(struct power *t, uint64_t cut)
{
    struct replay r = {.run = t->run, .dir = t->dir};

    r.handles = mem_alloc(HANDLES_MAX * sizeof(*r.handles));
    replay_base(&r, t->base);
    for (uint64_t at = 0; at < cut;) {
        struct record_header h;

        memcpy(&h, t->record + at, sizeof(h));
        replay_event(&r, &h, t->record + at + sizeof(h));
        at += sizeof(h) + h.size;
    }
    return r;
}

static void replay_free(struct replay *r)
{
    for (int i = 0; i < r->inode_count; i++) {
        mem_free(r->inodes[i].base);
        mem_free(r->inodes[i].ops);
    }
    mem_free(r->inodes);
    mem_free(r->base.all);
    mem_free(r->now.all);
    mem_free(r->name_ops);
    mem_free(r->handles);
}

/* ---- from the replay to a disk */

/* How much of what was not synced is there. */
enum luck { LUCK_NONE, LUCK_ALL, LUCK_SOME, LUCK_FIRST, LUCK_SIZE_ONLY, LUCK_COUNT };

struct content {
    uint8_t *data;
    uint64_t size, capacity;
};

static void content_size(struct content *c, uint64_t size)
{
    if (size > c->capacity) {
        uint64_t before = c->capacity;

        c->capacity = size * 2;
        c->data = mem_realloc(c->data, c->capacity);
        memset(c->data + before, 0, c->capacity - before);
    }
    if (size < c->size)
        memset(c->data + size, 0, c->size - size);
    c->size = size;
}

static void content_put(struct content *c, uint64_t at, const uint8_t *data, uint64_t n)
{
    if (at + n > c->size)
        content_size(c, at + n);
    if (n)
        memcpy(c->data + at, data, n);
}

/* Some of a write, by sectors of the disk. */
static void content_put_some(struct content *c, const struct write_op *op, struct rng *rng)
{
    for (uint64_t at = op->offset; at < op->offset + op->size;) {
        uint64_t end = (at / SECTOR + 1) * SECTOR;

        if (end > op->offset + op->size)
            end = op->offset + op->size;
        if (rng_below(rng, 2))
            content_put(c, at, op->data + (at - op->offset), end - at);
        at = end;
    }
}

static void content_lucky(struct content *c, const struct write_op *op, enum luck luck,
                          struct rng *rng)
{
    if (luck == LUCK_NONE)
        return;
    if (!op->data)
        content_size(c, op->offset);
    else if (luck == LUCK_ALL || luck == LUCK_FIRST)
        content_put(c, op->offset, op->data, op->size);
    else if (luck == LUCK_SOME)
        content_put_some(c, op, rng);
    else if (op->offset + op->size > c->size)
        content_size(c, op->offset + op->size);
}

static void inode_write(struct replay *r, const struct inode *inode, const char *path,
                        struct rng *rng)
{
    enum luck luck = (enum luck)rng_below(rng, LUCK_COUNT);
    int unsynced = inode->count - inode->durable, first = unsynced;
    struct content c = {0};
    int fd;

    content_put(&c, 0, inode->base ? inode->base : (const uint8_t *)"", inode->base_size);
    if (luck == LUCK_FIRST && unsynced)
        first = (int)rng_below(rng, (uint64_t)unsynced);
    for (int i = 0; i < inode->count; i++) {
        const struct write_op *op = &inode->ops[i];

        if (i < inode->durable)
            content_lucky(&c, op, LUCK_ALL, rng);
        else if (i - inode->durable < first)
            content_lucky(&c, op, luck, rng);
        else if (i - inode->durable == first && op->data)
            content_put_some(&c, op, rng); /* torn */
    }
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || write(fd, c.data, c.size) != (ssize_t)c.size)
        crash_give_up(r->run, "cannot write %s", path);
    close(fd);
    mem_free(c.data);
}

/* Of the changes in each folder that were not synced the first few happened. */
static void names_lucky(struct replay *r, struct names *out, struct rng *rng)
{
    char db[NAME_BYTES];
    const char *folders[2] = {r->dir, db};
    int left[2] = {0, 0};

    snprintf(db, sizeof(db), "%s/db", r->dir);
    for (int f = 0; f < 2; f++) {
        for (int i = 0; i < r->name_count; i++)
            left[f] += !r->name_ops[i].durable && in_folder(r->name_ops[i].path, folders[f]);
        left[f] = (int)rng_below(rng, (uint64_t)left[f] + 1);
    }
    for (int i = 0; i < r->base.count; i++)
        names_set(out, r->base.all[i].path, r->base.all[i].inode);
    for (int i = 0; i < r->name_count; i++) {
        const struct name_op *op = &r->name_ops[i];
        int f = in_folder(op->path, db);

        if (op->durable || left[f]-- > 0)
            names_apply(out, op);
    }
}

static bool replay_unsynced(const struct replay *r)
{
    for (int i = 0; i < r->inode_count; i++)
        if (r->inodes[i].durable < r->inodes[i].count)
            return true;
    for (int i = 0; i < r->name_count; i++)
        if (!r->name_ops[i].durable)
            return true;
    return false;
}

/* Puts a state of the disk at the cut into t->dir. */
static void disk_make(struct power *t, uint64_t cut, uint64_t seed)
{
    struct replay r = replay_make(t, cut);
    struct names names = {0};
    char db[NAME_BYTES];
    struct rng rng;

    rng_init(&rng, seed);
    tree_remove(t->dir);
    mkdir(t->dir, 0700);
    snprintf(db, sizeof(db), "%s/db", t->dir);
    mkdir(db, 0700);
    names_lucky(&r, &names, &rng);
    t->unsynced += replay_unsynced(&r);
    for (int i = 0; i < names.count; i++)
        inode_write(&r, &r.inodes[names.all[i].inode], names.all[i].path, &rng);
    mem_free(names.all);
    replay_free(&r);
}

/* ---- the record */

static void start_or_give_up(struct power *t)
{
    server_start(&t->server);
    if (!server_wait_ready(&t->server))
        crash_give_up(t->run, "the server does not start: %s", server_output(&t->server));
}

/* Where every event ends, and after which of them a cut may be interesting. */
static void record_load(struct power *t)
{
    FILE *f = fopen(t->record_file, "r");
    struct stat st;
    int capacity = 0, type_capacity = 0, types = 0;

    if (!f || fstat(fileno(f), &st) != 0)
        crash_give_up(t->run, "nothing was recorded; is %s there?", t->run->preload);
    t->record = mem_realloc(t->record, (size_t)st.st_size + 1);
    t->record_size = fread(t->record, 1, (size_t)st.st_size, f);
    fclose(f);
    t->events = 0;
    mem_free(t->ends);
    mem_free(t->types);
    t->ends = NULL;
    t->types = NULL;
    for (uint64_t at = 0; at < t->record_size;) {
        struct record_header h;

        memcpy(&h, t->record + at, sizeof(h));
        at += sizeof(h) + h.size;
        if (h.magic != RECORD_MAGIC || at > t->record_size)
            break;
        GROW(t->ends, t->events, capacity);
        GROW(t->types, types, type_capacity);
        t->types[types++] = h.type;
        t->ends[t->events++] = at;
    }
    if (!t->events)
        crash_give_up(t->run, "nothing was recorded");
}

/* Makes a folder and its record: work, a kill and a start in the middle, work, an orderly end. */
static void record_make(struct power *t, bool no_sync)
{
    struct workload *w;

    if (t->workload)
        workload_free(t->workload);
    w = t->workload = workload_new(t->run);
    w->keep_history = true;
    tree_remove(t->dir);
    tree_remove(t->base);
    unlink(t->record_file);
    server_init(&t->server, t->run, t->dir);
    t->server.flags[0] = "--memory";
    t->server.flags[1] = "16M";
    t->server.flags[2] = no_sync ? "--no-sync" : NULL;
    start_or_give_up(t);
    if (!workload_create(w) || !server_stop(&t->server))
        crash_give_up(t->run, "no tables");
    tree_copy(t->run, t->dir, t->base);
    t->server.record_file = t->record_file;
    start_or_give_up(t);
    w->record_fd = open(t->record_file, O_RDONLY | O_CLOEXEC);
    workload_start(w);
    crash_sleep_us(WORK_US);
    server_kill(&t->server);
    workload_stop(w);
    start_or_give_up(t);
    if (workload_look(w, t->picture) || workload_compare(w, t->picture, "after the kill", true))
        crash_give_up(t->run, "rows are wrong after a kill");
    workload_start(w);
    crash_sleep_us(WORK_US);
    workload_stop(w);
    if (!server_stop(&t->server))
        crash_give_up(t->run, "the server did not stop cleanly");
    close(w->record_fd);
    w->record_fd = -1;
    t->server.record_file = NULL;
    record_load(t);
}

/* ---- one state */

/* Half of the cuts come right after a sync or a small write, where order matters most. */
static uint64_t choose_cut(struct power *t)
{
    struct rng *rng = &t->run->rng;
    int i = (int)rng_below(rng, (uint64_t)t->events);

    if (rng_below(rng, 2))
        while (i + 1 < t->events && t->types[i] != RECORD_SYNC_END && t->types[i] != RECORD_RENAME)
            i++;
    return t->ends[i];
}

static bool state_holds(struct power *t, uint64_t cut, uint64_t seed)
{
    char where[100];
    char *text;

    snprintf(where, sizeof(where), "cut at %llu of %llu, chance %llu", (unsigned long long)cut,
             (unsigned long long)t->record_size, (unsigned long long)seed);
    disk_make(t, cut, seed);
    server_start(&t->server);
    if (!server_wait_ready(&t->server)) {
        text = server_output(&t->server);
        crash_problem(t->run, "%s: does not start: %s", where, text);
        mem_free(text);
        return false;
    }
    crash_times_add(&t->ready, t->server.ready_us);
    if (workload_look(t->workload, t->picture))
        crash_problem(t->run, "%s: the rows cannot be read", where);
    else if (!workload_is_prefix_from(t->workload, t->picture, (int64_t)cut))
        crash_problem(t->run, "%s: acknowledged writes are missing, or rows are of no one moment",
                      where);
    server_kill(&t->server);
    return !t->run->broken;
}

/* Returns how many states did not hold. */
static int states_run(struct power *t, int count, bool stop_at_first)
{
    int bad = 0;

    for (int i = 0; i < count && !(bad && stop_at_first); i++) {
        if (i % STATES_A_RECORD == 0)
            record_make(t, stop_at_first);
        crash_case_begin(t->run);
        bad += !state_holds(t, choose_cut(t), rng_next(&t->run->rng) >> 40);
        if (!stop_at_first)
            crash_case_end(t->run);
    }
    return bad;
}

void power_part(struct crash *run)
{
    int count = run->count ? run->count : run->nightly ? STATES_NIGHTLY : STATES_SHORT, bad;
    struct power t = {.run = run};

    if (!run->preload || access(run->preload, R_OK) != 0)
        crash_give_up(run, "the preload library is not built: %s", run->preload);
    t.picture = mem_alloc(sizeof(*t.picture));
    snprintf(t.dir, sizeof(t.dir), "%s/power", run->work);
    snprintf(t.base, sizeof(t.base), "%s/base", run->work);
    snprintf(t.record_file, sizeof(t.record_file), "%s/record", run->work);
    bad = states_run(&t, count, false);
    printf("  %d states of the disk, %d of them with unsynced changes, %d lost something\n", count,
           t.unsynced, bad);
    crash_times_print(&t.ready, "ready again");
    run->quiet = true;
    bad = states_run(&t, STATES_NO_SYNC, true);
    run->quiet = false;
    printf("  without syncs: %s\n", bad ? "a loss was found, as it must be" : "no loss was found");
    crash_case_begin(run);
    if (!bad)
        crash_problem(run, "a server that does not sync passes: the test shows nothing");
    crash_case_end(run);
    mem_free(t.ready.us);
    mem_free(t.record);
    mem_free(t.ends);
    mem_free(t.types);
    mem_free(t.picture);
    workload_free(t.workload);
}
