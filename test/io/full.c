/* full.c: the disk is full. The data folder lies on a small file system of its own, which the test
 * fills and empties with a ballast file.
 *
 * Three kinds of round:
 *   writers   they write until the server refuses because little is left
 *   at once   the ballast takes all that is left in one moment, while they write
 *   killed    likewise, and the server is killed while the disk is full and started again on it
 * In each, refusals come within a second and ask the client to come again, reads are answered (but
 * for the moment of a reopening), /readyz says 503, and when the ballast is gone writes are taken
 * again within 10 s. At the end of a round all that was acknowledged must be there, after a restart
 * too.
 *
 * Where no file system can be mounted, the failing library pretends: ENOSPC for whatever would
 * grow. */
#include "io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define DISK_BYTES (128LL << 20)
#define ROOM_BYTES (22LL << 20)    /* what the ballast leaves to a round */
#define RESERVE_BYTES (16LL << 20) /* the server's own here: with less it refuses to write */
#define NEARLY_BYTES (12LL << 20)
#define ROUNDS_SHORT 5
#define ROUNDS_NIGHTLY 60
#define ROWS 120
/* Stored whole: what is stored cell by cell keeps its place for a minute after it was replaced, and
 * then the disk would be full of that. */
#define VALUE_MIN 20000
#define VALUE_MAX 60000
#define REFUSE_MS_MAX 15000 /* for the writers to fill the room */
#define REFUSED_US_MAX 1000000
#define READY_MS_MAX 1000
#define UNREAD_US_MAX 2000000
#define HOLD_MS 500
#define BACK_MS_MAX 10000
#define POLL_US 1000

enum kind { WRITERS, AT_ONCE, KILLED, KINDS };

static const char *const kind_names[] = {"writers", "at once", "killed"};

struct full {
    struct io *io;
    struct book *book;
    bool mounted;
    char disk[256], ballast[300], dir[300];
    struct crash_times unread, refused, unready, back, ready;
    int reads, reads_refused;
    int deleted_nearly, refused_nearly, deleted;
    int held, eased; /* looks at the full disk, and those during which there was space again */
    long long slowest_read_us, slowest_refusal_us;
};

/* ---- the disk */

static long long disk_left(const struct full *f)
{
    struct statvfs st;

    return statvfs(f->disk, &st) == 0 ? (long long)st.f_bavail * (long long)st.f_frsize : 0;
}

/* Grows the ballast until only `leave` bytes are left; nothing is left if that is 0. */
static void ballast_fill(struct full *f, long long leave)
{
    int fd;

    if (!f->mounted) {
        atomic_store(&f->io->control->full, leave == 0);
        return;
    }
    fd = open(f->ballast, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        crash_give_up(&f->io->run, "no ballast: %s", strerror(errno));
    for (int step = 1 << 20; step >= 4096; step /= 2) {
        struct stat st;

        while (disk_left(f) - leave >= step && fstat(fd, &st) == 0 &&
               posix_fallocate(fd, st.st_size, step) == 0)
            ;
    }
    close(fd);
}

static void ballast_remove(struct full *f)
{
    if (!f->mounted)
        atomic_store(&f->io->control->full, false);
    else
        unlink(f->ballast);
}

static void disk_make(struct full *f)
{
    char options[64];

    snprintf(f->disk, sizeof(f->disk), "%.200s/disk", f->io->run.work);
    snprintf(f->ballast, sizeof(f->ballast), "%.200s/ballast", f->disk);
    snprintf(f->dir, sizeof(f->dir), "%.200s/data", f->disk);
    snprintf(options, sizeof(options), "size=%lld,mode=700", DISK_BYTES);
    if (mkdir(f->disk, 0700) != 0)
        crash_give_up(&f->io->run, "cannot make %s: %s", f->disk, strerror(errno));
    f->mounted = mount("widerow-io", f->disk, "tmpfs", MS_NOSUID | MS_NODEV, options) == 0;
    printf("  %s\n", f->mounted ? "a disk of 128 MiB"
                                : "no file system may be mounted here: a full disk is pretended");
}

/* ---- one round */

static int64_t now_us(const struct full *f)
{
    return clock_mono_us(&f->io->run.clock);
}

/* Waits until /readyz says so; the time it took, or -1. */
static int64_t wait_readyz(struct full *f, int status, int64_t ms_max)
{
    int64_t since_us = now_us(f);

    while (io_readyz(f->io, NULL, 0) != status) {
        if (now_us(f) - since_us > ms_max * 1000)
            return -1;
        crash_sleep_us(10 * POLL_US);
    }
    return now_us(f) - since_us;
}

static bool wait_refused(struct full *f, int64_t since_us)
{
    while (!atomic_load(&f->book->first_refused_us)) {
        if (now_us(f) - since_us > REFUSE_MS_MAX * 1000LL)
            return false;
        crash_sleep_us(POLL_US);
    }
    return true;
}

/* Fills the disk under the writers, and looks at how they are refused. */
static void fill(struct full *f, enum kind kind, const char *where)
{
    struct crash *run = &f->io->run;
    int64_t full_us = now_us(f), us;
    char text[200];

    if (kind != WRITERS || !f->mounted)
        ballast_fill(f, 0);
    if (!wait_refused(f, full_us)) {
        crash_problem(run, "%s: nothing was refused; %lld bytes are left", where, disk_left(f));
        return;
    }
    /* From the disk being full to the refusal, or, when writers fill it, from the request. */
    us = kind == WRITERS ? atomic_load(&f->book->first_refused_after_us)
                         : atomic_load(&f->book->first_refused_us) - full_us;
    crash_times_add(&f->refused, us);
    if (us > REFUSED_US_MAX)
        crash_problem(run, "%s: the first refusal took %lld ms", where, (long long)us / 1000);
    us = wait_readyz(f, 503, READY_MS_MAX);
    if (us < 0)
        crash_problem(run, "%s: /readyz says %d a second later", where,
                      io_readyz(f->io, text, sizeof(text)));
    else
        crash_times_add(&f->unready, us);
}

/* Waits; the most that was left at any moment of it. */
static long long most_left(struct full *f, int64_t ms)
{
    int64_t until_us = now_us(f) + ms * 1000;
    long long most = 0, left;

    while (now_us(f) < until_us) {
        left = f->mounted ? disk_left(f) : 0;
        if (left > most)
            most = left;
        crash_sleep_us(POLL_US);
    }
    return most;
}

/* A while later: still refused, in the right words; reads are answered. Where the server's own
 * files have shrunk meanwhile, so that there is space, writes may be taken. */
static void blocking_lock(struct full *f, const char *where)
{
    struct crash *run = &f->io->run;
    struct book *b = f->book;
    int acked, others;
    bool eased = most_left(f, HOLD_MS / 2) >= RESERVE_BYTES;
    char text[200];

    acked = atomic_load(&b->acked);
    others = b->refused + b->unsure - b->busy;
    eased |= most_left(f, HOLD_MS / 2) >= RESERVE_BYTES;
    f->held++;
    f->eased += eased;
    if (atomic_load(&b->acked) != acked && !eased)
        crash_problem(run, "%s: %d writes taken with %lld bytes left", where,
                      atomic_load(&b->acked) - acked, disk_left(f));
    others = b->refused + b->unsure - b->busy - others;
    if ((others > 1 && !b->reads_refused) || !b->busy) /* one may be between two of the counters */
        crash_problem(run, "%s: %d writes were refused with something else than OTSServerBusy (%d)",
                      where, others, b->busy);
    if (!eased && (io_readyz(f->io, text, sizeof(text)) != 503 || !strstr(text, "full")))
        crash_problem(run, "%s: /readyz says: %s", where, text);
}

static void empty(struct full *f, const char *where)
{
    struct crash *run = &f->io->run;
    int64_t since_us, us;

    ballast_remove(f);
    since_us = now_us(f);
    while (atomic_load(&f->book->last_acked_us) < since_us) {
        if (now_us(f) - since_us > BACK_MS_MAX * 1000LL) {
            char text[300];
            int status = io_readyz(f->io, text, sizeof(text));

            crash_problem(run, "%s: no write taken %d s after space returned; /readyz: %d %s",
                          where, BACK_MS_MAX / 1000, status, text);
            return;
        }
        crash_sleep_us(POLL_US);
    }
    crash_times_add(&f->back, atomic_load(&f->book->last_acked_us) - since_us);
    us = wait_readyz(f, 200, READY_MS_MAX);
    if (us < 0)
        crash_problem(run, "%s: /readyz is not 200 although writes are taken", where);
}

/* The server dies on a full disk. It may start, and then serves reads; or not, and then says why.
 * With space it starts. */
static void die(struct full *f, const char *where)
{
    struct io *io = f->io;
    char *text;

    server_kill(&io->server);
    book_stop(f->book);
    if (io_start(io)) {
        book_check(f->book, where);
        server_kill(&io->server);
    } else {
        text = server_output(&io->server);
        if (!WIFEXITED(io->server.status) ||
            (!strstr(text, "full") && !strstr(text, "No space left")))
            crash_problem(&io->run, "%s: with a full disk the server ended with status %d: %s",
                          where, io->server.status, text);
        mem_free(text);
    }
    ballast_remove(f);
    if (!io_start_well(io, where))
        crash_give_up(&io->run, "nothing left to test");
    crash_times_add(&f->ready, io->server.ready_us);
    book_start(f->book);
}

static void count_reads(struct full *f, const char *where)
{
    struct book *b = f->book;

    f->reads += b->reads;
    f->reads_refused += b->reads_refused;
    if (b->slowest_read_us > f->slowest_read_us)
        f->slowest_read_us = b->slowest_read_us;
    if (b->slowest_refusal_us > f->slowest_refusal_us)
        f->slowest_refusal_us = b->slowest_refusal_us;
    crash_times_add(&f->unread, b->longest_unread_us);
    /* What the server gives up itself on a full disk may be enough for it to reopen. */
    if (b->reads_refused && !strstr(b->read_refusal, "being reopened"))
        crash_problem(&f->io->run, "%s: %d of %d reads failed: %s", where, b->reads_refused,
                      b->reads, b->read_refusal);
    if (b->longest_unread_us > UNREAD_US_MAX)
        crash_problem(&f->io->run, "%s: no read was answered for %lld ms", where,
                      (long long)b->longest_unread_us / 1000);
    if (b->slowest_refusal_us > REFUSED_US_MAX)
        crash_problem(&f->io->run, "%s: a refusal took %lld ms", where,
                      (long long)b->slowest_refusal_us / 1000);
}

static void restart(struct full *f, const char *where)
{
    if (!server_stop(&f->io->server))
        crash_problem(&f->io->run, "%s: the server did not stop cleanly", where);
    if (!io_start_well(f->io, where))
        crash_give_up(&f->io->run, "nothing left to test");
    book_check(f->book, where);
}

/* Old rows go, so that the next round finds room. Deletions are taken on a disk that is nearly full
 * too; unless a compaction has just run into its end, hence no more than counting here. */
static void make_room(struct full *f, const char *where)
{
    int refused = 0;

    ballast_fill(f, NEARLY_BYTES);
    book_delete_half(f->book, 0, &f->deleted_nearly, &f->refused_nearly);
    ballast_remove(f);
    book_delete_half(f->book, BACK_MS_MAX, &f->deleted, &refused);
    if (refused)
        crash_problem(&f->io->run, "%s: %d deletions were refused for %d s with %lld bytes left",
                      where, refused, BACK_MS_MAX / 1000, disk_left(f));
}

static void one_round(struct full *f, int i)
{
    enum kind kind = (enum kind)(i % KINDS);
    char where[64];

    snprintf(where, sizeof(where), "round %d (%s)", i + 1, kind_names[kind]);
    crash_case_begin(&f->io->run);
    ballast_fill(f, ROOM_BYTES);
    book_start(f->book);
    crash_sleep_us(crash_between(&f->io->run.rng, 50000, 300000));
    fill(f, kind, where);
    blocking_lock(f, where);
    if (kind == KILLED) {
        count_reads(f, where);
        die(f, where);
    } else {
        empty(f, where);
        crash_sleep_us(50000); /* for the reader to come back, too */
        count_reads(f, where);
    }
    crash_sleep_us(200000);
    book_stop(f->book);
    book_check(f->book, where);
    make_room(f, where);
    if (i % 2)
        restart(f, where);
    crash_case_end(&f->io->run);
}

void full_part(struct io *io)
{
    int rounds = io->run.count ? io->run.count : io->run.nightly ? ROUNDS_NIGHTLY : ROUNDS_SHORT;
    struct full f = {.io = io, .book = book_new(&io->run, ROWS, VALUE_MIN, VALUE_MAX)};

    f.book->in_order = true;
    disk_make(&f);
    io->server.dir = f.dir;
    io_disarm(io);
    if (!io_start_well(io, "first") || !book_create_table(f.book))
        io->run.failed++;
    for (int i = 0; i < rounds && io->server.pid && io->run.failed < 5; i++)
        one_round(&f, i);
    server_kill(&io->server);
    if (f.mounted && umount2(f.disk, MNT_DETACH) != 0)
        printf("  cannot unmount %s: %s\n", f.disk, strerror(errno));
    crash_times_print(&f.refused, "first refusal");
    crash_times_print(&f.unready, "until /readyz says 503, after it");
    crash_times_print(&f.back, "writes taken again, after space returned");
    crash_times_print(&f.unread, "longest time between two good reads of a round");
    crash_times_print(&f.ready, "ready after a kill on the full disk");
    printf("  slowest refusal %.0f ms; %d reads, %d refused, slowest %.0f ms\n",
           (double)f.slowest_refusal_us / 1e3, f.reads, f.reads_refused,
           (double)f.slowest_read_us / 1e3);
    printf("  deletions on the nearly full disk: %d taken, %d refused\n", f.deleted_nearly,
           f.refused_nearly);
    printf("  looks at the full disk: %d, of these %d with space that had come back by itself\n",
           f.held, f.eased);
    if (f.eased == f.held)
        crash_problem(&io->run, "the disk was never full for long enough");
    /* How many are taken depends on how much of the reserve compaction has eaten by then. */
    if (f.mounted && !f.deleted_nearly)
        crash_problem(&io->run, "no deletion was taken on a nearly full disk");
    io->run.failed += io->run.broken;
    book_free(f.book);
}
