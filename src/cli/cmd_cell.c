/* cmd_cell.c: `widerow cell put` and `widerow cell get`: one large value between a file and a cell.
 */
#include "base/number.h"
#include "cli/command.h"
#include "cli/console/progress.h"
#include "cli/row_words.h"
#include "cli/transfer/pipe.h"
#include "cli/transfer/pieces.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct cell_options {
    const char *range;
    bool pieces, call, quiet;
};

static const struct option_row cell_rows[] = {
    {"range", "A-B", "get: only the bytes A to B (from 0, inclusive)", OPTION_TEXT,
     offsetof(struct cell_options, range), 0, 0},
    {"pieces", NULL, "in columns of 1 MB and a state column, by ordinary requests", OPTION_FLAG,
     offsetof(struct cell_options, pieces), 0, 0},
    {"call", NULL, "in one UpdateRow or GetRow, as far as the table's limit on cells allows",
     OPTION_FLAG, offsetof(struct cell_options, call), 0, 0},
    {"quiet", NULL, "no progress", OPTION_FLAG, offsetof(struct cell_options, quiet), 0, 0},
    {0},
};

/* A file on its way to a cell, or back. */
struct moving {
    int fd;
    const char *file; /* get: opened, and so emptied, when there is a value; NULL: fd is open */
    struct progress progress;
    struct clock *clock;
    bool started, quiet;
    atomic_int error;       /* errno of the read or write that failed; 0: none has */
    bool short_file, grown; /* put: the file ended before `length`, or goes on behind it */
    uint64_t moved, length;
    struct pipe *pipe;  /* get: what writes and hashes; NULL: the calling thread does */
    EVP_MD_CTX *hash;   /* of a stream; NULL: nobody asks */
    uint8_t sha256[32]; /* put: of what was moved, once all was. get: what is to come */
    bool has_sha256;
};

static void hash_start(struct moving *m)
{
    m->hash = EVP_MD_CTX_new();
    EVP_DigestInit_ex(m->hash, EVP_sha256(), NULL);
}

/* The last bytes are given only if the file ends with them: one that is being written, or was cut,
 * must not become a cell. 0: all was given. */
static ptrdiff_t move_in(void *arg, uint8_t *data, size_t size)
{
    struct moving *m = arg;
    ssize_t n = m->moved < m->length ? read(m->fd, data, size) : 0;
    uint8_t behind;

    if (n < 0)
        atomic_store(&m->error, errno);
    m->short_file = n == 0 && m->moved < m->length;
    if (n <= 0)
        return m->short_file ? -1 : n;
    m->moved += (uint64_t)n;
    m->grown = m->moved > m->length || (m->moved == m->length && read(m->fd, &behind, 1) > 0);
    if (m->grown)
        return -1;
    atomic_fetch_add(&m->progress.bytes, (unsigned long long)n);
    if (m->hash)
        EVP_DigestUpdate(m->hash, data, (size_t)n);
    if (m->hash && m->moved == m->length)
        EVP_DigestFinal_ex(m->hash, m->sha256, NULL);
    return n;
}

/* A pipe_fn. */
static bool write_out(void *arg, const uint8_t *data, size_t size)
{
    struct moving *m = arg;

    if (m->hash)
        EVP_DigestUpdate(m->hash, data, size);
    while (size) {
        ssize_t n = write(m->fd, data, size);

        if (n <= 0) {
            atomic_store(&m->error, n < 0 ? errno : ENOSPC);
            return false;
        }
        atomic_fetch_add(&m->progress.bytes, (unsigned long long)n);
        data += n;
        size -= (size_t)n;
    }
    return true;
}

static ptrdiff_t move_out(void *arg, uint8_t *data, size_t size)
{
    struct moving *m = arg;
    bool good = m->fd < 0 ? false
                : m->pipe ? pipe_put(m->pipe, data, size)
                          : write_out(m, data, size);

    m->moved += good ? size : 0;
    return good ? (ptrdiff_t)size : -1;
}

static void start_out(void *arg, uint64_t length, const uint8_t *sha256)
{
    struct moving *m = arg;

    if (m->file)
        m->fd = open(m->file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (m->fd < 0)
        atomic_store(&m->error, errno);
    m->has_sha256 = sha256;
    if (sha256)
        memcpy(m->sha256, sha256, sizeof(m->sha256));
    progress_start(&m->progress, m->clock, length, m->quiet);
    m->started = true;
}

/* The length must be known before the first byte is sent: what comes from a pipe is kept in a file
 * without a name meanwhile. */
static int spool(struct ctx *c, const char *name, int *fd)
{
    FILE *file = tmpfile();
    uint8_t *buffer = arena_alloc(&c->arena, 1 << 16);
    ssize_t n;

    if (!file)
        return fail(c, E_UNAVAILABLE, "cannot make a temporary file: %s", strerror(errno));
    while ((n = read(*fd, buffer, 1 << 16)) > 0)
        if (fwrite(buffer, 1, (size_t)n, file) != (size_t)n)
            return fail(c, E_NO_SPACE, "cannot write a temporary file: %s", strerror(errno));
    if (n < 0)
        return fail(c, E_PARAMETER, "cannot read %s: %s", name, strerror(errno));
    if (fflush(file) != 0)
        return fail(c, E_NO_SPACE, "cannot write a temporary file: %s", strerror(errno));
    *fd = fileno(file); /* open until the process ends */
    lseek(*fd, 0, SEEK_SET);
    return 0;
}

static int open_in(struct ctx *c, const char *file, struct moving *m, struct client_cell *cell)
{
    struct stat st;
    off_t at;

    m->fd = strcmp(file, "-") == 0 ? STDIN_FILENO : open(file, O_RDONLY | O_CLOEXEC);
    if (m->fd < 0 || fstat(m->fd, &st) != 0)
        return fail(c, E_PARAMETER, "cannot read %s: %s", file, strerror(errno));
    /* What the system makes up when it is read says it has no bytes, too. */
    if (!S_ISREG(st.st_mode) || !st.st_size) {
        TRY(spool(c, file, &m->fd));
        fstat(m->fd, &st);
    }
    at = lseek(m->fd, 0, SEEK_CUR); /* of stdin something may have been read before us */
    cell->length = m->length = st.st_size > at ? (uint64_t)(st.st_size - at) : 0;
    cell->sha256 = m->sha256;
    return 0;
}

/* ---- in one request ---- */

static int call_put(struct ctx *c, struct client *cl, const struct client_cell *cell)
{
    uint8_t *data = mem_alloc((size_t)cell->length + 1);
    struct wr_cell value = {
        .name = cell->column,
        .value = {.type = WR_VARBINARY, .bytes = bytes_of(data, (size_t)cell->length)},
        .timestamp_ms = WR_TIMESTAMP_NONE};
    struct wr_request request = {
        .op = WR_OP_UPDATE_ROW,
        .update_row = {.type = WR_UPDATE, .table = cell->table, .row = {cell->key, &value, 1}}};
    struct wr_reply reply;
    uint64_t at = 0;
    ptrdiff_t n = 1;
    int code;

    while (at < cell->length && n > 0) {
        n = cell->move(cell->arg, data + at, (size_t)(cell->length - at));
        at += n > 0 ? (uint64_t)n : 0;
    }
    code = at < cell->length ? fail(c, E_UNAVAILABLE, "the file ended early")
                             : client_exec(c, cl, &request, &reply);
    mem_free(data);
    return code;
}

static int call_get(struct ctx *c, struct client *cl, const struct client_cell *cell)
{
    struct wr_request request = {.op = WR_OP_GET_ROW,
                                 .get_row = {.table = cell->table,
                                             .key = cell->key,
                                             .read = {.columns = &cell->column,
                                                      .column_count = 1,
                                                      .has_max_versions = true,
                                                      .max_versions = 1}}};
    struct wr_reply reply;
    bytes value;

    TRY(client_exec(c, cl, &request, &reply));
    if (!reply.row.row.cell_count)
        return fail(c, WR_E_NOT_EXIST, "no such cell");
    value = reply.row.row.cells[0].value.bytes;
    cell->start(cell->arg, value.len, NULL);
    while (value.len) {
        ptrdiff_t n = cell->move(cell->arg, (uint8_t *)(uintptr_t)value.ptr, value.len);

        if (n <= 0)
            return fail(c, E_NO_SPACE, "the value cannot be written");
        value = bytes_skip(value, (size_t)n);
    }
    return 0;
}

/* ---- the command ---- */

static void say_done(struct moving *m, const char *what)
{
    char text[PROGRESS_TEXT], rate[PROGRESS_TEXT];
    double s = progress_seconds(&m->progress);

    if (!m->quiet)
        fprintf(stderr, "%s %s in %.2f s, %s/s\n", what, progress_format_bytes(m->moved, text), s,
                progress_format_bytes((uint64_t)((double)m->moved / s), rate));
}

/* What became of a put. What is wrong with the file comes before what the transport says of it. */
static int put_code(struct ctx *c, struct moving *m, const char *file, int code)
{
    int error = atomic_load(&m->error);

    if (error || m->short_file || m->grown)
        ctx_clear(c);
    if (error)
        return fail(c, E_UNAVAILABLE, "cannot read %s: %s", file, strerror(error));
    if (m->short_file || m->grown)
        return fail(c, WR_E_CONDITION,
                    "%s became %s than the %" PRIu64 " bytes it had when the put began; put it "
                    "again when nobody writes it",
                    file, m->short_file ? "shorter" : "longer", m->length);
    return code;
}

static int cell_put(struct ctx *c, struct client *cl, const struct cell_options *o,
                    const char *file, struct client_cell *cell)
{
    struct moving m = {.quiet = o->quiet, .clock = c->clock};
    int code;

    if (o->range)
        return fail(c, E_PARAMETER, "--range is for get");
    cell->move = move_in;
    cell->arg = &m;
    TRY(open_in(c, file, &m, cell));
    if (!o->pieces && !o->call)
        hash_start(&m);
    if (m.hash && !m.length)
        EVP_DigestFinal_ex(m.hash, m.sha256, NULL);
    progress_start(&m.progress, c->clock, cell->length, o->quiet);
    code = o->pieces ? pieces_put(c, cl, cell)
           : o->call ? call_put(c, cl, cell)
                     : cl->ops->put_cell(c, cl, cell);
    progress_end(&m.progress);
    EVP_MD_CTX_free(m.hash);
    code = put_code(c, &m, file, code);
    if (code == 0)
        say_done(&m, "put");
    return code;
}

static int check_value(struct ctx *c, struct moving *m)
{
    uint8_t sha256[32];

    EVP_DigestFinal_ex(m->hash, sha256, NULL);
    if (m->has_sha256 && memcmp(sha256, m->sha256, sizeof(sha256)) != 0)
        return fail(c, WR_E_CORRUPT, "the value does not match its SHA-256: do not use what came");
    return 0;
}

static int parse_range(struct ctx *c, const char *text, struct client_cell *cell)
{
    const char *dash = strchr(text, '-');
    int64_t from, to = INT64_MAX;

    if (!dash || dash == text || !number_integer(bytes_of(text, (size_t)(dash - text)), &from) ||
        (dash[1] && (!number_integer(bytes_str(dash + 1), &to) || to < 0)))
        return fail(c, E_PARAMETER, "--range is A-B or A-, as in 0-999");
    if (to < from)
        return fail(c, E_PARAMETER, "--range ends before it begins");
    cell->from = (uint64_t)from;
    cell->to = (uint64_t)to;
    cell->has_range = true;
    return 0;
}

static int cell_get(struct ctx *c, struct client *cl, const struct cell_options *o,
                    const char *file, struct client_cell *cell)
{
    struct moving m = {.quiet = o->quiet, .clock = c->clock};
    int code, error;

    if (o->range)
        TRY(parse_range(c, o->range, cell));
    m.fd = strcmp(file, "-") == 0 ? STDOUT_FILENO : -1;
    m.file = m.fd < 0 ? file : NULL;
    if (!o->pieces && !o->call) {
        if (!o->range)
            hash_start(&m);
        m.pipe = pipe_start(write_out, &m);
    }
    cell->move = move_out;
    cell->start = start_out;
    cell->arg = &m;
    code = o->pieces ? pieces_get(c, cl, cell)
           : o->call ? call_get(c, cl, cell)
                     : cl->ops->get_cell(c, cl, cell);
    if (m.pipe)
        pipe_end(m.pipe);
    if (m.started)
        progress_end(&m.progress);
    if (code == 0 && m.hash)
        code = check_value(c, &m);
    EVP_MD_CTX_free(m.hash);
    error = atomic_load(&m.error);
    if (error) { /* before what the transport made of it */
        ctx_clear(c);
        code = fail(c, m.fd < 0 ? E_PARAMETER : E_NO_SPACE, "cannot write %s: %s", file,
                    strerror(error));
    }
    if (code == 0)
        say_done(&m, "got");
    if (m.file && m.fd >= 0)
        close(m.fd);
    return code;
}

static int cell_run(struct ctx *c, struct client *cl, struct cli *cli, void *options)
{
    const struct cell_options *o = options;
    const char *verb = cli->argv[0];
    bool put = strcmp(verb, "put") == 0;
    struct wr_table_description table;
    struct client_cell cell = {.table = bytes_str(cli->argv[1])};
    size_t words;

    if (!put && strcmp(verb, "get") != 0)
        return fail(c, E_PARAMETER, "'%s' is not put or get", verb);
    TRY(cli_describe(c, cl, cell.table, &table));
    words = 2 + table.key_count + 1;
    if ((size_t)cli->argc != words && (size_t)cli->argc != words + 1)
        return fail(c, E_PARAMETER,
                    "the key of %s has %zu columns: %s TABLE %zu x KEY COLUMN [FILE]", cli->argv[1],
                    table.key_count, verb, table.key_count);
    if (o->pieces && o->call)
        return fail(c, E_PARAMETER, "--pieces and --call exclude each other");
    TRY(row_words_key(c, &table, cli->argv + 2, table.key_count, WR_NULL, &cell.key));
    cell.column = bytes_str(cli->argv[words - 1]);
    return (put ? cell_put : cell_get)(c, cl, o, (size_t)cli->argc > words ? cli->argv[words] : "-",
                                       &cell);
}

const struct command command_cell = {
    .name = "cell",
    .group = GROUP_ROWS,
    .args = "put|get TABLE KEY... COLUMN [FILE]",
    .summary = "put a file of any size into one cell, or get it back",
    .text =
        "One KEY for each key column, in order. FILE \"-\" or none: stdin, stdout. The value goes "
        "as a\n"
        "stream: readers see the old one or the new one, whatever happens on the way, and its\n"
        "SHA-256 is compared at both ends. --pieces is what clients do where cells are limited to\n"
        "2 MiB: pieces of 1 MB in columns of one row and a state {id;done;todo} in COLUMN.",
    .example = "widerow cell put files 7 body photo.jpg\nwiderow cell get files 7 body copy.jpg",
    .options = cell_rows,
    .options_size = sizeof(struct cell_options),
    .argc_min = 4,
    .argc_max = 3 + WR_KEY_COLUMNS_MAX + 1,
    .run_connected = cell_run,
};
