/* nth.c: the Nth occurrence of a call on the server's files fails; then nothing may be lost, shown
 * wrongly, or hang.
 *
 * A case is one occurrence of one call with one error. It works on a copy of a data folder made
 * beforehand, with table files and a log to replay. The server either goes on, or refuses writes
 * until it has reopened its storage by itself, or ends with a code and a text. Then it is stopped
 * or killed, what a failed sync was to lose is zeroed, and the next start must show all that was
 * acknowledged.
 *
 * Occurrences are counted from the start of the process, or from when it was ready, or while a new
 * folder is made. Several processes take cases from one list, because a case mostly waits. */
#include "io.h"
#include "tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORKERS 4
#define NTH_SHORT 12
#define NTH_NIGHTLY 200
#define NTH_WITH_ALL 40 /* up to here with all errors of the call */
#define ROWS 40
#define TEMPLATE_ACKS 200
#define FIRE_MS_MAX 12000    /* for the occurrence to come; else there are no more */
#define FIRE_WRITES_MAX 1500 /* likewise */
#define BACK_MS_MAX 10000    /* for writes to go on after it */
#define BACK_ACKS 6          /* that many show that they do */
#define STICKY_MS 400
#define POLL_US 500

enum when { SERVING, STARTING, MAKING };

static const char *const when_names[] = {"serving", "starting", "making a folder"};

static const struct combo {
    enum io_call call;
    int error;
    enum when when;
    bool in_short; /* also part of the short tier */
    bool sticky;   /* all calls fail for a while, not only one */
} combos[] = {
    {IO_fdatasync, EIO, SERVING, true, false},
    {IO_write, EIO, SERVING, true, false},
    {IO_write, IO_SHORT, SERVING, true, false},
    {IO_write, ENOSPC, SERVING, true, false},
    {IO_pwrite, EIO, SERVING, true, false},
    {IO_open, EMFILE, SERVING, true, false},
    {IO_fallocate, ENOSPC, SERVING, false, false},
    {IO_fdatasync, EIO, SERVING, true, true},
    {IO_write, EIO, STARTING, true, false},
    {IO_open, EMFILE, STARTING, true, false},
    {IO_fdatasync, EIO, STARTING, true, false},
    {IO_write, EINTR, SERVING, true, false},
    {IO_fsync, EIO, STARTING, false, false},
    {IO_fsync, EIO, SERVING, false, false},
    {IO_fdatasync, EINTR, SERVING, false, false},
    {IO_fdatasync, ENOSPC, SERVING, false, false},
    {IO_sync_file_range, EIO, SERVING, false, false},
    {IO_pwrite, IO_SHORT, SERVING, false, false},
    {IO_pwrite, ENOSPC, SERVING, false, false},
    {IO_pwrite, EINTR, SERVING, false, false},
    {IO_open, EIO, SERVING, false, false},
    {IO_open, EINTR, SERVING, false, false},
    {IO_open, ENOSPC, SERVING, false, false},
    {IO_rename, EIO, SERVING, false, false},
    {IO_ftruncate, EIO, SERVING, false, false},
    {IO_fallocate, EIO, SERVING, false, false},
    {IO_pread, EIO, SERVING, false, false},
    {IO_pread, IO_SHORT, SERVING, false, false},
    {IO_pread, EINTR, SERVING, false, false},
    {IO_unlink, EIO, SERVING, false, false},
    {IO_write, EIO, SERVING, false, true},
    {IO_write, ENOSPC, SERVING, false, true},
    {IO_pwrite, EIO, SERVING, false, true},
    {IO_open, EMFILE, SERVING, false, true},
    {IO_write, IO_SHORT, STARTING, false, false},
    {IO_write, EINTR, STARTING, false, false},
    {IO_write, ENOSPC, STARTING, false, false},
    {IO_pwrite, EIO, STARTING, false, false},
    {IO_open, EIO, STARTING, false, false},
    {IO_open, EINTR, STARTING, false, false},
    {IO_open, ENOSPC, STARTING, false, false},
    {IO_rename, EIO, STARTING, false, false},
    {IO_ftruncate, EIO, STARTING, false, false},
    {IO_fallocate, ENOSPC, STARTING, false, false},
    {IO_read, EIO, STARTING, false, false},
    {IO_read, IO_SHORT, STARTING, false, false},
    {IO_read, EINTR, STARTING, false, false},
    {IO_pread, EIO, STARTING, false, false},
    {IO_unlink, EIO, STARTING, false, false},
    {IO_mkdir, EIO, STARTING, false, false},
    {IO_write, EIO, MAKING, false, false},
    {IO_write, ENOSPC, MAKING, false, false},
    {IO_pwrite, EIO, MAKING, false, false},
    {IO_pwrite, IO_SHORT, MAKING, false, false},
    {IO_open, EMFILE, MAKING, false, false},
    {IO_fsync, EIO, MAKING, false, false},
    {IO_fdatasync, EIO, MAKING, false, false},
    {IO_rename, EIO, MAKING, false, false},
    {IO_mkdir, EIO, MAKING, false, false},
    {IO_fallocate, ENOSPC, MAKING, false, false},
};

/* What came of the cases of one combo. All processes write it. */
struct sampler {
    atomic_bool exhausted; /* there is no further occurrence */
    atomic_int fired, went_on, reopened, ended, killed, failed, no_text;
    atomic_llong slowest_back_us;
};

struct shared {
    atomic_int next; /* case */
    struct sampler tallies[PORT_COUNT(combos)];
};

struct nth {
    struct io *io;
    struct shared *shared;
    struct book *template, *book;
    char template_dir[256];
    int worker;
};

/* What is to be done and what was seen in one case. */
struct instance {
    const struct combo *combo;
    struct sampler *sampler;
    int nth;
    bool kill_at_once, stop_cleanly;
    char where[120];
};

static const char *error_name(int error)
{
    switch (error) {
    case IO_SHORT:
        return "short";
    case EIO:
        return "EIO";
    case EINTR:
        return "EINTR";
    case EMFILE:
        return "EMFILE";
    case ENOSPC:
        return "ENOSPC";
    }
    return "?";
}

static bool wanted(const struct crash *run, const struct combo *combo)
{
    return run->nightly || combo->in_short;
}

/* ---- one case */

static void arm(struct nth *n, const struct instance *in)
{
    struct io_control *control = n->io->control;

    io_disarm(n->io);
    control->call = in->combo->call;
    control->error = in->combo->error;
    control->nth = in->nth;
    control->lose = (enum io_lose)rng_below(&n->io->run.rng, 3);
    atomic_store(&control->sticky, in->combo->sticky);
    atomic_store(&control->armed, true);
}

static long long fired_us(const struct nth *n)
{
    return atomic_load(&n->io->control->fired_us);
}

/* The server was not to start: it must have said why, and ended in order. */
static void check_end(struct nth *n, const struct instance *in)
{
    struct crash *run = &n->io->run;
    int status = n->io->server.status;
    char *text = server_output(&n->io->server);

    if (!WIFEXITED(status))
        crash_problem(run, "%s: the server died of signal %d (%s): %s", in->where, WTERMSIG(status),
                      n->io->control->fired_path, text);
    else if (WEXITSTATUS(status) == 0)
        crash_problem(run, "%s: the server ended with code 0: %s", in->where, text);
    else if (!text[0])
        crash_problem(run, "%s: the server ended without a word", in->where);
    if (in->combo->error > 0 && !strstr(text, strerror(in->combo->error)))
        atomic_fetch_add(&in->sampler->no_text, 1);
    mem_free(text);
    atomic_fetch_add(&in->sampler->ended, 1);
}

/* Waits for the occurrence. False: it does not come. */
static bool wait_fired(struct nth *n)
{
    struct crash *run = &n->io->run;
    int64_t until_ms = clock_mono_ms(&run->clock) + FIRE_MS_MAX;

    while (!fired_us(n) && !server_ended(&n->io->server) &&
           atomic_load(&n->book->acked) < FIRE_WRITES_MAX) {
        if (clock_mono_ms(&run->clock) > until_ms)
            return false;
        crash_sleep_us(POLL_US);
    }
    return fired_us(n) != 0;
}

/* Waits until writes that came later are acknowledged, or the server has ended. */
static void wait_back(struct nth *n, const struct instance *in)
{
    struct crash *run = &n->io->run;
    int64_t since_us = fired_us(n), now_us;
    int target = atomic_load(&n->book->acked) + BACK_ACKS;
    char text[300];

    if (in->combo->sticky) {
        crash_sleep_us(STICKY_MS * 1000);
        atomic_store(&n->io->control->sticky, false);
        since_us = clock_mono_us(&run->clock);
        target = atomic_load(&n->book->acked) + BACK_ACKS;
    }
    while (!server_ended(&n->io->server) && atomic_load(&n->book->acked) < target) {
        now_us = clock_mono_us(&run->clock);
        if (now_us - since_us > BACK_MS_MAX * 1000LL) {
            int status = io_readyz(n->io, text, sizeof(text));

            crash_problem(run, "%s (%s): no write taken for %d s; /readyz says %d %s", in->where,
                          n->io->control->fired_path, BACK_MS_MAX / 1000, status, text);
            return;
        }
        crash_sleep_us(POLL_US);
    }
    now_us = clock_mono_us(&run->clock);
    for (long long old = atomic_load(&in->sampler->slowest_back_us); old < now_us - since_us;)
        if (atomic_compare_exchange_weak(&in->sampler->slowest_back_us, &old, now_us - since_us))
            break;
}

static bool text_ends(const char *s, const char *tail)
{
    size_t n = strlen(s), t = strlen(tail);

    return n >= t && strcmp(s + n - t, tail) == 0;
}

/* After a failed write or sync of the log nothing that came later may be acknowledged before the
 * storage was opened again. */
static void check_silence(struct nth *n, const struct instance *in)
{
    const struct io_control *control = n->io->control;
    long long reopened = atomic_load(&control->reopened_us);
    int count;

    if (in->combo->when == MAKING || in->combo->error == IO_SHORT || in->combo->error == EINTR ||
        (in->combo->call != IO_fdatasync && in->combo->call != IO_fsync &&
         in->combo->call != IO_write))
        return;
    if (!text_ends(control->fired_path, ".log") && !text_ends(control->fired_path, "/WATERMARK"))
        return;
    count = book_acked_between(n->book, fired_us(n), reopened ? reopened : INT64_MAX);
    if (count)
        crash_problem(&n->io->run,
                      "%s (%s): %d writes were acknowledged after it, before a reopening",
                      in->where, control->fired_path, count);
}

/* The server is ready: lets clients work until it has happened. False: there is no such
 * occurrence. */
static bool work(struct nth *n, const struct instance *in)
{
    struct io *io = n->io;
    bool fired;

    book_start(n->book);
    fired = wait_fired(n);
    if (fired && !in->kill_at_once)
        wait_back(n, in);
    if (fired && in->kill_at_once) {
        server_kill(&io->server);
        atomic_fetch_add(&in->sampler->killed, 1);
    }
    if (!fired && server_ended(&io->server))
        crash_problem(&io->run, "%s: the server ended by itself before", in->where);
    book_stop(n->book);
    if (fired)
        check_silence(n, in);
    return fired;
}

/* How the server that is left comes to its end. */
static void finish(struct nth *n, const struct instance *in)
{
    struct server *server = &n->io->server;

    if (in->kill_at_once)
        return;
    if (server_ended(server)) {
        check_end(n, in);
        return;
    }
    if (atomic_load(&n->book->refused) + atomic_load(&n->book->unsure))
        atomic_fetch_add(&in->sampler->reopened, 1);
    else
        atomic_fetch_add(&in->sampler->went_on, 1);
    if (!in->stop_cleanly)
        server_kill(server);
    else if (!server_stop(server))
        crash_problem(&n->io->run, "%s: the server did not stop cleanly", in->where);
}

static void check_after(struct nth *n, const struct instance *in)
{
    io_lose_late(n->io);
    io_disarm(n->io);
    if (!io_start_well(n->io, in->where))
        return;
    if (in->combo->when == MAKING && !book_create_table(n->book))
        return;
    book_check(n->book, in->where);
    server_kill(&n->io->server);
}

/* False: there is no such occurrence. */
static bool run_case(struct nth *n, const struct instance *in)
{
    struct io *io = n->io;
    bool fired = true;

    tree_remove(io->server.dir);
    unlink(io->server.log_file);
    if (in->combo->when == MAKING) {
        for (int i = 0; i < BOOK_WRITERS; i++)
            memset(n->book->writers[i].rows, 0, ROWS * sizeof(struct book_row));
    } else {
        tree_copy(&io->run, n->template_dir, io->server.dir);
        book_copy(n->book, n->template);
    }
    io_disarm(io);
    if (in->combo->when != SERVING)
        arm(n, in);
    if (io_start(io)) {
        if (in->combo->when == SERVING)
            arm(n, in);
        fired = fired_us(n) != 0;
        if (in->combo->when == SERVING || (in->combo->when == STARTING && fired))
            fired = work(n, in);
        if (fired)
            finish(n, in);
    } else if (fired_us(n)) {
        check_end(n, in);
    } else {
        crash_problem(&io->run, "%s: the server did not start, for no reason", in->where);
    }
    if (fired)
        check_after(n, in);
    server_kill(&io->server);
    return fired;
}

/* ---- many */

static void keep_folder(struct nth *n, int i)
{
    char kept[300];

    snprintf(kept, sizeof(kept), "%s/failed-%d", n->io->run.work, i);
    rename(n->io->server.dir, kept);
    snprintf(kept, sizeof(kept), "%s/failed-%d.log", n->io->run.work, i);
    rename(n->io->server.log_file, kept);
}

/* Late occurrences come with one of the errors of their call only, in turn. */
static bool is_thinned(int which, int nth)
{
    int same = 0, place = 0;

    for (int i = 0; i < (int)PORT_COUNT(combos); i++) {
        if (combos[i].call != combos[which].call || combos[i].when != combos[which].when ||
            combos[i].sticky != combos[which].sticky)
            continue;
        place += i < which;
        same++;
    }
    return nth > NTH_WITH_ALL && nth % same != place;
}

static void take_case(struct nth *n, int which, int nth)
{
    struct instance in = {.combo = &combos[which], .sampler = &n->shared->tallies[which], .nth = nth};
    uint64_t chance = rng_below(&n->io->run.rng, 4);

    if (!wanted(&n->io->run, in.combo) || atomic_load(&in.sampler->exhausted) ||
        is_thinned(which, nth))
        return;
    in.kill_at_once = chance == 0 && in.combo->when == SERVING;
    in.stop_cleanly = chance == 1;
    snprintf(in.where, sizeof(in.where), "%s %s number %d%s, %s", io_call_name(in.combo->call),
             error_name(in.combo->error), nth, in.combo->sticky ? " and on" : "",
             when_names[in.combo->when]);
    crash_case_begin(&n->io->run);
    if (!run_case(n, &in)) {
        atomic_store(&in.sampler->exhausted, true);
        if (!n->io->run.broken)
            return;
    }
    atomic_fetch_add(&in.sampler->fired, 1);
    if (!crash_case_end(&n->io->run)) {
        atomic_fetch_add(&in.sampler->failed, 1);
        keep_folder(n, (int)(which * 1000 + nth));
    }
}

/* A process of its own; exits. */
static PORT_NORETURN void worker_main(struct nth *n, int nth_max)
{
    struct io own = {.run = n->io->run, .preload = n->io->preload};
    char dir[256];
    int i;

    snprintf(own.run.work, sizeof(own.run.work), "%.150s/w%d", n->io->run.work, n->worker);
    snprintf(dir, sizeof(dir), "%s/data", own.run.work);
    if (mkdir(own.run.work, 0700) != 0)
        crash_give_up(&own.run, "cannot make %s: %s", own.run.work, strerror(errno));
    rng_init(&own.run.rng, own.run.seed + 1000003 * (uint64_t)(n->worker + 1));
    io_init(&own, dir);
    n->io = &own;
    n->book = book_new(&own.run, ROWS, n->template->bytes_min, n->template->bytes_max);
    /* By number first, so that the early ones of all come early. */
    while ((i = atomic_fetch_add(&n->shared->next, 1)) < (int)PORT_COUNT(combos) * nth_max)
        take_case(n, i % (int)PORT_COUNT(combos), i / (int)PORT_COUNT(combos) + 1);
    fflush(stdout);
    _exit(0);
}

static void make_template(struct nth *n)
{
    struct io *io = n->io;

    n->template = book_new(&io->run, ROWS, 500, 60000);
    snprintf(n->template_dir, sizeof(n->template_dir), "%.200s/template", io->run.work);
    io->server.dir = n->template_dir;
    io_disarm(io);
    if (!io_start_well(io, "first") || !book_create_table(n->template))
        crash_give_up(&io->run, "no folder to work on");
    book_start(n->template);
    while (atomic_load(&n->template->acked) < TEMPLATE_ACKS && !server_ended(&io->server))
        crash_sleep_us(POLL_US);
    book_stop(n->template);
    server_kill(&io->server);
    if (!io_start_well(io, "first"))
        crash_give_up(&io->run, "no folder to work on");
    book_check(n->template, "first"); /* nothing is open any more */
    server_kill(&io->server);
}

static void print_tally(const struct combo *combo, struct sampler *t)
{
    printf(
        "  %-15s %-6s %-16s%s: %3d failed calls%s; went on %d, reopened %d, ended %d, killed %d; "
        "%d FAILED; slowest back %.0f ms",
        io_call_name(combo->call), error_name(combo->error), when_names[combo->when],
        combo->sticky ? " for a while" : "", t->fired, t->exhausted ? " (all)" : "", t->went_on,
        t->reopened, t->ended, t->killed, t->failed, (double)t->slowest_back_us / 1e3);
    if (t->no_text)
        printf("; %d did not name the error", t->no_text);
    printf("\n");
}

void nth_part(struct io *io)
{
    struct nth n = {.io = io};
    int nth_max = io->run.count ? io->run.count : io->run.nightly ? NTH_NIGHTLY : NTH_SHORT;
    pid_t pids[WORKERS];

    n.shared =
        mmap(NULL, sizeof(*n.shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (n.shared == MAP_FAILED)
        crash_give_up(&io->run, "no shared memory");
    make_template(&n);
    fflush(stdout);
    for (n.worker = 0; n.worker < WORKERS; n.worker++) {
        pids[n.worker] = fork();
        if (pids[n.worker] == 0)
            worker_main(&n, nth_max);
    }
    for (int i = 0; i < WORKERS; i++) {
        int status;

        if (waitpid(pids[i], &status, 0) != pids[i] || status != 0) {
            printf("FAILED: worker %d ended with status %d\n", i, status);
            io->run.failed++;
        }
    }
    for (size_t i = 0; i < PORT_COUNT(combos); i++) {
        struct sampler *t = &n.shared->tallies[i];

        if (!wanted(&io->run, &combos[i]))
            continue;
        print_tally(&combos[i], t);
        io->run.passed += t->fired - t->failed;
        io->run.failed += t->failed;
    }
    book_free(n.template);
    munmap(n.shared, sizeof(*n.shared));
}
