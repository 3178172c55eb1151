#include "server/process_stat.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* Ticks since the system's start at which the process began: field 22 of its stat, where field 2,
 * a name in brackets, may hold blanks. */
static double start_ticks(void)
{
    char text[1024], *at;
    unsigned long long ticks = 0;
    FILE *f = fopen("/proc/self/stat", "re");
    size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

    if (f)
        fclose(f);
    text[n] = 0;
    at = strrchr(text, ')');
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    return at && sscanf(at, " %llu", &ticks) == 1 ? (double)ticks : 0;
}

static double start_time_s(void)
{
    struct timespec boot, now;
    double ticks = start_ticks();

    if (!ticks || clock_gettime(CLOCK_BOOTTIME, &boot) || clock_gettime(CLOCK_REALTIME, &now))
        return 0;
    return (double)(now.tv_sec - boot.tv_sec) + (double)(now.tv_nsec - boot.tv_nsec) / 1e9 +
           ticks / (double)sysconf(_SC_CLK_TCK);
}

static void read_memory(struct process_stat *out)
{
    unsigned long long size = 0, resident = 0;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    FILE *f = fopen("/proc/self/statm", "re");

    if (!f)
        return;
    if (fscanf(f, "%llu %llu", &size, &resident) == 2) {
        out->virtual_bytes = size * page;
        out->resident_bytes = resident * page;
    }
    fclose(f);
}

static uint64_t count_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    uint64_t n = 0;

    if (!dir)
        return 0;
    for (const struct dirent *e; (e = readdir(dir));)
        n += e->d_name[0] != '.';
    closedir(dir);
    return n ? n - 1 : 0; /* the folder's own */
}

void process_stat_read(struct process_stat *out)
{
    struct rusage use;
    struct rlimit fds;

    memset(out, 0, sizeof(*out));
    if (!getrusage(RUSAGE_SELF, &use))
        out->cpu_s = (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
                     (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
    if (!getrlimit(RLIMIT_NOFILE, &fds))
        out->max_fds = fds.rlim_cur;
    out->start_s = start_time_s();
    out->open_fds = count_fds();
    read_memory(out);
}
