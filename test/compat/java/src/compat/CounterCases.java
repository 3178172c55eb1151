package compat;

import static compat.T.*;

import com.alicloud.openservices.tablestore.model.*;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Atomic increments. */
final class CounterCases extends Case {
    private static RowUpdateChange increment(T t, int n, Column by) {
        return updateChange(t.shared(1), t.key(n)).increment(by);
    }

    @Test @DisplayName("counter: counts from nothing, up and down")
    void countsFromNothingUpAndDown() throws Exception {
        for (int by : new int[] {5, 7, -20}) {
            t.update(increment(t, 0, c("n", by)));
        }
        wantCells("columns", t.get(t.shared(1), t.key(0)), "n", -8);
    }

    @Test @DisplayName("counter: doubles")
    void doubles() throws Exception {
        t.update(increment(t, 0, c("d", 1.5)));
        t.update(increment(t, 0, c("d", -4.0)));
        wantCells("columns", t.get(t.shared(1), t.key(0)), "d", -2.5);
    }

    @Test @DisplayName("counter: returns the new values")
    void returnsTheNewValues() throws Exception {
        t.put(t.shared(1), t.key(0), c("n", 100), c("d", 0.5), c("other", 1));
        RowUpdateChange change = increment(t, 0, c("n", 11)).increment(c("d", 0.25));
        change.setReturnType(ReturnType.RT_AFTER_MODIFY);
        change.addReturnColumn("n");
        change.addReturnColumn("d");
        Row row = t.update(change).getRow();
        wantCells("returned columns", row, "d", 0.75, "n", 111);
        equal("returned key", row.getPrimaryKey(), t.key(0));
    }

    @Test @DisplayName("counter: together with puts and deletes of other columns")
    void togetherWithPutsAndDeletesOfOtherColumns() throws Exception {
        t.put(t.shared(1), t.key(0), c("n", 1), c("old", 1));
        t.update(increment(t, 0, c("n", 1)).put(c("new", "x")).deleteColumns("old"));
        wantCells("columns", t.get(t.shared(1), t.key(0)), "n", 2, "new", "x");
    }

    @Test @DisplayName("counter: not a number, and overflow")
    void notANumberAndOverflow() throws Exception {
        t.put(t.shared(1), t.key(0), c("n", "text"), c("m", Long.MAX_VALUE));
        refused(400, INVALID, () -> t.update(increment(t, 0, c("n", 1))));
        refused(400, INVALID, () -> t.update(increment(t, 0, c("m", 1))));
        wantCells("unchanged", t.get(t.shared(1), t.key(0)), "m", Long.MAX_VALUE, "n", "text");
    }

    @Test @DisplayName("counter: return columns must fit the request")
    void returnColumnsMustFitTheRequest() throws Exception {
        t.put(t.shared(1), t.key(0), c("n", 1), c("other", 1));
        RowUpdateChange change = increment(t, 0, c("n", 1));
        change.setReturnType(ReturnType.RT_AFTER_MODIFY);
        change.addReturnColumn("other");
        refused(400, INVALID, () -> t.update(change));
        RowUpdateChange keyOnly = increment(t, 0, c("n", 1));
        keyOnly.setReturnType(ReturnType.RT_PK);
        keyOnly.addReturnColumn("n");
        refused(400, INVALID, () -> t.update(keyOnly));
        wantCells("unchanged", t.get(t.shared(1), t.key(0)), "n", 1, "other", 1);
    }

    @Test @DisplayName("counter: in a batch")
    void inABatch() throws Exception {
        RowUpdateChange change = increment(t, 2, c("n", 2));
        change.setReturnType(ReturnType.RT_AFTER_MODIFY);
        change.addReturnColumn("n");
        BatchWriteRowResponse answer = t.batchWrite(increment(t, 1, c("n", 1)), change);
        check(answer.isAllSucceed(), "a row failed");
        wantCells("returned", answer.getRowStatus(t.shared(1)).get(1).getRow(), "n", 2);
    }
}
