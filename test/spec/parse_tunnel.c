/* Requests of tunnels. */
#include "parse.h"

static const char *const statuses[] = {"wait", "open", "closing", "close", "terminated"};

/* create_tunnel t name base|stream|both [earliest] [start=NS] [end=NS] */
static void parse_create_tunnel(struct cursor *p, struct wr_request *out)
{
    struct wr_create_tunnel *create = &out->create_tunnel;

    out->op = WR_OP_CREATE_TUNNEL;
    create->table = parse_name(p);
    create->name = parse_name(p);
    if (take(p, "base"))
        create->type = WR_TUNNEL_BASE_DATA;
    else if (take(p, "stream"))
        create->type = WR_TUNNEL_STREAM;
    else if (take(p, "both"))
        create->type = WR_TUNNEL_BASE_AND_STREAM;
    create->config.earliest = take(p, "earliest");
    if (take_option(p, "start"))
        create->config.start_ns = (uint64_t)parse_number(p);
    if (take_option(p, "end"))
        create->config.end_ns = (uint64_t)parse_number(p);
}

static void parse_tunnel_name(struct cursor *p, enum wr_op op, struct wr_request *out)
{
    out->op = op;
    out->describe_tunnel.table = parse_name(p);
    out->describe_tunnel.name = parse_name(p);
}

/* connect $id [timeout=S] [tag="..."] */
static void parse_connect(struct cursor *p, struct wr_request *out)
{
    struct wr_connect_tunnel *connect = &out->connect_tunnel;

    out->op = WR_OP_CONNECT_TUNNEL;
    connect->tunnel = parse_text(p);
    connect->table = table_of(connect->tunnel);
    if (take_option(p, "timeout"))
        connect->timeout_s = parse_number(p);
    if (take_option(p, "tag"))
        connect->tag = parse_text(p);
}

/* heartbeat $id $client { $channel version status } */
static void parse_heartbeat(struct cursor *p, struct wr_request *out)
{
    static struct wr_tunnel_report reports[32];
    struct wr_heartbeat_tunnel *beat = &out->heartbeat_tunnel;

    out->op = WR_OP_HEARTBEAT_TUNNEL;
    beat->tunnel = parse_text(p);
    beat->table = table_of(beat->tunnel);
    beat->client = parse_text(p);
    beat->channels = reports;
    while (p->at->kind != TOKEN_END && !token_is(p->at, "->") && beat->channel_count < 32) {
        struct wr_tunnel_report *r = &reports[beat->channel_count++];
        size_t status = 0;

        r->channel = parse_text(p);
        r->version = parse_number(p);
        while (status + 1 < PORT_COUNT(statuses) && !take(p, statuses[status]))
            status++;
        if (status + 1 == PORT_COUNT(statuses))
            take(p, statuses[status]);
        r->status = (enum wr_tunnel_status)status;
    }
}

/* OP $id $client $channel [token [number]] */
static void parse_channel_of(struct cursor *p, enum wr_op op, struct wr_request *out)
{
    struct wr_tunnel_channel_of *of = &out->read_tunnel;

    out->op = op;
    of->tunnel = parse_text(p);
    of->table = table_of(of->tunnel);
    of->client = parse_text(p);
    of->channel = parse_text(p);
    if (op != WR_OP_GET_TUNNEL_CHECKPOINT)
        of->token = parse_text(p);
    if (op == WR_OP_TUNNEL_CHECKPOINT)
        of->number = parse_number(p);
}

bool parse_tunnel_request(struct cursor *p, struct wr_request *out)
{
    if (take(p, "create_tunnel")) {
        parse_create_tunnel(p, out);
    } else if (take(p, "delete_tunnel")) {
        parse_tunnel_name(p, WR_OP_DELETE_TUNNEL, out);
    } else if (take(p, "describe_tunnel")) {
        parse_tunnel_name(p, WR_OP_DESCRIBE_TUNNEL, out);
    } else if (take(p, "tunnels")) {
        out->op = WR_OP_LIST_TUNNEL;
        out->list_tunnel.table = parse_name(p);
    } else if (take(p, "connect")) {
        parse_connect(p, out);
    } else if (take(p, "heartbeat")) {
        parse_heartbeat(p, out);
    } else if (take(p, "shutdown")) {
        out->op = WR_OP_SHUTDOWN_TUNNEL;
        out->shutdown_tunnel.tunnel = parse_text(p);
        out->shutdown_tunnel.table = table_of(out->shutdown_tunnel.tunnel);
        out->shutdown_tunnel.client = parse_text(p);
    } else if (take(p, "get_checkpoint")) {
        parse_channel_of(p, WR_OP_GET_TUNNEL_CHECKPOINT, out);
    } else if (take(p, "checkpoint")) {
        parse_channel_of(p, WR_OP_TUNNEL_CHECKPOINT, out);
    } else if (take(p, "read_tunnel")) {
        parse_channel_of(p, WR_OP_READ_TUNNEL, out);
    } else {
        return false;
    }
    return true;
}
