package compat;

import static compat.T.*;

import com.alicloud.openservices.tablestore.model.*;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Sizes and counts at and beyond their limits. */
final class LimitCases extends Case {
    private static final int MAX_CELL = 2 << 20;

    private static Column[] columns(int n) {
        Column[] out = new Column[n];
        String[] names = ColumnCases.names(n);
        for (int i = 0; i < n; i++) {
            out[i] = c(names[i], 1);
        }
        return out;
    }

    @Test @DisplayName("limit: a cell of 2 MiB, and one byte more")
    void aCellOf2MiBAndOneByteMore() throws Exception {
        String message = "The length of attribute column: 'v' exceeds the MaxLength:2097152 with CurrentLength:2097153.";
        t.put(t.shared(1), t.key(0), c("v", repeat('x', MAX_CELL)));
        equal("length", t.get(t.shared(1), t.key(0)).getLatestColumn("v").getValue().asString(), repeat('x', MAX_CELL));
        invalid(message, () -> t.put(t.shared(1), t.key(0), c("v", repeat('x', MAX_CELL + 1))));
        t.put(t.shared(1), t.key(0), c("v", new byte[MAX_CELL]));
        equal("bytes", t.get(t.shared(1), t.key(0)).getLatestColumn("v").getValue().asBinary(), new byte[MAX_CELL]);
        invalid(message, () -> t.put(t.shared(1), t.key(0), c("v", new byte[MAX_CELL + 1])));
    }

    @Test @DisplayName("limit: a key of 1024 bytes, and one byte more")
    void aKeyOf1024BytesAndOneByteMore() throws Exception {
        String message = "The length of primary key column: 'pk_0' exceeds the MaxLength:1024 with CurrentLength:1025.";
        String strings = t.table(key("pk_0", PrimaryKeyType.STRING));
        t.put(strings, pk("pk_0", repeat('x', 1024)), c("v", 1));
        invalid(message, () -> t.put(strings, pk("pk_0", repeat('x', 1025)), c("v", 1)));
        String binaries = t.table(key("pk_0", PrimaryKeyType.BINARY));
        t.put(binaries, pk("pk_0", new byte[1024]), c("v", 1));
        invalid(message, () -> t.put(binaries, pk("pk_0", new byte[1025]), c("v", 1)));
    }

    @Test @DisplayName("limit: 1024 columns in one write, and one more")
    void of1024ColumnsInOneWriteAndOneMore() throws Exception {
        t.put(t.shared(1), t.key(0), columns(1024));
        equal("columns", t.get(t.shared(1), t.key(0)).getColumns().length, 1024);
        invalid("The number of attribute columns exceeds the limit, limit count: 1024, column count: 1025.",
                () -> t.put(t.shared(1), t.key(0), columns(1025)));
    }

    @Test @DisplayName("limit: a page holds 5000 rows, also under a filter")
    void aPageHolds5000RowsAlsoUnderAFilter() throws Exception {
        String table = t.numbered(0, 5200);
        GetRangeResponse page = t.getRange(everyRow(table));
        equal("rows of the first page", page.getRows().size(), 5000);
        equal("next key", page.getNextStartPrimaryKey(), pk("pk", 5000));
        RangeRowQueryCriteria filtered = everyRow(table);
        filtered.setFilter(is("v", 5100));
        equal("filtered rows of the first page", t.getRange(filtered).getRows().size(), 0);
        Pages all = t.readAll(filtered);
        equal("pages", all.count(), 2);
        equal("rows", firstKeys(all.rows()), "[5100]");
    }

    @Test @DisplayName("limit: a page holds 4 MB")
    void aPageHolds4MB() throws Exception {
        String table = t.intTable();
        for (int n = 0; n < 6; n++) {
            t.put(table, pk("pk", n), c("v", repeat('x', 1 << 20)));
        }
        GetRangeResponse page = t.getRange(everyRow(table));
        check(page.getRows().size() >= 3 && page.getRows().size() <= 5, page.getRows().size() + " rows of 1 MiB in one page");
        check(page.getNextStartPrimaryKey() != null, "there is no next key");
        equal("all rows", firstKeys(t.readAll(everyRow(table)).rows()), count(0, 6));
    }

    @Test @DisplayName("limit: a body of more than 5 MB")
    void aBodyOfMoreThan5MB() throws Exception {
        RowPutChange change = putChange(t.shared(1), t.key(0));
        for (int n = 0; n < 6; n++) {
            change.addColumn(c("c" + n, repeat('x', 1 << 20)));
        }
        refused(413, "OTSRequestBodyTooLarge", () -> t.put(change));
    }
}
