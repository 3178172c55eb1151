package compat;

import static compat.T.*;

import static com.alicloud.openservices.tablestore.model.filter.CompositeColumnValueFilter.LogicOperator.*;

import com.alicloud.openservices.tablestore.model.*;
import com.alicloud.openservices.tablestore.model.condition.*;
import com.alicloud.openservices.tablestore.model.filter.*;

/** Row existence and column conditions. */
final class ConditionCases {
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

    static void add(Suite s) {
        for (String operation : new String[] {"put", "update", "delete"}) {
            for (boolean there : new boolean[] {true, false}) {
                for (RowExistenceExpectation expectation : RowExistenceExpectation.values()) {
                    String name = "condition: " + operation + ", row " + (there ? "present, " : "absent, ") + expectation;
                    s.add(name, t -> existence(t, operation, there, expectation));
                }
            }
        }

        // In the order of the enum: whether 9, 10 and 11 pass "operator 10".
        boolean[][] passing = {{false, true, false}, {true, false, true}, {false, false, true}, {false, true, true}, {true, false, false}, {true, true, false}};
        SingleColumnValueCondition.CompareOperator[] operators = SingleColumnValueCondition.CompareOperator.values();
        for (int i = 0; i < operators.length; i++) {
            SingleColumnValueCondition.CompareOperator operator = operators[i];
            boolean[] passes = passing[i];
            s.add("condition: column " + operator, t -> {
                for (int n = 9; n <= 11; n++) {
                    int stored = n;
                    t.put(t.shared(1), t.key(n), c("n", n));
                    SingleColumnValueCondition condition = new SingleColumnValueCondition("n", operator, value(10)).setPassIfMissing(false);
                    if (passes[n - 9]) {
                        write(t, "update", t.shared(1), t.key(n), column(condition));
                    } else {
                        conditionFails(() -> write(t, "update", t.shared(1), t.key(stored), column(condition)));
                    }
                }
            });
        }

        s.add("condition: columns AND, OR, NOT", t -> {
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
        });

        s.add("condition: a missing column passes or fails as told", t -> {
            t.put(t.shared(1), t.key(0), c("v", "before"));
            conditionFails(() -> write(t, "put", t.shared(1), t.key(0), condition(is("absent", 1))));
            write(t, "put", t.shared(1), t.key(0), condition(is("absent", 1).setPassIfMissing(true)));
        });

        s.add("condition: existence and column must both hold", t -> {
            t.put(t.shared(1), t.key(0), c("n", 10));
            Condition wrongColumn = column(single("n", 11));
            wrongColumn.setRowExistenceExpectation(RowExistenceExpectation.EXPECT_EXIST);
            conditionFails(() -> write(t, "update", t.shared(1), t.key(0), wrongColumn));
            Condition wrongExistence = column(single("n", 10));
            wrongExistence.setRowExistenceExpectation(RowExistenceExpectation.EXPECT_NOT_EXIST);
            conditionFails(() -> write(t, "update", t.shared(1), t.key(0), wrongExistence));
            wantCells("unchanged", t.get(t.shared(1), t.key(0)), "n", 10);
        });
    }

    private static void existence(T t, String operation, boolean there, RowExistenceExpectation expectation) throws Exception {
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
