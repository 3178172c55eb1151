/* search_op.c: operations on search indexes. None is served yet; no table has an index, which is
 * what ListSearchIndex says. */
#include "table/core/call.h"

static int refuse(struct call *call, const char *name)
{
    return fail(&call->c, E_UNSUPPORTED, "Unsupported operation: '%s' (not served yet).", name);
}

int create_search_index_start(struct call *call)
{
    return refuse(call, "CreateSearchIndex");
}

int update_search_index_start(struct call *call)
{
    return refuse(call, "UpdateSearchIndex");
}

int delete_search_index_start(struct call *call)
{
    return refuse(call, "DeleteSearchIndex");
}

int list_search_index_start(struct call *call)
{
    call_finish(call);
    return E_OK;
}

int describe_search_index_start(struct call *call)
{
    return refuse(call, "DescribeSearchIndex");
}

int search_start(struct call *call)
{
    return refuse(call, "Search");
}

int compute_splits_start(struct call *call)
{
    return refuse(call, "ComputeSplits");
}

int parallel_scan_start(struct call *call)
{
    return refuse(call, "ParallelScan");
}
