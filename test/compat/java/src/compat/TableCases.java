package compat;

import static compat.T.*;

import com.alicloud.openservices.tablestore.model.*;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** The life of a table. */
final class TableCases extends EveryClient {
    @Test @DisplayName("table: create, list, delete")
    void createListDelete() throws Exception {
        String table = t.intTable();
        check(t.client.listTable().getTableNames().contains(table), table + " is not listed");
        t.client.deleteTable(new DeleteTableRequest(table));
        check(!t.client.listTable().getTableNames().contains(table), table + " is still listed");
    }

    @Test @DisplayName("table: describe returns the key in order")
    void describeReturnsTheKeyInOrder() throws Exception {
        String table = t.table(key("z", PrimaryKeyType.STRING), key("a", PrimaryKeyType.INTEGER), key("m", PrimaryKeyType.BINARY));
        StringBuilder got = new StringBuilder();
        for (PrimaryKeySchema k : t.describe(table).getTableMeta().getPrimaryKeyList()) {
            got.append(k.getName()).append(' ').append(k.getType()).append(' ');
        }
        equal("key", got.toString(), "z STRING a INTEGER m BINARY ");
    }

    @Test @DisplayName("table: describe returns the options set")
    void describeReturnsTheOptionsSet() throws Exception {
        CreateTableRequest request = createRequest(uniqueName(), 7, key("pk", PrimaryKeyType.INTEGER));
        request.setTableOptions(new TableOptions(90000, 7, 123456));
        TableOptions options = t.describe(t.create(request)).getTableOptions();
        equal("TTL", options.getTimeToLive(), 90000);
        equal("max versions", options.getMaxVersions(), 7);
        equal("deviation", options.getMaxTimeDeviation(), 123456L);
    }

    @Test @DisplayName("table: defaults of what was not set")
    void defaultsOfWhatWasNotSet() throws Exception {
        DescribeTableResponse answer = t.describe(t.intTable());
        equal("TTL", answer.getTableOptions().getTimeToLive(), -1);
        equal("max versions", answer.getTableOptions().getMaxVersions(), 1);
        equal("deviation", answer.getTableOptions().getMaxTimeDeviation(), 86400L);
        equal("allow update", answer.getTableOptions().getAllowUpdate(), true);
        equal("stream", answer.getStreamDetails().isEnableStream(), false);
        equal("indexes", answer.getIndexMeta().size(), 0);
        equal("split points", answer.getShardSplits().size(), 0);
        long age = System.currentTimeMillis() - answer.getCreationTime() / 1000;
        check(Math.abs(age) < 60000, "created " + age + " ms ago");
    }

    @Test @DisplayName("table: describe returns defined columns of every type")
    void describeReturnsDefinedColumnsOfEveryType() throws Exception {
        CreateTableRequest request = createRequest(uniqueName(), 1, key("pk", PrimaryKeyType.INTEGER));
        for (DefinedColumnType type : DefinedColumnType.values()) {
            request.getTableMeta().addDefinedColumn("d" + type, type);
        }
        var got = t.describe(t.create(request)).getTableMeta().getDefinedColumnsList();
        equal("number of defined columns", got.size(), DefinedColumnType.values().length);
        for (DefinedColumnSchema column : got) {
            equal("type of " + column.getName(), "d" + column.getType(), column.getName());
        }
    }

    @Test @DisplayName("table: update options")
    void updateOptions() throws Exception {
        String table = t.intTable();
        UpdateTableRequest request = new UpdateTableRequest(table);
        request.setTableOptionsForUpdate(new TableOptions(100000, 3));
        UpdateTableResponse answer = t.client.updateTable(request);
        equal("TTL in the answer", answer.getTableOptions().getTimeToLive(), 100000);
        equal("stream in the answer", answer.getStreamDetails().isEnableStream(), false);
        TableOptions options = t.describe(table).getTableOptions();
        equal("TTL", options.getTimeToLive(), 100000);
        equal("max versions", options.getMaxVersions(), 3);
        equal("deviation stays", options.getMaxTimeDeviation(), 86400L);
    }

    @Test @DisplayName("table: create twice")
    void createTwice() throws Exception {
        String table = t.intTable();
        error(409, "OTSObjectAlreadyExist", "Requested table already exists.",
                () -> t.client.createTable(createRequest(table, 1, key("pk", PrimaryKeyType.INTEGER))));
    }
}
