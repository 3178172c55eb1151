/* recovery.c: how long a server needs to be back when its log is as full as it gets. A loader
 * writes rows of 1 KB until the logs on disk hold LOG_BYTES, then the server is killed and started
 * again. */
#include "server.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 2
#define ROUNDS_NIGHTLY 10
/* With so much memory a write buffer is flushed at 64 MiB, the largest there is; until then what it
 * holds stands in the log alone. (By default it is 32 MiB.) */
#define MEMORY "1G"
#define LOG_BYTES (56 << 20)
#define READY_US_MAX 4000000
#define WAIT_MS 60000

static int64_t log_bytes(const char *dir)
{
    char path[400];
    struct dirent *entry;
    struct stat st;
    int64_t sum = 0;
    DIR *d;

    snprintf(path, sizeof(path), "%s/db", dir);
    d = opendir(path);
    while (d && (entry = readdir(d))) {
        size_t n = strlen(entry->d_name);

        if (n > 4 && strcmp(entry->d_name + n - 4, ".log") == 0 &&
            fstatat(dirfd(d), entry->d_name, &st, 0) == 0)
            sum += st.st_size;
    }
    if (d)
        closedir(d);
    return sum;
}

static pid_t loader_start(struct crash *run)
{
    char command[1000];
    pid_t pid;

    snprintf(command, sizeof(command),
             "exec '%s' bench insert --records 1000 --seconds 120 --connections 32 --quiet "
             "--endpoint http://127.0.0.1:%d >/dev/null 2>&1",
             run->widerow, run->port);
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    return pid;
}

/* The bytes of log that the server was killed with; 0: they never came together. */
static int64_t fill_and_kill(struct crash *run, struct server *server, const char *dir)
{
    int64_t until_ms = clock_mono_ms(&run->clock) + WAIT_MS, bytes;
    pid_t loader = loader_start(run);

    while ((bytes = log_bytes(dir)) < LOG_BYTES && clock_mono_ms(&run->clock) < until_ms)
        crash_sleep_us(1000);
    server_kill(server);
    kill(loader, SIGKILL);
    waitpid(loader, NULL, 0);
    return bytes < LOG_BYTES ? 0 : bytes;
}

void recovery_part(struct crash *run)
{
    int rounds = run->count ? run->count : run->nightly ? ROUNDS_NIGHTLY : ROUNDS;
    struct crash_times ready = {0};
    struct server server;
    char dir[256];

    snprintf(dir, sizeof(dir), "%s/recovery", run->work);
    server_init(&server, run, dir);
    server.flags[0] = "--memory";
    server.flags[1] = MEMORY;
    server_start(&server);
    if (!server_wait_ready(&server))
        crash_give_up(run, "no server to kill");
    for (int i = 0; i < rounds; i++) {
        int64_t bytes;

        crash_case_begin(run);
        bytes = fill_and_kill(run, &server, dir);
        if (!bytes)
            crash_problem(run, "the log did not grow to %d bytes", LOG_BYTES);
        server_start(&server);
        if (!server_wait_ready(&server))
            crash_give_up(run, "the server did not start again");
        printf("  %lld MB of log: ready after %lld ms\n", (long long)bytes / 1000000,
               (long long)server.ready_us / 1000);
        if (server.ready_us > READY_US_MAX)
            crash_problem(run, "that is more than %d ms", READY_US_MAX / 1000);
        crash_times_add(&ready, server.ready_us);
        crash_case_end(run);
    }
    server_kill(&server);
    crash_times_print(&ready, "ready again with a full log");
}
