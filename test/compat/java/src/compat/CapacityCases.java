package compat;

import static compat.T.*;

import com.alicloud.openservices.tablestore.model.*;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Consumed capacity units. */
final class CapacityCases extends EveryClient {
    @Test @DisplayName("capacity: single rows")
    void singleRows() throws Exception {
        Column big = c("v", repeat('x', 8192));
        RowPutChange guarded = putChange(t.shared(1), t.key(0), big);
        units("PutRow", t.put(t.shared(1), t.key(0), c("v", 1)).getConsumedCapacity(), 0, 1);
        guarded.setCondition(expect(RowExistenceExpectation.EXPECT_EXIST));
        units("PutRow under a condition", t.put(guarded).getConsumedCapacity(), 1, 3);
        units("GetRow", t.getRow(query(t.shared(1), t.key(0))).getConsumedCapacity(), 3, 0);
        units("GetRow of an absent row", t.getRow(query(t.shared(1), t.key(1))).getConsumedCapacity(), 1, 0);
        units("UpdateRow", t.update(updateChange(t.shared(1), t.key(0)).put(c("w", 1))).getConsumedCapacity(), 0, 1);
        RowDeleteChange delete = deleteChange(t.shared(1), t.key(0));
        delete.setCondition(expect(RowExistenceExpectation.EXPECT_EXIST));
        units("DeleteRow under a condition", t.delete(delete).getConsumedCapacity(), 1, 1);
    }

    @Test @DisplayName("capacity: batches count row by row")
    void batchesCountRowByRow() throws Exception {
        RowPutChange guarded = putChange(t.shared(1), t.key(2), c("v", 1));
        guarded.setCondition(expect(RowExistenceExpectation.EXPECT_NOT_EXIST));
        var written = t.batchWrite(putChange(t.shared(1), t.key(1), c("v", repeat('x', 8192))), guarded).getRowStatus(t.shared(1));
        units("first row written", written.get(0).getConsumedCapacity(), 0, 3);
        units("second row written", written.get(1).getConsumedCapacity(), 1, 1);
        List<BatchGetRowResponse.RowResult> read = t.batchGet(multi(t.shared(1), t.key(1), t.key(3))).getBatchGetRowResult(t.shared(1));
        units("first row read", read.get(0).getConsumedCapacity(), 3, 0);
        units("absent row read", read.get(1).getConsumedCapacity(), 1, 0);
    }

    @Test @DisplayName("capacity: a range is rounded once")
    void aRangeIsRoundedOnce() throws Exception {
        String table = t.intTable();
        t.fill(table, 0, 10, n -> new Column[] {c("v", repeat('x', 1000))});
        // 10 rows of 2 + 8 + 1 + 1000 bytes are 10110 bytes.
        units("GetRange", t.getRange(everyRow(table)).getConsumedCapacity(), 3, 0);
    }
}
