package compat;

import static compat.T.*;

import com.alicloud.openservices.tablestore.model.*;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIfEnvironmentVariable;

/** Local transactions. */
@DisabledIfEnvironmentVariable(named = "WIDEROW_NO_TRANSACTIONS", matches = ".+")
final class TransactionCases extends EveryClient {
    private static final String CONFLICT = "OTSRowOperationConflict";
    private static final String MODIFIED = "Data is being modified by the other request.";
    private static final String ENDED = "Session not exist or may be timeout.";

    /** A table with the key user, line. */
    private String orders() {
        CreateTableRequest request =
            createRequest(uniqueName(), 1, key("user", PrimaryKeyType.STRING), key("line", PrimaryKeyType.INTEGER));
        request.setLocalTxnEnabled(true);
        return t.create(request);
    }

    private static PrimaryKey line(String user, Object n) {
        return pk("user", user, "line", n);
    }

    private String begin(String table, PrimaryKey key) {
        return t.client.startLocalTransaction(new StartLocalTransactionRequest(table, key)).getTransactionID();
    }

    private void put(String table, PrimaryKey key, int n, String transaction) {
        PutRowRequest request = new PutRowRequest(putChange(table, key, c("n", n)));
        if (transaction != null) {
            request.setTransactionId(transaction);
        }
        t.client.putRow(request);
    }

    /** The row's n; null: it is not there. */
    private Long n(String table, PrimaryKey key, String transaction) {
        SingleRowQueryCriteria query = new SingleRowQueryCriteria(table, key);
        query.setMaxVersions(1);
        GetRowRequest request = new GetRowRequest(query);
        if (transaction != null) {
            request.setTransactionId(transaction);
        }
        Row row = t.client.getRow(request).getRow();
        return row == null ? null : row.getLatestColumn("n").getValue().asLong();
    }

    private int lines(String table, String user, String transaction) {
        GetRangeRequest request = new GetRangeRequest(range(table, line(user, MIN), line(user, MAX)));
        if (transaction != null) {
            request.setTransactionId(transaction);
        }
        return t.client.getRange(request).getRows().size();
    }

    private void commit(String transaction) {
        t.client.commitTransaction(new CommitTransactionRequest(transaction));
    }

    private void abort(String transaction) {
        t.client.abortTransaction(new AbortTransactionRequest(transaction));
    }

    @Test @DisplayName("transaction: a commit shows what only the transaction saw")
    void commits() throws Exception {
        String table = orders();
        put(table, line("ann", 1), 1, null);
        String transaction = begin(table, pk("user", "ann"));
        put(table, line("ann", 2), 2, transaction);
        put(table, line("ann", 1), 10, transaction);
        equal("inside", n(table, line("ann", 1), transaction), 10L);
        equal("inside", n(table, line("ann", 2), transaction), 2L);
        equal("outside", n(table, line("ann", 1), null), 1L);
        equal("outside", n(table, line("ann", 2), null), null);
        equal("rows inside", lines(table, "ann", transaction), 2);
        equal("rows outside", lines(table, "ann", null), 1);
        commit(transaction);
        equal("committed", n(table, line("ann", 1), null), 10L);
        equal("committed", n(table, line("ann", 2), null), 2L);
        error(403, "OTSSessionNotExist", ENDED, () -> commit(transaction));
    }

    @Test @DisplayName("transaction: an abort leaves nothing")
    void aborts() throws Exception {
        String table = orders();
        String transaction = begin(table, pk("user", "ann"));
        put(table, line("ann", 1), 1, transaction);
        abort(transaction);
        equal("rows", lines(table, "ann", null), 0);
        put(table, line("ann", 1), 1, null);
        error(403, "OTSSessionNotExist", ENDED, () -> abort(transaction));
    }

    @Test @DisplayName("transaction: a batch inside")
    void batch() throws Exception {
        String table = orders();
        String transaction = begin(table, pk("user", "ann"));
        BatchWriteRowRequest request = new BatchWriteRowRequest();
        request.addRowChange(putChange(table, line("ann", 1), c("n", 1)));
        request.addRowChange(putChange(table, line("ann", 2), c("n", 2)));
        request.setTransactionId(transaction);
        check(t.client.batchWriteRow(request).isAllSucceed(), "a row of the batch failed");
        equal("rows outside", lines(table, "ann", null), 0);
        commit(transaction);
        equal("rows", lines(table, "ann", null), 2);
    }

    @Test @DisplayName("transaction: others do not write its value")
    void locks() throws Exception {
        String table = orders();
        String transaction = begin(table, pk("user", "ann"));
        error(409, CONFLICT, MODIFIED, () -> put(table, line("ann", 1), 1, null));
        error(409, CONFLICT, MODIFIED, () -> begin(table, pk("user", "ann")));
        put(table, line("bob", 1), 1, null);
        refused(400, "OTSDataOutOfRange", () -> put(table, line("bob", 1), 1, transaction));
        commit(transaction);
    }

    @Test @DisplayName("transaction: starts that are refused")
    void refusals() throws Exception {
        String table = orders();
        invalid("StartLocalTransaction support only one primary key.", () -> begin(table, line("ann", 1)));
        String plain = t.create(createRequest(uniqueName(), 1, key("pk", PrimaryKeyType.INTEGER)));
        invalid("Try to call method using explicit transaction on explicit-transaction-disabled table.",
            () -> begin(plain, pk("pk", 1)));
        invalid("TransactionID is invalid.", () -> commit("fake_transaction_id"));
    }
}
