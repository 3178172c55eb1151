package compat;

import static compat.T.*;

import static com.alicloud.openservices.tablestore.model.filter.CompositeColumnValueFilter.LogicOperator.*;

import com.alicloud.openservices.tablestore.model.*;
import com.alicloud.openservices.tablestore.model.condition.*;
import com.alicloud.openservices.tablestore.model.filter.*;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.EnumSource;
import java.util.stream.Stream;

/** Row existence and column conditions. */
final class ConditionCases extends EveryClient {
    /** One of the three writes under a condition. */
    static void write(T t, String operation, String table, PrimaryKey key, Condition condition) {
        RowChange change = switch (operation) {
            case "put" -> putChange(table, key, c("v", "written"));
            case "update" -> updateChange(table, key).put(c("v", "written"));
            default -> deleteChange(table, key);
        };
        change.setCondition(condition);
        if (change instanceof RowPutChange put) {
            t.put(put);
        } else if (change instanceof RowUpdateChange update) {
            t.update(update);
        } else {
            t.delete((RowDeleteChange) change);
        }
    }

    static Condition column(ColumnCondition condition) {
        Condition out = new Condition(RowExistenceExpectation.IGNORE);
        out.setColumnCondition(condition);
        return out;
    }

    static Stream<Arguments> existences() {
        return Stream.of("put", "update", "delete").flatMap(operation -> Stream.of(true, false).flatMap(there ->
                Stream.of(RowExistenceExpectation.values()).map(expectation -> Arguments.of(operation, there, expectation))));
    }

    @ParameterizedTest(name = "condition: {0}, row there: {1}, {2}") @MethodSource("existences")
    void existence(String operation, boolean there, RowExistenceExpectation expectation) throws Exception {
        if (there) {
            t.put(t.shared(1), t.key(0), c("v", "before"));
        }
        boolean passes = expectation == RowExistenceExpectation.IGNORE || (expectation == RowExistenceExpectation.EXPECT_EXIST) == there;
        if (passes) {
            write(t, operation, t.shared(1), t.key(0), expect(expectation));
            equal("row there afterwards", t.get(t.shared(1), t.key(0)) != null, !operation.equals("delete"));
            return;
        }
        conditionFails(() -> write(t, operation, t.shared(1), t.key(0), expect(expectation)));
        Row row = t.get(t.shared(1), t.key(0));
        if (there) {
            wantCells("unchanged row", row, "v", "before");
        } else {
            equal("row", row, null);
        }
    }

    // In the order of the enum: whether 9, 10 and 11 pass "operator 10".
    private static final boolean[][] PASSING = {{false, true, false}, {true, false, true}, {false, false, true}, {false, true, true},
        {true, false, false}, {true, true, false}};

    @ParameterizedTest(name = "condition: column {0}") @EnumSource(SingleColumnValueCondition.CompareOperator.class)
    void column(SingleColumnValueCondition.CompareOperator operator) throws Exception {
        for (int n = 9; n <= 11; n++) {
            int stored = n;
            t.put(t.shared(1), t.key(n), c("n", n));
            SingleColumnValueCondition condition = new SingleColumnValueCondition("n", operator, value(10)).setPassIfMissing(false);
            if (PASSING[operator.ordinal()][n - 9]) {
                write(t, "update", t.shared(1), t.key(n), column(condition));
            } else {
                conditionFails(() -> write(t, "update", t.shared(1), t.key(stored), column(condition)));
            }
        }
    }

    @Test @DisplayName("condition: columns AND, OR, NOT")
    void columnsANDORNOT() throws Exception {
        SingleColumnValueFilter yes = is("n", 10);
        SingleColumnValueFilter no = is("s", "other");
        combined(t, true, composite(AND, yes, yes));
        combined(t, false, composite(AND, yes, no));
        combined(t, true, composite(OR, no, yes));
        combined(t, false, composite(OR, no, no));
        combined(t, false, composite(NOT, yes));
        combined(t, true, composite(NOT, no));
        combined(t, true, composite(AND, composite(OR, no, yes), composite(NOT, no)));
        combined(t, false, composite(NOT, composite(AND, yes, composite(OR, no, yes))));
    }

    @Test @DisplayName("condition: a missing column passes or fails as told")
    void aMissingColumnPassesOrFailsAsTold() throws Exception {
        t.put(t.shared(1), t.key(0), c("v", "before"));
        conditionFails(() -> write(t, "put", t.shared(1), t.key(0), condition(is("absent", 1))));
        write(t, "put", t.shared(1), t.key(0), condition(is("absent", 1).setPassIfMissing(true)));
    }

    @Test @DisplayName("condition: existence and column must both hold")
    void existenceAndColumnMustBothHold() throws Exception {
        t.put(t.shared(1), t.key(0), c("n", 10));
        Condition wrongColumn = column(single("n", 11));
        wrongColumn.setRowExistenceExpectation(RowExistenceExpectation.EXPECT_EXIST);
        conditionFails(() -> write(t, "update", t.shared(1), t.key(0), wrongColumn));
        Condition wrongExistence = column(single("n", 10));
        wrongExistence.setRowExistenceExpectation(RowExistenceExpectation.EXPECT_NOT_EXIST);
        conditionFails(() -> write(t, "update", t.shared(1), t.key(0), wrongExistence));
        wantCells("unchanged", t.get(t.shared(1), t.key(0)), "n", 10);
    }

    private static void combined(T t, boolean passes, CompositeColumnValueFilter filter) throws Exception {
        t.put(t.shared(1), t.key(0), c("n", 10), c("s", "text"));
        Condition condition = column(filter.toCondition());
        if (passes) {
            write(t, "update", t.shared(1), t.key(0), condition);
        } else {
            conditionFails(() -> write(t, "update", t.shared(1), t.key(0), condition));
        }
    }
}
