#include "server.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define READY_MS_MAX 30000
#define STOP_MS_MAX 30000
#define POLL_US 500

extern char **environ;

void server_init(struct server *s, struct crash *run, const char *dir)
{
    *s = (struct server){.run = run, .dir = dir};
    snprintf(s->port_file, sizeof(s->port_file), "%s/port", run->work);
    snprintf(s->log_file, sizeof(s->log_file), "%s/server.log", run->work);
}

/* The environment and some more; made before fork(), after which nothing may allocate. */
static char **environment_make(const struct server *s, char *texts, size_t size)
{
    bool preload = s->record_file || s->clock_shift_s || s->clock_file;
    const char *more[][2] = {{"WR_FAULT", s->fault},
                             {"LD_PRELOAD", preload ? s->run->preload : NULL},
                             {"CRASH_RECORD", s->record_file},
                             {"CRASH_RECORD_DIR", s->record_file ? s->dir : NULL},
                             {"CRASH_CLOCK_SHIFT_S", s->clock_shift_s},
                             {"CRASH_CLOCK_FILE", s->clock_file}};
    size_t n = 0, used = 0;
    char **env;

    while (environ[n])
        n++;
    env = mem_zalloc((n + PORT_COUNT(more) + 1) * sizeof(*env));
    memcpy(env, environ, n * sizeof(*env));
    for (size_t i = 0; i < PORT_COUNT(more); i++) {
        if (!more[i][1])
            continue;
        env[n++] = texts + used;
        used += (size_t)snprintf(texts + used, size - used, "%s=%s", more[i][0], more[i][1]) + 1;
    }
    return env;
}

static PORT_NORETURN void child(const char *log_file, const char *const *argv, char **env)
{
    int fd = open(log_file, O_WRONLY | O_CREAT | O_APPEND, 0600);

    prctl(PR_SET_PDEATHSIG, SIGKILL); /* no server outlives a test that died */
    if (fd >= 0) {
        dup2(fd, STDOUT_FILENO);
        dup2(fd, STDERR_FILENO);
    }
    execve(argv[0], (char *const *)argv, env);
    _exit(127);
}

void server_start(struct server *s)
{
    char address[32], texts[2000];
    const char *argv[24 + SERVER_FLAGS_MAX] = {
        s->run->widerowd, "--data", s->dir, "--http", address, "--sql", "off", "--admin", "off",
        "--port-file", s->port_file, "--set", "table_ops_per_s_max=0",
        /* Cuts and merges all the time. */
        "--set", "partition_bytes_max=8192", "--set", "partition_idle_s=1"};
    char **env = environment_make(s, texts, sizeof(texts));
    struct stat st;
    int n = 0;

    snprintf(address, sizeof(address), "127.0.0.1:%d", s->run->port);
    while (argv[n])
        n++;
    for (int i = 0; i < SERVER_FLAGS_MAX && s->flags[i]; i++)
        argv[n++] = s->flags[i];
    unlink(s->port_file);
    s->log_from = stat(s->log_file, &st) == 0 ? (long)st.st_size : 0;
    s->start_us = clock_mono_us(&s->run->clock);
    s->pid = fork();
    if (s->pid == 0)
        child(s->log_file, argv, env);
    mem_free(env);
    if (s->pid < 0)
        crash_give_up(s->run, "cannot fork: %s", strerror(errno));
}

bool server_ended(struct server *s)
{
    if (!s->pid)
        return true;
    if (waitpid(s->pid, &s->status, WNOHANG) != s->pid)
        return false;
    s->pid = 0;
    return true;
}

bool server_wait_end(struct server *s, int64_t ms)
{
    int64_t until_ms = clock_mono_ms(&s->run->clock) + ms;

    while (!server_ended(s)) {
        if (clock_mono_ms(&s->run->clock) > until_ms)
            return false;
        crash_sleep_us(POLL_US);
    }
    return true;
}

bool server_wait_ready(struct server *s)
{
    struct stat st;

    while (!server_ended(s)) {
        int64_t us = clock_mono_us(&s->run->clock) - s->start_us;

        if (stat(s->port_file, &st) == 0) {
            s->ready_us = us;
            return true;
        }
        if (us > READY_MS_MAX * 1000) {
            crash_problem(s->run, "the server was not ready after %d s", READY_MS_MAX / 1000);
            server_kill(s);
            return false;
        }
        crash_sleep_us(POLL_US);
    }
    return false;
}

void server_kill(struct server *s)
{
    if (!s->pid)
        return;
    kill(s->pid, SIGKILL);
    waitpid(s->pid, &s->status, 0);
    s->pid = 0;
}

bool server_stop(struct server *s)
{
    if (!s->pid)
        return false;
    kill(s->pid, SIGTERM);
    if (!server_wait_end(s, STOP_MS_MAX)) {
        crash_problem(s->run, "the server did not stop in %d s", STOP_MS_MAX / 1000);
        server_kill(s);
        return false;
    }
    return WIFEXITED(s->status) && WEXITSTATUS(s->status) == 0;
}

char *server_output(struct server *s)
{
    FILE *f = fopen(s->log_file, "r");
    size_t n = 0, size = 64 << 10;
    char *text = mem_zalloc(size + 1);

    if (f) {
        fseek(f, s->log_from, SEEK_SET);
        n = fread(text, 1, size, f);
        fclose(f);
    }
    text[n] = 0;
    return text;
}
