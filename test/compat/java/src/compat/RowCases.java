package compat;

import static compat.T.*;

import com.alicloud.openservices.tablestore.model.*;

/** One row at a time. */
final class RowCases {
    static void add(Suite s) {
        s.add("row: put and get", t -> {
            t.put(t.shared(1), t.key(7), c("v", "hello"));
            Row row = t.get(t.shared(1), t.key(7));
            equal("key", row.getPrimaryKey(), t.key(7));
            wantCells("columns", row, "v", "hello");
            long age = System.currentTimeMillis() - row.getColumns()[0].getTimestamp();
            check(Math.abs(age) < 60000, "the server's timestamp is " + age + " ms old");
        });

        s.add("row: put replaces the whole row", t -> {
            t.put(t.shared(1), t.key(0), c("old", 1), c("both", 1));
            t.put(t.shared(1), t.key(0), c("both", 2), c("new", 2));
            wantCells("columns", t.get(t.shared(1), t.key(0)), "both", 2, "new", 2);
        });

        s.add("row: a key without columns is a row", t -> {
            t.put(t.shared(1), t.key(0));
            equal("columns", t.get(t.shared(1), t.key(0)).getColumns().length, 0);
        });

        s.add("row: get of an absent row", t -> equal("row", t.get(t.shared(1), t.key(404)), null));

        s.add("row: update creates a row and leaves other columns", t -> {
            t.update(updateChange(t.shared(1), t.key(0)).put(c("a", 1)).put(c("b", 1)));
            t.update(updateChange(t.shared(1), t.key(0)).put(c("b", 2)).put(c("c", 2)));
            wantCells("columns", t.get(t.shared(1), t.key(0)), "a", 1, "b", 2, "c", 2);
        });

        s.add("row: update deletes a column", t -> {
            t.put(t.shared(1), t.key(0), c("a", 1), c("b", 1));
            t.update(updateChange(t.shared(1), t.key(0)).deleteColumns("a").deleteColumns("absent"));
            wantCells("columns", t.get(t.shared(1), t.key(0)), "b", 1);
        });

        s.add("row: update deletes one version", t -> {
            long now = System.currentTimeMillis();
            t.put(t.shared(5), t.key(0), c("v", "old", now - 2), c("v", "middle", now - 1), c("v", "new", now));
            t.update(updateChange(t.shared(5), t.key(0)).deleteColumn("v", now - 1));
            wantCells("versions", t.getVersions(t.shared(5), t.key(0), 5), "v", "new", "v", "old");
        });

        s.add("row: an update made only of deletes creates nothing", t -> {
            t.update(updateChange(t.shared(1), t.key(0)).deleteColumns("v"));
            equal("row", t.get(t.shared(1), t.key(0)), null);
        });

        s.add("row: delete, also when absent", t -> {
            t.put(t.shared(1), t.key(0), c("v", 1));
            t.delete(deleteChange(t.shared(1), t.key(0)));
            equal("row", t.get(t.shared(1), t.key(0)), null);
            t.delete(deleteChange(t.shared(1), t.key(0)));
        });

        s.add("row: put returns its key if asked", t -> {
            RowPutChange change = putChange(t.shared(1), t.key(3), c("v", 1));
            equal("row without asking", t.put(change).getRow(), null);
            change.setReturnType(ReturnType.RT_PK);
            equal("key", t.put(change).getRow().getPrimaryKey(), t.key(3));
        });
    }
}
