/* cmd_backup.c: `widerow backup`: through the admin port of a running server, or of a data folder
 * that nobody has open. */
#include "cli/command.h"

#include "base/buf.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ADMIN_DEFAULT "http://127.0.0.1:8601"
#define CONNECT_TIMEOUT_MS 5000L
#define ANSWER_BYTES_MAX 65536
#define PATH_BYTES_MAX 4096

struct backup_options {
    const char *admin;
    const char *dir;
};

static const struct option_row backup_rows[] = {
    {"admin", "URL", "the server's admin port (default " ADMIN_DEFAULT "; WIDEROW_ADMIN)",
     OPTION_TEXT, offsetof(struct backup_options, admin), 0, 0},
    {"dir", "DIR", "no server: open the data folder DIR in this process", OPTION_TEXT,
     offsetof(struct backup_options, dir), 0, 0},
    {0},
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

static int answer_code(struct ctx *c, const char *admin, long status, bytes text)
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
    return fail(c, E_UNAVAILABLE, "%.*s", BYTES_FMT(text));
}

/* Takes as long as it takes: the answer comes when the backup is durable. */
static int ask(struct ctx *c, const char *admin, bytes dir, CURL *curl)
{
    size_t slash = strlen(admin);
    struct curl_slist *headers;
    char error[CURL_ERROR_SIZE] = "";
    struct buf answer;
    CURLcode result;
    long status = 0;

    while (slash && admin[slash - 1] == '/')
        slash--;
    buf_init(&answer, &c->arena, 256);
    /* A page in somebody's browser cannot send such a header to another site. */
    headers = curl_slist_append(NULL, "X-Widerow-Admin: backup");
    headers = curl_slist_append(headers, "Content-Type: text/plain");
    curl_easy_setopt(curl, CURLOPT_URL,
                     arena_printf(&c->arena, "%.*s/backup", (int)slash, admin).ptr);
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
                    "no answer from %s (%s). Is widerowd running there? Of a server that is "
                    "stopped, --dir DATA makes the backup",
                    admin, error[0] ? error : curl_easy_strerror(result));
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    return answer_code(c, admin, status, buf_bytes(&answer));
}

static int backup_online(struct ctx *c, const char *admin, const char *to)
{
    const char *variable = getenv("WIDEROW_ADMIN");
    CURL *curl;
    bytes dir;
    int code;

    if (!admin)
        admin = variable && *variable ? variable : ADMIN_DEFAULT;
    if (strncmp(admin, "http://", 7) != 0)
        return fail(c, E_PARAMETER, "an admin port's address begins with http://, not '%s'", admin);
    TRY(absolute(c, to, &dir));
    curl = curl_easy_init();
    if (!curl)
        return fail(c, E_UNAVAILABLE, "libcurl does not start");
    code = ask(c, admin, dir, curl);
    curl_easy_cleanup(curl);
    return code;
}

static int backup_offline(struct ctx *c, const char *from, const char *to)
{
    /* Nothing but the backup is to happen here. */
    struct wr_setting settings[] = {{"scrub_bytes_per_s_max", "0"}};
    struct wr_options options = {
        .dir = from, .settings = settings, .setting_count = PORT_COUNT(settings)};
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

static int backup(struct ctx *c, struct cli *cli, void *options)
{
    const struct backup_options *o = options;
    const char *to = cli->argv[0];

    if (o->dir && o->admin)
        return fail(c, E_PARAMETER, "--dir and --admin exclude each other");
    if (o->dir)
        TRY(backup_offline(c, o->dir, to));
    else
        TRY(backup_online(c, o->admin, to));
    printf("%s is a whole backup, and durable. Access keys (the file credentials) are not in it.\n",
           to);
    return 0;
}

const struct command command_backup = {
    .name = "backup",
    .args = "DIR",
    .summary = "copy all data into the new folder DIR, as of one moment",
    .text = "The server goes on serving meanwhile. DIR is on the server's machine, must be missing "
            "or\nempty, and is then a data folder that widerowd opens; `widerow restore` copies "
            "and verifies it.\nOn the data's own file system large files are linked: such a backup "
            "does not survive the disk,\nso copy it to another one.",
    .options = backup_rows,
    .options_size = sizeof(struct backup_options),
    .argc_min = 1,
    .argc_max = 1,
    .run = backup,
};
