package compat;

import com.alicloud.openservices.tablestore.SyncClient;
import com.alicloud.openservices.tablestore.TableStoreException;
import com.alicloud.openservices.tablestore.model.*;
import com.alicloud.openservices.tablestore.model.condition.SingleColumnValueCondition;
import com.alicloud.openservices.tablestore.model.filter.ColumnValueFilter;
import com.alicloud.openservices.tablestore.model.filter.CompositeColumnValueFilter;
import com.alicloud.openservices.tablestore.model.filter.Filter;
import com.alicloud.openservices.tablestore.model.filter.SingleColumnValueFilter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.IntFunction;
import org.junit.jupiter.api.Assertions;

/** What a case works with: checks, and short forms of the SDK calls that many cases repeat. */
final class T {
    static final PrimaryKeyValue MIN = PrimaryKeyValue.INF_MIN;
    static final PrimaryKeyValue MAX = PrimaryKeyValue.INF_MAX;
    static final PrimaryKeyValue AUTO = PrimaryKeyValue.AUTO_INCREMENT;
    static final String INVALID = "OTSParameterInvalid";
    static final String CONDITION = "OTSConditionCheckFail";
    static final String CONDITION_TEXT = "Condition check failed.";

    final SyncClient client;
    final String name;
    private final List<String> tables = new ArrayList<>();

    T(SyncClient client, String name) {
        this.client = client;
        this.name = name;
    }

    // --- checks -----------------------------------------------------------------------------

    interface Call {
        void run() throws Exception;
    }

    static void fail(String text) {
        Assertions.fail(text);
    }

    static void check(boolean ok, String text) {
        if (!ok) {
            fail(text);
        }
    }

    static void equal(String what, Object actual, Object expected) {
        if (!Objects.deepEquals(actual, expected)) {
            fail(what + "\n  expected " + show(expected) + "\n  actual   " + show(actual));
        }
    }

    /** Keeps a failure readable when the value is megabytes long. */
    static String show(Object value) {
        String s = value instanceof byte[] bytes ? HexFormat.of().formatHex(bytes) : String.valueOf(value);
        return s.length() <= 300 ? s : s.substring(0, 300) + "... (" + s.length() + " characters)";
    }

    /** The refusal of a request, with the status and code expected and any message. */
    static TableStoreException refused(int status, String code, Call call) throws Exception {
        String expected = status + " " + code;
        try {
            call.run();
        } catch (TableStoreException e) {
            String actual = e.getHttpStatus() + " " + e.getErrorCode();
            if (!actual.equals(expected)) {
                fail("expected " + expected + "\n  actual   " + actual + " " + show(e.getMessage()));
            }
            return e;
        }
        fail("expected " + expected + "\n  actual   success");
        return null;
    }

    static void error(int status, String code, String message, Call call) throws Exception {
        equal("message of " + code, refused(status, code, call).getMessage(), message);
    }

    static void invalid(String message, Call call) throws Exception {
        error(400, INVALID, message, call);
    }

    static void conditionFails(Call call) throws Exception {
        error(403, CONDITION, CONDITION_TEXT, call);
    }

    static void rowError(String code, String message, com.alicloud.openservices.tablestore.model.Error error) {
        check(error != null, "expected " + code + "\n  actual   success");
        equal("row error", error.getCode() + " " + error.getMessage(), code + " " + message);
    }

    // --- values -----------------------------------------------------------------------------

    static ColumnValue value(Object v) {
        if (v instanceof ColumnValue already) {
            return already;
        }
        if (v instanceof Integer || v instanceof Long) {
            return ColumnValue.fromLong(((Number) v).longValue());
        }
        if (v instanceof Double d) {
            return ColumnValue.fromDouble(d);
        }
        if (v instanceof Boolean b) {
            return ColumnValue.fromBoolean(b);
        }
        return v instanceof byte[] bytes ? ColumnValue.fromBinary(bytes) : ColumnValue.fromString((String) v);
    }

    static PrimaryKeyValue keyValue(Object v) {
        if (v instanceof PrimaryKeyValue already) {
            return already;
        }
        if (v instanceof Integer || v instanceof Long) {
            return PrimaryKeyValue.fromLong(((Number) v).longValue());
        }
        return v instanceof byte[] bytes ? PrimaryKeyValue.fromBinary(bytes) : PrimaryKeyValue.fromString((String) v);
    }

    /** A key from name, value, name, value ... */
    static PrimaryKey pk(Object... parts) {
        PrimaryKeyBuilder key = PrimaryKeyBuilder.createPrimaryKeyBuilder();
        for (int i = 0; i < parts.length; i += 2) {
            key.addPrimaryKeyColumn((String) parts[i], keyValue(parts[i + 1]));
        }
        return key.build();
    }

    static Column c(String name, Object v) {
        return new Column(name, value(v));
    }

    static Column c(String name, Object v, long timestamp) {
        return new Column(name, value(v), timestamp);
    }

    /** The columns of a row as text, so that a difference can be read: "a=INTEGER:1 b=STRING:x". */
    static String cells(Column... columns) {
        List<String> out = new ArrayList<>();
        for (Column column : columns) {
            ColumnValue v = column.getValue();
            Object plain = v.getType() == ColumnType.BINARY ? HexFormat.of().formatHex(v.asBinary()) : v.getValue();
            out.add(column.getName() + "=" + v.getType() + ":" + plain);
        }
        return String.join(" ", out);
    }

    static String cells(Row row) {
        check(row != null, "there is no row");
        return cells(row.getColumns());
    }

    static String cells(Object... namesAndValues) {
        Column[] columns = new Column[namesAndValues.length / 2];
        for (int i = 0; i < columns.length; i++) {
            columns[i] = c((String) namesAndValues[2 * i], namesAndValues[2 * i + 1]);
        }
        return cells(columns);
    }

    static void wantCells(String what, Row row, Object... namesAndValues) {
        equal(what, cells(row), cells(namesAndValues));
    }

    static String repeat(char c, int n) {
        return String.valueOf(c).repeat(n);
    }

    // --- tables -----------------------------------------------------------------------------

    private static final String RUN = ProcessHandle.current().pid() + "_" + new Random().nextInt(1000000);
    private static final Map<Integer, String> SHARED = new ConcurrentHashMap<>();
    private static int counter;

    static String uniqueName() {
        return "java_" + RUN + "_" + ++counter;
    }

    static PrimaryKeySchema key(String name, PrimaryKeyType type) {
        return new PrimaryKeySchema(name, type);
    }

    static CreateTableRequest createRequest(String name, int maxVersions, PrimaryKeySchema... keys) {
        TableMeta meta = new TableMeta(name);
        for (PrimaryKeySchema k : keys) {
            meta.addPrimaryKeyColumn(k);
        }
        return new CreateTableRequest(meta, new TableOptions(-1, maxVersions));
    }

    /** Sends the request and remembers the table, so that it is dropped after the case. */
    String create(CreateTableRequest request) {
        String table = request.getTableMeta().getTableName();
        tables.add(table);
        client.createTable(request);
        return table;
    }

    /** Remembers a table that the case made by other means. */
    void owns(String table) {
        tables.add(table);
    }

    String table(PrimaryKeySchema... keys) {
        return create(createRequest(uniqueName(), 1, keys));
    }

    String intTable() {
        return table(key("pk", PrimaryKeyType.INTEGER));
    }

    /** A table that many cases use, each under its own partition key. Its key is "p" STRING, "q" INTEGER. */
    String shared(int maxVersions) {
        return SHARED.computeIfAbsent(maxVersions, versions -> {
            String table = uniqueName();
            client.createTable(createRequest(table, versions, key("p", PrimaryKeyType.STRING), key("q", PrimaryKeyType.INTEGER)));
            return table;
        });
    }

    /** The n-th key of this case in a shared table. */
    PrimaryKey key(int n) {
        return pk("p", name, "q", n);
    }

    void dropTables() {
        for (String table : tables) {
            drop(client, table);
        }
    }

    static void dropShared(SyncClient client) {
        for (String table : SHARED.values()) {
            drop(client, table);
        }
        SHARED.clear();
    }

    private static void drop(SyncClient client, String table) {
        try {
            client.deleteTable(new DeleteTableRequest(table));
        } catch (RuntimeException gone) {
            // The case may have deleted it, or never have made it.
        }
    }

    DescribeTableResponse describe(String table) {
        return client.describeTable(new DescribeTableRequest(table));
    }

    // --- rows -------------------------------------------------------------------------------

    static RowPutChange putChange(String table, PrimaryKey key, Column... columns) {
        return new RowPutChange(table, key).addColumns(columns);
    }

    static RowUpdateChange updateChange(String table, PrimaryKey key) {
        return new RowUpdateChange(table, key);
    }

    static RowDeleteChange deleteChange(String table, PrimaryKey key) {
        return new RowDeleteChange(table, key);
    }

    PutRowResponse put(RowPutChange change) {
        return client.putRow(new PutRowRequest(change));
    }

    PutRowResponse put(String table, PrimaryKey key, Column... columns) {
        return put(putChange(table, key, columns));
    }

    UpdateRowResponse update(RowUpdateChange change) {
        return client.updateRow(new UpdateRowRequest(change));
    }

    DeleteRowResponse delete(RowDeleteChange change) {
        return client.deleteRow(new DeleteRowRequest(change));
    }

    static SingleRowQueryCriteria query(String table, PrimaryKey key) {
        SingleRowQueryCriteria criteria = new SingleRowQueryCriteria(table, key);
        criteria.setMaxVersions(1);
        return criteria;
    }

    GetRowResponse getRow(SingleRowQueryCriteria criteria) {
        return client.getRow(new GetRowRequest(criteria));
    }

    /** The row, or null. */
    Row get(SingleRowQueryCriteria criteria) {
        return getRow(criteria).getRow();
    }

    Row get(String table, PrimaryKey key) {
        return get(query(table, key));
    }

    Row getVersions(String table, PrimaryKey key, int n) {
        SingleRowQueryCriteria criteria = query(table, key);
        criteria.setMaxVersions(n);
        return get(criteria);
    }

    // --- batches ----------------------------------------------------------------------------

    BatchWriteRowResponse batchWrite(RowChange... changes) {
        BatchWriteRowRequest request = new BatchWriteRowRequest();
        for (RowChange change : changes) {
            request.addRowChange(change);
        }
        return client.batchWriteRow(request);
    }

    static MultiRowQueryCriteria multi(String table, PrimaryKey... keys) {
        MultiRowQueryCriteria criteria = new MultiRowQueryCriteria(table);
        criteria.setMaxVersions(1);
        for (PrimaryKey key : keys) {
            criteria.addRow(key);
        }
        return criteria;
    }

    BatchGetRowResponse batchGet(MultiRowQueryCriteria... criterias) {
        BatchGetRowRequest request = new BatchGetRowRequest();
        for (MultiRowQueryCriteria criteria : criterias) {
            request.addMultiRowQueryCriteria(criteria);
        }
        return client.batchGetRow(request);
    }

    /** Puts the rows pk = from .. to-1, 200 in a batch, which is the most one may hold. */
    void fill(String table, int from, int to, IntFunction<Column[]> columns) {
        for (int start = from; start < to; start += 200) {
            int end = Math.min(start + 200, to);
            RowChange[] changes = new RowChange[end - start];
            for (int n = start; n < end; n++) {
                changes[n - start] = putChange(table, pk("pk", n), columns.apply(n));
            }
            check(batchWrite(changes).isAllSucceed(), "a row of a batch failed");
        }
    }

    /** A table of the rows from .. to-1. */
    String numbered(int from, int to) {
        String table = intTable();
        fill(table, from, to, n -> new Column[] {c("v", n)});
        return table;
    }

    // --- ranges -----------------------------------------------------------------------------

    static RangeRowQueryCriteria range(String table, PrimaryKey start, PrimaryKey end) {
        RangeRowQueryCriteria criteria = new RangeRowQueryCriteria(table);
        criteria.setInclusiveStartPrimaryKey(start);
        criteria.setExclusiveEndPrimaryKey(end);
        criteria.setMaxVersions(1);
        return criteria;
    }

    static RangeRowQueryCriteria everyRow(String table) {
        return range(table, pk("pk", MIN), pk("pk", MAX));
    }

    static RangeRowQueryCriteria backward(String table, PrimaryKey start, PrimaryKey end) {
        RangeRowQueryCriteria criteria = range(table, start, end);
        criteria.setDirection(Direction.BACKWARD);
        return criteria;
    }

    GetRangeResponse getRange(RangeRowQueryCriteria criteria) {
        return client.getRange(new GetRangeRequest(criteria));
    }

    record Pages(List<Row> rows, int count) {}

    /** Follows next_start_primary_key to the end. */
    Pages readAll(RangeRowQueryCriteria criteria) {
        List<Row> rows = new ArrayList<>();
        for (int pages = 1; ; pages++) {
            GetRangeResponse answer = getRange(criteria);
            rows.addAll(answer.getRows());
            if (answer.getNextStartPrimaryKey() == null) {
                return new Pages(rows, pages);
            }
            check(pages < 1000, "GetRange does not come to an end");
            criteria.setInclusiveStartPrimaryKey(answer.getNextStartPrimaryKey());
        }
    }

    /** The first key column of the rows, as text. */
    static String firstKeys(List<Row> rows) {
        List<String> out = new ArrayList<>();
        for (Row row : rows) {
            out.add(text(row.getPrimaryKey().getPrimaryKeyColumn(0).getValue()));
        }
        return out.toString();
    }

    static String keys(Object... values) {
        return Arrays.stream(values).map(v -> text(keyValue(v))).toList().toString();
    }

    /** The keys from .. to-1, rising or falling. */
    static String count(int from, int to) {
        List<String> out = new ArrayList<>();
        for (int n = from; n != to; n += from < to ? 1 : -1) {
            out.add(String.valueOf(n));
        }
        return out.toString();
    }

    private static String text(PrimaryKeyValue v) {
        if (v.getType() == PrimaryKeyType.INTEGER) {
            return String.valueOf(v.asLong());
        }
        return v.getType() == PrimaryKeyType.STRING ? "'" + v.asString() + "'" : HexFormat.of().formatHex(v.asBinary());
    }

    // --- filters and conditions -------------------------------------------------------------

    /** A filter that fails where the column is missing. */
    static SingleColumnValueFilter filter(String name, SingleColumnValueFilter.CompareOperator operator, Object v) {
        return new SingleColumnValueFilter(name, operator, value(v)).setPassIfMissing(false);
    }

    static SingleColumnValueFilter is(String name, Object v) {
        return filter(name, SingleColumnValueFilter.CompareOperator.EQUAL, v);
    }

    static CompositeColumnValueFilter composite(CompositeColumnValueFilter.LogicOperator operator, ColumnValueFilter... filters) {
        CompositeColumnValueFilter out = new CompositeColumnValueFilter(operator);
        for (ColumnValueFilter f : filters) {
            out.addFilter(f);
        }
        return out;
    }

    /** Whether the row comes back under the filter. */
    boolean passes(String table, PrimaryKey key, Filter filter) {
        SingleRowQueryCriteria criteria = query(table, key);
        criteria.setFilter(filter);
        return get(criteria) != null;
    }

    static Condition expect(RowExistenceExpectation expectation) {
        return new Condition(expectation);
    }

    static Condition condition(SingleColumnValueFilter filter) {
        Condition condition = new Condition(RowExistenceExpectation.IGNORE);
        condition.setColumnCondition(filter.toCondition());
        return condition;
    }

    static SingleColumnValueCondition single(String name, Object v) {
        return is(name, v).toCondition();
    }

    // --- capacity ---------------------------------------------------------------------------

    static void units(String what, ConsumedCapacity consumed, int read, int write) {
        CapacityUnit unit = consumed.getCapacityUnit();
        equal("capacity of " + what, unit.getReadCapacityUnit() + " read, " + unit.getWriteCapacityUnit() + " write",
                read + " read, " + write + " write");
    }
}
