package compat;

import static compat.T.*;

import com.alicloud.openservices.tablestore.model.*;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Rules of batches and of range bounds. */
final class RuleCases extends Case {
    /** A row change whose counted size is exactly size bytes: "pk" 2 + 8, "v" 1, value. */
    private static RowPutChange sized(String table, int n, int size) {
        return putChange(table, pk("pk", n), c("v", repeat('x', size - 11)));
    }

    private static List<BatchWriteRowResponse.RowResult> atomic(T t, String table, RowChange... changes) {
        BatchWriteRowRequest request = new BatchWriteRowRequest();
        for (RowChange change : changes) {
            request.addRowChange(change);
        }
        request.setAtomic(true);
        return t.client.batchWriteRow(request).getRowStatus(table);
    }

    @Test @DisplayName("batch rule: one key many times, in order")
    void oneKeyManyTimesInOrder() throws Exception {
        RowChange[] changes = new RowChange[10];
        for (int n = 0; n < 10; n += 2) {
            changes[n] = putChange(t.shared(1), t.key(0), c("v", n));
            changes[n + 1] = updateChange(t.shared(1), t.key(0)).put(c("u" + n, n));
        }
        check(t.batchWrite(changes).isAllSucceed(), "a row failed");
        wantCells("last put and update", t.get(t.shared(1), t.key(0)), "u8", 8, "v", 8);
    }

    @Test @DisplayName("batch rule: 200 rows are written, 201 are refused")
    void of200RowsAreWritten201AreRefused() throws Exception {
        RowChange[] changes = new RowChange[201];
        for (int n = 0; n < changes.length; n++) {
            changes[n] = putChange(t.shared(1), t.key(n), c("v", n));
        }
        invalid("Rows count exceeds the upper limit: 200.", () -> t.batchWrite(changes));
        equal("a row of the refused batch", t.get(t.shared(1), t.key(0)), null);
        check(t.batchWrite(Arrays.copyOf(changes, 200)).isAllSucceed(), "a row failed");
    }

    @Test @DisplayName("batch rule: 100 rows are read, 101 are refused")
    void of100RowsAreRead101AreRefused() throws Exception {
        PrimaryKey[] keys = new PrimaryKey[101];
        for (int n = 0; n < keys.length; n++) {
            keys[n] = t.key(n);
        }
        invalid("Rows count exceeds the upper limit: 100.", () -> t.batchGet(multi(t.shared(1), keys)));
        equal("rows", t.batchGet(multi(t.shared(1), Arrays.copyOf(keys, 100))).getBatchGetRowResult(t.shared(1)).size(), 100);
    }

    @Test @DisplayName("batch rule: 4 MiB of data are written, one byte more is refused")
    void of4MiBOfDataAreWrittenOneByteMoreIsRefused() throws Exception {
        String table = t.intTable();
        int mib = 1 << 20;
        invalid("The total data size of BatchWriteRow request exceeds the limit, limit size: 4194304, data size: 4194305.",
                () -> t.batchWrite(sized(table, 1, mib), sized(table, 2, mib), sized(table, 3, mib), sized(table, 4, mib + 1)));
        check(t.batchWrite(sized(table, 1, mib), sized(table, 2, mib), sized(table, 3, mib), sized(table, 4, mib)).isAllSucceed(), "a row failed");
    }

    @Test @DisplayName("batch rule: an oversize value refuses the whole request")
    void anOversizeValueRefusesTheWholeRequest() throws Exception {
        invalid("The length of attribute column: 'v' exceeds the MaxLength:2097152 with CurrentLength:2097153.",
                () -> t.batchWrite(putChange(t.shared(1), t.key(0), c("v", 1)), putChange(t.shared(1), t.key(1), c("v", repeat('x', 2097153)))));
        equal("a row of the refused batch", t.get(t.shared(1), t.key(0)), null);
    }

    @Test @DisplayName("batch rule: infinities are no keys")
    void infinitiesAreNoKeys() throws Exception {
        for (PrimaryKeyValue infinity : new PrimaryKeyValue[] {MIN, MAX}) {
            PrimaryKey key = pk("p", t.name, "q", infinity);
            String message = (infinity == MIN ? "VT_INF_MIN" : "VT_INF_MAX") + " is an invalid type for the primary key.";
            invalid(message, () -> t.get(t.shared(1), key));
            invalid(message, () -> t.put(t.shared(1), key, c("v", 1)));
            invalid(message, () -> t.update(updateChange(t.shared(1), key).put(c("v", 1))));
            invalid(message, () -> t.delete(deleteChange(t.shared(1), key)));
            invalid(message, () -> t.batchWrite(putChange(t.shared(1), key, c("v", 1))));
            invalid(message, () -> t.batchGet(multi(t.shared(1), key)));
        }
    }

    @Test @DisplayName("atomic: all rows of one partition key")
    void allRowsOfOnePartitionKey() throws Exception {
        for (BatchWriteRowResponse.RowResult row : atomic(t, t.shared(1), putChange(t.shared(1), t.key(1), c("v", 1)), putChange(t.shared(1), t.key(2), c("v", 2)))) {
            check(row.isSucceed(), "a row failed");
        }
        wantCells("second", t.get(t.shared(1), t.key(2)), "v", 2);
    }

    @Test @DisplayName("atomic: two partition keys fail every row")
    void twoPartitionKeysFailEveryRow() throws Exception {
        String table = t.intTable();
        for (BatchWriteRowResponse.RowResult row : atomic(t, table, putChange(table, pk("pk", 0), c("v", 1)), putChange(table, pk("pk", 1), c("v", 1)))) {
            rowError("OTSDataOutOfRange", "Data out of scope of atomic. Atomic PartKey:0. Data PartKey:1", row.getError());
        }
        equal("row", t.get(table, pk("pk", 0)), null);
    }

    @Test @DisplayName("atomic: one failing condition fails every row")
    void oneFailingConditionFailsEveryRow() throws Exception {
        RowPutChange failing = putChange(t.shared(1), t.key(2), c("v", 2));
        failing.setCondition(expect(RowExistenceExpectation.EXPECT_EXIST));
        for (BatchWriteRowResponse.RowResult row : atomic(t, t.shared(1), putChange(t.shared(1), t.key(1), c("v", 1)), failing)) {
            check(!row.isSucceed(), "a row succeeded");
        }
        equal("row", t.get(t.shared(1), t.key(1)), null);
    }

    @Test @DisplayName("range error: equal or reversed bounds")
    void equalOrReversedBounds() throws Exception {
        String table = t.intTable();
        for (int end : new int[] {5, 4}) {
            invalid("Begin key must less than end key in FORWARD", () -> t.getRange(range(table, pk("pk", 5), pk("pk", end))));
        }
        for (int end : new int[] {5, 6}) {
            invalid("Begin key must more than end key in BACKWARD", () -> t.getRange(backward(table, pk("pk", 5), pk("pk", end))));
        }
    }

    @Test @DisplayName("range error: bounds that do not fit the key")
    void boundsThatDoNotFitTheKey() throws Exception {
        String table = t.intTable();
        error(400, "OTSInvalidPK", "Validate PK type fail. Input: VT_STRING, Meta: VT_INTEGER.", () -> t.getRange(range(table, pk("pk", "text"), pk("pk", MAX))));
    }
}
