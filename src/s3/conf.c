/* conf.c: where a store is and who asks it, from words, the environment and the files of Amazon's
 * tools. */
#include "s3/s3.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define LINE_BYTES 4096

static const char *first(const char *said, const char *name)
{
    const char *value = said ? said : getenv(name);

    return value && value[0] ? value : NULL;
}

/* Without the blanks around it; the text is cut. */
static char *trim(char *text)
{
    size_t n;

    while (*text == ' ' || *text == '\t')
        text++;
    n = strlen(text);
    while (n && strchr(" \t\r\n", text[n - 1]))
        text[--n] = 0;
    return text;
}

static const char *keep(struct ctx *c, const char *text)
{
    return arena_printf(&c->arena, "%s", text).ptr;
}

static void take_line(struct ctx *c, char *line, struct s3_conf *out)
{
    char *equals = strchr(line, '=');
    const char *name, *value;

    if (!equals)
        return;
    *equals = 0;
    name = trim(line);
    value = trim(equals + 1);
    if (strcmp(name, "aws_access_key_id") == 0)
        out->key_id = keep(c, value);
    else if (strcmp(name, "aws_secret_access_key") == 0)
        out->secret = keep(c, value);
    else if (strcmp(name, "aws_session_token") == 0)
        out->token = keep(c, value);
}

/* The lines below [profile]. */
static void read_profile(struct ctx *c, FILE *f, const char *profile, struct s3_conf *out)
{
    char line[LINE_BYTES];
    bool inside = false;

    while (fgets(line, sizeof(line), f)) {
        char *text = trim(line), *end;

        if (text[0] == '#' || text[0] == ';')
            continue;
        if (text[0] == '[') {
            end = strchr(text, ']');
            if (end)
                *end = 0;
            inside = end && strcmp(trim(text + 1), profile) == 0;
        } else if (inside) {
            take_line(c, text, out);
        }
    }
}

static int read_file(struct ctx *c, const char *said, struct s3_conf *out)
{
    const char *profile = first(said, "AWS_PROFILE"), *home = getenv("HOME");
    const char *path = first(NULL, "AWS_SHARED_CREDENTIALS_FILE");
    FILE *f;

    if (!path && !home)
        return 0;
    if (!path)
        path = arena_printf(&c->arena, "%s/.aws/credentials", home).ptr;
    f = fopen(path, "re");
    if (!f && errno != ENOENT)
        return fail(c, E_PARAMETER, "cannot read %s: %s", path, strerror(errno));
    if (f) {
        read_profile(c, f, profile ? profile : "default", out);
        fclose(f);
    }
    if (profile && !(out->key_id && out->secret))
        return fail(c, E_PARAMETER, "%s has no credentials of a profile '%s'", path, profile);
    return 0;
}

static int take_credentials(struct ctx *c, const struct s3_words *words, struct s3_conf *out)
{
    out->key_id = first(NULL, "AWS_ACCESS_KEY_ID");
    out->secret = first(NULL, "AWS_SECRET_ACCESS_KEY");
    if (!words->profile && out->key_id && out->secret) {
        out->token = first(NULL, "AWS_SESSION_TOKEN");
        return 0;
    }
    out->key_id = out->secret = NULL;
    TRY(read_file(c, words->profile, out));
    if (out->key_id && out->secret)
        return 0;
    return fail(c, E_PARAMETER,
                "no credentials for s3: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write "
                "a profile into ~/.aws/credentials");
}

int s3_conf_load(struct ctx *c, const struct s3_words *words, struct s3_conf *out)
{
    const char *endpoint = first(words->endpoint, "AWS_ENDPOINT_URL_S3");
    size_t n;

    *out = (struct s3_conf){0};
    TRY(take_credentials(c, words, out));
    out->region = first(words->region, "AWS_REGION");
    out->region = first(out->region, "AWS_DEFAULT_REGION");
    out->region = out->region ? out->region : "us-east-1";
    out->ca_file = first(words->ca_file, "AWS_CA_BUNDLE");
    endpoint = first(endpoint, "AWS_ENDPOINT_URL");
    if (!endpoint)
        endpoint = arena_printf(&c->arena, "https://s3.%s.amazonaws.com", out->region).ptr;
    n = strlen(endpoint);
    while (n && endpoint[n - 1] == '/')
        n--;
    if (strncmp(endpoint, "http://", 7) != 0 && strncmp(endpoint, "https://", 8) != 0)
        return fail(c, E_PARAMETER,
                    "the endpoint of s3 begins with http:// or https://; '%s' does "
                    "not",
                    endpoint);
    if (strchr(strstr(endpoint, "//") + 2, '/') &&
        strchr(strstr(endpoint, "//") + 2, '/') < endpoint + n)
        return fail(c, E_PARAMETER, "the endpoint of s3 is a host and a port; '%s' has a path",
                    endpoint);
    out->endpoint = arena_printf(&c->arena, "%.*s", (int)n, endpoint).ptr;
    return 0;
}

bool s3_is_url(const char *text)
{
    return strncmp(text, "s3://", 5) == 0;
}

int s3_url_parse(struct ctx *c, const char *url, const char **bucket, const char **key)
{
    const char *from = url + 5, *slash = strchr(from, '/');
    size_t n = slash ? (size_t)(slash - from) : strlen(from);

    if (!s3_is_url(url) || n == 0)
        return fail(c, E_PARAMETER, "'%s' is not s3://BUCKET/KEY", url);
    *bucket = arena_printf(&c->arena, "%.*s", (int)n, from).ptr;
    *key = keep(c, slash ? slash + 1 : "");
    return 0;
}
