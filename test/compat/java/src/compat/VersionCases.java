package compat;

import static compat.T.*;

import com.alicloud.openservices.tablestore.model.*;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Versions, time ranges and client timestamps. */
final class VersionCases extends Case {
    /** Writes the values 1 to 4 at base+1 to base+4 and returns base. */
    static long fourVersions(T t, String table, PrimaryKey key) {
        long base = System.currentTimeMillis() - 1000;
        t.put(table, key, c("v", 1, base + 1), c("v", 2, base + 2), c("v", 3, base + 3), c("v", 4, base + 4));
        return base;
    }

    private static Row within(T t, TimeRange times, int maxVersions) {
        SingleRowQueryCriteria criteria = new SingleRowQueryCriteria(t.shared(5), t.key(0));
        criteria.setTimeRange(times);
        if (maxVersions > 0) {
            criteria.setMaxVersions(maxVersions);
        }
        return t.get(criteria);
    }

    @Test @DisplayName("version: three updates without a timestamp are three versions")
    void threeUpdatesWithoutATimestampAreThreeVersions() throws Exception {
        for (int n = 1; n <= 3; n++) {
            t.update(updateChange(t.shared(5), t.key(0)).put(c("v", n)));
        }
        wantCells("versions", t.getVersions(t.shared(5), t.key(0), 5), "v", 3, "v", 2, "v", 1);
    }

    @Test @DisplayName("version: newest first, as many as asked")
    void newestFirstAsManyAsAsked() throws Exception {
        long base = fourVersions(t, t.shared(5), t.key(0));
        wantCells("two", t.getVersions(t.shared(5), t.key(0), 2), "v", 4, "v", 3);
        Row all = t.getVersions(t.shared(5), t.key(0), 100);
        wantCells("all", all, "v", 4, "v", 3, "v", 2, "v", 1);
        equal("timestamp", all.getColumns()[3].getTimestamp(), base + 1);
    }

    @Test @DisplayName("version: time range, specific time, both with max versions")
    void timeRangeSpecificTimeBothWithMaxVersions() throws Exception {
        long base = fourVersions(t, t.shared(5), t.key(0));
        wantCells("range", within(t, new TimeRange(base + 2, base + 4), 0), "v", 3, "v", 2);
        wantCells("specific", within(t, new TimeRange(base + 2, base + 3), 0), "v", 2);
        wantCells("newest in the range", within(t, new TimeRange(base, base + 4), 1), "v", 3);
    }

    @Test @DisplayName("version: a range of time without cells leaves the key")
    void aRangeOfTimeWithoutCellsLeavesTheKey() throws Exception {
        long base = fourVersions(t, t.shared(5), t.key(0));
        RangeRowQueryCriteria criteria = range(t.shared(5), t.key(0), t.key(1));
        criteria.setTimeRange(new TimeRange(1, base));
        Pages all = t.readAll(criteria);
        equal("rows", all.rows().size(), 1);
        equal("columns", all.rows().get(0).getColumns().length, 0);
    }

    @Test @DisplayName("version: the oldest go when there are too many")
    void theOldestGoWhenThereAreTooMany() throws Exception {
        long base = System.currentTimeMillis() - 1000;
        for (int n = 1; n <= 8; n++) {
            t.update(updateChange(t.shared(5), t.key(0)).put(c("v", n, base + n)));
        }
        wantCells("versions", t.getVersions(t.shared(5), t.key(0), 10), "v", 8, "v", 7, "v", 6, "v", 5, "v", 4);
    }

    @Test @DisplayName("version: the same timestamp twice, the last wins")
    void theSameTimestampTwiceTheLastWins() throws Exception {
        long now = System.currentTimeMillis();
        t.update(updateChange(t.shared(5), t.key(0)).put(c("v", "first", now)));
        t.update(updateChange(t.shared(5), t.key(0)).put(c("v", "second", now)));
        wantCells("versions", t.getVersions(t.shared(5), t.key(0), 5), "v", "second");
    }

    @Test @DisplayName("version: delete one and all, then write again")
    void deleteOneAndAllThenWriteAgain() throws Exception {
        long base = fourVersions(t, t.shared(5), t.key(0));
        t.update(updateChange(t.shared(5), t.key(0)).deleteColumn("v", base + 4).deleteColumn("v", base + 99));
        wantCells("newest", t.get(t.shared(5), t.key(0)), "v", 3);
        t.update(updateChange(t.shared(5), t.key(0)).deleteColumns("v"));
        equal("columns", t.getVersions(t.shared(5), t.key(0), 5).getColumns().length, 0);
        t.update(updateChange(t.shared(5), t.key(0)).put(c("v", 9, base + 2)));
        wantCells("versions", t.getVersions(t.shared(5), t.key(0), 5), "v", 9);
    }

    @Test @DisplayName("version: max versions lowered")
    void maxVersionsLowered() throws Exception {
        String table = t.create(createRequest(uniqueName(), 5, key("pk", PrimaryKeyType.INTEGER)));
        fourVersions(t, table, pk("pk", 1));
        UpdateTableRequest request = new UpdateTableRequest(table);
        TableOptions options = new TableOptions();
        options.setMaxVersions(2);
        request.setTableOptionsForUpdate(options);
        equal("TTL stays", t.client.updateTable(request).getTableOptions().getTimeToLive(), -1);
        wantCells("versions", t.getVersions(table, pk("pk", 1), 5), "v", 4, "v", 3);
    }

    @Test @DisplayName("version: a timestamp too far from now, or out of range")
    void aTimestampTooFarFromNowOrOutOfRange() throws Exception {
        long day = 86400_000;
        for (long at : new long[] {System.currentTimeMillis() - 2 * day, System.currentTimeMillis() + 2 * day}) {
            invalid("Invalid timestamp. Cell:v.", () -> t.put(t.shared(1), t.key(0), c("fine", 1), c("v", 1, at)));
        }
        equal("row", t.get(t.shared(1), t.key(0)), null);
        invalid("Timestamp must be in range [0, INT64_MAX/1000).", () -> t.put(t.shared(1), t.key(0), c("v", 1, Long.MAX_VALUE / 1000)));
    }

    @Test @DisplayName("version: a read must say which")
    void aReadMustSayWhich() throws Exception {
        SingleRowQueryCriteria one = new SingleRowQueryCriteria(t.shared(1), t.key(0));
        invalid("No version condition is specified.", () -> t.get(one));
        RangeRowQueryCriteria range = new RangeRowQueryCriteria(t.shared(1));
        range.setInclusiveStartPrimaryKey(t.key(0));
        range.setExclusiveEndPrimaryKey(t.key(1));
        invalid("No version condition is specified.", () -> t.getRange(range));
        MultiRowQueryCriteria many = new MultiRowQueryCriteria(t.shared(1));
        many.addRow(t.key(0));
        invalid("No version condition is specified while querying row.", () -> t.batchGet(many));
    }
}
