/* main.c: a search index under kills.
 *
 *   build/test/hits --work DIR [--kills N] [--points ROUNDS] [--flips N] [--rows N]
 *       [--memory MIB] [--seed S]
 *
 * A process opens the database, writes rows from several threads and searches meanwhile, until it
 * is killed at a random moment, in the midst of updates, stores and merges. The next one goes on
 * with what is stored of the index: when it has caught up, it finds for each keyword the rows that
 * are there, in their order, page by page. Then come processes that end at each named point of a
 * store. The index is never made again meanwhile. Then bits of its files are wrong, and it is. */
#include "base/rng.h"
#include "life.h"

#include "../lives.h"

#include <dirent.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PIECE_BYTES ((size_t)40 << 10)
#define FLIP_BYTES ((size_t)128 << 10)     /* behind the first piece */
#define FLIP_TRIES 5                       /* a segment may be one that nothing needs any more */
#define SEGMENT_BYTES ((ptrdiff_t)1 << 18) /* as it is stored, at least */
#define MIB ((uint64_t)1 << 20)

/* Each point of a store (base/fault.def), as often as `rounds`. */
static void run_points(struct life *l, struct rng *rng, int rounds)
{
    static const char *const points[] = {"search_segment_stored", "search_before_state",
                                         "search_state_stored"};
    struct rlimit no_core = {0, 0};

    setrlimit(RLIMIT_CORE, &no_core);
    for (int i = 0; i < rounds; i++)
        for (size_t k = 0; k < PORT_COUNT(points) && l->counts->problems < 10; k++) {
            struct life one = *l;

            one.seed = rng_next(rng);
            run_point(&one, points[k], 1 + (unsigned)rng_below(rng, 2));
        }
}

/* Where a large segment begins, in whatever file: none follows it soon. NULL: there is none. */
static char *find_segment(char *data, size_t size)
{
    static const char magic[] = "derseg1";
    char *at = data, *end = data + size, *next;

    while (size && (at = memmem(at, (size_t)(end - at), magic, sizeof(magic)))) {
        next = memmem(at + 1, (size_t)(end - at - 1), magic, sizeof(magic));
        if ((next ? next : end) - at > SEGMENT_BYTES)
            return at;
        at++;
    }
    return NULL;
}

/* A bit of a large segment, behind its head: where a file is compressed, pieces are smaller. (The
 * engine reads the first block of a segment also for what lies in front of it.) False: it has
 * none. */
static bool flip_file(const char *path, struct rng *rng)
{
    FILE *f = fopen(path, "r+b");
    size_t size, at;
    char *data, *found;

    if (!f)
        return false;
    fseek(f, 0, SEEK_END);
    size = (size_t)ftell(f);
    rewind(f);
    data = malloc(size + 1);
    size = fread(data, 1, size, f);
    found = find_segment(data, size);
    if (found) {
        at = (size_t)(found - data) + PIECE_BYTES + rng_below(rng, FLIP_BYTES);
        fseek(f, (long)at, SEEK_SET);
        fputc(data[at] ^ (1 << rng_below(rng, 8)), f);
        printf("a bit of byte %zu of %s is wrong now\n", at, strrchr(path, '/') + 1);
    }
    fclose(f);
    free(data);
    return found != NULL;
}

static bool flip_some(struct life *l, struct rng *rng)
{
    char path[600];
    struct dirent *e;
    bool done = false;
    DIR *d;

    snprintf(path, sizeof(path), "%s/db", l->dir);
    d = opendir(path);
    while (d && !done && (e = readdir(d))) {
        if (!strstr(e->d_name, ".sst"))
            continue;
        snprintf(path, sizeof(path), "%s/db/%s", l->dir, e->d_name);
        done = flip_file(path, rng);
    }
    if (d)
        closedir(d);
    return done;
}

/* In a folder of its own, as it was built: a bit of a stored segment is wrong. That is told, and
 * the index is made again by itself. */
static void run_flip(struct life *l)
{
    struct life one = *l;
    uint64_t before;
    struct rng rng;
    char dir[512];

    snprintf(dir, sizeof(dir), "%s-%d", l->dir, (int)(l->seed % 100000));
    one.dir = dir;
    one.comes_again = true;
    rng_init(&rng, l->seed);
    run_whole(&one, "CreateTable", life_create);
    run_whole(&one, "the comparison", life_compare);
    before = l->counts->made_again;
    for (int i = 0; i < FLIP_TRIES && l->counts->made_again == before; i++) {
        if (!flip_some(&one, &rng)) {
            life_problem(l, "no large segment is stored");
            return;
        }
        run_whole(&one, "the comparison", life_find_damage);
    }
    if (l->counts->made_again == before)
        life_problem(l, "no flipped bit was found");
    one.comes_again = false;
    run_whole(&one, "the comparison", life_compare); /* with what was stored of the new one */
    atomic_fetch_add(&l->counts->flips, 1);
}

static int report(struct life *l, int kills)
{
    const struct life_counts *n = l->counts;

    printf("%d kills, %llu crashes at points of a store, %llu flipped bits, seed %" PRIu64
           ": %llu writes, %llu searches, %llu before the index was there, the first answer %.3f s "
           "after the opening at most, %llu hits compared, made again %llu times\n",
           kills, n->points, n->flips, l->seed, n->writes, n->searches, n->refused,
           (double)n->ready_us / 1e6, n->compared, n->made_again);
    if (!n->compared || (kills && !n->searches))
        life_problem(l, "it has shown nothing");
    printf("hits: %llu passed, %llu failed, 0 skipped\n",
           (unsigned long long)kills + n->points + n->flips, n->problems);
    return n->problems != 0;
}

int main(int argc, char **argv)
{
    struct life l = {.seed = (uint64_t)time(NULL), .rows = 20000, .memory = 64 * MIB};
    int kills = 6, rounds = 1, flips = 1;
    struct rng rng;

    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--work") == 0)
            l.dir = argv[i + 1];
        else if (strcmp(argv[i], "--kills") == 0)
            kills = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--points") == 0)
            rounds = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--flips") == 0)
            flips = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--rows") == 0)
            l.rows = atoll(argv[i + 1]);
        else if (strcmp(argv[i], "--memory") == 0)
            l.memory = strtoull(argv[i + 1], NULL, 10) * MIB;
        else if (strcmp(argv[i], "--seed") == 0)
            l.seed = strtoull(argv[i + 1], NULL, 10);
    }
    if (!l.dir || (l.rows && l.rows < 1000)) {
        fputs("usage: hits --work DIR [--kills N] [--points ROUNDS] [--flips N] [--rows N] "
              "[--memory MIB] [--seed S]\n",
              stderr);
        return 2;
    }
    l.counts =
        mmap(NULL, sizeof(*l.counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    rng_init(&rng, l.seed);
    run_whole(&l, "CreateTable", life_create);
    for (int i = 0; i < kills && l.counts->problems < 10; i++) {
        struct life one = l;

        one.seed = rng_next(&rng);
        one.no_sync = rng_below(&rng, 2);
        /* The first kills come while the index is built. */
        run_killed(&one, 100000 + rng_below(&rng, i < 3 ? 400000 : 8000000));
        if (i % 3 != 0) /* else one kill after the other */
            run_whole(&one, "the comparison", life_compare);
    }
    run_points(&l, &rng, rounds);
    run_whole(&l, "the comparison", life_compare);
    for (int i = 0; i < flips && l.counts->problems < 10; i++) {
        struct life one = l;

        one.seed = rng_next(&rng);
        run_flip(&one);
    }
    return report(&l, kills);
}
