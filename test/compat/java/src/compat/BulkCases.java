package compat;

import static compat.T.*;

import com.alicloud.openservices.tablestore.model.*;
import com.alicloud.openservices.tablestore.model.tunnel.BulkExportQueryCriteria;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** BulkExport and BulkImport, which only this SDK has. */
final class BulkCases extends Case {
    private static BulkExportQueryCriteria export(String table, String... columns) {
        BulkExportQueryCriteria criteria = new BulkExportQueryCriteria(table);
        criteria.setInclusiveStartPrimaryKey(pk("pk", MIN));
        criteria.setExclusiveEndPrimaryKey(pk("pk", MAX));
        criteria.addColumnsToGet(columns);
        criteria.setDataBlockType(DataBlockType.DBT_SIMPLE_ROW_MATRIX);
        return criteria;
    }

    private static BulkExportResponse send(T t, BulkExportQueryCriteria criteria) {
        return t.client.bulkExport(new BulkExportRequest(criteria));
    }

    /** Reads every page of a matrix export. */
    private static List<Row> matrix(T t, BulkExportQueryCriteria criteria) {
        List<Row> rows = new ArrayList<>();
        while (true) {
            BulkExportResponse answer = send(t, criteria);
            equal("format", answer.getDataBlockType(), DataBlockType.DBT_SIMPLE_ROW_MATRIX);
            rows.addAll(new SimpleRowMatrixBlockParser(answer.getRows()).getRows());
            if (answer.getNextStartPrimaryKey() == null) {
                return rows;
            }
            criteria.setInclusiveStartPrimaryKey(answer.getNextStartPrimaryKey());
        }
    }

    private static BulkImportResponse bulkImport(T t, String table, RowChange... changes) {
        BulkImportRequest request = new BulkImportRequest(table);
        for (RowChange change : changes) {
            request.addRowChange(change);
        }
        return t.client.bulkImport(request);
    }

    private static void wantSizes(String what, ConsumedCapacity consumed, long read, long write) {
        units(what, consumed, 0, 0);
        CapacityDataSize size = consumed.getCapacityDataSize();
        if (read > 0) {
            equal("read size of " + what, size.getReadCapacityDataSize(), read);
        }
        if (write > 0) {
            equal("write size of " + what, size.getWriteCapacityDataSize(), write);
        }
    }

    @Test @DisplayName("export: matrix of every type")
    void matrixOfEveryType() throws Exception {
        String table = t.intTable();
        t.put(table, pk("pk", 1), c("i", 7), c("s", "text"), c("b", new byte[] {0, 1}), c("d", 2.5), c("t", true));
        t.put(table, pk("pk", 2), c("s", "only"));
        List<Row> rows = matrix(t, export(table, "pk", "i", "s", "b", "d", "t"));
        equal("rows", rows.size(), 2);
        equal("key", rows.get(0).getPrimaryKey(), pk("pk", 1));
        equal("first", rows.get(0).getLatestColumn("i").getValue().asLong(), 7L);
        equal("string", rows.get(0).getLatestColumn("s").getValue().asString(), "text");
        equal("binary", rows.get(0).getLatestColumn("b").getValue().asBinary(), new byte[] {0, 1});
        equal("double", rows.get(0).getLatestColumn("d").getValue().asDouble(), 2.5);
        equal("boolean", rows.get(0).getLatestColumn("t").getValue().asBoolean(), true);
        wantCells("row with one column", rows.get(1), "s", "only");
    }

    @Test @DisplayName("export: plain buffer")
    void plainBuffer() throws Exception {
        BulkExportQueryCriteria criteria = export(t.numbered(0, 3), "v");
        criteria.setDataBlockType(DataBlockType.DBT_PLAIN_BUFFER);
        BulkExportResponse answer = send(t, criteria);
        equal("format", answer.getDataBlockType(), DataBlockType.DBT_PLAIN_BUFFER);
        List<Row> rows = new PlainBufferBlockParser(answer.getRows()).getRows();
        equal("keys", firstKeys(rows), count(0, 3));
        wantCells("row", rows.get(2), "v", 2);
    }

    @Test @DisplayName("export: an empty range, a filter, many rows")
    void anEmptyRangeAFilterManyRows() throws Exception {
        equal("rows of an empty table", matrix(t, export(t.intTable(), "pk", "v")).size(), 0);
        String table = t.numbered(0, 1000);
        equal("all rows", firstKeys(matrix(t, export(table, "pk", "v"))), count(0, 1000));
        BulkExportQueryCriteria filtered = export(table, "pk", "v");
        filtered.setFilter(is("v", 500));
        equal("filtered rows", firstKeys(matrix(t, filtered)), "[500]");
    }

    @Test @DisplayName("export: consumed capacity counts bytes")
    void consumedCapacityCountsBytes() throws Exception {
        // 10 rows of "pk" 2 + 8 and "v" 1 + 8 bytes.
        wantSizes("BulkExport", send(t, export(t.numbered(0, 10), "pk", "v")).getConsumedCapacity(), 190, 0);
    }

    @Test @DisplayName("export: refusals")
    void refusals() throws Exception {
        String table = t.intTable();
        invalid("DBT_SIMPLE_ROW_MATRIX need at least one column to get.", () -> send(t, export(table)));
        BulkExportQueryCriteria bounds = export(table, "v");
        bounds.setInclusiveStartPrimaryKey(pk("pk", 5));
        bounds.setExclusiveEndPrimaryKey(pk("pk", 5));
        invalid("Begin key must less than end key in FORWARD", () -> send(t, bounds));
        invalid("The number of columns from the request exceeds the limit, limit count: 1024, column count: 1025.",
                () -> send(t, export(table, ColumnCases.names(1025))));
        error(404, "OTSObjectNotExist", "Requested table does not exist.", () -> send(t, export(uniqueName(), "v")));
    }

    @Test @DisplayName("import: put, update and delete")
    void putUpdateAndDelete() throws Exception {
        String table = t.intTable();
        t.put(table, pk("pk", 2), c("a", 1));
        t.put(table, pk("pk", 3), c("a", 1));
        BulkImportResponse answer = bulkImport(t, table, putChange(table, pk("pk", 1), c("v", 1)),
                updateChange(table, pk("pk", 2)).put(c("b", 2)), deleteChange(table, pk("pk", 3)));
        check(answer.isAllSucceed(), "a row failed");
        wantCells("put", t.get(table, pk("pk", 1)), "v", 1);
        wantCells("updated", t.get(table, pk("pk", 2)), "a", 1, "b", 2);
        equal("deleted", t.get(table, pk("pk", 3)), null);
        wantSizes("a put", answer.getRowResults().get(0).getConsumedCapacity(), 0, 19);
        wantSizes("a delete", answer.getRowResults().get(2).getConsumedCapacity(), 0, 10);
    }

    @Test @DisplayName("import: a row with a wrong key fails alone")
    void aRowWithAWrongKeyFailsAlone() throws Exception {
        String table = t.intTable();
        List<BulkImportResponse.RowResult> rows = bulkImport(t, table, putChange(table, pk("pk", "text"), c("v", 1)),
                putChange(table, pk("pk", 1), c("v", 1))).getRowResults();
        rowError("OTSInvalidPK", "Validate PK type fail. Input: VT_STRING, Meta: VT_INTEGER.", rows.get(0).getError());
        check(rows.get(1).isSucceed(), "the good row failed");
    }

    @Test @DisplayName("import: a defined column of another type")
    void aDefinedColumnOfAnotherType() throws Exception {
        CreateTableRequest request = createRequest(uniqueName(), 1, key("pk", PrimaryKeyType.INTEGER));
        request.getTableMeta().addDefinedColumn("DC2", DefinedColumnType.INTEGER);
        String table = t.create(request);
        List<BulkImportResponse.RowResult> rows = bulkImport(t, table, putChange(table, pk("pk", 1), c("DC2", new byte[] {1}))).getRowResults();
        rowError(INVALID, "Invalid column type for column DC2 expect VT_INTEGER actual VT_BLOB", rows.get(0).getError());
    }

    @Test @DisplayName("import: a missing table fails each row")
    void aMissingTableFailsEachRow() throws Exception {
        String table = uniqueName();
        for (BulkImportResponse.RowResult row : bulkImport(t, table, putChange(table, pk("pk", 1), c("v", 1)), putChange(table, pk("pk", 2), c("v", 1))).getRowResults()) {
            rowError("OTSObjectNotExist", "Requested table does not exist.", row.getError());
        }
    }

    @Test @DisplayName("import: no rows, 200 rows, 201 rows")
    void noRows200Rows201Rows() throws Exception {
        String table = t.intTable();
        invalid("No operation is specified for table: '" + table + "'.", () -> bulkImport(t, table));
        RowChange[] changes = new RowChange[201];
        for (int n = 0; n < changes.length; n++) {
            changes[n] = putChange(table, pk("pk", n), c("v", n));
        }
        invalid("Rows count exceeds the upper limit: 200.", () -> bulkImport(t, table, changes));
        check(bulkImport(t, table, java.util.Arrays.copyOf(changes, 200)).isAllSucceed(), "a row failed");
        equal("rows", t.readAll(everyRow(table)).rows().size(), 200);
    }
}
