/* widerow.h: the public interface of Widerow, a wide-column database.
 *
 * Everything a front door can ask of the database is one `struct wr_request` and one `struct
 * wr_reply`. The server's HTTP door, the command line and an embedding program all use this header
 * and nothing below it. It is C11 and C++17; examples/embed shows a program in each.
 *
 * Five nouns:
 *   wr_db       an open database. Any thread may use it at any time.
 *   wr_request  what is asked: an operation, the instance it is for, and one struct of arguments.
 *   wr_reply    what came of it: a code, a text, and one struct of results. Owns all memory it
 *               points to.
 *   wr_row      a key and its cells.
 *   wr_value    one typed value.
 *
 * Ownership. A `struct wr_bytes` is a view: it never owns. A request and all it points to must stay
 * unchanged until its reply arrives. A reply and all it points to lives until wr_reply_free().
 *
 * Durability. A reply with code WR_OK to a write is given only after the write is on stable
 * storage, unless the database was opened with `no_sync`. Reads see only what has reached stable
 * storage.
 *
 * Errors. Zero is success. The list of codes is `enum wr_error`; wr_error_applied() says of each
 * whether the request may have changed anything, which is what decides whether a client may simply
 * send it again.
 *
 * Versions. A program that was compiled with an older header works with a newer library. The
 * structs that a program hands to a function (wr_options, wr_request, wr_cell_put, wr_cell_get,
 * wr_status) may grow at their ends. So each carries its size as the program knows it, and begins
 * as zeros: the library takes what is behind that size as zero, and zero in a member that came
 * later means "not given". A newer program's struct is taken by an older library as long as it has
 * zeros where this library knows nothing; else the answer is WR_E_PARAMETER. A size of 0 is that of
 * version 0.1.0, so a program that uses no later member need not set it. Elements of arrays (keys,
 * cells, changes) and structs inside of structs never grow.
 *
 *     struct wr_request r = {WR_REQUEST(GET_ROW), .instance = ...};             C11
 *     wr_request r; WR_REQUEST_INIT(&r, GET_ROW); r.instance = ...;            C11, C++17
 *
 * Rules about values, limits and texts are in doc/data-model.md.
 */
#ifndef WIDEROW_H
#define WIDEROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define WR_API __attribute__((visibility("default")))
#else
#define WR_API
#endif

/* A view of bytes that somebody else owns. `ptr` may be NULL only if `len` is 0. Where a field is
 * optional, ptr == NULL means "not given" and a non-NULL ptr with len 0 means "given, empty". */
#ifndef WR_BYTES_DEFINED
#define WR_BYTES_DEFINED
struct wr_bytes {
    const void *ptr;
    size_t len;
};
#endif

/* ---- values ---- */

/* The scalar types. The Tablestore door uses BIGINT (its INTEGER), DOUBLE, BOOLEAN, VARCHAR (its
 * STRING) and VARBINARY (its BINARY); the SQL door uses all. The numbers are stored on disk: never
 * change one. */
enum wr_type {
    WR_NULL = 0,
    WR_BOOLEAN = 1,
    WR_TINYINT = 2,    /* 8 bits, signed  */
    WR_SMALLINT = 3,   /* 16 bits, signed */
    WR_INTEGER = 4,    /* 32 bits, signed */
    WR_BIGINT = 5,     /* 64 bits, signed; the Tablestore INTEGER */
    WR_UBIGINT = 6,    /* 64 bits, unsigned */
    WR_FLOAT = 7,      /* IEEE 754 binary32, carried in `real` */
    WR_DOUBLE = 8,     /* IEEE 754 binary64 */
    WR_DECIMAL = 9,    /* decimal text in `bytes`: [-]digits[.digits], at most 38 digits */
    WR_VARCHAR = 10,   /* UTF-8 text; the Tablestore STRING */
    WR_CHAR = 11,      /* UTF-8 text padded with spaces to the column's length */
    WR_BINARY = 12,    /* bytes padded with zeros to the column's length */
    WR_VARBINARY = 13, /* any bytes; the Tablestore BINARY */
    WR_DATE = 14,      /* days since 1970-01-01, in `integer` */
    WR_TIME = 15,      /* milliseconds since midnight, in `integer` */
    WR_TIMESTAMP = 16, /* milliseconds since 1970-01-01 UTC, in `integer` */
    WR_JSON = 17,      /* UTF-8 text that is JSON; not in keys */
    /* Placeholders, never stored. */
    WR_INF_MIN = 32,        /* below every value; range bounds only */
    WR_INF_MAX = 33,        /* above every value; range bounds only */
    WR_AUTO_INCREMENT = 34, /* "choose one for me"; written keys only */
};

/* One typed value. Which member of the union counts follows from the type: `boolean` for BOOLEAN;
 * `integer` for TINYINT to BIGINT, DATE, TIME, TIMESTAMP; `uinteger` for UBIGINT; `real` for FLOAT
 * and DOUBLE; `bytes` else. */
struct wr_value {
    enum wr_type type;
    union {
        bool boolean;
        int64_t integer;
        uint64_t uinteger;
        double real;
        struct wr_bytes bytes;
    };
};

/* Key columns the database carries: those of an index and of its table. A front allows fewer (the
 * setting key_columns_max). */
#define WR_KEY_COLUMNS_MAX 10

/* One key column with its name, as clients send it; names and order are checked against the
 * table. */
struct wr_key_column {
    struct wr_bytes name;
    struct wr_value value;
};

struct wr_key {
    const struct wr_key_column *columns;
    size_t count;
};

/* What a cell in an update asks for. In a put every cell is WR_CELL_PUT. */
enum wr_cell_op {
    WR_CELL_PUT = 0,
    WR_CELL_DELETE_ALL = 1, /* every version of the column; value and timestamp unused */
    WR_CELL_DELETE_ONE = 3, /* the version at `timestamp_ms` */
    WR_CELL_INCREMENT = 4,  /* add `value` to the newest version */
};

#define WR_TIMESTAMP_NONE INT64_MIN /* the server stamps the cell */

/* One version of one column.
 * `crc8` is the cell's own checksum (CRC-8, polynomial 0x07) over name and bare value, and over the
 * timestamp if there is one, exactly as PlainBuffer counts it. A door that has verified it hands it
 * in with `crc8_known`, the database stores it and hands it out again, so a cell is checked from
 * end to end. In a reply it is always set and covers the timestamp. */
struct wr_cell {
    struct wr_bytes name;
    struct wr_value value;
    int64_t timestamp_ms;
    enum wr_cell_op op;
    uint8_t crc8;
    bool crc8_known;
    bool apart; /* the database's own: the value is a reference (big.h). Never set in a reply */
};

/* A row. In a reply an absent row has key.count == 0 (and no cells); cells are sorted by name, and
 * within a name newest first. In a request cells keep the caller's order. */
struct wr_row {
    struct wr_key key;
    const struct wr_cell *cells;
    size_t cell_count;
};

/* ---- filters and conditions (doc/data-model.md, "Filters", "Conditions") ---- */

enum wr_comparator {
    WR_EQUAL = 1,
    WR_NOT_EQUAL = 2,
    WR_GREATER_THAN = 3,
    WR_GREATER_EQUAL = 4,
    WR_LESS_THAN = 5,
    WR_LESS_EQUAL = 6,
    WR_EXIST = 7,
    WR_NOT_EXIST = 8,
};

enum wr_filter_type {
    WR_FILTER_COLUMN = 1,
    WR_FILTER_COMPOSITE = 2,
    WR_FILTER_PAGE = 3,
};

enum wr_combinator {
    WR_NOT = 1,
    WR_AND = 2,
    WR_OR = 3,
};

struct wr_column_filter {
    enum wr_comparator comparator;
    struct wr_bytes column;
    struct wr_value value;
    bool filter_if_missing;
    bool latest_version_only;
    struct wr_bytes regex;  /* its first group is compared; ptr NULL: the value itself */
    enum wr_type cast_type; /* of the group: WR_BIGINT, WR_DOUBLE or WR_VARCHAR */
};

struct wr_composite_filter {
    enum wr_combinator combinator;
    const struct wr_filter *subs;
    size_t sub_count;
};

struct wr_page_filter {
    int32_t offset;
    int32_t limit;
};

/* A filter tree. The same tree serves as a column condition (where a page filter is refused). */
struct wr_filter {
    enum wr_filter_type type;
    union {
        struct wr_column_filter column;
        struct wr_composite_filter composite;
        struct wr_page_filter page;
    };
};

enum wr_existence {
    WR_IGNORE = 0,
    WR_EXPECT_EXIST = 1,
    WR_EXPECT_NOT_EXIST = 2,
};

struct wr_condition {
    enum wr_existence existence;
    const struct wr_filter *column; /* NULL: none */
};

/* ---- tables (doc/data-model.md, "Tables") ---- */

struct wr_key_schema {
    struct wr_bytes name;
    enum wr_type type;
    uint32_t length; /* CHAR and BINARY: bytes; DECIMAL: precision * 256 + scale; else 0 */
    bool descending;
    bool auto_increment;
};

struct wr_defined_column {
    struct wr_bytes name;
    enum wr_type type;
};

/* Bits of wr_table_options.given, in requests: which members the client sent. All are set in
 * replies. */
enum {
    WR_HAS_TTL = 1,
    WR_HAS_MAX_VERSIONS = 2,
    WR_HAS_DEVIATION = 4,
    WR_HAS_ALLOW_UPDATE = 8,
    WR_HAS_UPDATE_FULL_ROW = 16,
    WR_HAS_CELL_BYTES = 32, /* in replies: only if the table has a limit of its own */
};

struct wr_table_options {
    uint32_t given;
    int32_t ttl_s; /* seconds; -1 = never */
    int32_t max_versions;
    int64_t deviation_s;
    bool allow_update;
    bool update_full_row;
    int64_t cell_bytes_max; /* of one attribute value, up to 64 MiB; 0: the server's limit counts */
};

/* Reserved throughput in capacity units a second. */
struct wr_throughput {
    bool has_read, has_write;
    int32_t read, write;
};

struct wr_stream_spec {
    bool given;
    bool enable;
    bool has_expiration;
    int32_t expiration_h; /* hours */
    const struct wr_bytes *columns_to_get;
    size_t column_count;
};

struct wr_sse_spec {
    bool given;
    bool enable;
    int32_t key_type; /* 0: not given; 1: KMS service; 2: bring your own key */
    struct wr_bytes key_id;
    struct wr_bytes role_arn;
};

struct wr_index_meta {
    struct wr_bytes name;
    const struct wr_bytes *key_columns;
    size_t key_column_count;
    const struct wr_bytes *defined_columns;
    size_t defined_column_count;
    int32_t update_mode; /* 0 asynchronous, 1 synchronous */
    int32_t type;        /* 0 global, 1 local */
    int32_t sync_phase;  /* replies: 1 building, 2 following */
    bool partial; /* replies: rows from before it may have no entry, or none is kept at all */
    /* The first so many key columns are hashed, and entries lie in 16 buckets by that, so that
     * neighbours spread (doc/data-model.md, "Indexes"); 0: entries lie in the order of their keys.
     */
    uint8_t hashed;
    /* Bit i: key column i sorts the other way round: an attribute column descends then, and a
     * column of the table's key does if it ascends there. */
    uint16_t descending;
};

/* A half-open range of values of the first key column; INF_MIN and INF_MAX for the open ends. */
struct wr_partition_range {
    struct wr_value begin;
    struct wr_value end;
};

enum wr_table_status {
    WR_TABLE_ACTIVE = 1,
    WR_TABLE_INACTIVE = 2,
    WR_TABLE_LOADING = 3,
    WR_TABLE_UNLOADING = 4,
    WR_TABLE_UPDATING = 5,
};

struct wr_create_table {
    struct wr_bytes table;
    const struct wr_key_schema *key;
    size_t key_count;
    const struct wr_defined_column *defined;
    size_t defined_count;
    struct wr_table_options options;
    struct wr_throughput reserved;
    const struct wr_partition_range *partitions;
    size_t partition_count;
    struct wr_stream_spec stream;
    struct wr_sse_spec sse;
    const struct wr_index_meta *indexes;
    size_t index_count;
    bool local_transactions;
    bool scalar_index_keys; /* as in wr_create_index, for `indexes` */
    struct wr_bytes layout; /* how the keys are laid out ("hash:16"; src/table/model/layout.h has
                               the forms); ptr NULL: "plain" */
    struct wr_bytes annotation; /* what a program keeps with it; empty: nothing (below) */
};

struct wr_update_table {
    struct wr_bytes table;
    bool has_reserved;
    struct wr_throughput reserved;
    bool has_options;
    struct wr_table_options options;
    struct wr_stream_spec stream;
    struct wr_bytes annotation;     /* ptr NULL: stays; 0 bytes: none any more */
    struct wr_bytes annotation_was; /* with it; ptr NULL: any; else WR_E_CONFLICT if it is not so */
};

/* A program may keep bytes with a table that mean something to it alone, as SQL does with mapping
 * tables: its annotation, which goes when the table is dropped. */
#define WR_ANNOTATION_BYTES_MAX (64 << 10)

/* Operations that take a table's name only: DescribeTable, DeleteTable, LoadTable, UnloadTable. */
struct wr_table_name {
    struct wr_bytes table;
};

/* Another key layout for a table, while it is used: rows are copied in the background, and then the
 * table switches to the copy. Goes on after a restart. */
enum wr_rekey_action {
    WR_REKEY_STATUS = 0,
    WR_REKEY_START = 1,
    WR_REKEY_CANCEL = 2, /* the table stays as it is */
};

struct wr_rekey_table {
    struct wr_bytes table;
    enum wr_rekey_action action;
    struct wr_bytes layout; /* START: as in wr_create_table */
};

struct wr_rekey_result {
    struct wr_bytes layout; /* that the table has now */
    struct wr_bytes target; /* that it is being rekeyed to; ptr NULL: it is not */
    int64_t rows;           /* copied so far */
    int32_t percent;        /* of what is stored, about */
};

/* A series: one table for its clients, and a table a period inside (doc/data-model.md, "Series").
 */
enum wr_series_by {
    WR_SERIES_BY_MONTH = 1,
    WR_SERIES_BY_WEEK = 2, /* from Monday on, as in ISO 8601 */
    WR_SERIES_BY_DAY = 3,
};

/* What the time column holds: of UTC in any case. */
enum wr_series_unit {
    WR_SERIES_TEXT = 0,    /* STRING: YYYY-MM-DD, and perhaps T or a blank and a time */
    WR_SERIES_SECONDS = 1, /* INTEGER, since 1970-01-01 */
    WR_SERIES_MILLISECONDS = 2,
    WR_SERIES_MICROSECONDS = 3,
};

/* Periods age by the wall clock; the current one has age 0. */
struct wr_series_spec {
    enum wr_series_by by;
    struct wr_bytes column; /* a key column; or an attribute, where the table refuses updates */
    enum wr_series_unit unit;
    int32_t hot;  /* so many periods take writes, the current one included; 0: all do */
    int32_t warm; /* so many more can be read, and then they are dropped; 0: none is dropped */
    struct wr_throughput warm_reserved; /* of each of these, in place of the table's */
};

struct wr_create_series {
    struct wr_create_table table;
    struct wr_series_spec series;
    /* "s3://BUCKET/PREFIX": what becomes read-only is written there, and only then dropped (ptr
     * NULL or empty: it is dropped for good). A program does that which has said wr_archive_with().
     */
    struct wr_bytes archive;
};

enum wr_series_action {
    WR_SERIES_AGE = 1,     /* `spec`: hot, warm and warm_reserved from now on */
    WR_SERIES_FREEZE = 2,  /* periods up to `period` take no writes any more */
    WR_SERIES_DROP = 3,    /* periods up to `period`, which must be frozen, go with their rows */
    WR_SERIES_ARCHIVE = 4, /* `archive` from now on; empty: none, and what is there already stays */
};

struct wr_change_series {
    struct wr_bytes table;
    enum wr_series_action action;
    struct wr_series_spec spec;
    struct wr_bytes period;  /* 2025-03, 2025-W11 or 2025-03-14 */
    struct wr_bytes archive; /* of WR_SERIES_ARCHIVE */
};

struct wr_series_period {
    struct wr_bytes name;
    bool frozen;
    int64_t creation_us;
    uint64_t stored_bytes; /* about, on disk */
};

struct wr_series_result {
    struct wr_series_spec spec;
    struct wr_bytes frozen;                 /* the last period that takes no writes; empty: none */
    struct wr_bytes dropped;                /* the last one that was dropped; empty: none */
    const struct wr_series_period *periods; /* the oldest first */
    size_t count;
    struct wr_bytes archive;       /* empty: none */
    struct wr_bytes archived;      /* the last period that is in the archive; empty: none */
    struct wr_bytes archive_state; /* what is being done, or why it fails; empty: nothing */
};

struct wr_list_table {
    char unused;
};

/* AddDefinedColumn takes names and types, DeleteDefinedColumn names only. */
struct wr_defined_columns {
    struct wr_bytes table;
    const struct wr_defined_column *columns;
    size_t count;
};

/* Another index of a table. `include_base_data`: rows that are there already are indexed in the
 * background, and until then nobody reads the index; else only rows that are written later. */
struct wr_create_index {
    struct wr_bytes table;
    struct wr_index_meta index;
    bool include_base_data;
    /* Defined columns of all types that keys can have may be in the index's key, as in SQL. False:
     * only those of Tablestore's keys, BIGINT, VARCHAR and VARBINARY, and the others are refused
     * with its text. */
    bool scalar_index_keys;
};

struct wr_drop_index {
    struct wr_bytes table;
    struct wr_bytes index;
};

/* A table as it is now: the reply to DescribeTable, and with only some members of use to
 * UpdateTable. */
struct wr_table_description {
    struct wr_bytes table;
    const struct wr_key_schema *key;
    size_t key_count;
    const struct wr_defined_column *defined;
    size_t defined_count;
    struct wr_table_options options;
    struct wr_throughput reserved;
    int64_t last_increase_s; /* UTC seconds */
    int64_t last_decrease_s; /* UTC seconds; 0: never */
    enum wr_table_status status;
    struct wr_stream_spec stream;
    struct wr_bytes stream_id; /* empty while the stream is off */
    int64_t stream_enable_us;  /* UTC microseconds of the last enabling */
    struct wr_sse_spec sse;
    const struct wr_index_meta *indexes;
    size_t index_count;
    const struct wr_value *splits; /* of the first key column, between partitions; in its order */
    size_t split_count;
    int64_t creation_us; /* UTC microseconds */
    bool local_transactions;
    struct wr_bytes layout;     /* as in wr_create_table */
    struct wr_bytes annotation; /* of wr_update_table; empty: none */
};

struct wr_table_list {
    const struct wr_bytes *tables;
    size_t count;
};

/* ---- rows (doc/data-model.md, "Versions", "Writes", "Reads") ---- */

enum wr_change_type {
    WR_PUT = 1,
    WR_UPDATE = 2,
    WR_DELETE = 3,
};

enum wr_return_type {
    WR_RETURN_NONE = 0,
    WR_RETURN_KEY = 1,
    WR_RETURN_AFTER_MODIFY = 2,
};

/* One row's change. PutRow, UpdateRow and DeleteRow carry one; `type` must agree with the
 * operation. */
struct wr_row_change {
    enum wr_change_type type;
    struct wr_bytes table; /* in a batch: unused, the table stands outside */
    struct wr_row row;     /* WR_DELETE: no cells */
    struct wr_condition condition;
    enum wr_return_type return_type;
    const struct wr_bytes *return_columns;
    size_t return_column_count;
    struct wr_bytes transaction; /* ptr NULL: none */
    bool keeps_number; /* in a batch, for copies: a row may be created with the number that its
                          auto-increment column has elsewhere */
};

/* Which versions of which columns a read wants. */
struct wr_read_options {
    const struct wr_bytes *columns; /* none: all. May name key columns */
    size_t column_count;
    bool has_start, has_end, has_specific; /* of the time range, milliseconds, end exclusive */
    int64_t start_ms, end_ms, specific_ms;
    int32_t max_versions; /* 0: not given */
    bool has_max_versions;
    const struct wr_filter *filter;           /* NULL: none */
    struct wr_bytes start_column, end_column; /* [start, end); ptr NULL: not given */
};

struct wr_get_row {
    struct wr_bytes table;
    struct wr_key key;
    struct wr_read_options read;
    struct wr_bytes token;       /* next_token of the answer before; ptr NULL: from the start */
    struct wr_bytes transaction; /* ptr NULL: none */
};

/* Begins a local transaction on one value of the partition key, of a table that was made with
 * local_transactions. Until it ends no other write of that value is taken (WR_E_CONFLICT); reads
 * outside of it see what was before. It has a life of one minute (transaction_ms_max), and ends
 * with the process; over a pool it outlives that, and its requests may come to any server. Requests
 * work in it that name its id, one at a time, of the same instance and client. SQL's START
 * TRANSACTION within one value is this operation, too. */
struct wr_start_transaction {
    struct wr_bytes table;
    struct wr_key key; /* the columns of the partition key: one, but for spliced layouts */
};

/* What a start answers, and what is committed or aborted. A commit that came to nothing by what may
 * be over soon (WR_E_BUSY, WR_E_UNAVAILABLE, ...) leaves it open; any other failure ends it. */
struct wr_transaction {
    struct wr_bytes id;
};

struct wr_table_get {
    struct wr_bytes table;
    const struct wr_key *keys;
    const struct wr_bytes *tokens; /* NULL, or one a key */
    size_t key_count;
    struct wr_read_options read;
};

struct wr_batch_get_row {
    const struct wr_table_get *tables;
    size_t table_count;
};

struct wr_table_write {
    struct wr_bytes table;
    const struct wr_row_change *changes;
    size_t change_count;
};

struct wr_batch_write_row {
    const struct wr_table_write *tables;
    size_t table_count;
    bool atomic;
    struct wr_bytes transaction; /* ptr NULL: none */
};

/* BulkImport: one table, no conditions. */
struct wr_bulk_import {
    struct wr_table_write table;
};

struct wr_get_range {
    struct wr_bytes table;
    struct wr_key start; /* inclusive; columns may be INF_MIN or INF_MAX */
    struct wr_key end;   /* exclusive */
    bool backward;
    bool has_limit;
    int32_t limit; /* rows returned */
    struct wr_read_options read;
    struct wr_bytes token;
    bool partial_keys;           /* a door sends only the key columns named in read.columns */
    bool matrix;                 /* a door may send the rows as a row matrix, without timestamps */
    struct wr_bytes transaction; /* ptr NULL: none */
    /* Not NULL: rows are not kept for the reply but handed over here, one by one, as they are read;
     * a row lives only during its call. The calls come before the completion, from one thread at a
     * time, and must not block. 0, or the code that the request fails with; after a failure what
     * was handed over does not count. */
    int (*on_row)(void *arg, const struct wr_row *row);
    void *on_row_arg;
};

/* BulkExport is a GetRange that counts bytes and reads the newest version of the columns named. */
struct wr_bulk_export {
    struct wr_bytes table;
    struct wr_key start, end;
    const struct wr_bytes *columns;
    size_t column_count;
    const struct wr_filter *filter;
    bool matrix; /* the client wants the row matrix: at least one column must be named */
};

struct wr_split_points {
    struct wr_bytes table;
    int64_t split_size; /* in units */
    bool has_unit;
    int64_t unit_bytes; /* default 100 MiB */
    bool has_limit;
    int32_t limit;
    bool estimated; /* pieces may be about an eighth larger or smaller; few rows are read for it */
};

/* ---- row replies ---- */

/* What a request cost (doc/data-model.md, "Capacity"). */
struct wr_capacity {
    int32_t read, write;           /* capacity units */
    int64_t read_size, write_size; /* bytes; bulk operations only */
};

/* One row's outcome. For the single-row operations `code` equals the reply's. */
struct wr_row_result {
    int code;            /* enum wr_error */
    const char *message; /* never NULL when code is not 0 */
    struct wr_capacity consumed;
    struct wr_row row;          /* reads: the row; writes: what return_type asked for */
    struct wr_bytes next_token; /* a row that goes on; ptr NULL: it does not */
};

struct wr_table_result {
    struct wr_bytes table;
    const struct wr_row_result *rows;
    size_t row_count;
};

struct wr_batch_result {
    const struct wr_table_result *tables;
    size_t table_count;
};

struct wr_range_result {
    struct wr_capacity consumed;
    const struct wr_row *rows;
    size_t row_count;
    struct wr_key next; /* count 0: the range is exhausted */
    /* The table's key columns, in their order, whose names a row matrix needs. Only BulkExport
     * fills it. */
    const struct wr_key_schema *key;
    size_t key_count;
};

struct wr_split_result {
    struct wr_capacity consumed;
    const struct wr_key_schema *schema;
    size_t schema_count;
    const struct wr_key *points; /* ascending; trailing INF_MIN columns dropped */
    size_t point_count;
};

/* ---- streams (doc/data-model.md, "Streams") ----
 *
 * A table's stream has a record of every change of its rows, in the order in which they became
 * visible, in shards: all changes of a row are in one. It is switched on and off by wr_stream_spec;
 * switched on again it is another stream. Its id names its table, and so does an iterator:
 * wr_stream_table(). A request has that name in `table`, by which a front says who may ask. */

/* The table in the id of a stream or in an iterator, as a view. False: it is neither. */
WR_API bool wr_stream_table(struct wr_bytes id_or_iterator, struct wr_bytes *table);

/* ListStream: in the order of the tables' names. */
struct wr_list_stream {
    struct wr_bytes table; /* ptr NULL: of all tables */
};

struct wr_stream {
    struct wr_bytes id;
    struct wr_bytes table;
    int64_t creation_us; /* UTC microseconds */
};

struct wr_stream_list {
    const struct wr_stream *streams;
    size_t count;
};

/* DescribeStream: a page of its shards. */
struct wr_describe_stream {
    struct wr_bytes table;       /* wr_stream_table(stream) */
    struct wr_bytes stream;      /* its id */
    struct wr_bytes first_shard; /* inclusive; ptr NULL: from the first one on */
    bool has_limit;
    int32_t limit; /* of shards */
};

enum wr_stream_status {
    WR_STREAM_ENABLING = 1,
    WR_STREAM_ACTIVE = 2,
};

/* A reader finishes the parent, and the parent's sibling, before a shard. */
struct wr_stream_shard {
    struct wr_bytes id;
    struct wr_bytes parent;         /* ptr NULL: it has none */
    struct wr_bytes parent_sibling; /* ptr NULL: it has none */
};

struct wr_stream_description {
    struct wr_bytes id;
    struct wr_bytes table;
    int32_t expiration_h; /* hours that records are kept */
    int64_t creation_us;  /* UTC microseconds */
    enum wr_stream_status status;
    const struct wr_stream_shard *shards;
    size_t shard_count;
    struct wr_bytes next_shard; /* where the next page begins; ptr NULL: there is none */
};

/* GetShardIterator. */
struct wr_get_shard_iterator {
    struct wr_bytes table; /* wr_stream_table(stream) */
    struct wr_bytes stream;
    struct wr_bytes shard;
    bool has_timestamp;
    int64_t timestamp_us;  /* the first record that is not older; not given: the oldest one kept */
    struct wr_bytes token; /* next_token of the answer before; ptr NULL: none */
};

struct wr_shard_iterator {
    struct wr_bytes iterator;   /* text; valid at every server over the data, and after a restart */
    struct wr_bytes next_token; /* ptr NULL: the search by time has ended, as it always has */
};

/* GetStreamRecord. */
struct wr_get_stream_record {
    struct wr_bytes table; /* wr_stream_table(iterator) */
    struct wr_bytes iterator;
    bool has_limit;
    int32_t limit; /* of records; not given: as many as an answer holds */
};

/* A cell of a record whose value is too large to be in it: of a value that stands apart from its
 * row, size and hash are told. The cell itself has a text that says so as its value. */
struct wr_stream_large_cell {
    size_t at; /* its index in row.cells, or in original */
    uint64_t size;
    uint8_t sha256[32];
};

/* One change of one row. */
struct wr_stream_record {
    enum wr_change_type type;
    /* They never go down within a shard, compared in this order, and no two records have the same.
     * A shard's epoch is above its parents'. */
    int32_t epoch;
    int64_t timestamp_us; /* when it was written, UTC microseconds */
    int32_t row_index;
    /* The whole key, and the cells as they were changed: WR_CELL_PUT (an increment's result, too),
     * WR_CELL_DELETE_ONE, WR_CELL_DELETE_ALL; in the order in which the client gave them. All but
     * DELETE_ALL have a timestamp. */
    struct wr_row row;
    const struct wr_stream_large_cell *large;
    size_t large_count;
    /* Of the columns that the stream asks for: the newest cell of before, by name. */
    bool has_original; /* it asks for some, and the row was there before */
    const struct wr_cell *original;
    size_t original_count;
    const struct wr_bytes *original_missing; /* the names of those that are not in the record,
                                                because of their size */
    size_t original_missing_count;
};

struct wr_stream_records {
    struct wr_capacity consumed;
    const struct wr_stream_record *records;
    size_t count;
    struct wr_bytes next; /* iterator: the one that was sent if there is nothing new; ptr NULL: the
                             shard is closed and was read to its end */
    bool more;            /* false: a read from `next` now finds nothing */
};

/* ---- tunnels (doc/data-model.md, "Tunnels") ----
 *
 * A tunnel brings the rows of a table, its changes, or first the ones and then the others, to
 * clients that share the work: each connects, says now and then which of the tunnel's channels it
 * has (Heartbeat), and is told which it shall have. How far a channel was read is kept with the
 * tunnel (Checkpoint). A tunnel's id names its table: wr_stream_table(). A request has that name in
 * `table`, by which a front says who may ask. Nothing of a tunnel is lost with a server or a
 * client. */

enum wr_tunnel_type {
    WR_TUNNEL_BASE_DATA = 1,
    WR_TUNNEL_STREAM = 2,
    WR_TUNNEL_BASE_AND_STREAM = 3,
};

/* Of which changes there are to be told; without meaning for WR_TUNNEL_BASE_DATA. */
struct wr_tunnel_config {
    bool earliest;     /* all that are kept; else those from its creation on */
    uint64_t start_ns; /* UTC nanoseconds: those from then on; 0: not given */
    uint64_t end_ns;   /* those before; 0: without end */
};

/* CreateTunnel: the table gets a stream, if the tunnel needs one and it has none. */
struct wr_create_tunnel {
    struct wr_bytes table;
    struct wr_bytes name;
    enum wr_tunnel_type type;
    struct wr_tunnel_config config;
};

struct wr_tunnel {
    struct wr_bytes id;
};

/* DescribeTunnel and DeleteTunnel. */
struct wr_tunnel_name {
    struct wr_bytes table;
    struct wr_bytes name;
};

struct wr_tunnel_info {
    struct wr_bytes id;
    struct wr_bytes table;
    struct wr_bytes name;
    struct wr_bytes stream; /* id of the table's stream; empty: it has none */
    enum wr_tunnel_type type;
    bool base_done; /* no rows are left to be read, only changes */
    bool expired;   /* changes have gone that a client has not read */
    struct wr_tunnel_config config;
    int64_t creation_us;
};

/* ListTunnel: those of a table, in the order of their creation. */
struct wr_tunnel_list {
    const struct wr_tunnel_info *tunnels;
    size_t count;
};

enum wr_tunnel_status {
    WR_TUNNEL_WAIT = 0, /* nobody has had the channel yet */
    WR_TUNNEL_OPEN = 1,
    WR_TUNNEL_CLOSING = 2, /* its client is asked to let go of it */
    WR_TUNNEL_CLOSE = 3,
    WR_TUNNEL_TERMINATED = 4,
};

struct wr_tunnel_channel {
    struct wr_bytes id;
    bool stream; /* of changes; else of rows */
    enum wr_tunnel_status status;
    struct wr_bytes client; /* ptr NULL: no client has it */
    int64_t consumed_us;    /* UTC microseconds: changes before were read; 0: not known */
    int64_t count;          /* of what was read */
};

struct wr_tunnel_description {
    struct wr_tunnel_info info;
    const struct wr_tunnel_channel *channels;
    size_t channel_count;
};

/* ConnectTunnel. */
struct wr_connect_tunnel {
    struct wr_bytes table;
    struct wr_bytes tunnel;
    struct wr_bytes tag; /* what the client calls itself; part of its id */
    int64_t timeout_s;   /* its channels are another's after so long without a heartbeat; below 1:
                            300; at most 86400 */
};

struct wr_tunnel_client {
    struct wr_bytes id;
};

/* A channel as a client and the tunnel know it: where they differ, the higher version counts, if it
 * is less than 1,048,577 higher. */
struct wr_tunnel_report {
    struct wr_bytes channel;
    int64_t version;
    enum wr_tunnel_status status;
};

/* HeartbeatTunnel: the channels that the client has; answered with those that it shall have. */
struct wr_heartbeat_tunnel {
    struct wr_bytes table;
    struct wr_bytes tunnel;
    struct wr_bytes client;
    const struct wr_tunnel_report *channels;
    size_t channel_count;
};

struct wr_tunnel_reports {
    const struct wr_tunnel_report *channels;
    size_t count;
};

/* ShutdownTunnel: the client leaves. */
struct wr_shutdown_tunnel {
    struct wr_bytes table;
    struct wr_bytes tunnel;
    struct wr_bytes client;
};

/* GetTunnelCheckpoint, TunnelCheckpoint and ReadTunnel. A channel is read by the client that has
 * it; one that nobody has, by anybody. */
struct wr_tunnel_channel_of {
    struct wr_bytes table;
    struct wr_bytes tunnel;
    struct wr_bytes client;
    struct wr_bytes channel;
    struct wr_bytes token; /* where to read, or what is to be kept */
    int64_t number;        /* of a checkpoint: the last one's and one more */
};

/* A token is as it was given out, by any server, or "finished": nothing is left. */
struct wr_tunnel_checkpoint {
    struct wr_bytes token;
    int64_t number; /* 0: there was none yet */
};

struct wr_tunnel_records {
    bool stream; /* the records are changes; else rows, as puts without time */
    const struct wr_stream_record *records;
    size_t count;
    struct wr_bytes next; /* token */
    bool more;            /* false: a read from `next` now finds nothing */
};

/* ---- heat maps and sizes (doc/heat.md) ---- */

/* What a heat map counts. */
enum wr_heat_metric {
    WR_HEAT_READS = 0,   /* rows */
    WR_HEAT_WRITES = 1,  /* rows */
    WR_HEAT_CU = 2,      /* capacity units, read and write */
    WR_HEAT_REFUSED = 3, /* rows that were refused for want of throughput */
    WR_HEAT_BYTES = 4,   /* as capacity counts them, read and written */
};
#define WR_HEAT_METRICS 5
#define WR_HEAT_MINUTES_MAX 1440
#define WR_HEAT_ROWS_MAX 2048

/* DescribeHeat: the map of the last minutes, the running one included. */
struct wr_describe_heat {
    struct wr_bytes table;
    int32_t minutes;  /* 1 to WR_HEAT_MINUTES_MAX */
    int32_t columns;  /* of the answer, at most: each is of whole minutes. 0: one a minute */
    int32_t rows;     /* of the answer, at most. 0: 64 */
    uint32_t metrics; /* bits 1 << enum wr_heat_metric; 0: all */
};

/* A place in the order in which rows are stored: the bucket of the table's key layout (0 without
 * one), then the key, of which the last columns may be missing. */
struct wr_heat_place {
    uint8_t bucket;
    struct wr_key key; /* count 0: the bucket's beginning */
};

/* Traffic of one partition key value. */
struct wr_heat_key {
    struct wr_heat_place place; /* of the partition key's columns */
    uint64_t count;             /* rows read, written and refused: at least the true number */
    uint64_t error;             /* which is too high by at most this */
    uint64_t figures[WR_HEAT_METRICS]; /* lower bounds */
};

/* A grid of rows x columns. A row is a range of keys, up to the next row's start; rows are chosen
 * so that about the same share of the traffic falls into each. */
struct wr_heat_result {
    int64_t start_s;        /* UTC seconds of the first column's beginning */
    int32_t column_minutes; /* of each column; the last may be cut short */
    size_t column_count, row_count;
    const struct wr_heat_place *rows;        /* where each begins */
    const uint64_t *values[WR_HEAT_METRICS]; /* [row * column_count + column]; NULL: not asked */
    const struct wr_heat_key *hot;           /* the hottest partition keys of about the last hour */
    size_t hot_count;
    int32_t hot_minutes; /* that they are about */
    int32_t buckets;     /* ranges that the map tells apart now */
    uint64_t missed;     /* rows of any table that could not be counted, since the start */
    uint32_t servers;    /* over the same data, whose figures are in it */
    uint32_t silent;     /* others that did not answer, whose figures are not */
};

#define WR_SIZES_MAX 100

/* DescribeSizes: the table's largest partition key values. */
struct wr_describe_sizes {
    struct wr_bytes table;
    bool now; /* begin a pass at once, as fast as it goes, if none is under way */
};

struct wr_size_key {
    struct wr_heat_place place; /* of the partition key's columns */
    uint64_t bytes;             /* of stored keys and values, before compression */
    uint64_t rows;
    /* Seen since the pass, about. */
    uint64_t reads, writes; /* rows */
    uint64_t bytes_written; /* as capacity counts them; what replaced something is in it, too */
};

/* What the last pass over the table found, exact for all that was not written while it ran. */
struct wr_sizes_result {
    const struct wr_size_key *keys; /* the largest, largest first */
    size_t key_count;
    uint64_t bytes, rows;   /* of the table */
    uint64_t values;        /* partition key values */
    uint64_t over;          /* of them, those above warn_bytes */
    uint64_t warn_bytes;    /* the setting size_warn_bytes */
    int64_t start_s, end_s; /* of the last whole pass, UTC seconds; 0: there was none yet */
    uint64_t passes;        /* that came to their end, since the start */
    bool running;           /* another pass is under way */
    uint64_t running_bytes; /* that it has counted so far */
    uint32_t servers;       /* as of a heat map: the pass is the last one of any, traffic of all */
    uint32_t silent;
};

/* ---- partitions (doc/data-model.md, "Capacity", "Partitions") */

/* What a partition or a table was asked for, one row a figure. Counts are since the partition was
 * made or the database was opened; rates are of the last second. Reserved units that a second does
 * not use are wasted, what it uses above them is additional. */
/* In three parts: counts since the start, rates and reservations of now, and counts again. */
#define WR_TRAFFIC_COUNTS(X)                                                                       \
    X(reads, "rows read")                                                                          \
    X(writes, "rows written")                                                                      \
    X(read_units, "read capacity units")                                                           \
    X(write_units, "write capacity units")                                                         \
    X(read_bytes, "bytes read, as capacity counts them")                                           \
    X(write_bytes, "bytes written, as capacity counts them")                                       \
    X(refused, "accesses refused, because enforce_throughput said so")
#define WR_TRAFFIC_RATES(X)                                                                        \
    X(read_rate, "read capacity units in the last second")                                         \
    X(write_rate, "write capacity units in the last second")                                       \
    X(read_reserved, "read capacity units reserved a second")                                      \
    X(write_reserved, "write capacity units reserved a second")
#define WR_TRAFFIC_RESERVED_COUNTS(X)                                                              \
    X(read_additional, "read capacity units above what was reserved")                              \
    X(write_additional, "write capacity units above what was reserved")                            \
    X(read_wasted, "read capacity units reserved and not used")                                    \
    X(write_wasted, "write capacity units reserved and not used")
#define WR_TRAFFIC_MAP(X) WR_TRAFFIC_COUNTS(X) WR_TRAFFIC_RATES(X) WR_TRAFFIC_RESERVED_COUNTS(X)

struct wr_traffic {
#define X(name, text) uint64_t name;
    WR_TRAFFIC_MAP(X)
#undef X
};

/* A half-open range of rows in the order of their keys, in a table with buckets of (bucket, key)
 * pairs. As a rule its bounds are between partition-key values; over several servers a value that
 * outgrew one partition goes on in further ones, between bounds of all key columns.
 * begin and end are of the first key column, INF_MIN and INF_MAX: open, or (between buckets) the
 * bucket's end. */
struct wr_partition {
    uint64_t id; /* never used again */
    struct wr_value begin, end;
    const struct wr_value *begin_more, *end_more; /* of the key columns behind it, if any */
    size_t begin_more_count, end_more_count;
    uint32_t begin_bucket, end_bucket; /* 0 in tables without buckets */
    int64_t creation_us;
    uint64_t stored_bytes; /* about */
    struct wr_traffic traffic;
};

struct wr_partition_list {
    const struct wr_partition *partitions; /* ascending */
    size_t count;
    uint64_t stored_bytes;     /* of the table, about */
    struct wr_traffic traffic; /* of the table, partitions that are no more included */
    uint64_t splits, merges;   /* since the database was opened */
    uint64_t longest_cut_us;   /* of these; requests go on meanwhile */
    uint32_t servers, silent;  /* as of a heat map: counts and rates are sums over servers */
};

/* ---- search indexes ---- */

#include "widerow_search.h"

/* ---- requests and replies ---- */

/* Every operation, with the members of wr_request and wr_reply that go with it. */
enum wr_op {
    WR_OP_CREATE_TABLE = 0,             /* create_table, answered with none */
    WR_OP_LIST_TABLE = 1,               /* list_table, answered with table_list */
    WR_OP_DESCRIBE_TABLE = 2,           /* describe_table, answered with description */
    WR_OP_UPDATE_TABLE = 3,             /* update_table, answered with description */
    WR_OP_DELETE_TABLE = 4,             /* delete_table, answered with none */
    WR_OP_LOAD_TABLE = 5,               /* load_table, answered with none */
    WR_OP_UNLOAD_TABLE = 6,             /* unload_table, answered with none */
    WR_OP_ADD_DEFINED_COLUMN = 7,       /* add_defined_column, answered with none */
    WR_OP_DELETE_DEFINED_COLUMN = 8,    /* delete_defined_column, answered with none */
    WR_OP_REKEY_TABLE = 9,              /* rekey_table, answered with rekey */
    WR_OP_GET_ROW = 10,                 /* get_row, answered with row */
    WR_OP_PUT_ROW = 11,                 /* put_row, answered with row */
    WR_OP_UPDATE_ROW = 12,              /* update_row, answered with row */
    WR_OP_DELETE_ROW = 13,              /* delete_row, answered with row */
    WR_OP_BATCH_GET_ROW = 14,           /* batch_get_row, answered with batch */
    WR_OP_BATCH_WRITE_ROW = 15,         /* batch_write_row, answered with batch */
    WR_OP_GET_RANGE = 16,               /* get_range, answered with range */
    WR_OP_COMPUTE_SPLIT_POINTS = 17,    /* compute_split_points, answered with splits */
    WR_OP_BULK_EXPORT = 18,             /* bulk_export, answered with range */
    WR_OP_BULK_IMPORT = 19,             /* bulk_import, answered with batch */
    WR_OP_DESCRIBE_HEAT = 20,           /* describe_heat, answered with heat */
    WR_OP_DESCRIBE_SIZES = 21,          /* describe_sizes, answered with sizes */
    WR_OP_DESCRIBE_PARTITIONS = 22,     /* describe_partitions, answered with partitions */
    WR_OP_CREATE_INDEX = 23,            /* create_index, answered with none */
    WR_OP_DROP_INDEX = 24,              /* drop_index, answered with none */
    WR_OP_START_LOCAL_TRANSACTION = 25, /* start_local_transaction, answered with transaction */
    WR_OP_COMMIT_TRANSACTION = 26,      /* commit_transaction, answered with none */
    WR_OP_ABORT_TRANSACTION = 27,       /* abort_transaction, answered with none */
    WR_OP_LIST_STREAM = 28,             /* list_stream, answered with streams */
    WR_OP_DESCRIBE_STREAM = 29,         /* describe_stream, answered with stream */
    WR_OP_GET_SHARD_ITERATOR = 30,      /* get_shard_iterator, answered with shard_iterator */
    WR_OP_GET_STREAM_RECORD = 31,       /* get_stream_record, answered with stream_records */
    WR_OP_CREATE_TUNNEL = 32,           /* create_tunnel, answered with tunnel */
    WR_OP_DELETE_TUNNEL = 33,           /* delete_tunnel, answered with none */
    WR_OP_LIST_TUNNEL = 34,             /* list_tunnel, answered with tunnels */
    WR_OP_DESCRIBE_TUNNEL = 35,         /* describe_tunnel, answered with tunnel_description */
    WR_OP_CONNECT_TUNNEL = 36,          /* connect_tunnel, answered with tunnel_client */
    WR_OP_HEARTBEAT_TUNNEL = 37,        /* heartbeat_tunnel, answered with tunnel_channels */
    WR_OP_SHUTDOWN_TUNNEL = 38,         /* shutdown_tunnel, answered with none */
    WR_OP_GET_TUNNEL_CHECKPOINT = 39,   /* get_tunnel_checkpoint, answered with tunnel_checkpoint */
    WR_OP_TUNNEL_CHECKPOINT = 40,       /* tunnel_checkpoint, answered with none */
    WR_OP_READ_TUNNEL = 41,             /* read_tunnel, answered with tunnel_records */
    WR_OP_CREATE_SEARCH_INDEX = 42,     /* create_search_index, answered with none */
    WR_OP_UPDATE_SEARCH_INDEX = 43,     /* update_search_index, answered with none */
    WR_OP_DELETE_SEARCH_INDEX = 44,     /* delete_search_index, answered with none */
    WR_OP_LIST_SEARCH_INDEX = 45,       /* list_search_index, answered with search_indexes */
    WR_OP_DESCRIBE_SEARCH_INDEX = 46,   /* describe_search_index, answered with search_index */
    WR_OP_SEARCH = 47,                  /* search, answered with search */
    WR_OP_COMPUTE_SPLITS = 48,          /* compute_splits, answered with search_splits */
    WR_OP_PARALLEL_SCAN = 49,           /* parallel_scan, answered with scan */
    WR_OP_CREATE_SERIES = 50,           /* create_series, answered with none */
    WR_OP_DESCRIBE_SERIES = 51,         /* describe_series, answered with series */
    WR_OP_CHANGE_SERIES = 52,           /* change_series, answered with series */
    WR_OP_COUNT
};

struct wr_request {
    uint32_t size; /* WR_SIZE_ and the operation's name; 0: as of version 0.1.0 */
    enum wr_op op;
    struct wr_bytes instance; /* the instance the tables belong to */
    int64_t deadline_ms; /* monotonic clock, milliseconds; 0: none. Past it the answer is WR_E_BUSY,
                            unless something may have been written already */
    uint64_t client;     /* who asks: long requests of different clients take turns. Any number */
    /* NULL, or a number that the caller sets to other than 0, at any time and atomically, when
     * nobody waits for the answer any more: then what a read has not got by then is not read, and
     * its answer is WR_E_BUSY. Changes take no notice. It is there until the answer is. */
    const int32_t *gone;
    uint64_t reserved[1]; /* zeros: room for what all operations may take one day */
    union {
        struct wr_create_table create_table;
        struct wr_list_table list_table;
        struct wr_table_name describe_table;
        struct wr_update_table update_table;
        struct wr_table_name delete_table;
        struct wr_table_name load_table;
        struct wr_table_name unload_table;
        struct wr_defined_columns add_defined_column;
        struct wr_defined_columns delete_defined_column;
        struct wr_rekey_table rekey_table;
        struct wr_get_row get_row;
        struct wr_row_change put_row;
        struct wr_row_change update_row;
        struct wr_row_change delete_row;
        struct wr_batch_get_row batch_get_row;
        struct wr_batch_write_row batch_write_row;
        struct wr_get_range get_range;
        struct wr_split_points compute_split_points;
        struct wr_bulk_export bulk_export;
        struct wr_bulk_import bulk_import;
        struct wr_describe_heat describe_heat;
        struct wr_describe_sizes describe_sizes;
        struct wr_table_name describe_partitions;
        struct wr_create_index create_index;
        struct wr_drop_index drop_index;
        struct wr_start_transaction start_local_transaction;
        struct wr_transaction commit_transaction;
        struct wr_transaction abort_transaction;
        struct wr_list_stream list_stream;
        struct wr_describe_stream describe_stream;
        struct wr_get_shard_iterator get_shard_iterator;
        struct wr_get_stream_record get_stream_record;
        struct wr_create_tunnel create_tunnel;
        struct wr_tunnel_name delete_tunnel;
        struct wr_table_name list_tunnel;
        struct wr_tunnel_name describe_tunnel;
        struct wr_connect_tunnel connect_tunnel;
        struct wr_heartbeat_tunnel heartbeat_tunnel;
        struct wr_shutdown_tunnel shutdown_tunnel;
        struct wr_tunnel_channel_of get_tunnel_checkpoint;
        struct wr_tunnel_channel_of tunnel_checkpoint;
        struct wr_tunnel_channel_of read_tunnel;
        struct wr_create_search_index create_search_index;
        struct wr_update_search_index update_search_index;
        struct wr_search_index_name delete_search_index;
        struct wr_search_index_name list_search_index;
        struct wr_describe_search_index describe_search_index;
        struct wr_search search;
        struct wr_compute_splits compute_splits;
        struct wr_parallel_scan parallel_scan;
        struct wr_create_series create_series;
        struct wr_table_name describe_series;
        struct wr_change_series change_series;
    };
};

/* How many bytes of a wr_request count for each operation. */
#define WR_SIZE_OF(member)                                                                         \
    (offsetof(struct wr_request, member) + sizeof(((struct wr_request *)0)->member))
enum wr_size {
    WR_SIZE_CREATE_TABLE = WR_SIZE_OF(create_table),
    WR_SIZE_LIST_TABLE = WR_SIZE_OF(list_table),
    WR_SIZE_DESCRIBE_TABLE = WR_SIZE_OF(describe_table),
    WR_SIZE_UPDATE_TABLE = WR_SIZE_OF(update_table),
    WR_SIZE_DELETE_TABLE = WR_SIZE_OF(delete_table),
    WR_SIZE_LOAD_TABLE = WR_SIZE_OF(load_table),
    WR_SIZE_UNLOAD_TABLE = WR_SIZE_OF(unload_table),
    WR_SIZE_ADD_DEFINED_COLUMN = WR_SIZE_OF(add_defined_column),
    WR_SIZE_DELETE_DEFINED_COLUMN = WR_SIZE_OF(delete_defined_column),
    WR_SIZE_REKEY_TABLE = WR_SIZE_OF(rekey_table),
    WR_SIZE_GET_ROW = WR_SIZE_OF(get_row),
    WR_SIZE_PUT_ROW = WR_SIZE_OF(put_row),
    WR_SIZE_UPDATE_ROW = WR_SIZE_OF(update_row),
    WR_SIZE_DELETE_ROW = WR_SIZE_OF(delete_row),
    WR_SIZE_BATCH_GET_ROW = WR_SIZE_OF(batch_get_row),
    WR_SIZE_BATCH_WRITE_ROW = WR_SIZE_OF(batch_write_row),
    WR_SIZE_GET_RANGE = WR_SIZE_OF(get_range),
    WR_SIZE_COMPUTE_SPLIT_POINTS = WR_SIZE_OF(compute_split_points),
    WR_SIZE_BULK_EXPORT = WR_SIZE_OF(bulk_export),
    WR_SIZE_BULK_IMPORT = WR_SIZE_OF(bulk_import),
    WR_SIZE_DESCRIBE_HEAT = WR_SIZE_OF(describe_heat),
    WR_SIZE_DESCRIBE_SIZES = WR_SIZE_OF(describe_sizes),
    WR_SIZE_DESCRIBE_PARTITIONS = WR_SIZE_OF(describe_partitions),
    WR_SIZE_CREATE_INDEX = WR_SIZE_OF(create_index),
    WR_SIZE_DROP_INDEX = WR_SIZE_OF(drop_index),
    WR_SIZE_START_LOCAL_TRANSACTION = WR_SIZE_OF(start_local_transaction),
    WR_SIZE_COMMIT_TRANSACTION = WR_SIZE_OF(commit_transaction),
    WR_SIZE_ABORT_TRANSACTION = WR_SIZE_OF(abort_transaction),
    WR_SIZE_LIST_STREAM = WR_SIZE_OF(list_stream),
    WR_SIZE_DESCRIBE_STREAM = WR_SIZE_OF(describe_stream),
    WR_SIZE_GET_SHARD_ITERATOR = WR_SIZE_OF(get_shard_iterator),
    WR_SIZE_GET_STREAM_RECORD = WR_SIZE_OF(get_stream_record),
    WR_SIZE_CREATE_TUNNEL = WR_SIZE_OF(create_tunnel),
    WR_SIZE_DELETE_TUNNEL = WR_SIZE_OF(delete_tunnel),
    WR_SIZE_LIST_TUNNEL = WR_SIZE_OF(list_tunnel),
    WR_SIZE_DESCRIBE_TUNNEL = WR_SIZE_OF(describe_tunnel),
    WR_SIZE_CONNECT_TUNNEL = WR_SIZE_OF(connect_tunnel),
    WR_SIZE_HEARTBEAT_TUNNEL = WR_SIZE_OF(heartbeat_tunnel),
    WR_SIZE_SHUTDOWN_TUNNEL = WR_SIZE_OF(shutdown_tunnel),
    WR_SIZE_GET_TUNNEL_CHECKPOINT = WR_SIZE_OF(get_tunnel_checkpoint),
    WR_SIZE_TUNNEL_CHECKPOINT = WR_SIZE_OF(tunnel_checkpoint),
    WR_SIZE_READ_TUNNEL = WR_SIZE_OF(read_tunnel),
    WR_SIZE_CREATE_SEARCH_INDEX = WR_SIZE_OF(create_search_index),
    WR_SIZE_UPDATE_SEARCH_INDEX = WR_SIZE_OF(update_search_index),
    WR_SIZE_DELETE_SEARCH_INDEX = WR_SIZE_OF(delete_search_index),
    WR_SIZE_LIST_SEARCH_INDEX = WR_SIZE_OF(list_search_index),
    WR_SIZE_DESCRIBE_SEARCH_INDEX = WR_SIZE_OF(describe_search_index),
    WR_SIZE_SEARCH = WR_SIZE_OF(search),
    WR_SIZE_COMPUTE_SPLITS = WR_SIZE_OF(compute_splits),
    WR_SIZE_PARALLEL_SCAN = WR_SIZE_OF(parallel_scan),
    WR_SIZE_CREATE_SERIES = WR_SIZE_OF(create_series),
    WR_SIZE_DESCRIBE_SERIES = WR_SIZE_OF(describe_series),
    WR_SIZE_CHANGE_SERIES = WR_SIZE_OF(change_series),
};

/* The first members of a request in C: {WR_REQUEST(GET_ROW), .instance = ...}. */
#define WR_REQUEST(name) .size = WR_SIZE_##name, .op = WR_OP_##name

/* Makes the request at `request` zeros but for size and op; in C and C++. */
#define WR_REQUEST_INIT(request, name)                                                             \
    (memset((request), 0, sizeof(*(request))), (request)->size = WR_SIZE_##name,                   \
     (request)->op = WR_OP_##name)

/* What an operation does, for a front that decides who may do what: the first two need leave to
 * read, the others leave to write. */
enum wr_op_class {
    WR_CLASS_READ,     /* gives rows: may be sent again, and given up when its answer has no room */
    WR_CLASS_DESCRIBE, /* gives what is known of tables */
    WR_CLASS_WRITE,    /* changes rows */
    WR_CLASS_TABLE,    /* changes tables */
};
WR_API enum wr_op_class wr_op_class(enum wr_op op);

/* The table that a request names, or is to make; `i` counts from 0 where it names several. False:
 * no more. It is what stands in the request, whether or not it can be a table's name. */
WR_API bool wr_request_table(const struct wr_request *request, size_t i, struct wr_bytes *table);

/* The codes. The numbers are stable. */
enum wr_error {
    WR_OK = 0,                      /* success */
    WR_E_PARAMETER = 1,             /* malformed or illegal argument; the text says which */
    WR_E_INVALID_PK = 2,            /* a key that does not fit the table */
    WR_E_CONDITION = 3,             /* a condition was not met */
    WR_E_NOT_EXIST = 4,             /* no such table */
    WR_E_EXIST = 5,                 /* the table is there already */
    WR_E_CONFLICT = 6,              /* another request holds the row */
    WR_E_NOT_READY = 7,             /* the table cannot serve yet */
    WR_E_PARTITION = 8,             /* a partition is moving */
    WR_E_BUSY = 9,                  /* overload; nothing was changed */
    WR_E_QUOTA = 10,                /* too many tables */
    WR_E_TOO_FREQUENT = 11,         /* too many table operations a second */
    WR_E_THROUGHPUT_TOO_OFTEN = 12, /* reserved throughput was changed a moment ago */
    WR_E_CAPACITY = 13,             /* the table's reserved throughput is used up */
    WR_E_HOT_PARTITION = 14,        /* a partition is out of throughput */
    WR_E_FORBIDDEN_CAPACITY = 15,   /* reserved throughput that the table may not have */
    WR_E_UNSUPPORTED = 16,          /* an operation this server does not do */
    WR_E_UNSURE = 17,               /* no answer in time; may have been applied */
    WR_E_UNAVAILABLE = 18,          /* storage does not answer; nothing was changed */
    WR_E_INTERNAL = 19,             /* our fault */
    WR_E_CORRUPT = 20,              /* stored bytes are damaged */
    WR_E_NO_SPACE = 21,             /* the disk is full; nothing was changed */
    WR_E_OUT_OF_RANGE = 22,         /* not of the partition key of its batch or transaction */
    WR_E_SESSION = 23,              /* no such transaction */
    WR_E_AUTH = 24,                 /* who asks is not known or not allowed */
    WR_E_REQUEST_TIMEOUT = 25,      /* the request took too long to arrive */
    WR_E_BODY_TOO_LARGE = 26,       /* the body is larger than the server takes */
    WR_E_METHOD = 27,               /* no POST */
    WR_E_PERMISSION = 28,           /* the access key may not do this */
    WR_E_FORMAT = 29,               /* data of another version of Widerow */
    WR_E_LOCKED = 30,               /* another process has the data open */
    WR_E_DATA_LOSS = 31,            /* acknowledged writes are missing from storage */
    WR_E_MEMORY = 32,               /* a request would take more memory than it may */
    WR_E_SESSION_BUSY = 33,         /* another request of the transaction is under way */
    WR_E_TXN_SIZE = 34,             /* more was written in a transaction than it may hold */
    WR_E_TUNNEL_EXIST = 35,         /* the table has a tunnel of that name already */
    WR_E_TUNNEL_GONE = 36,          /* a tunnel has no such client (any more) */
    WR_E_TUNNEL_SEQUENCE = 37,      /* a checkpoint does not have the number after the last one's */
    WR_E_TUNNEL_UNAVAILABLE = 38,   /* not now; a client of a tunnel tries again */
    WR_E_TUNNEL_EXPIRED = 39,       /* changes that a tunnel was to tell of have gone */
    WR_E_TUNNEL_PERMISSION = 40,    /* the access key may not do this with a tunnel */
    WR_E_SEARCH_INDEX = 41,         /* the table has no such search index */
    WR_E_SEARCH_SESSION = 42,       /* a scan of a search index went on too late */
};

struct wr_reply {
    int code;            /* enum wr_error; 0 is success */
    const char *message; /* never NULL; "" on success */
    size_t memory;       /* bytes that the reply holds, about */
    enum wr_op op;
    union {
        char none;
        struct wr_table_list table_list;
        struct wr_table_description description;
        struct wr_rekey_result rekey;
        struct wr_row_result row;
        struct wr_batch_result batch;
        struct wr_range_result range;
        struct wr_split_result splits;
        struct wr_heat_result heat;
        struct wr_sizes_result sizes;
        struct wr_partition_list partitions;
        struct wr_transaction transaction;
        struct wr_stream_list streams;
        struct wr_stream_description stream;
        struct wr_shard_iterator shard_iterator;
        struct wr_stream_records stream_records;
        struct wr_tunnel tunnel;
        struct wr_tunnel_list tunnels;
        struct wr_tunnel_description tunnel_description;
        struct wr_tunnel_client tunnel_client;
        struct wr_tunnel_reports tunnel_channels;
        struct wr_tunnel_checkpoint tunnel_checkpoint;
        struct wr_tunnel_records tunnel_records;
        struct wr_search_index_list search_indexes;
        struct wr_search_index_description search_index;
        struct wr_search_result search;
        struct wr_search_splits search_splits;
        struct wr_scan_result scan;
        struct wr_series_result series;
    };
};

/* Frees a reply and all it points to. NULL is allowed. */
WR_API void wr_reply_free(struct wr_reply *reply);

/* The Tablestore name of a code ("OTSParameterInvalid"), its HTTP status, and whether a request
 * that ended so may have changed anything: -1 maybe, 0 no, 1 yes. Codes out of range are treated as
 * WR_E_INTERNAL. */
WR_API const char *wr_error_name(int code);
WR_API int wr_error_status(int code);
WR_API int wr_error_applied(int code);

/* ---- the database ---- */

struct wr_db;

/* One "name = value" as in widerow.conf: limits (src/base/limit.def lists them) and engine
 * settings. */
struct wr_setting {
    const char *name;
    const char *value;
};

/* Where log lines go. `level` is 'E', 'W', 'I' or 'D'. Called from any thread; must not call
 * back. */
typedef void wr_log_fn(void *arg, char level, const char *line);

/* The form of this header's structs. It rises when one changes in a way that its size cannot tell.
 */
#define WR_API_VERSION 1

/* The first members of wr_options in C: {WR_OPTIONS, .dir = ...}. */
#define WR_OPTIONS .version = WR_API_VERSION, .size = sizeof(struct wr_options)

struct wr_options {
    uint32_t version;   /* always WR_API_VERSION */
    uint32_t size;      /* sizeof(struct wr_options); 0: as of version 0.1.0 */
    const char *engine; /* "rocks" (default), "mem", or another that this program was linked with */
    /* What that engine alone understands; empty values count as not given. */
    const struct wr_setting *engine_settings;
    size_t engine_setting_count;
    const char *dir; /* the data folder; made if missing. Ignored by "mem" */
    bool no_sync; /* answer writes before they are on stable storage. Faster; a power cut loses the
                     newest */
    bool accept_data_loss; /* open although acknowledged writes are missing; what is left becomes
                              the truth */
    bool clock_reset; /* stamps go on from the wall clock though later ones were given; for once */
    bool strict;      /* the smaller limits of the product's documents where two are known */
    uint64_t memory_bytes; /* for write buffers (a quarter), requests (up to a half), caches (what
                              these leave, five eighths at most); 0: what suits a laptop, 256 MiB */
    uint64_t (*front_memory)(void *arg); /* what the caller holds for requests beside the database,
                                            in bytes; any thread, cheap. NULL: nothing */
    void *front_arg;
    const struct wr_setting *settings;
    size_t setting_count;
    bool settings_follow; /* what counts comes by wr_settings_change(), which is called at least
                             once: partitions are neither cut nor merged by `settings` alone */
    wr_log_fn *log;       /* NULL: stderr */
    void *log_arg;
};

/* Opens a database. On failure *out is NULL and `message` (if not NULL) holds one line that says
 * what is wrong and how to mend it. Errors: WR_E_LOCKED, WR_E_FORMAT, WR_E_DATA_LOSS, WR_E_CORRUPT,
 * WR_E_UNAVAILABLE, WR_E_PARAMETER (a setting, or a version that the library does not know). */
WR_API int wr_open(const struct wr_options *options, struct wr_db **out, char *message,
                   size_t message_size);

/* Closes it: waits for requests under way, syncs, frees. No call may be running or follow. NULL is
 * allowed. */
WR_API void wr_close(struct wr_db *db);

/* Called once for each submitted request, from the submitting thread before wr_submit() returns or
 * later from a thread of the database. Must return soon and must not block; it may submit. The
 * reply is the callee's to free. */
typedef void wr_done_fn(void *arg, struct wr_reply *reply);

/* Starts a request. `request` must stay as it is until `done` was called. */
WR_API void wr_submit(struct wr_db *db, const struct wr_request *request, wr_done_fn *done,
                      void *arg);

/* The same, waiting for the answer. Never NULL. */
WR_API struct wr_reply *wr_exec(struct wr_db *db, const struct wr_request *request);

/* A number for a table's description: another one after each change, and never one that another
 * table had. So who keeps a description can tell whether it still holds, for a small part of what
 * DescribeTable takes; as that does, it may lag behind what another process has changed. 0: there
 * is no such table, or nothing can be said of it now. Does not wait. */
WR_API uint64_t wr_table_state(struct wr_db *db, struct wr_bytes instance, struct wr_bytes table);

/* Work that is too long for a thread on which others wait: run(arg) is called on one of the
 * database's threads for long requests, in turn with those of other clients (wr_request.client), at
 * a low priority. Requests that are long get there by themselves. wr_work_last(): it gives way to
 * whatever else of its client waits for such a thread, for about `patience_us` microseconds at
 * most. wr_is_worker(): the calling thread is such a one. */
WR_API void wr_work(struct wr_db *db, uint64_t client, void (*run)(void *arg), void *arg);
WR_API void wr_work_last(struct wr_db *db, uint64_t client, int64_t patience_us,
                         void (*run)(void *arg), void *arg);
WR_API bool wr_is_worker(void);

/* What the body of a request and the memory it takes may come to, in bytes: the settings
 * body_bytes_max and request_memory_max, and more while a table allows larger cells. */
WR_API void wr_request_bounds(struct wr_db *db, size_t *body_bytes, size_t *memory_bytes);

/* What requests may hold, with front_memory(), before no new one should begin: a half of
 * memory_bytes. wr_memory_full(): they hold as much; answer WR_E_BUSY instead of submitting. It
 * also makes caches give way to requests, so ask it for each. wr_memory_spent(): they hold an
 * eighth more, and what is small should not begin either. Any thread; does not wait. */
WR_API uint64_t wr_memory_max(struct wr_db *db);
WR_API bool wr_memory_full(struct wr_db *db);
WR_API bool wr_memory_spent(struct wr_db *db);

/* True: with `size` bytes more, requests would hold more than nine sixteenths of memory_bytes. A
 * front asks so before it makes a large answer. */
WR_API bool wr_memory_lacks(struct wr_db *db, uint64_t size);

/* ---- one cell as a stream
 *
 * A value of any length up to the setting streamed_cell_bytes_max goes in and out piece by piece.
 * Small ones are stored as any cell is; larger ones stand apart in chunks, which only the last step
 * makes part of the row. So readers see the old value or the new one, never part of it, also after
 * a crash; an upload that was not finished removes itself; and who reads the old value while it is
 * replaced goes on reading it. A request that carries a whole row (GetRow, GetRange) shows such a
 * cell up to 64 MiB and refuses larger ones with a text that names the column.
 *
 * A writer or reader is used by one thread at a time. Calls with `ready` never wait: they take or
 * give less than they could, then `ready` is called once, from a thread of the database, when there
 * is more to do; it must not block and must not call the stream. With `ready` NULL they wait. */
struct wr_cell_put {
    uint64_t size; /* sizeof(struct wr_cell_put); 0: as of version 0.1.0 */
    struct wr_bytes instance, table;
    struct wr_key key;
    struct wr_bytes column;
    uint64_t length;             /* of the value, which is a VARBINARY */
    int64_t timestamp_ms;        /* WR_TIMESTAMP_NONE: the server stamps it */
    enum wr_existence existence; /* of the row */
    const uint8_t *sha256, *md5; /* 32 and 16 bytes: what the value must hash to; NULL: not given */
};

struct wr_cell_writer;
typedef void wr_ready_fn(void *arg);

/* Checks what can be checked at once and copies `put`. On failure *out is NULL and `message` (if
 * not NULL) holds the text. */
WR_API int wr_cell_writer_open(struct wr_db *db, const struct wr_cell_put *put,
                               struct wr_cell_writer **out, char *message, size_t message_size);

/* Takes up to `size` bytes of what comes next and returns how many; -1: the upload has failed, and
 * wr_cell_finish() says why. */
WR_API ptrdiff_t wr_cell_write(struct wr_cell_writer *w, const void *data, size_t size,
                               wr_ready_fn *ready, void *arg);

/* What the value must hash to, for who knows it only now that all of it is written: before
 * wr_cell_finish(). It counts instead of the one that was given when the writer was opened. */
WR_API void wr_cell_expect(struct wr_cell_writer *w, const uint8_t sha256[32]);

/* The value has come to its end: verifies it and puts it into its row. `done` gets a reply as of
 * UpdateRow; WR_E_AUTH: the value does not match its hash. Once, whatever happened before. */
WR_API void wr_cell_finish(struct wr_cell_writer *w, wr_done_fn *done, void *arg);
WR_API struct wr_reply *wr_cell_finish_wait(struct wr_cell_writer *w);

/* Frees; without a finish before, nothing has happened and what was stored removes itself. Not
 * between wr_cell_finish() and its `done`. Never waits. NULL is allowed. */
WR_API void wr_cell_writer_free(struct wr_cell_writer *w);

struct wr_cell_get {
    uint64_t size; /* sizeof(struct wr_cell_get); 0: as of version 0.1.0 */
    struct wr_bytes instance, table;
    struct wr_key key;
    struct wr_bytes column;
};

struct wr_cell_info {
    uint64_t length;
    enum wr_type type; /* a BIGINT, say, is given as its text */
    int64_t timestamp_ms;
    uint8_t sha256[32]; /* of the value */
    int32_t read_units; /* what reading all of it costs */
};

struct wr_cell_reader;

/* The newest value of the column as of now, whatever happens to it later. WR_E_NOT_EXIST with a
 * text that says so: no such table, row or cell. Reads the row, so it may touch the disk. */
WR_API int wr_cell_reader_open(struct wr_db *db, const struct wr_cell_get *get,
                               struct wr_cell_reader **out, struct wr_cell_info *info,
                               char *message, size_t message_size);

/* Up to `size` bytes from `offset` on; 0: `ready` will be called, or the end; -1: the value cannot
 * be read, and *wr_cell_reader_error() says why. */
WR_API ptrdiff_t wr_cell_read(struct wr_cell_reader *r, uint64_t offset, void *to, size_t size,
                              wr_ready_fn *ready, void *arg);
WR_API int wr_cell_reader_error(struct wr_cell_reader *r, char *message, size_t message_size);
WR_API void wr_cell_reader_free(struct wr_cell_reader *r); /* NULL is allowed; never waits */

/* A few figures for status pages, all since wr_open(). `size`: sizeof(struct wr_status); what is
 * behind what the library knows becomes zeros. */
struct wr_status {
    bool writable; /* false: only reads are served; `reason` says why */
    char reason[160];
    uint64_t syncs;          /* log syncs */
    uint64_t acknowledged;   /* writes answered */
    uint64_t bytes_stored;   /* approximate */
    uint64_t request_memory; /* bytes that requests hold now, without the front's */
    uint64_t remote_reads;   /* operations sent to a storage cluster; 0 where there is none */
    uint64_t remote_writes;
    uint64_t remote_read_bytes;    /* of keys and values that came with their answers */
    uint64_t remote_written_bytes; /* and of those that were sent */
    uint64_t scrub_bytes;          /* of keys and values that the scrub has verified */
    uint64_t scrub_errors;         /* places where it found damage; each pass finds them again */
    uint64_t scrub_passes;         /* that came to their end */
    int64_t scrub_last_s;          /* when the last one did, UTC seconds; 0: none yet */
    char clock[160];               /* what is wrong with the wall clock; empty: nothing */
    bool clock_odd;        /* other servers' clocks differ from ours: better not asked to serve */
    uint64_t disk_reads;   /* of requests: of what was not in memory, or was taken for such */
    uint64_t transactions; /* local ones, open now; on a pool all servers', as last looked at */
    uint64_t transaction_bytes; /* of memory that they hold */
    uint64_t transactions_committed, transactions_aborted;
    uint64_t transactions_expired;  /* that ended because their time was over */
    uint64_t transaction_conflicts; /* writes and starts that met a locked value */
    uint64_t search_indexes;
    uint64_t
        search_indexes_reading; /* of them: those that read rows of before, and do not follow */
    uint64_t search_indexes_stopped; /* for want of memory, or because following fails */
    uint64_t search_documents, search_segments, search_bytes; /* of all of them */
    uint64_t search_behind_ms; /* the farthest behind its table, of those that follow */
    uint64_t searches;         /* and scans of search indexes */
    uint64_t change_log_bytes; /* of changes that wait for search indexes */
    uint64_t change_logs_cut;  /* how often they were more than change_log_bytes_max */
    /* Where indexes follow their tables (a pool): changes of rows by this process that are not in
     * them yet, the age of the oldest, and what the last look at all changes did not bring there.
     */
    uint64_t index_waiting, index_behind_ms, index_left;
};
WR_API void wr_status(struct wr_db *db, struct wr_status *out, size_t size);

/* Is there an engine of that name, and has it that setting (wr_options.engine_settings)? */
WR_API bool wr_engine_has_setting(const char *engine, const char *setting);

/* A small text that is kept beside the tables, for what all processes that have the same data open
 * must agree on; the server keeps its access keys in one. It is changed whole, and only by whoever
 * knows the version that is there. */
struct wr_text {
    uint64_t version; /* grows by 1 with each change; 0: there is none yet */
    char *text;       /* with a NUL behind it; NULL: there is none yet */
    size_t len;
};
#define WR_TEXT_BYTES_MAX (1 << 20)

/* May other processes have the same data open? */
WR_API bool wr_is_shared(const struct wr_db *db);

/* False: this process may have missed what others changed, and serves nothing until it has caught
 * up, which this begins. Never blocks. */
WR_API bool wr_in_touch(struct wr_db *db);

/* The text of that name as it is stored now. On failure *out is empty and `message` (if not NULL)
 * holds one line. These block; never from a wr_done_fn. */
WR_API int wr_text_load(struct wr_db *db, const char *name, struct wr_text *out, char *message,
                        size_t message_size);
/* Stores text->text as version text->version + 1 if the version is text->version now. Durable on
 * WR_E_OK; WR_E_CONFLICT: somebody was faster, nothing was changed. */
WR_API int wr_text_store(struct wr_db *db, const char *name, const struct wr_text *text,
                         char *message, size_t message_size);
/* WR_E_OK: every other process has been through its wr_text_fn, or serves nothing until it has. May
 * take 18 s, if one hangs. WR_E_UNSURE: some may not know; call again. */
WR_API int wr_text_tell(struct wr_db *db, char *message, size_t message_size);

/* This process is about to close the database: nothing that is under way or comes waits for other
 * processes any more. wr_text_tell() gives WR_E_UNSURE at once, and table operations end as unsure;
 * the others learn of what is stored by themselves, in seconds. */
WR_API void wr_leave(struct wr_db *db);
/* Overwrites and frees what wr_text_load() gave. */
WR_API void wr_text_clear(struct wr_text *t);

/* From now on fn(arg) is called when texts may have been changed by others: it loads them. It may
 * block; not 0: what is stored could not be learnt, and until it is the process serves nothing. fn
 * NULL: no more calls with that arg once this returns. At most 4 watch. */
typedef int wr_text_fn(void *arg);
WR_API void wr_text_watch(struct wr_db *db, wr_text_fn *fn, void *arg);

/* Changes settings (wr_options.settings) of an open database, all of them or, with
 * WR_E_PARAMETER and one line in `message` (if not NULL), none. What is not named stays. Requests
 * under way may see some of them changed and others not. Refused are heat_bytes_max, scrub_* and
 * size_watch_pass_s_min, which count from wr_open() on. One thread at a time. */
WR_API int wr_settings_change(struct wr_db *db, const struct wr_setting *settings, size_t count,
                              char *message, size_t message_size);
/* As it was set last, or its default; -1: there is no setting of that name. Any thread; during a
 * change, the old value or the new one. */
WR_API int64_t wr_setting_value(const struct wr_db *db, const char *name);

/* A table's traffic, for status pages. */
struct wr_table_traffic {
    char instance[64], table[256]; /* cut when longer */
    uint64_t partitions, splits, merges, longest_cut_us, stored_bytes;
    struct wr_traffic traffic;
};

/* The `max` tables that were asked for the most capacity units since wr_open(), the busiest first.
 * Returns how many. */
WR_API size_t wr_busiest(struct wr_db *db, struct wr_table_traffic *out, size_t max);

/* Work that the database does in the background, one task at a time: which tasks there are may
 * change with any version. */
enum wr_task_state {
    WR_TASK_IDLE = 0,    /* nothing is to be done before its next turn */
    WR_TASK_WAITING = 1, /* it has something to do; requests or other tasks come first */
    WR_TASK_RUNNING = 2,
    WR_TASK_FAILED = 3, /* it will be tried again */
};

struct wr_task {
    char name[16];
    enum wr_task_state state;
    int32_t percent;          /* of what it is at, about; -1: not known */
    uint64_t steps, failures; /* since wr_open() */
    uint64_t bytes;           /* read and written */
    uint64_t busy_us;
    int64_t ago_ms; /* since its last step ended; -1: there was none */
    char text[160]; /* why its last steps fail; empty once one succeeded */
};

/* Up to `max` tasks; returns how many there are. Any thread. */
WR_API size_t wr_tasks(struct wr_db *db, struct wr_task *out, size_t max);

/* ---- archives of series ---- */

/* A period that takes no writes any more, and that nobody writes who had begun before. */
struct wr_archive_period {
    struct wr_bytes instance, series;
    struct wr_bytes period;  /* 2025-03 */
    struct wr_bytes table;   /* what its rows are read by: purchases@2025-03 */
    struct wr_bytes archive; /* s3://BUCKET/PREFIX */
    int64_t creation_us;     /* of the series */
};

struct wr_archive_step {
    bool ended;      /* all of it is in the archive, durably, and was read back */
    uint64_t bytes;  /* read and written: they count against background_bytes_per_s_max */
    int32_t percent; /* about; -1: not known */
    char text[160];  /* why it failed */
};

/* A turn of some ms, or as long as a store takes to answer, on a thread that does nothing else. The
 * period is the one of the call before until that ended or failed, or the period is gone; then
 * another one may come, and whatever is left of the first is begun anew some time. *step is zeros,
 * percent -1. Not 0: a code, and text says why; it is tried again with growing pauses. */
typedef int wr_archive_fn(void *arg, const struct wr_archive_period *period,
                          struct wr_archive_step *step);

/* From now on fn(arg) brings to the archive what is to go there; once for a database. The last call
 * has ended when wr_close() returns. */
WR_API void wr_archive_with(struct wr_db *db, wr_archive_fn *fn, void *arg);

/* Makes `dir` (missing or empty, its parent there) a data folder with everything as of one moment
 * between call and return: every write that was answered before is in it, and every row and atomic
 * batch whole. Requests go on meanwhile. On the data's own file system large files are linked, not
 * copied. Durable on return; after a failure nothing is left there. Blocks, may take long; any
 * thread. On failure `message` (if not NULL) holds one line. Errors: WR_E_PARAMETER (the folder),
 * WR_E_UNSUPPORTED ("mem"), WR_E_NO_SPACE, WR_E_UNAVAILABLE, WR_E_CORRUPT. */
WR_API int wr_backup(struct wr_db *db, const char *dir, char *message, size_t message_size);

/* Copies the backup into `dir` (missing or empty), reading every block of the copy and comparing it
 * with its checksum; wr_open() opens it then. `dir` NULL: verifies the backup itself and changes
 * nothing. The backup must not be open anywhere. Errors as of wr_backup(), and WR_E_FORMAT (not a
 * backup), WR_E_DATA_LOSS (not complete), WR_E_LOCKED. */
WR_API int wr_restore(const char *backup, const char *dir, char *message, size_t message_size);

/* The version of the library, as in "0.1.0" (the file VERSION). */
WR_API const char *wr_version(void);

#ifdef __cplusplus
}
#endif
#endif
