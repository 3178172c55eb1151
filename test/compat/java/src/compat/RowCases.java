package compat;

import static compat.T.*;

import com.alicloud.openservices.tablestore.model.*;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** One row at a time. */
final class RowCases extends EveryClient {
    @Test @DisplayName("row: put and get")
    void putAndGet() throws Exception {
        t.put(t.shared(1), t.key(7), c("v", "hello"));
        Row row = t.get(t.shared(1), t.key(7));
        equal("key", row.getPrimaryKey(), t.key(7));
        wantCells("columns", row, "v", "hello");
        long age = System.currentTimeMillis() - row.getColumns()[0].getTimestamp();
        check(Math.abs(age) < 60000, "the server's timestamp is " + age + " ms old");
    }

    @Test @DisplayName("row: put replaces the whole row")
    void putReplacesTheWholeRow() throws Exception {
        t.put(t.shared(1), t.key(0), c("old", 1), c("both", 1));
        t.put(t.shared(1), t.key(0), c("both", 2), c("new", 2));
        wantCells("columns", t.get(t.shared(1), t.key(0)), "both", 2, "new", 2);
    }

    @Test @DisplayName("row: a key without columns is a row")
    void aKeyWithoutColumnsIsARow() throws Exception {
        t.put(t.shared(1), t.key(0));
        equal("columns", t.get(t.shared(1), t.key(0)).getColumns().length, 0);
    }

    @Test @DisplayName("row: get of an absent row")
    void getOfAnAbsentRow() throws Exception {
        equal("row", t.get(t.shared(1), t.key(404)), null);
    }

    @Test @DisplayName("row: update creates a row and leaves other columns")
    void updateCreatesARowAndLeavesOtherColumns() throws Exception {
        t.update(updateChange(t.shared(1), t.key(0)).put(c("a", 1)).put(c("b", 1)));
        t.update(updateChange(t.shared(1), t.key(0)).put(c("b", 2)).put(c("c", 2)));
        wantCells("columns", t.get(t.shared(1), t.key(0)), "a", 1, "b", 2, "c", 2);
    }

    @Test @DisplayName("row: update deletes a column")
    void updateDeletesAColumn() throws Exception {
        t.put(t.shared(1), t.key(0), c("a", 1), c("b", 1));
        t.update(updateChange(t.shared(1), t.key(0)).deleteColumns("a").deleteColumns("absent"));
        wantCells("columns", t.get(t.shared(1), t.key(0)), "b", 1);
    }

    @Test @DisplayName("row: update deletes one version")
    void updateDeletesOneVersion() throws Exception {
        long now = System.currentTimeMillis();
        t.put(t.shared(5), t.key(0), c("v", "old", now - 2), c("v", "middle", now - 1), c("v", "new", now));
        t.update(updateChange(t.shared(5), t.key(0)).deleteColumn("v", now - 1));
        wantCells("versions", t.getVersions(t.shared(5), t.key(0), 5), "v", "new", "v", "old");
    }

    @Test @DisplayName("row: an update made only of deletes creates nothing")
    void anUpdateMadeOnlyOfDeletesCreatesNothing() throws Exception {
        t.update(updateChange(t.shared(1), t.key(0)).deleteColumns("v"));
        equal("row", t.get(t.shared(1), t.key(0)), null);
    }

    @Test @DisplayName("row: delete, also when absent")
    void deleteAlsoWhenAbsent() throws Exception {
        t.put(t.shared(1), t.key(0), c("v", 1));
        t.delete(deleteChange(t.shared(1), t.key(0)));
        equal("row", t.get(t.shared(1), t.key(0)), null);
        t.delete(deleteChange(t.shared(1), t.key(0)));
    }

    @Test @DisplayName("row: put returns its key if asked")
    void putReturnsItsKeyIfAsked() throws Exception {
        RowPutChange change = putChange(t.shared(1), t.key(3), c("v", 1));
        equal("row without asking", t.put(change).getRow(), null);
        change.setReturnType(ReturnType.RT_PK);
        equal("key", t.put(change).getRow().getPrimaryKey(), t.key(3));
    }
}
