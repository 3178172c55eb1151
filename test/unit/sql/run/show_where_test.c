/* SHOW ... WHERE: which of the rows are sent, and as they were. */
#include "bed.h"

#define VARIABLES "Variable_name,Value"

static void test_conditions(void **state)
{
    static const char *const cases[][2] = {
        {"Variable_name = 'LICENSE'", VARIABLES "|license,Apache-2.0"},
        {"variable_name like 'WAIT\\_%'", VARIABLES "|wait_timeout,600"},
        {"Variable_name not like '%E%' and Variable_name < 'B'", VARIABLES "|autocommit,1"},
        /* Numbers, though they are texts. */
        {"Value > 9 and Variable_name like '%Timeout'",
         VARIABLES "|interactive_timeout,600|net_write_timeout,60|wait_timeout,600"},
        {"Value > '9' and Variable_name like 'WAIT%'", VARIABLES "|wait_timeout,600"},
        {"Variable_name between 'VERSION' and 'version_comment' and Value = 'widerow'",
         VARIABLES "|version_comment,Widerow"},
        {"Value in ('utc', '7')", VARIABLES "|system_time_zone,UTC"},
        {"not Variable_name <> 'license'", VARIABLES "|license,Apache-2.0"},
        {"Value is null", VARIABLES},
        {"Value = null", VARIABLES},
        {"Value <=> null or Variable_name = 'license'", VARIABLES "|license,Apache-2.0"},
        {"upper(left(Value, 3)) = 'UTC'", VARIABLES "|system_time_zone,UTC"},
        {"nope = 1", VARIABLES "!1054 Unknown column 'nope' in 'where clause'"},
        {"v.Value = 1", VARIABLES "!1054 Unknown column 'Value' in 'where clause'"},
        {"Variable_name in (select TABLE_NAME from information_schema.TABLES)",
         VARIABLES "!9001 A condition of SHOW reads no table: information_schema takes any SELECT"},
    };
    struct bed *b = *state;

    for (size_t i = 0; i < PORT_COUNT(cases); i++) {
        char sql[200];

        snprintf(sql, sizeof(sql), "show variables where %s", cases[i][0]);
        expect(b, sql, cases[i][1]);
    }
}

static void test_question_mark(void **state)
{
    struct wr_value name = {.type = WR_VARCHAR, .bytes = BYTES_LIT("LICENSE")};
    struct bed *b = *state;

    expect_with(b, "show variables where Variable_name = ?", &name, 1,
                VARIABLES "|license,Apache-2.0");
}

/* A text of digits is compared as a number, and sent as the text that it is; so are numbers. */
static void test_rows_are_as_they_were(void **state)
{
    struct bed *b = *state;

    expect(
        b,
        "create table t (k varchar, v varchar(9) default '007', w bigint, primary key (k), index "
        "tw (w))",
        "0");
    expect(b, "show columns from t where `Default` = 7",
           "Field,Type,Null,Key,Default,Extra|v,varchar(9),YES,,007,");
    expect(b, "show columns from t where `Default` is null and `Null` = 'yes'",
           "Field,Type,Null,Key,Default,Extra|w,bigint,YES,MUL,NULL,");
    expect(b, "show keys from t where Non_unique = '1' and Seq_in_index > 1",
           "Table,Non_unique,Key_name,Seq_in_index,Column_name,Collation,Cardinality,Sub_part,"
           "Packed,Null,Index_type,Comment,Index_comment");
    expect(b, "show keys from t where Non_unique = '0'",
           "Table,Non_unique,Key_name,Seq_in_index,Column_name,Collation,Cardinality,Sub_part,"
           "Packed,Null,Index_type,Comment,Index_comment|t,0,PRIMARY,1,k,A,NULL,NULL,NULL,,BTREE,"
           ",");
    expect(b, "show full tables where Table_type = 'base table' and Tables_in_inst like 'T'",
           "Tables_in_inst,Table_type|t,BASE TABLE");
}

/* Of no row nothing is asked. */
static void test_no_rows(void **state)
{
    struct bed *b = *state;

    expect(b, "show tables where nope = 1", "Tables_in_inst");
    expect(b, "show index from nosuch where nope = 1", "!1146 Table 'inst.nosuch' doesn't exist");
    expect(b, "show variables where Variable_name = 'license'", VARIABLES "|license,Apache-2.0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_conditions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_question_mark, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_rows_are_as_they_were, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_rows, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
