#include "sql/run/variable.h"

#include "sql/run/run.h"

static const struct {
    bytes name, value;
} variables[] = {
    {BYTES_LIT("auto_increment_increment"), BYTES_LIT("1")},
    {BYTES_LIT("autocommit"), BYTES_LIT("1")},
    {BYTES_LIT("character_set_client"), BYTES_LIT("utf8mb4")},
    {BYTES_LIT("character_set_connection"), BYTES_LIT("utf8mb4")},
    {BYTES_LIT("character_set_results"), BYTES_LIT("utf8mb4")},
    {BYTES_LIT("character_set_server"), BYTES_LIT("utf8mb4")},
    {BYTES_LIT("collation_connection"), BYTES_LIT("utf8mb4_bin")},
    {BYTES_LIT("collation_server"), BYTES_LIT("utf8mb4_bin")},
    {BYTES_LIT("default_storage_engine"), BYTES_LIT("Widerow")},
    {BYTES_LIT("init_connect"), BYTES_LIT("")},
    {BYTES_LIT("interactive_timeout"), BYTES_LIT("600")},
    {BYTES_LIT("license"), BYTES_LIT("Apache-2.0")},
    {BYTES_LIT("lower_case_table_names"), BYTES_LIT("0")},
    {BYTES_LIT("max_allowed_packet"), BYTES_LIT("67108864")},
    {BYTES_LIT("net_write_timeout"), BYTES_LIT("60")},
    {BYTES_LIT("performance_schema"), BYTES_LIT("0")},
    {BYTES_LIT("sql_auto_is_null"), BYTES_LIT("0")},
    {BYTES_LIT("sql_mode"), BYTES_LIT("STRICT_TRANS_TABLES")},
    {BYTES_LIT("system_time_zone"), BYTES_LIT("UTC")},
    {BYTES_LIT("time_zone"), BYTES_LIT("+00:00")},
    {BYTES_LIT("transaction_isolation"), BYTES_LIT("READ-COMMITTED")},
    {BYTES_LIT("transaction_read_only"), BYTES_LIT("0")},
    {BYTES_LIT("tx_isolation"), BYTES_LIT("READ-COMMITTED")},
    {BYTES_LIT("version"), BYTES_LIT("8.0.36")},
    {BYTES_LIT("version_comment"), BYTES_LIT("Widerow")},
    {BYTES_LIT("wait_timeout"), BYTES_LIT("600")},
};

static bytes without(bytes name, bytes scope)
{
    return bytes_starts(name, scope) ? bytes_skip(name, scope.len) : name;
}

static bytes value_of(const struct session *s, size_t i)
{
    bool manual = s && s->transaction.manual;

    if (s && bytes_equal(variables[i].name, BYTES_LIT("version")))
        return bytes_str(s->version);
    return manual && bytes_equal(variables[i].name, BYTES_LIT("autocommit")) ? BYTES_LIT("0")
                                                                             : variables[i].value;
}

bool variable_find(const struct session *s, bytes name, bytes *value)
{
    name = without(without(name, BYTES_LIT("session.")), BYTES_LIT("global."));
    name = without(without(name, BYTES_LIT("SESSION.")), BYTES_LIT("GLOBAL."));
    for (size_t i = 0; i < PORT_COUNT(variables); i++)
        if (run_is_word(name, variables[i].name.ptr)) {
            *value = value_of(s, i);
            return true;
        }
    return false;
}

bool variable_at(const struct session *s, size_t i, bytes *name, bytes *value)
{
    if (i >= PORT_COUNT(variables))
        return false;
    *name = variables[i].name;
    *value = value_of(s, i);
    return true;
}
