/* search_http.c: searches over HTTP, one after the other on one connection: the median of each
 * kind.
 *
 *   search_http match|group TABLE INDEX QUERIES
 *
 * Where the server is, and its keys, the environment says as to `widerow`. `match` looks for two
 * words of the field `body` (standard input has them, a pair a line), ten hits by score; `group`
 * counts all rows by the field `name`, the ten largest groups. Prints microseconds. */
#include "client/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

/* A search of a memory of its own; how long it took, below 0: it failed, and why was said. */
static double ask(struct client *cl, struct clock *clock, const struct wr_request *request)
{
    struct wr_reply reply;
    struct ctx c;
    double began = now_us();
    int code;

    ctx_init(&c, clock, NULL, NULL, 0);
    code = client_exec(&c, cl, request, &reply);
    if (code)
        fprintf(stderr, "%s\n", c.text);
    else if (request->search.group_by_count && !reply.search.group_bys[0].count)
        fprintf(stderr, "no groups\n");
    ctx_release(&c);
    return code ? -1 : now_us() - began;
}

static void match(struct wr_request *request, struct wr_search_condition *q, char *words)
{
    static const struct wr_sorter by_score = {.type = WR_SORTER_SCORE, .order = WR_ORDER_DESC};
    size_t len = strcspn(words, "\n");

    *q = (struct wr_search_condition){
        .type = WR_SEARCH_MATCH, .weight = 1, .field = BYTES_LIT("body")};
    q->match.text = bytes_of(words, len);
    request->search.query = q;
    request->search.limit = 10;
    request->search.sort = (struct wr_sort){.given = true, .sorters = &by_score, .count = 1};
}

static void group(struct wr_request *request)
{
    static const struct wr_group_by by = {.name = BYTES_LIT("g"),
                                          .type = WR_GROUP_FIELD,
                                          .field = BYTES_LIT("name"),
                                          .has_size = true,
                                          .size = 10};

    request->search.group_bys = &by;
    request->search.group_by_count = 1;
}

static int run(struct client *cl, struct clock *clock, char **argv)
{
    size_t queries = strtoul(argv[4], NULL, 10);
    double *times = malloc((queries + 1) * sizeof(times[0]));
    struct wr_request request = {.op = WR_OP_SEARCH,
                                 .search = {.table = bytes_str(argv[2]),
                                            .index = bytes_str(argv[3]),
                                            .has_limit = true,
                                            .track_total = -1,
                                            .columns = WR_SEARCH_COLUMNS_NONE}};
    struct wr_search_condition q;
    char words[256] = "";
    bool ok = true;

    for (size_t i = 0; ok && i < queries; i++) {
        if (strcmp(argv[1], "group") == 0)
            group(&request);
        else if (fgets(words, sizeof(words), stdin))
            match(&request, &q, words);
        times[i] = ask(cl, clock, &request);
        ok = times[i] >= 0;
    }
    if (ok && queries) {
        qsort(times, queries, sizeof(times[0]), compare);
        printf("%.1f\n", times[queries / 2]);
    }
    free(times);
    return !ok;
}

int main(int argc, char **argv)
{
    struct target_conf conf = {0};
    struct client *cl = NULL;
    struct clock clock;
    struct target t;
    struct ctx c;
    int code;

    if (argc != 5 || (strcmp(argv[1], "match") != 0 && strcmp(argv[1], "group") != 0)) {
        fprintf(stderr, "usage: search_http match|group TABLE INDEX QUERIES\n");
        return 2;
    }
    clock_real_init(&clock);
    ctx_init(&c, &clock, NULL, NULL, 0);
    code = target_open(&c, &conf, &t);
    if (!code)
        code = client_open(&c, &t, &cl);
    if (code)
        fprintf(stderr, "%s\n", c.text);
    else
        code = run(cl, &clock, argv);
    client_close(cl);
    target_release(&t);
    ctx_release(&c);
    return code != 0;
}
