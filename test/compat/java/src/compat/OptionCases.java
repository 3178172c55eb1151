package compat;

import static compat.T.*;

import com.alicloud.openservices.tablestore.model.*;
import java.util.Set;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Table settings: throughput, deviation, allow_update, stream, encryption, defined columns. */
final class OptionCases extends Case {
    private static CreateTableRequest request() {
        return createRequest(uniqueName(), 1, key("pk", PrimaryKeyType.INTEGER));
    }

    private static UpdateTableResponse update(T t, String table, TableOptions options) {
        UpdateTableRequest request = new UpdateTableRequest(table);
        request.setTableOptionsForUpdate(options);
        return t.client.updateTable(request);
    }

    private static UpdateTableResponse update(T t, String table, StreamSpecification stream) {
        UpdateTableRequest request = new UpdateTableRequest(table);
        request.setStreamSpecification(stream);
        return t.client.updateTable(request);
    }

    @Test @DisplayName("option: reserved throughput, one half changed")
    void reservedThroughputOneHalfChanged() throws Exception {
        CreateTableRequest request = request();
        request.setReservedThroughput(new ReservedThroughput(3, 4));
        String table = t.create(request);
        CapacityUnit unit = t.describe(table).getReservedThroughputDetails().getCapacityUnit();
        equal("at creation", unit.getReadCapacityUnit() + "/" + unit.getWriteCapacityUnit(), "3/4");
        UpdateTableRequest update = new UpdateTableRequest(table);
        CapacityUnit read = new CapacityUnit();
        read.setReadCapacityUnit(10);
        update.setReservedThroughputForUpdate(new ReservedThroughput(read));
        ReservedThroughputDetails details = t.client.updateTable(update).getReservedThroughputDetails();
        equal("in the answer", details.getCapacityUnit().getReadCapacityUnit() + "/" + details.getCapacityUnit().getWriteCapacityUnit(), "10/4");
        long age = System.currentTimeMillis() / 1000 - details.getLastIncreaseTime();
        check(Math.abs(age) < 60, "last increased " + age + " s ago");
    }

    @Test @DisplayName("option: only the options sent change")
    void onlyTheOptionsSentChange() throws Exception {
        CreateTableRequest request = request();
        request.setTableOptions(new TableOptions(90000, 3, 200000));
        String table = t.create(request);
        TableOptions change = new TableOptions();
        change.setMaxTimeDeviation(300000);
        TableOptions now = update(t, table, change).getTableOptions();
        equal("options", now.getTimeToLive() + " " + now.getMaxVersions() + " " + now.getMaxTimeDeviation(), "90000 3 300000");
    }

    @Test @DisplayName("option: allow_update switched off and on")
    void allowUpdateSwitchedOffAndOn() throws Exception {
        String table = t.intTable();
        equal("off", update(t, table, new TableOptions(false)).getTableOptions().getAllowUpdate(), false);
        RowUpdateChange change = updateChange(table, pk("pk", 1)).put(c("v", 1));
        refused(400, INVALID, () -> t.update(change));
        t.put(table, pk("pk", 1), c("v", 0));
        t.delete(deleteChange(table, pk("pk", 1)));
        update(t, table, new TableOptions(true));
        t.update(change);
    }

    @Test @DisplayName("option: update_full_row is fixed at creation")
    void updateFullRowIsFixedAtCreation() throws Exception {
        CreateTableRequest request = request();
        TableOptions options = new TableOptions(-1, 1);
        options.setUpdateFullRow(true);
        request.setTableOptions(options);
        equal("described", t.describe(t.create(request)).getTableOptions().getUpdateFullRow(), true);
        TableOptions change = new TableOptions();
        change.setUpdateFullRow(true);
        String message = refused(400, INVALID, () -> update(t, t.intTable(), change)).getMessage();
        check(message.contains("updateFullRow"), "message: " + message);
    }

    @Test @DisplayName("option: stream at creation, off and on again")
    void streamAtCreationOffAndOnAgain() throws Exception {
        CreateTableRequest request = request();
        StreamSpecification stream = new StreamSpecification(true, 24);
        stream.addOriginColumnsToGet(new String[] {"a", "b"});
        request.setStreamSpecification(stream);
        String table = t.create(request);
        StreamDetails details = t.describe(table).getStreamDetails();
        equal("enabled", details.isEnableStream(), true);
        equal("expiration", details.getExpirationTime(), 24);
        equal("columns", details.getOriginColumnsToGet(), Set.of("a", "b"));
        check(!details.getStreamId().isEmpty(), "there is no stream id");
        long age = System.currentTimeMillis() - details.getLastEnableTime() / 1000;
        check(Math.abs(age) < 60000, "last enabled " + age + " ms ago");
        equal("off", update(t, table, new StreamSpecification(false)).getStreamDetails().isEnableStream(), false);
        equal("on", update(t, table, new StreamSpecification(true, 12)).getStreamDetails().getExpirationTime(), 12);
    }

    @Test @DisplayName("option: encryption with a service key and with the user's own")
    void encryptionWithAServiceKeyAndWithTheUserSOwn() throws Exception {
        CreateTableRequest service = request();
        service.setSseSpecification(new SSESpecification(true, SSEKeyType.SSE_KMS_SERVICE));
        SSEDetails details = t.describe(t.create(service)).getSseDetails();
        equal("service key", details.isEnable() + " " + details.getKeyType(), "true SSE_KMS_SERVICE");
        CreateTableRequest own = request();
        own.setSseSpecification(new SSESpecification(true, SSEKeyType.SSE_BYOK, "a-key", "a-role"));
        details = t.describe(t.create(own)).getSseDetails();
        equal("own key", details.getKeyType() + " " + details.getKeyId() + " " + details.getRoleArn(), "SSE_BYOK a-key a-role");
    }

    @Test @DisplayName("option: defined columns added and deleted")
    void definedColumnsAddedAndDeleted() throws Exception {
        String table = t.intTable();
        AddDefinedColumnRequest add = new AddDefinedColumnRequest();
        add.setTableName(table);
        add.addDefinedColumn("a", DefinedColumnType.INTEGER);
        add.addDefinedColumn("b", DefinedColumnType.STRING);
        t.client.addDefinedColumn(add);
        DeleteDefinedColumnRequest delete = new DeleteDefinedColumnRequest();
        delete.setTableName(table);
        delete.addDefinedColumn("a");
        t.client.deleteDefinedColumn(delete);
        var columns = t.describe(table).getTableMeta().getDefinedColumnsList();
        equal("columns left", columns.size(), 1);
        equal("column left", columns.get(0).getName() + " " + columns.get(0).getType(), "b STRING");
    }
}
