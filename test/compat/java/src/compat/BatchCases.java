package compat;

import static compat.T.*;

import com.alicloud.openservices.tablestore.model.*;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Batches, and what one failing row means to the others. */
final class BatchCases extends EveryClient {
    @Test @DisplayName("batch: put, update and delete over two tables")
    void putUpdateAndDeleteOverTwoTables() throws Exception {
        String one = t.intTable();
        String two = t.intTable();
        t.put(one, pk("pk", 3), c("v", "gone"));
        BatchWriteRowResponse answer = t.batchWrite(putChange(one, pk("pk", 1), c("v", "put")),
                updateChange(one, pk("pk", 2)).put(c("v", "updated")), deleteChange(one, pk("pk", 3)),
                putChange(two, pk("pk", 1), c("v", "other table")));
        check(answer.isAllSucceed(), "a row failed");
        equal("rows of the first table", answer.getRowStatus(one).size(), 3);
        wantCells("put", t.get(one, pk("pk", 1)), "v", "put");
        wantCells("updated", t.get(one, pk("pk", 2)), "v", "updated");
        equal("deleted", t.get(one, pk("pk", 3)), null);
        wantCells("other table", t.get(two, pk("pk", 1)), "v", "other table");
    }

    @Test @DisplayName("batch: a failing row does not stop the others")
    void aFailingRowDoesNotStopTheOthers() throws Exception {
        RowPutChange failing = putChange(t.shared(1), t.key(2), c("v", 2));
        failing.setCondition(expect(RowExistenceExpectation.EXPECT_EXIST));
        List<BatchWriteRowResponse.RowResult> rows = t.batchWrite(putChange(t.shared(1), t.key(1), c("v", 1)), failing,
                putChange(t.shared(1), t.key(3), c("v", 3))).getRowStatus(t.shared(1));
        check(rows.get(0).isSucceed() && rows.get(2).isSucceed(), "a good row failed");
        rowError(CONDITION, CONDITION_TEXT, rows.get(1).getError());
        check(t.get(t.shared(1), t.key(1)) != null, "the row before the failing one is absent");
        equal("failing row", t.get(t.shared(1), t.key(2)), null);
        check(t.get(t.shared(1), t.key(3)) != null, "the row after the failing one is absent");
    }

    @Test @DisplayName("batch: a row with a wrong key fails alone")
    void aRowWithAWrongKeyFailsAlone() throws Exception {
        List<BatchWriteRowResponse.RowResult> rows = t.batchWrite(putChange(t.shared(1), t.key(1), c("v", 1)),
                putChange(t.shared(1), pk("p", "x"), c("v", 2))).getRowStatus(t.shared(1));
        check(rows.get(0).isSucceed(), "the good row failed");
        rowError("OTSInvalidPK", "Validate PK size fail. Input: 1, Meta: 2.", rows.get(1).getError());
    }

    @Test @DisplayName("batch: get with an absent row")
    void getWithAnAbsentRow() throws Exception {
        t.put(t.shared(1), t.key(1), c("v", 1));
        t.put(t.shared(1), t.key(3), c("v", 3));
        List<BatchGetRowResponse.RowResult> rows = t.batchGet(multi(t.shared(1), t.key(3), t.key(2), t.key(1))).getBatchGetRowResult(t.shared(1));
        equal("number of results", rows.size(), 3);
        wantCells("first", rows.get(0).getRow(), "v", 3);
        check(rows.get(1).isSucceed(), "the absent row failed");
        equal("absent row", rows.get(1).getRow(), null);
        wantCells("third", rows.get(2).getRow(), "v", 1);
    }

    @Test @DisplayName("batch: get over two tables")
    void getOverTwoTables() throws Exception {
        String one = t.intTable();
        String two = t.intTable();
        t.put(one, pk("pk", 1), c("v", "one"));
        t.put(two, pk("pk", 1), c("v", "two"));
        BatchGetRowResponse answer = t.batchGet(multi(one, pk("pk", 1)), multi(two, pk("pk", 1)));
        wantCells("first table", answer.getBatchGetRowResult(one).get(0).getRow(), "v", "one");
        wantCells("second table", answer.getBatchGetRowResult(two).get(0).getRow(), "v", "two");
    }

    @Test @DisplayName("batch: get of a wrong key fails alone")
    void getOfAWrongKeyFailsAlone() throws Exception {
        t.put(t.shared(1), t.key(1), c("v", 1));
        List<BatchGetRowResponse.RowResult> rows = t.batchGet(multi(t.shared(1), t.key(1), pk("p", "x", "q", "text"))).getBatchGetRowResult(t.shared(1));
        check(rows.get(0).isSucceed(), "the good row failed");
        rowError("OTSInvalidPK", "Validate PK type fail. Input: VT_STRING, Meta: VT_INTEGER.", rows.get(1).getError());
    }
}
