/* widerowd: from the command line to a running server, and down again.
 *
 * Started in this order: settings, database, access keys, HTTP front, admin port; then the port
 * file and the banner say that it is ready. Stopped in the reverse order: the fronts first, so that
 * requests under way get their answers, the database last. The main thread only waits for signals;
 * all others have them blocked. */
#include "archive/export.h"
#include "base/descriptor.h"
#include "base/lock_file.h"
#include "delayload/delayload.h"
#include "net/http.h"
#include "server/admin.h"
#include "server/allocator.h"
#include "server/config.h"
#include "server/credential.h"
#include "server/engine_program.h"
#include "server/op.h"
#include "server/op_digest.h"
#include "server/publisher.h"
#include "server/service.h"
#include "server/shared_keys.h"
#include "server/shared_settings.h"
#include "server/sql_keys.h"
#include "server/sql_query.h"
#include "server/stat.h"
#include "widerow.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXIT_START 1 /* could not start */
#define EXIT_USAGE 2 /* bad flags or settings */
#define GRACE_MS 10000
#define SQL_STRANGERS_MAX 100 /* of one address */

extern char **environ;

struct server {
    struct config config;
    struct clock clock;
    struct log log;
    struct server_stat stat;
    struct op_front front;
    struct digest_line digests;
    struct admin admin_page;
    struct ticket_office tickets;
    struct wr_db *db;
    struct credential_store *credentials;
    struct shared_text *shared_keys;         /* NULL: the keys are our own */
    struct shared_settings *shared_settings; /* NULL: the settings are our own */
    struct publisher *publisher;             /* NULL: both are */
    struct exporter *exporter;
    struct http *http;
    struct http *admin;
    struct door *sql;           /* NULL: it is off */
    atomic_size_t front_memory; /* what the front holds for requests */
    struct ctx ctx;             /* memory that lives as long as the server */
    char message[1024];
};

/* ---- starting ---- */

static int main_refuse(struct server *s)
{
    fprintf(stderr, "widerowd: %s\n", s->message);
    return EXIT_START;
}

/* The database hands over whole lines of every level. */
static void on_db_log(void *arg, char level, const char *line)
{
    static const char levels[] = "EWID";
    struct log *log = arg;

    if (strchr(levels, level) <= strchr(levels, log->level))
        fprintf(stderr, "%s\n", line);
}

static uint64_t on_front_memory(void *arg)
{
    atomic_size_t *held = arg;

    return atomic_load_explicit(held, memory_order_relaxed);
}

/* Clients must not be able to take the files that storage needs, on whichever port they come. */
static void bound_connections(struct server *s)
{
    struct config *c = &s->config;
    bool has_sql = strcmp(c->sql, "off") != 0;
    int limit = descriptor_limit_raise();
    int http = (int)c->connections, sql = has_sql ? (int)c->sql_connections : 0;

    descriptor_share(descriptor_connections(limit), &http, &sql);
    if (http < c->connections)
        log_warn(
            &s->log,
            "server: at most %d connections instead of %lld: only %d files may be open (ulimit "
            "-n), and storage needs some of them",
            http, (long long)c->connections, limit);
    if (has_sql && sql < c->sql_connections)
        log_warn(&s->log,
                 "server: at most %d SQL connections instead of %lld: only %d files may be open "
                 "(ulimit -n), and storage and --connections need some of them",
                 sql, (long long)c->sql_connections, limit);
    c->connections = http;
    if (has_sql)
        c->sql_connections = sql;
}

static int access_log_open(struct server *s)
{
    const char *file = s->config.access_log;

    s->front.access_fd = -1;
    if (strcmp(file, "off") == 0)
        return 0;
    s->front.access_fd = open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
    if (s->front.access_fd >= 0)
        return 0;
    snprintf(s->message, sizeof(s->message),
             "cannot write %s: %s. Give another file with --access-log FILE.", file,
             strerror(errno));
    return main_refuse(s);
}

/* The same descriptor on a new file, for log rotation. */
static void access_log_reopen(struct server *s)
{
    int fd;

    if (s->front.access_fd < 0)
        return;
    fd = open(s->config.access_log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
    if (fd < 0 || dup3(fd, s->front.access_fd, O_CLOEXEC) < 0)
        log_error(&s->log, "server: cannot reopen %s: %s", s->config.access_log, strerror(errno));
    if (fd >= 0)
        close(fd);
}

static int data_refuse(struct server *s, const char *what)
{
    snprintf(s->message, sizeof(s->message), "cannot %s the data folder %s: %s.", what,
             s->config.data, strerror(errno));
    return main_refuse(s);
}

/* Where rows lie in a pool the folder has copies of what servers share, which are edited: a folder
 * each. (An engine that keeps its rows in the folder locks it itself.) */
static int data_open(struct server *s)
{
    const char *dir = s->config.data;
    long holder;

    if (strcmp(s->config.engine, "mem") == 0)
        return 0;
    if (mkdir(dir, 0700) && errno != EEXIST)
        return data_refuse(s, "make");
    if (!wr_is_shared(s->db) ||
        lock_file_take(arena_printf(&s->ctx.arena, "%s/LOCK", dir).ptr, &holder) >= 0)
        return 0; /* to the end of the process */
    if (errno != EWOULDBLOCK)
        return data_refuse(s, "lock");
    snprintf(s->message, sizeof(s->message),
             "the data folder %s is open in another process (pid %ld). Each server over a pool has "
             "one of its own: give another with --data DIR, or stop that process first.",
             dir, holder);
    return main_refuse(s);
}

static int main_db_open(struct server *s)
{
    struct config *c = &s->config;
    const struct wr_setting engine_settings[] = {{"ceph_conf", c->ceph_conf},
                                                 {"ceph_user", c->ceph_user},
                                                 {"pool", c->pool},
                                                 {"namespace", c->namespace}};
    struct wr_options options = {WR_OPTIONS,
                                 .engine = c->engine,
                                 .engine_settings = engine_settings,
                                 .engine_setting_count = 4,
                                 .dir = c->data,
                                 .no_sync = c->no_sync,
                                 .accept_data_loss = c->accept_data_loss,
                                 .clock_reset = c->clock_reset,
                                 .strict = c->strict,
                                 .memory_bytes = c->memory,
                                 .front_memory = on_front_memory,
                                 .front_arg = &s->front_memory,
                                 .settings = c->settings,
                                 .setting_count = c->setting_count,
                                 .settings_follow = true,
                                 .log = on_db_log,
                                 .log_arg = &s->log};

    return wr_open(&options, &s->db, s->message, sizeof(s->message)) ? main_refuse(s) : 0;
}

static int credentials_open(struct server *s)
{
    struct config *c = &s->config;
    struct credential_conf conf = {.dir = strcmp(c->engine, "mem") == 0 ? NULL : c->data,
                                   .instance = c->instance,
                                   .id = c->access_key_id,
                                   .secret = c->access_key_secret,
                                   .shared = wr_is_shared(s->db),
                                   .log = &s->log};

    if (credential_store_open(&conf, &s->credentials, s->message, sizeof(s->message)))
        return main_refuse(s);
    if (conf.shared && shared_keys_open(s->db, s->credentials, &s->log, &s->shared_keys, s->message,
                                        sizeof(s->message)))
        return main_refuse(s);
    return 0;
}

static int publisher_open(struct server *s)
{
    s->publisher =
        publisher_start(s->db, s->shared_keys, shared_settings_text(s->shared_settings), &s->log);
    if (s->publisher)
        return 0;
    snprintf(s->message, sizeof(s->message),
             "the system gives no thread to publish settings with.");
    return main_refuse(s);
}

/* Before any front is open; with it the settings are those that count. */
static int settings_open(struct server *s)
{
    const struct shared_settings_conf conf = {.dir = s->config.data,
                                              .settings = s->config.settings,
                                              .setting_count = s->config.setting_count,
                                              .strict = s->config.strict,
                                              .log = &s->log};

    if (wr_is_shared(s->db) ? shared_settings_open(s->db, &conf, &s->shared_settings, s->message,
                                                   sizeof(s->message))
                            : wr_settings_change(s->db, NULL, 0, s->message, sizeof(s->message)))
        return main_refuse(s);
    return wr_is_shared(s->db) ? publisher_open(s) : 0;
}

static int front_open(struct server *s)
{
    struct config *c = &s->config;
    struct http_conf conf = {.address = c->http,
                             .setting = c->http_source,
                             .threads = (int)c->threads,
                             .connections_max = (int)c->connections,
                             .connections_per_address = (int)c->connections_per_address,
                             .head_timeout_ms = (int)c->head_timeout * 1000,
                             .request_timeout_ms = (int)c->request_timeout * 1000,
                             .memory_max = (size_t)wr_memory_max(s->db),
                             .memory = &s->front_memory,
                             .stream_pace = (size_t)c->stream_pace,
                             .tls_cert = c->tls_cert,
                             .tls_key = c->tls_key,
                             .clock = &s->clock,
                             .log = &s->log,
                             .on_head = op_on_head,
                             .on_request = op_on_request,
                             .arg = &s->front};

    wr_request_bounds(s->db, &conf.body_bytes_max, &conf.request_memory_max);
    s->front.db = s->db;
    s->front.credentials = s->credentials;
    s->front.stat = &s->stat;
    s->front.clock = &s->clock;
    s->front.log = &s->log;
    s->front.tickets = &s->tickets;
    s->front.op_timeout_ms = c->op_timeout * 1000;
    s->front.requests_max = c->requests;
    s->front.slow_ms = c->slow;
    rng_secret(&s->front.seed, sizeof(s->front.seed));
    digest_line_init(&s->digests);
    s->front.digests = &s->digests;
    s->front.sql = sql_queries_open(s->db, &s->clock);
    if (http_open(&conf, &s->http, s->message, sizeof(s->message)))
        return main_refuse(s);
    return 0;
}

static const char *if_given(const char *text)
{
    return text[0] ? text : NULL;
}

/* What periods of series go to their archives by. */
static int archive_open(struct server *s)
{
    const struct config *c = &s->config;
    struct exporter_conf conf = {.db = s->db,
                                 .clock = &s->clock,
                                 .words = {.endpoint = if_given(c->archive_endpoint),
                                           .region = if_given(c->archive_region),
                                           .profile = if_given(c->archive_profile),
                                           .ca_file = if_given(c->archive_ca_file)},
                                 .under = c->archive};

    if (c->archive[0] && !delayload_has("libcurl.so.4")) {
        snprintf(s->message, sizeof(s->message),
                 "an archive needs libcurl, which is not there: install the package libcurl4.");
        return main_refuse(s);
    }
    s->exporter = exporter_new(&conf);
    wr_archive_with(s->db, exporter_step, s->exporter);
    return 0;
}

static int sql_open(struct server *s)
{
    const struct config *c = &s->config;
    struct door_conf conf = {.address = c->sql,
                             .setting = c->sql_source ? c->sql_source : "--sql",
                             .db = s->db,
                             .clock = &s->clock,
                             .log = &s->log,
                             .keys = sql_keys(s->credentials),
                             .tls_cert = c->tls_cert,
                             .tls_key = c->tls_key,
                             .connections_max = (int)c->sql_connections,
                             .user_connections_max = (int)c->sql_user_connections,
                             .strangers_per_address_max = SQL_STRANGERS_MAX};

    if (strcmp(c->sql, "off") == 0)
        return 0;
    if (!door_open(&conf, &s->sql, s->message, sizeof(s->message)))
        return 0;
    if (c->sql_source)
        return main_refuse(s);
    log_warn(&s->log, "server: no SQL, for nobody asked for it and its port is not to be had: %s",
             s->message);
    return 0;
}

static int admin_open(struct server *s)
{
    struct http_conf conf = {.address = s->config.admin,
                             .setting = s->config.admin_source,
                             .threads = 1,
                             .connections_max = s->config.connections < 400 ? 8 : 100,
                             .body_bytes_max = 4096,
                             .clock = &s->clock,
                             .log = &s->log,
                             .on_request = admin_on_request,
                             .arg = &s->admin_page};

    if (strcmp(s->config.admin, "off") == 0)
        return 0;
    s->admin_page.db = s->db;
    s->admin_page.stat = &s->stat;
    s->admin_page.tickets = &s->tickets;
    s->admin_page.front = s->http;
    s->admin_page.clock = &s->clock;
    s->admin_page.start_us = clock_mono_us(&s->clock);
    if (http_open(&conf, &s->admin, s->message, sizeof(s->message)))
        return main_refuse(s);
    /* A copy, for requests under way may read it when the admin port is closed already. */
    atomic_store(&s->tickets.address,
                 (const char *)arena_printf(&s->ctx.arena, "%s", http_address(s->admin)).ptr);
    return 0;
}

/* Written under another name first: who sees the file sees all of it. */
static int port_file_write(struct server *s)
{
    const char *file = s->config.port_file;
    const char *temporary;
    FILE *f;

    if (!file[0])
        return 0;
    temporary = arena_printf(&s->ctx.arena, "%s.new", file).ptr;
    f = fopen(temporary, "w");
    if (f) {
        fprintf(f, "http=%s\n", http_address(s->http));
        if (s->admin)
            fprintf(f, "admin=%s\n", http_address(s->admin));
        if (s->sql)
            fprintf(f, "sql=%s\n", door_address(s->sql));
        if (fclose(f) == 0 && rename(temporary, file) == 0)
            return 0;
    }
    snprintf(s->message, sizeof(s->message),
             "cannot write %s: %s. Give another file with --port-file FILE.", file,
             strerror(errno));
    return main_refuse(s);
}

/* ---- warnings ---- */

static bool is_loopback(const char *address)
{
    return strncmp(address, "127.", 4) == 0 || strncmp(address, "[::1]:", 6) == 0;
}

/* What an operator should know of the settings before anything else. */
static void warn_of_settings(struct server *s)
{
    const struct config *c = &s->config;
    bytes text = c->warnings;

    while (text.len) {
        const char *end = memchr(text.ptr, '\n', text.len);
        size_t n = (size_t)(end - (const char *)text.ptr);

        log_warn(&s->log, "server: %.*s", (int)n, (const char *)text.ptr);
        text = bytes_skip(text, n + 1);
    }
    if (!is_loopback(http_address(s->http)) && !c->tls_cert[0])
        log_warn(
            &s->log,
            "server: %s is open to other machines without TLS: keys are safe, for requests are "
            "signed, but whoever is on the way reads all data (--tls-cert, --tls-key)",
            http_address(s->http));
    if (s->sql && !is_loopback(door_address(s->sql)) && !c->tls_cert[0])
        log_warn(
            &s->log,
            "server: %s is open to other machines without TLS: whoever is on the way reads all "
            "that SQL clients say and get (--tls-cert, --tls-key)",
            door_address(s->sql));
    if (s->admin && !is_loopback(http_address(s->admin)))
        log_warn(
            &s->log,
            "server: the admin port %s is open to other machines: metrics and health ask for no "
            "key",
            http_address(s->admin));
}

/* ---- the banner ---- */

/* Where a client on this machine reaches an address that may be a wildcard. */
static const char *reachable(struct server *s, const char *address)
{
    if (strncmp(address, "0.0.0.0:", 8) == 0)
        return arena_printf(&s->ctx.arena, "127.0.0.1:%s", address + 8).ptr;
    if (strncmp(address, "[::]:", 5) == 0)
        return arena_printf(&s->ctx.arena, "[::1]:%s", address + 5).ptr;
    return address;
}

/* `endpoint` begins with its scheme. */
static void snippets_print(const char *endpoint, const struct credential *c)
{
    printf("\nPython (pip install tablestore):\n\n"
           "  from tablestore import OTSClient\n"
           "  client = OTSClient('%s', '%s', '%s', '%s')\n"
           "  print(client.list_table())\n",
           endpoint, c->id, c->secret, c->instance);
    printf("\nNode.js (npm install tablestore):\n\n"
           "  const TableStore = require('tablestore');\n"
           "  const client = new TableStore.Client({\n"
           "    endpoint: '%s', instancename: '%s',\n"
           "    accessKeyId: '%s', secretAccessKey: '%s' });\n"
           "  client.listTable({}, (err, data) => console.log(err || data.table_names));\n\n",
           endpoint, c->instance, c->id, c->secret);
}

/* The secret is shown to a person at a terminal only; a log that collects the output does not get
 * it, unless there is no file that it could be read from (engine mem). */
static void banner_print(struct server *s)
{
    const struct config *config = &s->config;
    const struct credential *c = credential_first(s->credentials);
    const char *endpoint =
        arena_printf(&s->ctx.arena, "http%s://%s", config->tls_cert[0] ? "s" : "",
                     reachable(s, http_address(s->http)))
            .ptr;
    const char *file = credential_file(s->credentials);
    bool show = isatty(STDOUT_FILENO) ||
                (!file && credential_made(s->credentials) && !config->access_key_id);

    printf("Widerow %s is ready.\n\n", wr_version());
    printf("  endpoint  %s\n", endpoint);
    printf("  instance  %s\n", c->instance);
    printf("  key id    %s\n", c->id);
    if (show)
        printf("  secret    %s\n", c->secret);
    if (file)
        printf("  keys      %s%s\n", file, show ? "" : " (the secret is there)");
    if (strcmp(config->engine, "mem") == 0)
        printf("  data      in memory only; it goes when the server stops\n");
    else
        printf("  data      %s%s\n", config->data,
               config->no_sync ? " (no sync: a power cut loses the newest writes)" : "");
    if (s->sql)
        printf("  sql       %s (MySQL's protocol: the user is the key id, the database the "
               "instance)\n",
               reachable(s, door_address(s->sql)));
    if (s->admin)
        printf("  metrics   http://%s/metrics\n", reachable(s, http_address(s->admin)));
    if (show)
        snippets_print(endpoint, c);
    fflush(stdout);
    credential_release(c);
}

/* ---- running ---- */

static void signals_block(sigset_t *set)
{
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(set);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGHUP);
    pthread_sigmask(SIG_BLOCK, set, NULL);
}

static void keys_read_again(struct server *s)
{
    if (credential_store_reload(s->credentials, s->message, sizeof(s->message)))
        log_error(&s->log, "server: the access keys stay as they are: %s", s->message);
    else
        log_info(&s->log, "server: access keys read again");
}

static void certificate_read_again(struct server *s)
{
    if (http_reload(s->http, s->message, sizeof(s->message)))
        log_error(&s->log, "server: the certificate stays as it is: %s", s->message);
    else
        log_info(&s->log, "server: certificate read again");
}

static void on_hangup(struct server *s)
{
    access_log_reopen(s);
    if (s->config.tls_cert[0])
        certificate_read_again(s);
    if (s->publisher)
        publisher_wake(s->publisher);
    else
        keys_read_again(s);
}

static void signals_wait(struct server *s, const sigset_t *set)
{
    int signal_number;

    for (;;) {
        if (sigwait(set, &signal_number))
            continue;
        if (signal_number != SIGHUP)
            break;
        on_hangup(s);
    }
    log_info(&s->log, "server: stopping (%s)", strsignal(signal_number));
    /* A second one ends the process at once; what was acknowledged is safe all the same. */
    signal(SIGTERM, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, set, NULL);
}

static int server_start(struct server *s)
{
    int code;

    if (s->config.port_file[0])
        unlink(s->config.port_file); /* of a start before; nobody should wait on a dead port */
    if ((code = access_log_open(s)) || (code = main_db_open(s)) || (code = data_open(s)) ||
        (code = credentials_open(s)) || (code = settings_open(s)) || (code = archive_open(s)) ||
        (code = front_open(s)) || (code = sql_open(s)) || (code = admin_open(s)))
        return code;
    return port_file_write(s);
}

static void server_stop(struct server *s)
{
    publisher_stop(s->publisher); /* nothing waits for other servers any more */
    http_close(s->admin, 0);
    door_close(s->sql);
    sql_queries_quit(s->front.sql);
    http_close(s->http, GRACE_MS);
    sql_queries_close(s->front.sql);
    shared_settings_close(s->shared_settings);
    shared_text_close(s->shared_keys);
    exporter_stop(s->exporter);
    wr_close(s->db);
    if (s->front.digests)
        digest_line_destroy(&s->digests);
    exporter_free(s->exporter);
    credential_store_close(s->credentials);
    if (s->front.access_fd >= 0)
        close(s->front.access_fd);
    if (s->http && s->config.port_file[0])
        unlink(s->config.port_file);
}

static int server_run(struct server *s)
{
    sigset_t signals;
    int code;

    clock_real_init(&s->clock);
    ticket_office_init(&s->tickets, &s->clock);
    s->log = (struct log){.level = (char)(s->config.log_level[0] - 'a' + 'A'), .clock = &s->clock};
    ctx_init(&s->ctx, &s->clock, &s->log, NULL, 0);
    signals_block(&signals);
    bound_connections(s);
    code = server_start(s);
    if (code == 0) {
        warn_of_settings(s);
        banner_print(s);
        service_tell("READY=1");
        signals_wait(s, &signals);
        service_tell("STOPPING=1");
    }
    server_stop(s);
    if (code == 0)
        log_info(&s->log, "server: stopped");
    ctx_release(&s->ctx);
    return code;
}

static int put_text(bytes text)
{
    return fwrite(text.ptr, 1, text.len, stdout) != text.len;
}

/* What is asked for instead of a server. */
static int say(struct config *c)
{
    switch (c->action) {
    case CONFIG_HELP:
        return put_text(config_help(&c->arena));
    case CONFIG_DEFAULTS:
        return put_text(config_defaults(&c->arena));
    case CONFIG_VERSION:
        return printf("widerowd %s\n", wr_version()) < 0;
    default:
        printf("The settings are good. %s%s\n", c->file ? "Read: " : "There is no widerow.conf.",
               c->file ? c->file : "");
        fwrite(c->warnings.ptr, 1, c->warnings.len, stderr);
        return put_text(c->given);
    }
}

int main(int argc, char **argv)
{
    struct server *s = mem_zalloc(sizeof(*s));
    int code;

    if (config_load(&s->config, argc, argv, environ, s->message, sizeof(s->message))) {
        main_refuse(s);
        code = EXIT_USAGE;
    } else if (s->config.action != CONFIG_RUN) {
        code = say(&s->config);
    } else {
        engine_program_become(s->config.engine, argv);
        allocator_fit(s->config.memory);
        code = server_run(s);
    }
    config_release(&s->config);
    mem_free(s);
    return code;
}
