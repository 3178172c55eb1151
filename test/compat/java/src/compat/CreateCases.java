package compat;

import static compat.T.*;

import com.alicloud.openservices.tablestore.InternalClient;
import com.alicloud.openservices.tablestore.model.*;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** What CreateTable refuses, and partitions given at creation. */
final class CreateCases extends Case {
    private static final PrimaryKeySchema PK = key("pk", PrimaryKeyType.INTEGER);

    /** SyncClient never sends split points, so this goes through the client below it. */
    private static String presplit(T t, PrimaryKeyType type, List<PrimaryKeyValue> points) throws Exception {
        String table = uniqueName();
        TableMeta meta = new TableMeta(table);
        meta.addPrimaryKeyColumn("pk", type);
        meta.addPrimaryKeyColumn("second", PrimaryKeyType.INTEGER);
        CreateTableRequestEx request = new CreateTableRequestEx(meta, new TableOptions(-1, 1));
        // The SDK checks the list once and keeps it: points of a wrong type are added after that.
        List<PrimaryKeyValue> sent = new ArrayList<>(List.of(points.get(0).getType() == type ? points.get(0) : any(type)));
        request.setSplitPoints(sent);
        sent.clear();
        sent.addAll(points);
        InternalClient client = new InternalClient(Server.ENDPOINT, Server.KEY_ID, Server.SECRET, Server.INSTANCE, Server.config());
        try {
            client.createTableEx(request, null).get();
        } finally {
            client.shutdown();
        }
        t.owns(table);
        return table;
    }

    private static PrimaryKeyValue any(PrimaryKeyType type) {
        return type == PrimaryKeyType.INTEGER ? keyValue(1) : type == PrimaryKeyType.STRING ? keyValue("x") : keyValue(new byte[] {1});
    }

    private static List<PrimaryKeyValue> points(Object... values) {
        List<PrimaryKeyValue> out = new ArrayList<>();
        for (Object v : values) {
            out.add(keyValue(v));
        }
        return out;
    }

    private static void wantSplits(T t, PrimaryKeyType type, Object... values) throws Exception {
        String table = presplit(t, type, points(values));
        List<PrimaryKey> splits = t.describe(table).getShardSplits();
        equal("number of split points", splits.size(), values.length);
        for (int i = 0; i < values.length; i++) {
            equal("split point", splits.get(i), pk("pk", values[i]));
            t.put(table, pk("pk", values[i], "second", i), c("v", i));
        }
        Pages all = t.readAll(range(table, pk("pk", MIN, "second", MIN), pk("pk", MAX, "second", MAX)));
        equal("rows over all partitions", firstKeys(all.rows()), keys(values));
    }

    @Test @DisplayName("create: a key name given twice")
    void aKeyNameGivenTwice() throws Exception {
        invalid("Duplicated primary key name: 'PK0'.",
            () -> t.table(key("PK0", PrimaryKeyType.INTEGER), key("PK0", PrimaryKeyType.STRING)));
    }

    @Test @DisplayName("create: five key columns")
    void fiveKeyColumns() throws Exception {
        PrimaryKeySchema[] five = new PrimaryKeySchema[5];
        for (int n = 0; n < 5; n++) {
            five[n] = key("k" + n, PrimaryKeyType.INTEGER);
        }
        invalid("The number of primary key columns must be in range: [1, 4].", () -> t.table(five));
    }

    @Test @DisplayName("create: bad table names in every operation")
    void badTableNamesInEveryOperation() throws Exception {
        for (String name : new String[] {"0", "#", "中文", "T#", "T中文", "3t", "-", repeat('n', 256)}) {
            String message = "Invalid table name: '" + name + "'.";
            invalid(message, () -> t.client.createTable(createRequest(name, 1, PK)));
            for (Call call : ErrorCases.tableCalls(t, name).values()) {
                invalid(message, call);
            }
        }
    }

    @Test @DisplayName("create: a table name of 255 bytes")
    void aTableNameOf255Bytes() throws Exception {
        String name = uniqueName() + "_";
        t.create(createRequest(name + repeat('n', 255 - name.length()), 1, PK));
    }

    @Test @DisplayName("create: 33 defined columns")
    void of33DefinedColumns() throws Exception {
        CreateTableRequest request = createRequest(uniqueName(), 1, PK);
        for (int n = 0; n < 33; n++) {
            request.getTableMeta().addDefinedColumn("d" + n, DefinedColumnType.INTEGER);
        }
        invalid("The number of defined columns must be in range: [0, 32].", () -> t.create(request));
    }

    @Test @DisplayName("presplit: integers, strings and binaries")
    void integersStringsAndBinaries() throws Exception {
        wantSplits(t, PrimaryKeyType.INTEGER, -100, 0, 100);
        wantSplits(t, PrimaryKeyType.STRING, "a", "b", "bb");
        wantSplits(t, PrimaryKeyType.BINARY, new byte[] {1}, new byte[] {1, 0}, new byte[] {-1});
    }

    @Test @DisplayName("presplit: 10 partitions are allowed, 11 are not")
    void of10PartitionsAreAllowed11AreNot() throws Exception {
        wantSplits(t, PrimaryKeyType.INTEGER, 1, 2, 3, 4, 5, 6, 7, 8, 9);
        invalid("The count of partitions cannot be greater than 10",
                () -> presplit(t, PrimaryKeyType.INTEGER, points(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)));
    }

    @Test @DisplayName("presplit: the ends of the integers")
    void theEndsOfTheIntegers() throws Exception {
        String message = "The value of partition range can not be INT64_MIN or INT64_MAX.";
        invalid(message, () -> presplit(t, PrimaryKeyType.INTEGER, points(Long.MIN_VALUE, 1)));
        invalid(message, () -> presplit(t, PrimaryKeyType.INTEGER, points(1, Long.MAX_VALUE)));
    }

    @Test @DisplayName("presplit: empty values")
    void emptyValues() throws Exception {
        invalid("The value of partition range can not be empty string.", () -> presplit(t, PrimaryKeyType.STRING, points("", "a")));
        invalid("The value of partition range can not be empty binary.", () -> presplit(t, PrimaryKeyType.BINARY, points(new byte[0], new byte[] {1})));
    }

    @Test @DisplayName("presplit: a value of 64 bytes is allowed, 65 are not")
    void aValueOf64BytesIsAllowed65AreNot() throws Exception {
        wantSplits(t, PrimaryKeyType.STRING, repeat('x', 64));
        invalid("The value of partition range exceeds the MaxLength:64 with CurrentLength:65.",
                () -> presplit(t, PrimaryKeyType.STRING, points(repeat('x', 65))));
    }

    @Test @DisplayName("presplit: a value of another type")
    void aValueOfAnotherType() throws Exception {
        invalid("The value type of partition does not match with primary key.",
            () -> presplit(t, PrimaryKeyType.INTEGER, points("text")));
    }
}
