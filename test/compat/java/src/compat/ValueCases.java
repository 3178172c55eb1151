package compat;

import static compat.T.*;

import com.alicloud.openservices.tablestore.model.*;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import java.util.stream.Stream;

/** Every type as attribute and as key. */
final class ValueCases extends EveryClient {
    private static byte[] allBytes() {
        byte[] out = new byte[256];
        for (int i = 0; i < out.length; i++) {
            out[i] = (byte) i;
        }
        return out;
    }

    static Stream<Arguments> attributes() {
        Object[][] values = {
            {Long.MIN_VALUE, Long.MAX_VALUE, 0L, -1L},
            {"", "plain", "中文 ünïcödé 🙂", "with\u0000zero", repeat('x', 5000)},
            {new byte[0], new byte[] {0}, new byte[] {97, 0, 98, 0}, allBytes()},
            {0.0, -1.5, Double.MAX_VALUE, Double.MIN_VALUE, -Double.MAX_VALUE, 1e-300},
            {true, false},
        };
        return Stream.of(values).map(v -> Arguments.of(value(v[0]).getType(), v));
    }

    @ParameterizedTest(name = "value: {0} attributes") @MethodSource("attributes")
    void attributes(ColumnType type, Object[] values) {
        Column[] columns = new Column[values.length];
        for (int i = 0; i < values.length; i++) {
            columns[i] = c("c" + i, values[i]);
        }
        t.put(t.shared(1), t.key(0), columns);
        equal("columns", cells(t.get(t.shared(1), t.key(0))), cells(columns));
    }

    @Test @DisplayName("value: every type in one row")
    void everyTypeInOneRow() throws Exception {
        t.put(t.shared(1), t.key(0), c("a", 1), c("b", "s"), c("c", new byte[] {0, 1}), c("d", 2.5), c("e", true));
        wantCells("columns", t.get(t.shared(1), t.key(0)), "a", 1, "b", "s", "c", new byte[] {0, 1}, "d", 2.5, "e", true);
    }

    static Stream<Arguments> keys() {
        Object[][] values = {
            {Long.MIN_VALUE, -1L, 0L, 1L, Long.MAX_VALUE},
            {"", "\0", "a", "a\0b", "中文", repeat('k', 1024)},
            {new byte[0], new byte[] {0}, new byte[] {0, 0}, new byte[] {(byte) 0xff}, allBytes()},
        };
        return Stream.of(values).map(v -> Arguments.of(keyValue(v[0]).getType(), v));
    }

    @ParameterizedTest(name = "value: {0} keys") @MethodSource("keys")
    void keys(PrimaryKeyType type, Object[] values) {
        String table = t.table(key("pk", type));
        for (int i = 0; i < values.length; i++) {
            t.put(table, pk("pk", values[i]), c("n", i));
        }
        for (int i = 0; i < values.length; i++) {
            Row row = t.get(table, pk("pk", values[i]));
            wantCells("row under " + show(values[i]), row, "n", i);
            equal("key", row.getPrimaryKey(), pk("pk", values[i]));
        }
    }

    @Test @DisplayName("value: three key types in one key")
    void threeKeyTypesInOneKey() throws Exception {
        String table = t.table(key("i", PrimaryKeyType.INTEGER), key("s", PrimaryKeyType.STRING), key("b", PrimaryKeyType.BINARY));
        PrimaryKey key = pk("i", -5, "s", "text", "b", new byte[] {0, 1});
        t.put(table, key, c("v", 1));
        equal("key", t.get(table, key).getPrimaryKey(), key);
    }
}
