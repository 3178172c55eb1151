#include "sql/run/planted.h"

#include "base/fault.h"

bool planted_unguarded_update(void)
{
    return fault_hit(FAULT_sql_update_unguarded);
}
