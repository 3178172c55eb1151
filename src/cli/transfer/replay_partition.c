/* replay_partition.c: how the load lies on the partitions of each layout, from what the server
 * counts for them. */
#include "cli/transfer/replay.h"

static uint64_t seen_before(const struct replay_side *s, uint64_t id)
{
    for (size_t i = 0; i < s->partition_count; i++)
        if (s->seen[i].id == id)
            return s->seen[i].units;
    return 0; /* made since */
}

/* What the partitions were asked for since the last look: the busiest one's share by the mean. */
static void add_window(struct replay_side *s, const struct wr_partition_list *list)
{
    double sum = 0, peak = 0;

    for (size_t i = 0; i < list->count; i++) {
        const struct wr_traffic *t = &list->partitions[i].traffic;
        uint64_t units = t->read_units + t->write_units + t->refused;
        uint64_t before = seen_before(s, list->partitions[i].id);
        double more = units > before ? (double)(units - before) : 0;

        sum += more;
        peak = more > peak ? more : peak;
    }
    if (sum == 0)
        return;
    s->peak_to_mean += peak * (double)list->count / sum;
    s->windows++;
}

static void remember(struct replay_side *s, const struct wr_partition_list *list)
{
    s->partition_count = s->touched = 0;
    s->wasted = list->traffic.read_wasted + list->traffic.write_wasted;
    for (size_t i = 0; i < list->count && i < REPLAY_PARTITIONS_MAX; i++) {
        const struct wr_traffic *t = &list->partitions[i].traffic;
        uint64_t units = t->read_units + t->write_units + t->refused;

        s->seen[s->partition_count++] = (struct replay_partition){list->partitions[i].id, units};
        s->touched += units > 0;
    }
}

int replay_look(struct ctx *c, struct client *cl, struct replay *r, bool first)
{
    for (size_t i = 0; i < r->side_count; i++) {
        struct wr_request request = {.op = WR_OP_DESCRIBE_PARTITIONS,
                                     .describe_partitions = {r->sides[i].table}};
        struct wr_reply reply;
        struct ctx here;
        int code;

        ctx_init(&here, r->clock, NULL, NULL, 0);
        code = client_exec(&here, cl, &request, &reply);
        if (code == 0 && !first)
            add_window(&r->sides[i], &reply.partitions);
        if (code == 0)
            remember(&r->sides[i], &reply.partitions);
        else
            fail(c, code, "%s", here.text);
        ctx_release(&here);
        TRY(code);
    }
    return 0;
}
