#include "rekey.h"

#include "door.h"

#define CANCEL_EVERY 7

void rekey_ask(struct crash *run, int n)
{
    static const char *const tables[] = {"rows", "chain"};
    static const char *const layouts[] = {"hash:16", "plain", "random:5", "reverse:3", "hash:256"};
    struct door d;

    door_open(&d, run);
    for (size_t i = 0; i < PORT_COUNT(tables); i++) {
        struct wr_request request = {
            .op = WR_OP_REKEY_TABLE,
            .rekey_table = {.table = bytes_str(tables[i]),
                            .action = n % CANCEL_EVERY == 3 ? WR_REKEY_CANCEL : WR_REKEY_START,
                            .layout = bytes_str(layouts[(size_t)n % PORT_COUNT(layouts)])}};
        struct wr_reply reply;

        door_clear(&d);
        (void)door_exec(&d, &request, &reply);
    }
    door_close(&d);
}
