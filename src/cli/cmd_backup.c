/* cmd_backup.c: `widerow backup`: of the server at the endpoint, through its admin port, or of a
 * data folder that nobody has open.
 *
 * The endpoint is asked first, with an access key: it names its admin port and gives a ticket that
 * no other server takes. So the backup is of the server that the user named, or there is none. */
#include "cli/command.h"
#include "client/http_part.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CONNECT_TIMEOUT_MS 5000L
#define ANSWER_BYTES_MAX 65536
#define PATH_BYTES_MAX 4096
#define TABLES_SAID 10

struct backup_options {
    const char *admin;
    const char *dir;
};

static const struct option_row backup_rows[] = {
    {"admin", "URL",
     "the server's admin port (default: as the endpoint says; WIDEROW_ADMIN). It must be of the "
     "same server",
     OPTION_TEXT, offsetof(struct backup_options, admin), 0, 0},
    {"dir", "DIR", "no server: open the data folder DIR in this process", OPTION_TEXT,
     offsetof(struct backup_options, dir), 0, 0},
    {0},
};

/* What the endpoint answers. */
struct leave {
    bytes admin; /* the admin port's address */
    bytes ticket;
};

static size_t on_body(char *data, size_t size, size_t n, void *arg)
{
    struct buf *b = arg;

    if (b->len + size * n > ANSWER_BYTES_MAX)
        return 0;
    buf_put(b, data, size * n);
    return size * n;
}

/* The server has another working folder than we have. */
static int absolute(struct ctx *c, const char *dir, bytes *out)
{
    char here[PATH_BYTES_MAX];

    if (dir[0] == '/')
        *out = bytes_str(dir);
    else if (!getcwd(here, sizeof(here)))
        return fail(c, E_PARAMETER, "where is %s? Give its whole path", dir);
    else
        *out = arena_printf(&c->arena, "%s/%s", here, dir);
    return 0;
}

/* ---- leave, from the endpoint ---- */

/* The rest of the line that begins with `word`, with a NUL behind it. */
static bytes line_of(struct ctx *c, bytes text, const char *word)
{
    const char *p = text.ptr, *end = p + text.len, *stop;
    size_t len = strlen(word);

    for (; p < end; p = stop + 1) {
        stop = memchr(p, '\n', (size_t)(end - p));
        if (!stop)
            stop = end;
        if ((size_t)(stop - p) > len && memcmp(p, word, len) == 0 && p[len] == ' ')
            return arena_printf(&c->arena, "%.*s", (int)(stop - p - (ptrdiff_t)len - 1),
                                p + len + 1);
    }
    return BYTES_NONE;
}

static int ask_leave(struct ctx *c, struct client *cl, bytes dir, struct leave *out)
{
    bytes text;

    TRY(http_text(c, cl, "/OpenBackup", dir, &text));
    out->admin = line_of(c, text, "admin");
    out->ticket = line_of(c, text, "ticket");
    if (!out->admin.len || !out->ticket.len)
        return fail(c, WR_E_INTERNAL,
                    "%s gives leave for a backup in a form that this release "
                    "does not know",
                    cl->target->endpoint);
    return 0;
}

/* The host of "http://host:port", with its brackets if it is an IPv6 address. */
static bytes host_of(const char *endpoint)
{
    const char *host = strstr(endpoint, "://") + 3;
    const char *close = *host == '[' ? strchr(host, ']') : NULL;

    return bytes_of(host, close ? (size_t)(close + 1 - host) : strcspn(host, ":/"));
}

/* Where the server says its admin port is; one on all addresses is also on that of the endpoint. */
static const char *admin_url(struct ctx *c, const char *endpoint, bytes address)
{
    const char *a = address.ptr, *port = strrchr(a, ':');

    if (port && (strncmp(a, "0.0.0.0:", 8) == 0 || strncmp(a, "[::]:", 5) == 0))
        return arena_printf(&c->arena, "http://%.*s%s", BYTES_FMT(host_of(endpoint)), port).ptr;
    return arena_printf(&c->arena, "http://%s", a).ptr;
}

/* ---- the backup, at the admin port ---- */

static int answer_code(struct ctx *c, const char *endpoint, const char *admin, long status,
                       bytes text)
{
    const char *end = text.len ? memchr(text.ptr, '\n', text.len) : NULL;

    if (end)
        text.len = (size_t)(end - (const char *)text.ptr);
    if (status == 200)
        return 0;
    if (status == 404 || status == 405)
        return fail(c, E_UNSUPPORTED,
                    "%s makes no backups (HTTP status %ld); is it the admin port of this release?",
                    admin, status);
    if (status == 403)
        return fail(c, E_PERMISSION,
                    "%s refuses what %s allowed: %.*s Without --admin and WIDEROW_ADMIN the "
                    "endpoint itself says where its admin port is",
                    admin, endpoint, BYTES_FMT(text));
    return fail(c, E_UNAVAILABLE, "%.*s", BYTES_FMT(text));
}

static struct curl_slist *make_headers(struct ctx *c, bytes ticket)
{
    /* A page in somebody's browser cannot send such a header to another site. */
    struct curl_slist *headers = curl_slist_append(NULL, "X-Widerow-Admin: backup");
    const char *line;

    line = arena_printf(&c->arena, "X-Widerow-Ticket: %.*s", BYTES_FMT(ticket)).ptr;
    headers = curl_slist_append(headers, line);
    return curl_slist_append(headers, "Content-Type: text/plain");
}

/* Takes as long as it takes: the answer comes when the backup is durable. */
static int post(struct ctx *c, const char *endpoint, const char *admin, bytes dir, bytes ticket,
                CURL *curl)
{
    size_t slash = strlen(admin);
    struct curl_slist *headers = make_headers(c, ticket);
    const char *url;
    char error[CURL_ERROR_SIZE] = "";
    struct buf answer;
    CURLcode result;
    long status = 0;

    while (slash && admin[slash - 1] == '/')
        slash--;
    buf_init(&answer, &c->arena, 256);
    url = arena_printf(&c->arena, "%.*s/backup", (int)slash, admin).ptr;
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, dir.ptr);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)dir.len);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS);
    curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, error);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer);
    result = curl_easy_perform(curl);
    curl_slist_free_all(headers);
    if (result != CURLE_OK)
        return fail(c, E_UNAVAILABLE,
                    "no answer from %s, the admin port of %s (%s). It listens on the server's own "
                    "machine: run this there, or say with --admin how it is reached from here",
                    admin, endpoint, error[0] ? error : curl_easy_strerror(result));
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    return answer_code(c, endpoint, admin, status, buf_bytes(&answer));
}

static int backup_online(struct ctx *c, struct client *cl, const char *admin, const char *to)
{
    const char *variable = getenv("WIDEROW_ADMIN"), *endpoint = cl->target->endpoint;
    struct leave leave;
    CURL *curl;
    bytes dir;
    int code;

    if (!admin && variable && *variable)
        admin = variable;
    if (admin && strncmp(admin, "http://", 7) != 0)
        return fail(c, E_PARAMETER, "an admin port's address begins with http://, not '%s'", admin);
    TRY(absolute(c, to, &dir));
    TRY(ask_leave(c, cl, dir, &leave));
    if (!admin)
        admin = admin_url(c, endpoint, leave.admin);
    curl = curl_easy_init();
    if (!curl)
        return fail(c, E_UNAVAILABLE, "libcurl does not start");
    code = post(c, endpoint, admin, dir, leave.ticket, curl);
    curl_easy_cleanup(curl);
    return code;
}

/* ---- without a server ---- */

static int backup_offline(struct ctx *c, const char *from, const char *to)
{
    /* Nothing but the backup is to happen here. */
    struct wr_setting settings[] = {{"scrub_bytes_per_s_max", "0"}};
    struct wr_options options = {WR_OPTIONS, .dir = from, .settings = settings,
                                 .setting_count = PORT_COUNT(settings)};
    char message[1024] = "";
    struct wr_db *db;
    int code;

    /* Opening would make one. */
    if (access(arena_printf(&c->arena, "%s/VERSION", from).ptr, F_OK) != 0)
        return fail(c, E_PARAMETER, "%s is not a data folder: it has no VERSION file", from);
    code = wr_open(&options, &db, message, sizeof(message));
    if (code == 0)
        code = wr_backup(db, to, message, sizeof(message));
    wr_close(db);
    return code ? fail(c, code, "%s", message) : 0;
}

/* `tables`: what else is to be said of what was copied. */
static int say_done(const char *to, const char *of, const char *tables)
{
    printf("%s is a whole backup of %s%s, and durable. Access keys (the file credentials) are not "
           "in it.\n",
           to, of, tables);
    return 0;
}

/* A backup is of all instances; these are the tables of the one that was asked for. */
static const char *tables_text(struct ctx *c, struct client *cl)
{
    struct wr_request request = {.op = WR_OP_LIST_TABLE};
    const struct wr_table_list *list;
    struct wr_reply reply;
    bytes names = BYTES_LIT("");

    if (client_exec(c, cl, &request, &reply)) {
        ctx_clear(c);
        return "";
    }
    list = &reply.table_list;
    for (size_t i = 0; i < list->count && i < TABLES_SAID; i++)
        names = arena_printf(&c->arena, "%.*s%s%.*s", BYTES_FMT(names), i ? ", " : ": ",
                             BYTES_FMT(list->tables[i]));
    return arena_printf(&c->arena, " (instance %.*s, %zu tables%.*s%s)",
                        BYTES_FMT(cl->target->instance), list->count, BYTES_FMT(names),
                        list->count > TABLES_SAID ? ", ..." : "")
        .ptr;
}

static int run_offline(struct ctx *c, struct cli *cli, void *options)
{
    const struct backup_options *o = options;

    if (o->admin)
        return fail(c, E_PARAMETER, "--dir and --admin exclude each other");
    if (cli->where.endpoint)
        return fail(c, E_PARAMETER, "--dir and --endpoint exclude each other");
    TRY(backup_offline(c, o->dir, cli->argv[0]));
    return say_done(cli->argv[0], o->dir, "");
}

static int run_online(struct ctx *c, struct client *cl, struct cli *cli, void *options)
{
    const struct backup_options *o = options;

    if (cl->target->db)
        return fail(c, E_PARAMETER, "of a database in this process: give its folder with --dir");
    TRY(backup_online(c, cl, o->admin, cli->argv[0]));
    return say_done(cli->argv[0], cl->target->endpoint, tables_text(c, cl));
}

static bool connects(const void *options)
{
    return ((const struct backup_options *)options)->dir == NULL;
}

const struct command command_backup = {
    .name = "backup",
    .group = GROUP_DATA,
    .args = "DIR",
    .summary = "copy all data into the new folder DIR, as of one moment",
    .text = "The server at the endpoint goes on serving meanwhile. DIR is on that server's "
            "machine, must be\nmissing or empty, and is then a data folder that widerowd opens; "
            "`widerow restore` copies and\nverifies it. The access key must be one that may read "
            "and write every table. On the data's own\nfile system large files are linked: such a "
            "backup does not survive the disk, so copy it to\nanother one.",
    .example = "widerow backup /backups/monday",
    .options = backup_rows,
    .options_size = sizeof(struct backup_options),
    .argc_min = 1,
    .argc_max = 1,
    .run = run_offline,
    .run_connected = run_online,
    .connects = connects,
};
