package compat;

import static compat.T.*;

import com.alicloud.openservices.tablestore.model.*;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Key columns that the server generates. */
final class AutoIncrementCases extends Case {
    private static final PrimaryKeySchema ID = new PrimaryKeySchema("id", PrimaryKeyType.INTEGER, PrimaryKeyOption.AUTO_INCREMENT);

    private static String autoTable(T t) {
        return t.table(key("p", PrimaryKeyType.STRING), ID);
    }

    private static long putAuto(T t, String table, String partition) {
        RowPutChange change = putChange(table, pk("p", partition, "id", AUTO), c("v", 1));
        change.setReturnType(ReturnType.RT_PK);
        return t.put(change).getRow().getPrimaryKey().getPrimaryKeyColumn("id").getValue().asLong();
    }

    @Test @DisplayName("auto-increment: positive and rising in one partition key")
    void positiveAndRisingInOnePartitionKey() throws Exception {
        String table = autoTable(t);
        long last = 0;
        for (int n = 0; n < 5; n++) {
            long id = putAuto(t, table, "one");
            check(id > last, "id " + id + " after " + last);
            last = id;
        }
        check(putAuto(t, table, "two") > 0, "the id of another partition key is not positive");
        wantCells("row", t.get(table, pk("p", "one", "id", last)), "v", 1);
    }

    @Test @DisplayName("auto-increment: the option is described")
    void theOptionIsDescribed() throws Exception {
        var keys = t.describe(autoTable(t)).getTableMeta().getPrimaryKeyList();
        equal("option", keys.get(1).getOption(), PrimaryKeyOption.AUTO_INCREMENT);
        check(keys.get(0).getOption() != PrimaryKeyOption.AUTO_INCREMENT, "the first key column has the option");
    }

    @Test @DisplayName("auto-increment: in a batch")
    void inABatch() throws Exception {
        String table = autoTable(t);
        RowPutChange[] changes = new RowPutChange[3];
        for (int n = 0; n < changes.length; n++) {
            changes[n] = putChange(table, pk("p", "one", "id", AUTO), c("v", n));
            changes[n].setReturnType(ReturnType.RT_PK);
        }
        long last = 0;
        for (BatchWriteRowResponse.RowResult row : t.batchWrite(changes).getRowStatus(table)) {
            long id = row.getRow().getPrimaryKey().getPrimaryKeyColumn("id").getValue().asLong();
            check(id > last, "id " + id + " after " + last);
            last = id;
        }
        wantCells("last row", t.get(table, pk("p", "one", "id", last)), "v", 2);
    }

    @Test @DisplayName("auto-increment: where the placeholder is refused")
    void whereThePlaceholderIsRefused() throws Exception {
        String table = autoTable(t);
        PrimaryKey key = pk("p", "one", "id", AUTO);
        invalid("PKAutoIncr can't be used for read operations.", () -> t.get(table, key));
        RowPutChange column = putChange(table, key, c("v", 1));
        column.setCondition(condition(is("v", 1)));
        invalid("Can't set condition when modify row with pk auto increment", () -> t.put(column));
        RowPutChange existence = putChange(table, key, c("v", 1));
        existence.setCondition(expect(RowExistenceExpectation.EXPECT_NOT_EXIST));
        refused(400, INVALID, () -> t.put(existence));
    }

    @Test @DisplayName("auto-increment: refused at creation")
    void refusedAtCreation() throws Exception {
        PrimaryKeySchema second = new PrimaryKeySchema("id2", PrimaryKeyType.INTEGER, PrimaryKeyOption.AUTO_INCREMENT);
        invalid("AUTO_INCREMENT primary key count must <= 1.", () -> t.table(key("p", PrimaryKeyType.STRING), ID, second));
        String message = refused(400, INVALID, () -> t.table(ID)).getMessage();
        check(message.startsWith("First primary key can't be auto increment, table: "), "message: " + message);
    }
}
