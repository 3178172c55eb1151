package compat;

import static compat.T.*;

import com.alicloud.openservices.tablestore.model.*;
import java.util.Iterator;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Reading in key order. */
final class RangeCases extends EveryClient {
    @Test @DisplayName("range: forward over several pages")
    void forwardOverSeveralPages() throws Exception {
        RangeRowQueryCriteria criteria = everyRow(t.numbered(-12, 13));
        criteria.setLimit(7);
        Pages all = t.readAll(criteria);
        equal("keys", firstKeys(all.rows()), count(-12, 13));
        equal("pages", all.count(), 4);
        wantCells("first row", all.rows().get(0), "v", -12);
    }

    @Test @DisplayName("range: backward over several pages")
    void backwardOverSeveralPages() throws Exception {
        RangeRowQueryCriteria criteria = backward(t.numbered(-12, 13), pk("pk", MAX), pk("pk", MIN));
        criteria.setLimit(7);
        Pages all = t.readAll(criteria);
        equal("keys", firstKeys(all.rows()), count(12, -13));
        equal("pages", all.count(), 4);
    }

    @Test @DisplayName("range: the SDK's iterator")
    void theSDKSIterator() throws Exception {
        RangeIteratorParameter parameter = new RangeIteratorParameter(t.numbered(0, 25));
        parameter.setInclusiveStartPrimaryKey(pk("pk", MIN));
        parameter.setExclusiveEndPrimaryKey(pk("pk", MAX));
        parameter.setMaxVersions(1);
        parameter.setMaxCount(20);
        parameter.setBufferSize(6);
        int n = 0;
        for (Iterator<Row> rows = t.client.createRangeIterator(parameter); rows.hasNext(); n++) {
            equal("key", rows.next().getPrimaryKey(), pk("pk", n));
        }
        equal("rows", n, 20);
    }

    @Test @DisplayName("range: start is inclusive, end is exclusive")
    void startIsInclusiveEndIsExclusive() throws Exception {
        String table = t.numbered(0, 10);
        equal("forward", firstKeys(t.readAll(range(table, pk("pk", 3), pk("pk", 7))).rows()), count(3, 7));
        equal("backward", firstKeys(t.readAll(backward(table, pk("pk", 7), pk("pk", 3))).rows()), count(7, 3));
    }

    @Test @DisplayName("range: an empty table")
    void anEmptyTable() throws Exception {
        Pages all = t.readAll(everyRow(t.intTable()));
        equal("rows", all.rows().size(), 0);
        equal("pages", all.count(), 1);
    }

    @Test @DisplayName("range: strings sort as bytes")
    void stringsSortAsBytes() throws Exception {
        String table = t.table(key("pk", PrimaryKeyType.STRING));
        Object[] sorted = {"", "\0", "1", "10", "2", "A", "a", "a\0", "a\0b", "ab", "b", "é", "中", "🙂"};
        for (int i = 0; i < sorted.length; i++) {
            t.put(table, pk("pk", sorted[i * 5 % sorted.length]));
        }
        equal("keys", firstKeys(t.readAll(everyRow(table)).rows()), keys(sorted));
    }

    @Test @DisplayName("range: binaries sort as unsigned bytes")
    void binariesSortAsUnsignedBytes() throws Exception {
        String table = t.table(key("pk", PrimaryKeyType.BINARY));
        Object[] sorted = {new byte[0], new byte[] {0}, new byte[] {0, 0}, new byte[] {0, -1}, new byte[] {1}, new byte[] {127}, new byte[] {-128}, new byte[] {-1}};
        for (int i = 0; i < sorted.length; i++) {
            t.put(table, pk("pk", sorted[i * 5 % sorted.length]));
        }
        equal("keys", firstKeys(t.readAll(everyRow(table)).rows()), keys(sorted));
    }

    @Test @DisplayName("range: infinities in the middle of a key")
    void infinitiesInTheMiddleOfAKey() throws Exception {
        String table = t.table(key("a", PrimaryKeyType.INTEGER), key("b", PrimaryKeyType.INTEGER));
        for (int n = 0; n < 9; n++) {
            t.put(table, pk("a", n / 3, "b", n % 3));
        }
        List<Row> rows = t.readAll(range(table, pk("a", 0, "b", MAX), pk("a", 2, "b", MIN))).rows();
        equal("rows of the middle value", rows.size(), 3);
        equal("first", rows.get(0).getPrimaryKey(), pk("a", 1, "b", 0));
    }
}
