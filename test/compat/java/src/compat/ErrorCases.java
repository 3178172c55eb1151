package compat;

import static compat.T.*;

import com.alicloud.openservices.tablestore.SyncClient;
import com.alicloud.openservices.tablestore.TableStoreException;
import com.alicloud.openservices.tablestore.model.*;
import com.alicloud.openservices.tablestore.model.search.ListSearchIndexRequest;
import com.alicloud.openservices.tablestore.model.search.SearchQuery;
import com.alicloud.openservices.tablestore.model.search.SearchRequest;
import com.alicloud.openservices.tablestore.model.search.query.MatchAllQuery;
import java.util.LinkedHashMap;
import java.util.Map;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Refusals. */
final class ErrorCases extends EveryClient {
    /** The calls that name one table, for an error that all of them share. */
    static Map<String, Call> tableCalls(T t, String table) {
        PrimaryKey key = t.key(0);
        Map<String, Call> calls = new LinkedHashMap<>();
        calls.put("GetRow", () -> t.get(table, key));
        calls.put("PutRow", () -> t.put(table, key, c("v", 1)));
        calls.put("UpdateRow", () -> t.update(updateChange(table, key).put(c("v", 1))));
        calls.put("DeleteRow", () -> t.delete(deleteChange(table, key)));
        calls.put("GetRange", () -> t.getRange(range(table, pk("p", MIN, "q", MIN), pk("p", MAX, "q", MAX))));
        calls.put("DescribeTable", () -> t.describe(table));
        calls.put("DeleteTable", () -> t.client.deleteTable(new DeleteTableRequest(table)));
        calls.put("UpdateTable", () -> {
            UpdateTableRequest request = new UpdateTableRequest(table);
            request.setTableOptionsForUpdate(new TableOptions(-1, 2));
            t.client.updateTable(request);
        });
        calls.put("ComputeSplitPointsBySize", () -> t.client.computeSplitsBySize(new ComputeSplitsBySizeRequest(table, 1)));
        return calls;
    }

    private static void authFails(SyncClient client) throws Exception {
        try {
            refused(403, "OTSAuthFailed", client::listTable);
        } finally {
            client.shutdown();
        }
    }

    @Test @DisplayName("error: missing table")
    void missingTable() throws Exception {
        for (Map.Entry<String, Call> call : tableCalls(t, uniqueName()).entrySet()) {
            if (call.getKey().equals("GetRow") || call.getKey().equals("GetRange")) { // what programs look for
                error(400, "OTSParameterInvalid", "Requested table does not exist (table not exist).", call.getValue());
            } else {
                error(404, "OTSObjectNotExist", "Requested table does not exist.", call.getValue());
            }
        }
    }

    @Test @DisplayName("error: wrong secret")
    void wrongSecret() throws Exception {
        authFails(new SyncClient(Server.ENDPOINT, Server.KEY_ID, Server.SECRET + "x", Server.INSTANCE, Server.config()));
    }

    @Test @DisplayName("error: wrong secret with a V4 signature")
    void wrongSecretWithAV4Signature() throws Exception {
        authFails(Server.v4Client(Server.config(), Server.SECRET + "x"));
    }

    @Test @DisplayName("error: unknown access key")
    void unknownAccessKey() throws Exception {
        authFails(new SyncClient(Server.ENDPOINT, "nobody", Server.SECRET, Server.INSTANCE, Server.config()));
    }

    @Test @DisplayName("error: key of the wrong type, size, name or order")
    void keyOfTheWrongTypeSizeNameOrOrder() throws Exception {
        String table = t.shared(1);
        error(400, "OTSInvalidPK", "Validate PK type fail. Input: VT_STRING, Meta: VT_INTEGER.", () -> t.get(table, pk("p", t.name, "q", "text")));
        error(400, "OTSInvalidPK", "Validate PK type fail. Input: VT_BLOB, Meta: VT_STRING.", () -> t.put(table, pk("p", new byte[1], "q", 1)));
        error(400, "OTSInvalidPK", "Validate PK size fail. Input: 1, Meta: 2.", () -> t.get(table, pk("p", t.name)));
        error(400, "OTSInvalidPK", "Validate PK size fail. Input: 3, Meta: 2.", () -> t.delete(deleteChange(table, pk("p", t.name, "q", 1, "x", 1))));
        error(400, "OTSInvalidPK", "Validate PK name fail. Input: other, Meta: q.", () -> t.get(table, pk("p", t.name, "other", 1)));
        error(400, "OTSInvalidPK", "Validate PK name fail. Input: q, Meta: p.", () -> t.put(table, pk("q", 1, "p", t.name)));
    }

    @Test @DisplayName("error: request ids")
    void requestIds() throws Exception {
        TableStoreException e = refused(400, "OTSParameterInvalid", () -> t.get(uniqueName(), t.key(0)));
        equal("length of the id of a refusal", e.getRequestId().length(), 36);
        equal("length of the id of a success", t.client.listTable().getRequestId().length(), 36);
    }

    @Test @DisplayName("error: a search names an index that is not there")
    void searchNamesAnIndexThatIsNotThere() throws Exception {
        SearchQuery query = new SearchQuery();
        query.setQuery(new MatchAllQuery());
        try {
            t.client.search(new SearchRequest(t.shared(1), "none", query));
            fail("expected an error of the server\n  actual   success");
        } catch (TableStoreException e) {
            check(e.getMessage().contains("search index [none] does not exist"), "the message does not name the index: " + e.getMessage());
        }
    }

    @Test @DisplayName("empty lists: search indexes and time-series tables")
    void searchIndexesAndTimeSeriesTables() throws Exception {
        ListSearchIndexRequest request = new ListSearchIndexRequest();
        request.setTableName(t.shared(1));
        equal("search indexes", t.client.listSearchIndex(request).getIndexInfos().size(), 0);
        equal("time-series tables", t.client.asTimeseriesClient().listTimeseriesTable().getTimeseriesTableNames().size(), 0);
    }
}
