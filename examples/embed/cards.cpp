// Widerow in a C++17 program: a table of cards, one write, one read.
//
//   c++ -std=c++17 $(pkg-config --cflags widerow) cards.cpp -o cards $(pkg-config --libs widerow)
//   ./cards FOLDER
#include <widerow.h>

#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace {

struct close_db {
    void operator()(wr_db *db) const { wr_close(db); }
};
struct free_reply {
    void operator()(wr_reply *reply) const { wr_reply_free(reply); }
};
using database = std::unique_ptr<wr_db, close_db>;
using reply = std::unique_ptr<wr_reply, free_reply>;

wr_bytes text(std::string_view s)
{
    return {s.data(), s.size()};
}

wr_key_column card_key(std::string_view card)
{
    wr_key_column column{};

    column.name = text("CardID");
    column.value.type = WR_VARCHAR;
    column.value.bytes = text(card);
    return column;
}

database open(const char *folder)
{
    wr_options options{};
    wr_db *db;
    char message[256];

    options.version = WR_API_VERSION;
    options.size = sizeof options;
    options.dir = folder;
    if (wr_open(&options, &db, message, sizeof message))
        throw std::runtime_error(message);
    return database(db);
}

reply ask(const database &db, wr_request &request, int other = WR_OK)
{
    request.instance = text("local");
    reply r(wr_exec(db.get(), &request));

    if (r->code != WR_OK && r->code != other)
        throw std::runtime_error(std::string(wr_error_name(r->code)) + ": " + r->message);
    return r;
}

void create(const database &db)
{
    wr_key_schema key{};
    wr_request request;

    key.name = text("CardID");
    key.type = WR_VARCHAR;
    WR_REQUEST_INIT(&request, CREATE_TABLE);
    request.create_table.table = text("cards");
    request.create_table.key = &key;
    request.create_table.key_count = 1;
    request.create_table.options.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS;
    request.create_table.options.ttl_s = -1;
    request.create_table.options.max_versions = 1;
    ask(db, request, WR_E_EXIST); // of an earlier run
}

void put(const database &db, std::string_view card, int64_t balance)
{
    wr_key_column key = card_key(card);
    wr_cell cell{};
    wr_request request;

    cell.name = text("balance");
    cell.value.type = WR_BIGINT;
    cell.value.integer = balance;
    cell.timestamp_ms = WR_TIMESTAMP_NONE;
    WR_REQUEST_INIT(&request, PUT_ROW);
    request.put_row.type = WR_PUT;
    request.put_row.table = text("cards");
    request.put_row.row = {{&key, 1}, &cell, 1};
    ask(db, request);
}

void get(const database &db, std::string_view card)
{
    wr_key_column key = card_key(card);
    wr_request request;

    WR_REQUEST_INIT(&request, GET_ROW);
    request.get_row.table = text("cards");
    request.get_row.key = {&key, 1};
    request.get_row.read.has_max_versions = true;
    request.get_row.read.max_versions = 1;
    reply r = ask(db, request);
    const wr_row &row = r->row.row;

    for (const wr_cell *cell = row.cells; cell != row.cells + row.cell_count; cell++)
        std::cout << card << ": " << std::string_view(static_cast<const char *>(cell->name.ptr), cell->name.len) << " = "
                  << cell->value.integer << "\n";
}

} // namespace

int main(int argc, char **argv)
try {
    database db = open(argc > 1 ? argv[1] : "cards");

    create(db);
    put(db, "card-1", 20);
    get(db, "card-1");
    return 0;
} catch (const std::exception &e) {
    std::cerr << e.what() << "\n";
    return 1;
}
