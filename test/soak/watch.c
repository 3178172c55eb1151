#include "watch.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SAID_SAMPLES_MIN 8
#define JUDGED_SAMPLES_MIN 120 /* a minute */
#define MEMORY_SLACK_MIB 96    /* doc/reliability.md */
#define RSS_SLACK_KB (24 << 10)
#define RSS_SLACK_SHARE 0.1
#define COUNT_SLACK 24

void watch_init(struct watch *w, struct crash *run, int memory_mib)
{
    *w = (struct watch){.run = run, .rss_bound_kb = (memory_mib + MEMORY_SLACK_MIB) << 10};
    w->samples = mem_alloc(sizeof(*w->samples) * WATCH_SAMPLES_MAX);
}

void watch_begin(struct watch *w)
{
    w->count = 0;
}

static int64_t status_of(pid_t pid, const char *name)
{
    char path[64], line[256];
    int64_t found = 0;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    f = fopen(path, "r");
    while (f && fgets(line, sizeof(line), f))
        if (strncmp(line, name, strlen(name)) == 0)
            found = strtoll(line + strlen(name), NULL, 10);
    if (f)
        fclose(f);
    return found;
}

/* A table file that is part of the data: they grow in number with it. One that was removed and is
 * held open counts, since somebody has forgotten it. */
static bool is_table_file(const char *fd_path)
{
    char name[4096];
    ssize_t n = readlink(fd_path, name, sizeof(name) - 1);

    name[n > 0 ? n : 0] = 0;
    return n > 4 && strcmp(name + n - 4, ".sst") == 0;
}

static int64_t count_descriptors(pid_t pid)
{
    char path[64], fd_path[64 + 256];
    int64_t n = 0;
    struct dirent *e;
    DIR *d;

    snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    d = opendir(path);
    while (d && (e = readdir(d))) {
        snprintf(fd_path, sizeof(fd_path), "%s/%s", path, e->d_name);
        n += e->d_name[0] != '.' && !is_table_file(fd_path);
    }
    if (d)
        closedir(d);
    return n;
}

static void raise_to(int64_t *max, int64_t n)
{
    *max = n > *max ? n : *max;
}

void watch_sample(struct watch *w, pid_t pid)
{
    struct sample s = {status_of(pid, "VmRSS:"), count_descriptors(pid),
                       status_of(pid, "Threads:")};

    if (!s.rss_kb || !s.descriptors || w->count == WATCH_SAMPLES_MAX)
        return;
    w->samples[w->count++] = s;
    raise_to(&w->rss_max_kb, s.rss_kb);
    raise_to(&w->descriptors_max, s.descriptors);
    raise_to(&w->threads_max, s.threads);
}

static int64_t folder_kb(const char *dir)
{
    int64_t sum = 0;
    struct dirent *e;
    DIR *d = opendir(dir);

    while (d && (e = readdir(d))) {
        struct stat st;
        char path[600];

        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
        if (lstat(path, &st) == 0)
            sum += S_ISDIR(st.st_mode) ? folder_kb(path) : (int64_t)st.st_blocks / 2;
    }
    if (d)
        closedir(d);
    return sum;
}

void watch_disk(struct watch *w, const char *dir)
{
    raise_to(&w->disk_max_kb, folder_kb(dir));
}

/* The largest of a quarter, 0 to 3. */
static struct sample largest(const struct watch *w, int quarter)
{
    struct sample max = {0};

    for (int i = w->count * quarter / 4; i < w->count * (quarter + 1) / 4; i++) {
        raise_to(&max.rss_kb, w->samples[i].rss_kb);
        raise_to(&max.descriptors, w->samples[i].descriptors);
        raise_to(&max.threads, w->samples[i].threads);
    }
    return max;
}

void watch_end(struct watch *w, const char *where)
{
    struct sample early = largest(w, 1), late = largest(w, 3);

    for (int quarter = 0; quarter < 4; quarter++)
        if (largest(w, quarter).rss_kb > w->rss_bound_kb) {
            crash_problem(w->run, "%s: the server took %lld KiB of memory, more than %lld", where,
                          (long long)largest(w, quarter).rss_kb, (long long)w->rss_bound_kb);
            break;
        }
    if (w->count < SAID_SAMPLES_MIN)
        return;
    printf("  %s: memory %lld to %lld MiB, descriptors %lld to %lld, threads %lld to %lld (largest "
           "of the second and of "
           "the last quarter)\n",
           where, (long long)early.rss_kb >> 10, (long long)late.rss_kb >> 10,
           (long long)early.descriptors, (long long)late.descriptors, (long long)early.threads,
           (long long)late.threads);
    if (w->count < JUDGED_SAMPLES_MIN)
        return;
    w->judged++;
    if ((double)late.rss_kb > (double)early.rss_kb * (1 + RSS_SLACK_SHARE) + RSS_SLACK_KB)
        crash_problem(w->run, "%s: the server's memory grew from %lld to %lld KiB", where,
                      (long long)early.rss_kb, (long long)late.rss_kb);
    if (late.descriptors > early.descriptors + COUNT_SLACK)
        crash_problem(w->run, "%s: the server's open files grew from %lld to %lld", where,
                      (long long)early.descriptors, (long long)late.descriptors);
    if (late.threads > early.threads + COUNT_SLACK)
        crash_problem(w->run, "%s: the server's threads grew from %lld to %lld", where,
                      (long long)early.threads, (long long)late.threads);
}

void watch_print(const struct watch *w)
{
    printf("  at most %lld MiB of memory, %lld descriptors, %lld threads, %lld MiB on disk; %d "
           "lives long enough to be "
           "judged\n",
           (long long)w->rss_max_kb >> 10, (long long)w->descriptors_max, (long long)w->threads_max,
           (long long)w->disk_max_kb >> 10, w->judged);
}
