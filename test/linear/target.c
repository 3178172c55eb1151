#include "target.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define INSTANCE "linear"
#define KEY_ID "linear-key"
#define SECRET "linear-secret"
#define START_MS_MAX 20000

static void say_errors(void *arg, char level, const char *line)
{
    (void)arg;
    if (level == 'E' && !getenv("LINEAR_QUIET"))
        fprintf(stderr, "%s\n", line);
}

static bool open_library(struct server *s)
{
    char page_rows[16];
    struct wr_setting settings[3] = {{"table_ops_per_s_max", "0"}};
    size_t count = 1;
    struct wr_options o = {.version = WR_API_VERSION,
                           .engine = s->spec.engine,
                           .dir = s->spec.dir,
                           .no_sync = s->spec.no_sync,
                           .settings = settings,
                           .log = say_errors};
    char message[512];

    snprintf(page_rows, sizeof(page_rows), "%d", s->spec.page_rows);
    if (s->spec.wide)
        settings[count++] = (struct wr_setting){"wide_row_cells", "1"};
    if (s->spec.page_rows)
        settings[count++] = (struct wr_setting){"range_rows_max", page_rows};
    o.setting_count = count;
    if (wr_open(&o, &s->target.db, message, sizeof(message))) {
        fprintf(stderr, "linear: %s\n", message);
        return false;
    }
    return true;
}

/* LINEAR_LOGS: a folder that gets a file of lines for each server. */
static bool log_apart(const struct server *s)
{
    const char *folder = getenv("LINEAR_LOGS"), *name = strrchr(s->spec.dir, '/');
    char path[512];

    if (!folder || !name)
        return true;
    snprintf(path, sizeof(path), "%s%s.log", folder, name);
    return freopen(path, "a", stderr) != NULL;
}

/* What comes to stand between the process and its cluster. */
static void preload(const struct target_spec *spec)
{
    char number[16];

    if (!spec->preload)
        return;
    setenv("LD_PRELOAD", spec->preload, 1);
    snprintf(number, sizeof(number), "%d", spec->clock_ms);
    setenv("RADOS_CLOCK_MS", number, 1);
    snprintf(number, sizeof(number), "%d", spec->link_port);
    setenv("RADOS_LINK", number, 1);
}

static void run_server(const struct server *s, const char *port_file)
{
    const char *argv[] = {
        s->spec.widerowd, "--data", s->spec.dir, "--engine", s->spec.engine, "--http", s->address,
        "--sql", s->sql_address, "--admin", "off", "--instance", INSTANCE, "--log-level",
        getenv("LINEAR_LOGS") ? "info" : "error", "--port-file", port_file, "--set",
        "table_ops_per_s_max=0", "--set",
        s->spec.brief ? "transaction_ms_max=5000" : "transaction_ms_max=60000",
        /* Partitions are split by load and merged all the time; by size: test/crash. */
        "--set", s->spec.small ? "partition_bytes_max=1024" : "partition_bytes_max=8388608",
        "--set", "partition_write_cu_max=50", "--set", "partition_hot_s=1", "--set",
        "partition_idle_s=1", s->spec.wide ? "--set" : NULL, "wide_row_cells=1", NULL};

    if (s->spec.fault)
        setenv("WR_FAULT", s->spec.fault, 1);
    preload(&s->spec);
    setenv("WIDEROW_ACCESS_KEY_ID", KEY_ID, 1);
    setenv("WIDEROW_ACCESS_KEY_SECRET", SECRET, 1);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* no server outlives a test that died */
    if (!freopen("/dev/null", "w", stdout) || !log_apart(s))
        _exit(127);
    execv(s->spec.widerowd, (char *const *)argv);
    _exit(127);
}

static bool read_address(struct server *s, const char *port_file)
{
    FILE *f = fopen(port_file, "r");
    char line[128];
    bool found = false;

    while (f && fgets(line, sizeof(line), f))
        if (sscanf(line, "http=%63s", s->address) == 1 && strchr(line, '\n'))
            found = true;
        else
            sscanf(line, "sql=%63s", s->sql_address);
    if (f)
        fclose(f);
    return found;
}

static bool start_server(struct server *s)
{
    char port_file[512];

    snprintf(port_file, sizeof(port_file), "%s.ports", s->spec.dir);
    unlink(port_file);
    fflush(NULL);
    s->pid = fork();
    if (s->pid == 0)
        run_server(s, port_file);
    for (int ms = 0; ms < START_MS_MAX; ms += 2) {
        if (read_address(s, port_file)) {
            unlink(port_file);
            snprintf(s->endpoint, sizeof(s->endpoint), "http://%s", s->address);
            return true;
        }
        if (waitpid(s->pid, NULL, WNOHANG) == s->pid) {
            s->pid = 0;
            break;
        }
        usleep(2000);
    }
    fprintf(stderr, "linear: %s did not get ready\n", s->spec.widerowd);
    return false;
}

static void kill_server(struct server *s, int signal)
{
    if (s->pid <= 0)
        return;
    kill(s->pid, signal);
    waitpid(s->pid, NULL, 0);
    s->pid = 0;
}

bool server_open(struct server *s, const struct target_spec *spec)
{
    *s = (struct server){.spec = *spec, .address = "127.0.0.1:0", .sql_address = "off"};
    if (spec->sql)
        snprintf(s->sql_address, sizeof(s->sql_address), "127.0.0.1:0");
    clock_real_init(&s->clock);
    arena_init(&s->target.arena, NULL, 0);
    s->target.instance = BYTES_LIT(INSTANCE);
    s->target.key_id = BYTES_LIT(KEY_ID);
    s->target.key_secret = BYTES_LIT(SECRET);
    atomic_store(&s->target.reached, true);
    if (!spec->http)
        return open_library(s);
    s->target.endpoint = s->endpoint;
    return start_server(s);
}

bool server_restart(struct server *s)
{
    kill_server(s, SIGKILL);
    return start_server(s);
}

void server_close(struct server *s)
{
    kill_server(s, SIGTERM);
    target_release(&s->target);
}
