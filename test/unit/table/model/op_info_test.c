#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#undef fail /* ctx.h has one of another meaning */

#include "table/model/op_info.h"

#include <string.h>

/* All names that a request has, one behind the other. */
static const char *names(const struct wr_request *r)
{
    static char text[64];
    bytes name;

    *text = 0;
    for (size_t i = 0; wr_request_table(r, i, &name); i++)
        strncat(text, name.ptr, name.len);
    return text;
}

static void test_names(void **state)
{
    struct wr_index_meta indexes[] = {{.name = BYTES_LIT("b")}, {.name = BYTES_LIT("c")}};
    struct wr_table_get gets[] = {{.table = BYTES_LIT("d")}, {.table = BYTES_LIT("e")}};
    struct wr_table_write writes[] = {{.table = BYTES_LIT("f")}, {.table = BYTES_LIT("g")}};
    struct wr_request r = {
        .op = WR_OP_CREATE_TABLE,
        .create_table = {.table = BYTES_LIT("a"), .indexes = indexes, .index_count = 2}};

    (void)state;
    assert_string_equal(names(&r), "abc");
    r.create_table.index_count = 0;
    assert_string_equal(names(&r), "a");
    r = (struct wr_request){.op = WR_OP_BATCH_GET_ROW, .batch_get_row = {gets, 2}};
    assert_string_equal(names(&r), "de");
    r = (struct wr_request){.op = WR_OP_BATCH_WRITE_ROW,
                            .batch_write_row = {.tables = writes, .table_count = 2}};
    assert_string_equal(names(&r), "fg");
    r.batch_write_row.table_count = 0;
    assert_string_equal(names(&r), "");
    r = (struct wr_request){.op = WR_OP_BULK_IMPORT, .bulk_import.table.table = BYTES_LIT("h")};
    assert_string_equal(names(&r), "h");
    r = (struct wr_request){.op = WR_OP_GET_RANGE, .get_range.table = BYTES_LIT("i")};
    assert_string_equal(names(&r), "i");
    r = (struct wr_request){.op = WR_OP_CREATE_INDEX,
                            .create_index = {.table = BYTES_LIT("j"), .index = indexes[0]}};
    assert_string_equal(names(&r), "jb");
    r = (struct wr_request){.op = WR_OP_DROP_INDEX,
                            .drop_index = {BYTES_LIT("k"), BYTES_LIT("l")}};
    assert_string_equal(names(&r), "kl");
    r = (struct wr_request){.op = WR_OP_LIST_TABLE};
    assert_string_equal(names(&r), "");
}

static void test_transactions(void **state)
{
    struct wr_request r = {.op = WR_OP_GET_ROW, .get_row.transaction = BYTES_LIT("a")};

    (void)state;
    assert_string_equal(op_bytes_at(&r, op_info(r.op)->transaction).ptr, "a");
    r = (struct wr_request){.op = WR_OP_DELETE_ROW, .delete_row.transaction = BYTES_LIT("b")};
    assert_string_equal(op_bytes_at(&r, op_info(r.op)->transaction).ptr, "b");
    r = (struct wr_request){.op = WR_OP_BATCH_WRITE_ROW,
                            .batch_write_row.transaction = BYTES_LIT("c")};
    assert_string_equal(op_bytes_at(&r, op_info(r.op)->transaction).ptr, "c");
    assert_int_equal(op_info(WR_OP_BULK_EXPORT)->transaction, 0);
}

/* Grants are asked for by the names, so what changes something and names nothing would be free to
 * every access key. */
/* Or a transaction, which belongs to an access key and a table. */
static void test_changes_name_a_table(void **state)
{
    (void)state;
    for (int op = 0; op < WR_OP_COUNT; op++) {
        const struct op_info *info = op_info((enum wr_op)op);

        if (info->class == WR_CLASS_WRITE || info->class == WR_CLASS_TABLE)
            assert_true(info->table || info->list.items || info->transaction);
    }
}

static void test_no_operation(void **state)
{
    struct wr_request r = {.op = WR_OP_COUNT, .get_row.table = BYTES_LIT("a")};

    (void)state;
    assert_string_equal(names(&r), "");
    r.op = (enum wr_op)(-1);
    assert_string_equal(names(&r), "");
    assert_int_equal(op_info(r.op)->transaction, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_transactions),
        cmocka_unit_test(test_changes_name_a_table),
        cmocka_unit_test(test_no_operation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
