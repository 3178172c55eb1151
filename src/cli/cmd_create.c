/* cmd_create.c: `widerow create`: a new table, with a key layout if one is asked for. */
#include "cli/column_words.h"
#include "cli/command.h"
#include "record/type_name.h"
#include "cli/console/value.h"
#include "cli/transfer/plan.h"

struct create_options {
    const char *key;
    const char *columns;
    const char *layout;
    const char *splits;
    uint64_t ttl_s; /* 0: for ever */
    uint64_t versions;
    bool transactions;
    bool if_missing;
};

static const struct option_row create_rows[] = {
    {"key", "LIST", "key columns in order, NAME:TYPE with :desc or :auto behind it, and commas",
     OPTION_TEXT, offsetof(struct create_options, key), 0, 0},
    {"columns", "LIST", "defined columns, NAME:TYPE and commas", OPTION_TEXT,
     offsetof(struct create_options, columns), 0, 0},
    {"layout", "LAYOUT", "how keys are spread (default plain)", OPTION_TEXT,
     offsetof(struct create_options, layout), 0, 0},
    {"splits", "LIST",
     "values of the first key column, in its order, and commas: where the table is split from the "
     "beginning (in each bucket of a layout)",
     OPTION_TEXT, offsetof(struct create_options, splits), 0, 0},
    {"ttl", "SECONDS", "age at which cells vanish (default never)", OPTION_COUNT,
     offsetof(struct create_options, ttl_s), 1, INT32_MAX},
    {"versions", "N", "versions kept of each cell (default 1)", OPTION_COUNT,
     offsetof(struct create_options, versions), 1, INT32_MAX},
    {"transactions", NULL,
     "local transactions may change the rows of a partition-key value together", OPTION_FLAG,
     offsetof(struct create_options, transactions), 0, 0},
    {"if-missing", NULL, "a table that is there already is no error", OPTION_FLAG,
     offsetof(struct create_options, if_missing), 0, 0},
    {0},
};

static void create_defaults(void *options)
{
    ((struct create_options *)options)->versions = 1;
}

static size_t count_parts(bytes list)
{
    size_t n = 0;

    for (; list.ptr; n++)
        words_next(&list, ',');
    return n;
}

/* That their order is right is for the server to say. */
static int parse_splits(struct ctx *c, const char *text, struct wr_create_table *t)
{
    bytes list = text ? bytes_str(text) : BYTES_NONE;
    size_t count = text ? count_parts(list) + 1 : 0;
    struct wr_partition_range *p = ARENA_ARRAY(&c->arena, struct wr_partition_range, count);

    for (size_t i = 0; i + 1 < count; i++) {
        bytes word = words_next(&list, ',');

        if (!value_of_text(word, t->key[0].type, &p[i].end))
            return fail(c, E_PARAMETER, "--splits: '%.*s' is no value of key column '%.*s' (%s)",
                        BYTES_FMT(word), BYTES_FMT(t->key[0].name), type_name(t->key[0].type));
        p[i + 1].begin = p[i].end;
    }
    if (count) {
        p[0].begin.type = WR_INF_MIN;
        p[count - 1].end.type = WR_INF_MAX;
    }
    t->partitions = p;
    t->partition_count = count;
    return 0;
}

static int create(struct ctx *c, struct client *cl, struct cli *cli, void *options)
{
    const struct create_options *o = options;
    struct wr_key_schema key[WR_KEY_COLUMNS_MAX + 1] = {0};
    struct wr_defined_column *defined =
        ARENA_ARRAY(&c->arena, struct wr_defined_column, COLUMN_WORDS_MAX + 1);
    struct wr_request request = {
        .op = WR_OP_CREATE_TABLE,
        .create_table = {.table = bytes_str(cli->argv[0]),
                         .key = key,
                         .defined = defined,
                         .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS,
                                     .ttl_s = o->ttl_s ? (int32_t)o->ttl_s : -1,
                                     .max_versions = (int32_t)o->versions},
                         .reserved = {.has_read = true, .has_write = true},
                         .local_transactions = o->transactions,
                         .layout = o->layout ? bytes_str(o->layout) : BYTES_NONE}};
    struct wr_create_table *t = &request.create_table;
    struct wr_reply reply;
    int code;

    if (!o->key)
        return fail(c, E_PARAMETER,
                    "--key says which columns are the key, as in "
                    "--key 'user:string,at:integer'");
    TRY(column_words_key(c, o->key, key, &t->key_count));
    TRY(column_words_defined(c, o->columns, defined, &t->defined_count));
    TRY(parse_splits(c, o->splits, t));
    code = client_exec(c, cl, &request, &reply);
    if (code != WR_E_EXIST || !o->if_missing)
        return code;
    ctx_clear(c);
    return 0;
}

const struct command command_create = {
    .name = "create",
    .group = GROUP_TABLES,
    .args = "TABLE --key NAME:TYPE,...",
    .summary = "make a table",
    .text = "Types are integer, string and binary; for --columns also double and boolean.\n\n"
            "A layout spreads keys that would all go to one place, while clients go on using the "
            "same key:\n"
            "  plain                one place, in key order\n"
            "  hash:N               N buckets by a hash of the partition key; suits most keys\n"
            "  reverse:N            by the end of the key (user0001, user0002, ...)\n"
            "  time:COLUMN/WIDTH:N  by a time in the key: COLUMN / WIDTH modulo N\n"
            "  random:N             as hash, but rows of one partition key spread too\n"
            "  splice:K             the first K key columns together are the partition key;\n"
            "                       atomic batches then are for rows with all K alike\n"
            "splice:K+hash:N and the like join two. Ranges over spread keys come back in key "
            "order.",
    .example = "widerow create orders --key 'user:string,at:integer' --layout hash:16",
    .options = create_rows,
    .options_size = sizeof(struct create_options),
    .defaults = create_defaults,
    .argc_min = 1,
    .argc_max = 1,
    .makes_folder = true,
    .run_connected = create,
};
