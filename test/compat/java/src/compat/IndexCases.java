package compat;

import static compat.T.*;

import com.alicloud.openservices.tablestore.model.*;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Secondary indexes. Over a pool, as in the service, a global one follows its table. */
final class IndexCases extends EveryClient {
    /** A table with the key pk, the defined columns d0 and d1, and an index of its own name and "_ix" over these columns. */
    private String indexed(IndexType type, String... columns) {
        CreateTableRequest request = createRequest(uniqueName(), 1, key("pk", PrimaryKeyType.INTEGER));
        request.getTableMeta().addDefinedColumn("d0", DefinedColumnType.INTEGER);
        request.getTableMeta().addDefinedColumn("d1", DefinedColumnType.STRING);
        String table = t.create(request);
        IndexMeta meta = new IndexMeta(table + "_ix");
        for (String column : columns) {
            meta.addPrimaryKeyColumn(column);
        }
        meta.addDefinedColumn("d1");
        meta.setIndexType(type);
        meta.setIndexUpdateMode(type == IndexType.IT_LOCAL_INDEX ? IndexUpdateMode.IUM_SYNC_INDEX : IndexUpdateMode.IUM_ASYNC_INDEX);
        t.client.createIndex(new CreateIndexRequest(table, meta, false));
        return table;
    }

    /** Waits until the index has entries with these values of d0. */
    private void follows(String index, Object... expected) throws Exception {
        String wanted = keys(expected), found = null;
        for (int tries = 0; tries < 200 && !wanted.equals(found); tries++) {
            if (tries > 0) {
                Thread.sleep(100);
            }
            found = firstKeys(t.readAll(range(index, pk("d0", MIN, "pk", MIN), pk("d0", MAX, "pk", MAX))).rows());
        }
        equal("entries", found, wanted);
    }

    @Test @DisplayName("index: it follows its table")
    void followsItsTable() throws Exception {
        String table = indexed(IndexType.IT_GLOBAL_INDEX, "d0"), index = table + "_ix";
        t.client.putRow(new PutRowRequest(putChange(table, pk("pk", 1), c("d0", 7), c("d1", "x"))));
        t.client.putRow(new PutRowRequest(putChange(table, pk("pk", 2), c("d0", 5))));
        follows(index, 5, 7);
        t.client.deleteRow(new DeleteRowRequest(deleteChange(table, pk("pk", 2))));
        follows(index, 7);
    }

    @Test @DisplayName("index: a local one")
    void local() throws Exception {
        String table = indexed(IndexType.IT_LOCAL_INDEX, "pk", "d0"), index = table + "_ix";
        t.client.putRow(new PutRowRequest(putChange(table, pk("pk", 1), c("d0", 7))));
        RangeRowQueryCriteria all = range(index, pk("pk", MIN, "d0", MIN), pk("pk", MAX, "d0", MAX));
        equal("entries", firstKeys(t.readAll(all).rows()), keys(1));
    }

    @Test @DisplayName("index: it is described, not written, and dropped")
    void describedAndDropped() throws Exception {
        String table = indexed(IndexType.IT_GLOBAL_INDEX, "d0"), index = table + "_ix";
        IndexMeta meta = t.describe(table).getIndexMeta().get(0);
        equal("name", meta.getIndexName(), index);
        equal("key", meta.getPrimaryKeyList().toString(), "[d0]");
        equal("attributes", meta.getDefinedColumnsList().toString(), "[d1]");
        invalid("Can't write index table directly",
            () -> t.client.putRow(new PutRowRequest(putChange(index, pk("d0", 1, "pk", 1)))));
        t.client.deleteIndex(new DeleteIndexRequest(table, index));
        check(!t.client.listTable().getTableNames().contains(index), index + " is still listed");
    }
}
