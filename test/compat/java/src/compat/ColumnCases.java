package compat;

import static compat.T.*;

import com.alicloud.openservices.tablestore.model.*;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Which columns come back. */
final class ColumnCases extends Case {
    private static Row columns(T t, String... names) {
        SingleRowQueryCriteria criteria = query(t.shared(1), t.key(0));
        criteria.addColumnsToGet(names);
        return t.get(criteria);
    }

    static String[] names(int n) {
        String[] out = new String[n];
        for (int i = 0; i < n; i++) {
            out[i] = String.format("c%04d", i);
        }
        return out;
    }

    @Test @DisplayName("columns: some, key columns, none of them")
    void someKeyColumnsNoneOfThem() throws Exception {
        t.put(t.shared(1), t.key(0), c("a", 1), c("b", 2), c("c", 3));
        wantCells("some", columns(t, "c", "a", "absent"), "a", 1, "c", 3);
        Row row = columns(t, "p", "b");
        equal("key", row.getPrimaryKey(), t.key(0));
        wantCells("with a key column", row, "b", 2);
        equal("none", columns(t, "absent"), null);
    }

    @Test @DisplayName("columns: a range leaves out rows without them")
    void aRangeLeavesOutRowsWithoutThem() throws Exception {
        String table = t.intTable();
        t.put(table, pk("pk", 1), c("a", 1));
        t.put(table, pk("pk", 2), c("b", 1));
        RangeRowQueryCriteria criteria = everyRow(table);
        criteria.addColumnsToGet("b");
        equal("keys", firstKeys(t.readAll(criteria).rows()), "[2]");
    }

    @Test @DisplayName("columns: from start, before end")
    void fromStartBeforeEnd() throws Exception {
        t.put(t.shared(1), t.key(0), c("a", 1), c("b", 2), c("c", 3), c("d", 4));
        SingleRowQueryCriteria criteria = query(t.shared(1), t.key(0));
        criteria.setStartColumn("b");
        wantCells("from b", t.get(criteria), "b", 2, "c", 3, "d", 4);
        criteria.setEndColumn("d");
        wantCells("from b to d", t.get(criteria), "b", 2, "c", 3);
    }

    @Test @DisplayName("columns: the SDK's iterator over a wide row")
    void theSDKSIteratorOverAWideRow() throws Exception {
        t.put(t.shared(1), t.key(0), c("a", 1), c("b", 2), c("c", 3));
        var columns = t.client.createWideColumnIterator(new GetRowRequest(query(t.shared(1), t.key(0))));
        StringBuilder got = new StringBuilder();
        while (columns.hasNextColumn()) {
            got.append(columns.nextColumn().getName());
        }
        equal("columns", got.toString(), "abc");
    }

    @Test @DisplayName("columns: 1024 names are allowed, 1025 are not")
    void of1024NamesAreAllowed1025AreNot() throws Exception {
        t.put(t.shared(1), t.key(0), c("c0007", 1));
        wantCells("columns", columns(t, names(1024)), "c0007", 1);
        invalid("The number of columns from the request exceeds the limit, limit count: 1024, column count: 1025.", () -> columns(t, names(1025)));
    }
}
