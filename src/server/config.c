/* Every source is first brought down to texts: for each setting one text and where it came from. A
 * source writes only where no stronger one has written, so sources are read from the strongest to
 * the weakest: flags, environment, file, defaults. Then the texts are parsed, and a message can say
 * where the bad one stands. */
#include "server/config.h"

#include "base/buf.h"
#include "base/ctx.h"
#include "base/spelling.h"
#include "server/setting.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define FILE_BYTES_MAX (1 << 20)
#define HELP_WIDTH 27 /* of the flags */
#define SETS_MAX 256  /* limits set, over all sources */

/* One text and where it stands: "--http", "WIDEROW_HTTP", "widerow.conf line 3". */
struct config_value {
    const char *text;
    const char *source;
};

struct load {
    struct config *c;
    struct config_value given[SETTING_COUNT];
    struct wr_setting sets[SETS_MAX]; /* the strongest first while sources are read */
    const char *set_sources[SETS_MAX];
    size_t set_count;
    const char *config_file;
    char *message;
    size_t message_size;
};

static int config_refuse(struct load *l, const char *fmt, ...) PORT_PRINTF(2, 3);

static int config_refuse(struct load *l, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(l->message, l->message_size, fmt, args);
    va_end(args);
    for (char *p = l->message; l->message_size && *p; p++)
        if (*p == '\n' || *p == '\r')
            *p = ' '; /* the message is one line, whatever it quotes */
    return E_PARAMETER;
}

static const char *copy(struct load *l, bytes b)
{
    return arena_printf(&l->c->arena, "%.*s", BYTES_FMT(b)).ptr;
}

static void config_give(struct load *l, const struct setting *row, const char *text,
                        const char *source)
{
    struct config_value *g = &l->given[row - setting_rows];

    if (!g->text)
        *g = (struct config_value){text, source};
}

static int give_limit(struct load *l, const char *name, const char *text, const char *source)
{
    if (l->set_count == SETS_MAX)
        return config_refuse(l, "%s: more than %d limits are set. Remove some.", source, SETS_MAX);
    l->sets[l->set_count] = (struct wr_setting){name, text};
    l->set_sources[l->set_count++] = source;
    return E_OK;
}

/* ---- flags ---- */

static int flag_unknown(struct load *l, const char *flag, const char *name)
{
    const char *near = setting_nearest(name);
    char spelt[64];

    if (setting_is_limit(name))
        return config_refuse(l, "%s is a limit. Write --set %s=VALUE.", flag, name);
    if (!near)
        return config_refuse(l, "unknown flag %s. --help lists them all.", flag);
    if (setting_is_limit(near))
        return config_refuse(l, "unknown flag %s. Did you mean --set %s=VALUE?", flag, near);
    setting_spell(near, '-', false, spelt, sizeof(spelt));
    return config_refuse(l, "unknown flag %s. Did you mean --%s?", flag, spelt);
}

/* "NAME=VALUE" of --set; settings that are no limits may be set so too. */
static int give_set(struct load *l, const char *text, const char *source)
{
    const char *equals = strchr(text, '=');
    const char *name;
    const struct setting *row;

    if (!equals || equals == text)
        return config_refuse(
            l, "%s: '%s' is not NAME=VALUE. Write it like --set body_bytes_max=1000000.", source,
            text);
    name = copy(l, bytes_of(text, (size_t)(equals - text)));
    row = setting_find(name);
    if (row) {
        config_give(l, row, equals + 1, source);
        return E_OK;
    }
    if (!setting_is_limit(name)) {
        const char *near = setting_nearest(name);

        if (near)
            return config_refuse(l, "%s: unknown setting '%s'. Did you mean '%s'?", source, name,
                                 near);
        return config_refuse(l, "%s: unknown setting '%s'. --help lists them all.", source, name);
    }
    return give_limit(l, name, equals + 1, source);
}

/* One flag at argv[*i]; moves *i past its value. The --set flags are kept for later, because of two
 * the last must win while of two sources the first wins. */
static int flag_load(struct load *l, int argc, char **argv, int *i, const char **sets,
                     size_t *set_count)
{
    const char *arg = argv[*i], *equals = strchr(arg, '='), *value = NULL;
    const char *flag = copy(l, bytes_of(arg, equals ? (size_t)(equals - arg) : strlen(arg)));
    const struct setting *row;
    char name[64];

    if (strcmp(flag, "--help") == 0 || strcmp(flag, "-h") == 0) {
        l->c->action = CONFIG_HELP;
        return E_OK;
    }
    if (strcmp(flag, "--version") == 0) {
        l->c->action = CONFIG_VERSION;
        return E_OK;
    }
    if (strcmp(flag, "--print-defaults") == 0) {
        l->c->action = CONFIG_DEFAULTS;
        return E_OK;
    }
    if (strcmp(flag, "--check-config") == 0) {
        l->c->action = CONFIG_CHECK;
        return E_OK;
    }
    if (strncmp(flag, "--", 2) != 0 || !flag[2])
        return config_refuse(l, "'%s' is not a flag. --help lists them all.", arg);
    for (size_t k = 0; k < sizeof(name); k++) {
        name[k] = (char)(flag[k + 2] == '-' ? '_' : flag[k + 2]);
        if (!flag[k + 2])
            break;
    }
    name[sizeof(name) - 1] = 0;
    row = setting_find(name);
    if (!row && strcmp(name, "config") != 0 && strcmp(name, "set") != 0)
        return flag_unknown(l, flag, name);
    if (equals) {
        value = equals + 1;
    } else if (row && row->kind == SETTING_BOOL) {
        value = "true";
    } else {
        if (*i + 1 >= argc)
            return config_refuse(l, "%s needs a value: %s %s.", flag, flag,
                                 row                           ? row->value
                                 : strcmp(name, "config") == 0 ? "FILE"
                                                               : "NAME=VALUE");
        value = argv[++*i];
    }
    if (row) {
        l->given[row - setting_rows] =
            (struct config_value){value, flag}; /* of two the last wins */
    } else if (strcmp(name, "config") == 0) {
        l->config_file = value;
    } else {
        if (*set_count == SETS_MAX)
            return config_refuse(l, "--set: more than %d limits are set. Remove some.", SETS_MAX);
        sets[(*set_count)++] = value;
    }
    return E_OK;
}

static int flags_load(struct load *l, int argc, char **argv)
{
    const char *sets[SETS_MAX];
    size_t set_count = 0;

    for (int i = 1; i < argc; i++) {
        int code = flag_load(l, argc, argv, &i, sets, &set_count);

        if (code || l->c->action > CONFIG_CHECK)
            return code;
    }
    while (set_count) {
        int code = give_set(l, sets[--set_count], "--set");

        if (code)
            return code;
    }
    return E_OK;
}

/* ---- environment ---- */

static const char *env_find(char **envp, const char *name)
{
    size_t n = strlen(name);

    for (; envp && *envp; envp++)
        if (strncmp(*envp, name, n) == 0 && (*envp)[n] == '=')
            return *envp + n + 1;
    return NULL;
}

/* Variables of ours that are no settings: of the server, and of programs that ask it. */
static const char *const other_variables[] = {
    "config", "set",   "access_key_id", "access_key_secret", "endpoint", "ca_file",
    "pager",  "cache", "profile"};

static bool is_variable(const char *name)
{
    for (size_t i = 0; i < PORT_COUNT(other_variables); i++)
        if (strcmp(name, other_variables[i]) == 0)
            return true;
    return setting_find(name) != NULL;
}

static const char *nearest_variable(const char *name)
{
    struct spelling s;

    spelling_init(&s, name);
    for (size_t i = 0; i < SETTING_COUNT; i++)
        spelling_offer(&s, setting_rows[i].name);
    for (size_t i = 0; i < PORT_COUNT(other_variables); i++)
        spelling_offer(&s, other_variables[i]);
    return s.nearest;
}

/* A variable that nobody reads is probably a slip: it is named, and counts for nothing. */
static void env_warn(struct load *l, char **envp)
{
    struct arena *a = &l->c->arena;
    struct buf b;

    buf_init(&b, a, 256);
    for (; envp && *envp; envp++) {
        const char *equals = strchr(*envp, '='), *near;
        char name[64], spelt[64];
        size_t n = 0;

        if (strncmp(*envp, "WIDEROW_", 8) != 0 || !equals)
            continue;
        for (const char *p = *envp + 8; p != equals && n + 1 < sizeof(name); p++)
            name[n++] = (char)(*p >= 'A' && *p <= 'Z' ? *p | 0x20 : *p);
        name[n] = 0;
        if (is_variable(name))
            continue;
        near = nearest_variable(name);
        setting_spell(near ? near : "", '_', true, spelt, sizeof(spelt));
        buf_put_bytes(&b,
                      arena_printf(a,
                                   "the variable %.*s is none of ours and counts for "
                                   "nothing%s%s%s\n",
                                   (int)(equals - *envp), *envp,
                                   near ? "; did you mean WIDEROW_" : "", spelt, near ? "?" : ""));
    }
    l->c->warnings = buf_bytes(&b);
}

/* An empty variable counts as not given: unset is hard to say in some start scripts. */
static const char *env_value(char **envp, const char *name)
{
    const char *value = env_find(envp, name);

    return value && value[0] ? value : NULL;
}

static int env_load(struct load *l, char **envp)
{
    struct config *c = l->c;
    const char *value, *near;

    for (size_t i = 0; i < SETTING_COUNT; i++) {
        char name[64] = "WIDEROW_";

        setting_spell(setting_rows[i].name, '_', true, name + 8, sizeof(name) - 8);
        value = env_value(envp, name);
        if (value)
            config_give(l, &setting_rows[i], value, copy(l, bytes_str(name)));
    }
    if (!l->config_file)
        l->config_file = env_value(envp, "WIDEROW_CONFIG");
    value = env_value(envp, "WIDEROW_SET"); /* NAME=VALUE, or several with commas between */
    for (size_t end = value ? strlen(value) : 0, from; end; end = from ? from - 1 : 0) {
        int code;

        for (from = end; from && value[from - 1] != ',';)
            from--; /* from the back: of two the last wins */
        code = give_set(l, copy(l, bytes_of(value + from, end - from)), "WIDEROW_SET");
        if (code)
            return code;
    }
    c->access_key_id = env_value(envp, "WIDEROW_ACCESS_KEY_ID");
    c->access_key_secret = env_value(envp, "WIDEROW_ACCESS_KEY_SECRET");
    if (!c->access_key_id == !c->access_key_secret)
        return E_OK;
    near = c->access_key_id ? "WIDEROW_ACCESS_KEY_SECRET" : "WIDEROW_ACCESS_KEY_ID";
    return config_refuse(l, "%s is not set, its other half is. Set both or neither.", near);
}

/* ---- file ---- */

static bytes config_trim(bytes b)
{
    const char *p = b.ptr;

    while (b.len && strchr(" \t\r", p[b.len - 1]))
        b.len--;
    while (b.len && strchr(" \t", *p)) {
        p++;
        b.len--;
    }
    return bytes_of(p, b.len);
}

/* Without what stands behind a # that has space in front of it. */
static bytes without_comment(bytes line)
{
    const char *p = line.ptr;

    for (size_t i = 1; i < line.len; i++)
        if (p[i] == '#' && (p[i - 1] == ' ' || p[i - 1] == '\t'))
            return config_trim(bytes_of(p, i));
    return line;
}

static int file_line(struct load *l, bytes line, int number, bool in_data)
{
    const char *source, *equals, *name, *value, *near;
    const struct setting *row;

    line = without_comment(config_trim(line));
    if (!line.len || *(const char *)line.ptr == '#')
        return E_OK;
    source = arena_printf(&l->c->arena, "%s line %d", l->c->file, number).ptr;
    equals = memchr(line.ptr, '=', line.len);
    if (!equals)
        return config_refuse(l,
                             "%s: '%.*s' is not 'name = value'. Mend the line or put # in front.",
                             source, BYTES_FMT(line));
    name = copy(l, config_trim(bytes_of(line.ptr, (size_t)(equals - (const char *)line.ptr))));
    value = copy(l, config_trim(bytes_skip(line, (size_t)(equals + 1 - (const char *)line.ptr))));
    row = setting_find(name);
    if (row && in_data && strcmp(name, "data") == 0)
        return config_refuse(
            l,
            "%s: 'data' cannot be set in the data folder itself. Say --data DIR, or give "
            "the file with --config FILE.",
            source);
    if (row) {
        config_give(l, row, value, source);
        return E_OK;
    }
    if (setting_is_limit(name))
        return give_limit(l, name, value, source);
    near = setting_nearest(name);
    if (near)
        return config_refuse(l, "%s: unknown setting '%s'. Did you mean '%s'?", source, name, near);
    return config_refuse(l, "%s: unknown setting '%s'. --help lists them all.", source, name);
}

/* Keeps of two lines that set one thing the last, by reading the lines backwards: the first to give
 * wins. */
static int file_parse(struct load *l, bytes text, bool in_data)
{
    const char *start = text.ptr;
    size_t end = text.len;
    int number = 1, code;

    for (size_t i = 0; i < text.len; i++)
        number += start[i] == '\n';
    for (;; number--) {
        size_t from = end;

        while (from && start[from - 1] != '\n')
            from--;
        code = file_line(l, bytes_of(start + from, end - from), number, in_data);
        if (code || !from)
            return code;
        end = from - 1;
    }
}

static int file_load(struct load *l)
{
    struct config *c = l->c;
    bool in_data = !l->config_file;
    const char *data = l->given[SETTING_data].text;
    char *text;
    size_t n;
    FILE *f;

    c->file = l->config_file;
    if (in_data)
        c->file =
            arena_printf(&c->arena, "%s/widerow.conf", data ? data : setting_rows[SETTING_data].def)
                .ptr;
    f = fopen(c->file, "r");
    if (!f && errno == ENOENT && in_data) {
        c->file = NULL;
        return E_OK;
    }
    if (!f)
        return config_refuse(l, "cannot read %s: %s. Check its name and who may read it.", c->file,
                             strerror(errno));
    text = arena_alloc(&c->arena, FILE_BYTES_MAX);
    n = fread(text, 1, FILE_BYTES_MAX, f);
    fclose(f);
    if (n == FILE_BYTES_MAX)
        return config_refuse(l, "%s is larger than 1 MiB. Is it the right file?", c->file);
    if (memchr(text, 0, n))
        return config_refuse(l, "%s is not a text file. Is it the right file?", c->file);
    return file_parse(l, bytes_of(text, n), in_data);
}

/* ---- values ---- */

static int value_load(struct load *l, const struct setting *row, const struct config_value *g)
{
    const char *why = setting_parse(row, g->text, l->c);

    return why ? config_refuse(l, "%s: %s", g->source, why) : E_OK;
}

static int limits_load(struct load *l)
{
    struct config *c = l->c;
    struct wr_setting *settings = ARENA_ARRAY(&c->arena, struct wr_setting, l->set_count + 1);
    char why[256];

    limits_init(&c->limits, c->strict);
    for (size_t i = l->set_count; i > 0; i--) {
        const struct wr_setting *s = &l->sets[i - 1];

        if (limits_set(&c->limits, s->name, s->value, why, sizeof(why)))
            return config_refuse(l, "%s: %s.", l->set_sources[i - 1], why);
        settings[c->setting_count++] = *s;
    }
    limits_lift(&c->limits, c->limits.cell_bytes_max);
    c->settings = settings;
    return E_OK;
}

/* Is `value` one of those that the row's text names, parted by '|'? */
static bool is_choice(const struct setting *row, const char *value)
{
    size_t n = strlen(value);

    for (const char *at = row->value; n && at; at = strchr(at, '|')) {
        at += *at == '|';
        if (strncmp(at, value, n) == 0 && (!at[n] || at[n] == '|'))
            return true;
    }
    return false;
}

/* s3://BUCKET, and perhaps a prefix. */
static bool is_archive_url(const char *text)
{
    static const char scheme[] = "s3://";
    size_t n = strlen(scheme);

    return strncmp(text, scheme, n) == 0 && text[n] && text[n] != '/';
}

static int choices_check(struct load *l)
{
    struct config *c = l->c;
    const char *const *at;
    static const char *const levels[] = {"error", "warn", "info", "debug", NULL};

    if (!is_choice(&setting_rows[SETTING_engine], c->engine))
        return config_refuse(l, "%s: there is no engine '%s'. Choose %s.",
                             l->given[SETTING_engine].source, c->engine,
                             setting_rows[SETTING_engine].value);
    for (at = levels; *at && strcmp(*at, c->log_level) != 0; at++)
        ;
    if (!*at)
        return config_refuse(l,
                             "%s: there is no log level '%s'. Choose error, warn, info or debug.",
                             l->given[SETTING_log_level].source, c->log_level);
    if (strcmp(c->http, "off") == 0)
        return config_refuse(l, "%s: the HTTP port cannot be off. Give ADDR:PORT.",
                             l->given[SETTING_http].source);
    if (c->archive[0] && !is_archive_url(c->archive))
        return config_refuse(l, "%s: '%s' names no bucket. Write it like s3://BUCKET/PREFIX.",
                             l->given[SETTING_archive].source, c->archive);
    if (!c->tls_cert[0] == !c->tls_key[0])
        return E_OK;
    return config_refuse(l, "%s is given without %s. TLS needs both: the certificate and its key.",
                         l->given[c->tls_cert[0] ? SETTING_tls_cert : SETTING_tls_key].source,
                         c->tls_cert[0] ? "--tls-key" : "--tls-cert");
}

/* The environment may be shared by servers of several engines, so what it says for another one
 * counts for nothing; flags and lines of the file are meant for this server. */
static void pass_over_others(struct load *l)
{
    static const int options[] = {SETTING_ceph_conf, SETTING_ceph_user, SETTING_pool,
                                  SETTING_namespace};

    for (size_t i = 0; i < PORT_COUNT(options); i++) {
        const struct setting *row = &setting_rows[options[i]];
        struct config_value *g = &l->given[options[i]];

        if (strncmp(g->source, "WIDEROW_", 8) == 0 &&
            !wr_engine_has_setting(l->given[SETTING_engine].text, row->name))
            *g = (struct config_value){row->def, "default"};
    }
}

static const char *source_of(const struct load *l, int setting, const char *flag)
{
    const char *source = l->given[setting].source;

    return strcmp(source, "default") == 0 ? flag : source;
}

/* Of several servers on a machine the one at the usual port has the usual port for SQL, too. */
static void sql_choose(struct load *l)
{
    struct config *c = l->c;
    const char *port = strrchr(c->http, ':'), *usual = strrchr(setting_rows[SETTING_http].def, ':');

    c->sql_source = source_of(l, SETTING_sql, NULL);
    if (!c->sql_source && strcmp(port, usual) != 0)
        c->sql = "off";
}

/* What differs from the defaults, and where it stands. */
static void tell_given(struct load *l)
{
    struct arena *a = &l->c->arena;
    struct buf b;

    buf_init(&b, a, 1024);
    for (size_t i = 0; i < SETTING_COUNT; i++)
        if (strcmp(l->given[i].source, "default") != 0)
            buf_put_bytes(&b, arena_printf(a, "%s = %s   # %s\n", setting_rows[i].name,
                                           l->given[i].text, l->given[i].source));
    for (size_t i = l->set_count; i > 0; i--)
        buf_put_bytes(&b, arena_printf(a, "%s = %s   # %s\n", l->sets[i - 1].name,
                                       l->sets[i - 1].value, l->set_sources[i - 1]));
    l->c->given = buf_bytes(&b);
}

static int load_all(struct load *l, int argc, char **argv, char **envp)
{
    int code = flags_load(l, argc, argv);

    if (code || l->c->action > CONFIG_CHECK)
        return code;
    env_warn(l, envp);
    if ((code = env_load(l, envp)) || (code = file_load(l)))
        return code;
    for (size_t i = 0; i < SETTING_COUNT; i++)
        config_give(l, &setting_rows[i], setting_rows[i].def, "default");
    pass_over_others(l);
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        if ((code = value_load(l, &setting_rows[i], &l->given[i])))
            return code;
    }
    if ((code = limits_load(l)))
        return code;
    if ((code = choices_check(l)))
        return code;
    l->c->http_source = source_of(l, SETTING_http, "--http");
    l->c->admin_source = source_of(l, SETTING_admin, "--admin");
    sql_choose(l);
    tell_given(l);
    return E_OK;
}

int config_load(struct config *c, int argc, char **argv, char **envp, char *message,
                size_t message_size)
{
    struct load *l;

    *c = (struct config){.action = CONFIG_RUN};
    arena_init(&c->arena, NULL, 0);
    l = ARENA_NEW(&c->arena, struct load);
    l->c = c;
    l->message = message;
    l->message_size = message_size;
    return load_all(l, argc, argv, envp);
}

void config_release(struct config *c)
{
    arena_release(&c->arena);
}

bytes config_help(struct arena *a)
{
    static const char head[] = "usage: widerowd [flags]\n\n"
                               "A wide-column database server, compatible with Tablestore.\n\n";
    static const char tail[] =
        "  --config FILE                settings from FILE instead of DIR/widerow.conf\n"
        "  --set NAME=VALUE             a limit, by name; may be given several times\n"
        "  --check-config               only say what is set, and where, or what is wrong\n"
        "  --print-defaults             a widerow.conf with every setting at its default\n"
        "  --version\n  --help\n\n"
        "A setting NAME is also the environment variable WIDEROW_NAME and a line \"name = value\" "
        "of\n"
        "widerow.conf (capitals and underscores there). Flags win over the environment, that over "
        "the\n"
        "file. WIDEROW_ACCESS_KEY_ID and WIDEROW_ACCESS_KEY_SECRET add an access key.\n\nLimits:\n";
    struct limits defaults;
    struct buf b;

    limits_init(&defaults, false);
    buf_init(&b, a, 8192);
    buf_put(&b, head, sizeof(head) - 1);
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        char flag[64], left[128];

        setting_spell(setting_rows[i].name, '-', false, flag, sizeof(flag));
        snprintf(left, sizeof(left), "--%s %s", flag, setting_rows[i].value);
        if (strlen(left) > HELP_WIDTH)
            buf_put_bytes(&b, arena_printf(a, "  %s\n  %-*s", left, HELP_WIDTH, ""));
        else
            buf_put_bytes(&b, arena_printf(a, "  %-*s", HELP_WIDTH, left));
        buf_put_bytes(&b, arena_printf(a, "  %s", setting_rows[i].text));
        if (setting_rows[i].kind != SETTING_BOOL && setting_rows[i].def[0])
            buf_put_bytes(&b, arena_printf(a, " [%s]", setting_rows[i].def));
        buf_put_u8(&b, '\n');
    }
    buf_put(&b, tail, sizeof(tail) - 1);
#define LIMIT(name, def, strict, min, max, whose, text)                                            \
    buf_put_bytes(&b,                                                                              \
                  arena_printf(a, "  %-27s  %s [%lld]\n", #name, text, (long long)defaults.name));
#include "base/limit.def"
#undef LIMIT
    return buf_bytes(&b);
}

bytes config_defaults(struct arena *a)
{
    struct limits defaults;
    struct buf b;

    limits_init(&defaults, false);
    buf_init(&b, a, 16384);
    buf_put_bytes(&b,
                  BYTES_LIT("# widerow.conf: name = value, a line each. A # begins a comment, at "
                            "the start of a\n# line or behind a space.\n"));
    for (size_t i = 0; i < SETTING_COUNT; i++)
        buf_put_bytes(&b,
                      arena_printf(a, "\n# %s (%s)\n# %s = %s\n", setting_rows[i].text,
                                   setting_rows[i].value[0] ? setting_rows[i].value : "true|false",
                                   setting_rows[i].name, setting_rows[i].def));
    buf_put_bytes(&b, BYTES_LIT("\n# Limits.\n"));
#define LIMIT(name, def, strict, min, max, whose, text)                                            \
    buf_put_bytes(                                                                                 \
        &b, arena_printf(a, "\n# %s\n# %s = %lld\n", text, #name, (long long)defaults.name));
#include "base/limit.def"
#undef LIMIT
    return buf_bytes(&b);
}
