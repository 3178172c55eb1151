package compat;

import static compat.T.*;
import static com.alicloud.openservices.tablestore.model.filter.CompositeColumnValueFilter.LogicOperator.*;

import com.alicloud.openservices.tablestore.model.*;
import com.alicloud.openservices.tablestore.model.filter.*;
import com.alicloud.openservices.tablestore.model.filter.RegexRule.CastType;
import com.alicloud.openservices.tablestore.model.filter.SingleColumnValueFilter.CompareOperator;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import java.util.stream.Stream;

/** Filters of reads. */
final class FilterCases extends Case {
    private static void wantPasses(T t, String what, boolean expected, Filter filter) {
        equal(what, t.passes(t.shared(1), t.key(0), filter), expected);
    }

    private static Row under(T t, Filter filter) {
        SingleRowQueryCriteria criteria = query(t.shared(1), t.key(0));
        criteria.setFilter(filter);
        return t.get(criteria);
    }

    private static CompositeColumnValueFilter many(int n) {
        CompositeColumnValueFilter out = new CompositeColumnValueFilter(OR);
        for (int i = 0; i < n; i++) {
            out.addFilter(is("v", i));
        }
        return out;
    }

    static Stream<Arguments> ordered() {
        Object[][] values = {{-1, 0, 1}, {-0.5, 0.0, 0.5}, {"a", "ab", "b"}, {new byte[] {1}, new byte[] {127}, new byte[] {-128}}};
        return Stream.of(values).map(v -> Arguments.of(value(v[0]).getType(), v));
    }

    // For the stored middle value against each of the three, in the order of the enum.
    private static final boolean[][] MATCHES = {{false, true, true, true, false, false}, {true, false, false, true, false, true},
        {false, true, false, false, true, true}};

    @ParameterizedTest(name = "filter: six comparisons of {0}") @MethodSource("ordered")
    void sixComparisons(ColumnType type, Object[] v) {
        t.put(t.shared(1), t.key(0), c("v", v[1]));
        for (int i = 0; i < v.length; i++) {
            for (CompareOperator operator : CompareOperator.values()) {
                wantPasses(t, show(v[1]) + " " + operator + " " + show(v[i]), MATCHES[i][operator.ordinal()], filter("v", operator, v[i]));
            }
        }
    }

    @Test @DisplayName("filter: another type never matches")
    void anotherTypeNeverMatches() throws Exception {
        Object[] kinds = {7, "7", new byte[] {55}, true};
        for (Object stored : kinds) {
            t.put(t.shared(1), t.key(0), c("v", stored));
            for (Object other : kinds) {
                wantPasses(t, show(stored) + " against " + show(other), stored == other, is("v", other).setPassIfMissing(true));
            }
        }
    }

    @Test @DisplayName("filter: missing column")
    void missingColumn() throws Exception {
        t.put(t.shared(1), t.key(0), c("v", 1));
        wantPasses(t, "fail if missing", false, is("absent", 1));
        wantPasses(t, "pass if missing", true, is("absent", 1).setPassIfMissing(true));
    }

    @Test @DisplayName("filter: latest version only, or any version")
    void latestVersionOnlyOrAnyVersion() throws Exception {
        VersionCases.fourVersions(t, t.shared(5), t.key(0));
        equal("latest only", t.passes(t.shared(5), t.key(0), is("v", 2)), false);
        equal("any version", t.passes(t.shared(5), t.key(0), is("v", 2).setLatestVersionsOnly(false)), true);
    }

    @Test @DisplayName("filter: nested AND, OR, NOT")
    void nestedANDORNOT() throws Exception {
        t.put(t.shared(1), t.key(0), c("a", 1), c("b", "x"));
        SingleColumnValueFilter yes = is("a", 1);
        SingleColumnValueFilter no = is("b", "y");
        wantPasses(t, "yes AND no", false, composite(AND, yes, no));
        wantPasses(t, "yes OR no", true, composite(OR, yes, no));
        wantPasses(t, "NOT no", true, composite(NOT, no));
        wantPasses(t, "yes AND yes AND NOT (no OR no)", true, composite(AND, yes, yes, composite(NOT, composite(OR, no, no))));
    }

    @Test @DisplayName("filter: a range skips rows and reads on")
    void aRangeSkipsRowsAndReadsOn() throws Exception {
        RangeRowQueryCriteria criteria = everyRow(t.numbered(0, 30));
        criteria.setLimit(4);
        criteria.setFilter(filter("v", CompareOperator.GREATER_EQUAL, 22));
        equal("keys", firstKeys(t.readAll(criteria).rows()), count(22, 30));
    }

    @Test @DisplayName("filter: in a batch")
    void inABatch() throws Exception {
        t.put(t.shared(1), t.key(1), c("v", 1));
        t.put(t.shared(1), t.key(2), c("v", 2));
        MultiRowQueryCriteria criteria = multi(t.shared(1), t.key(1), t.key(2));
        criteria.setFilter(is("v", 2));
        var rows = t.batchGet(criteria).getBatchGetRowResult(t.shared(1));
        equal("filtered", rows.get(0).getRow(), null);
        wantCells("passing", rows.get(1).getRow(), "v", 2);
    }

    @Test @DisplayName("filter: 31 under an OR are allowed, 32 are not")
    void of31UnderAnORAreAllowed32AreNot() throws Exception {
        t.put(t.shared(1), t.key(0), c("v", 30));
        wantPasses(t, "31 filters", true, many(31));
        invalid("The count of filter exceeds the max: 32.", () -> under(t, many(32)));
    }

    @Test @DisplayName("filter: wrong number of sub-filters")
    void wrongNumberOfSubFilters() throws Exception {
        invalid("Invalid NOT operator: the number of sub-filters must be 1.", () -> under(t, composite(NOT, is("v", 1), is("v", 2))));
        invalid("Invalid AND/OR operator: the number of sub-filters must be more than 1.", () -> under(t, composite(AND, is("v", 1))));
        invalid("Invalid AND/OR operator: the number of sub-filters must be more than 1.", () -> under(t, composite(OR, is("v", 1))));
    }

    @Test @DisplayName("filter: value too long")
    void valueTooLong() throws Exception {
        invalid(
            "The length of attribute column: 'v' exceeds the MaxLength:2097152 with CurrentLength:2097153.",
            () -> under(t, is("v", repeat('x', 2097153))));
    }

    @Test @DisplayName("filter: regex rule with casts")
    void regexRuleWithCasts() throws Exception {
        t.put(t.shared(1), t.key(0), c("v", "t1:120,t2:x7.5y,name=abc;"));
        regex(t, true, "t1:([0-9]+),", CastType.VT_INTEGER, SingleColumnValueRegexFilter.CompareOperator.EQUAL, 120);
        regex(t, true, "t1:([0-9]+),", CastType.VT_INTEGER, SingleColumnValueRegexFilter.CompareOperator.GREATER_THAN, 13);
        regex(t, false, "t1:([0-9]+),", CastType.VT_INTEGER, SingleColumnValueRegexFilter.CompareOperator.LESS_THAN, 13);
        regex(t, true, "t2:x([0-9.]+)y", CastType.VT_DOUBLE, SingleColumnValueRegexFilter.CompareOperator.EQUAL, 7.5);
        regex(t, true, "name=([a-z]+);", CastType.VT_STRING, SingleColumnValueRegexFilter.CompareOperator.EQUAL, "abc");
        regex(t, false, "name=([a-z]+);", CastType.VT_STRING, SingleColumnValueRegexFilter.CompareOperator.NOT_EQUAL, "abc");
        regex(t, false, "nothing([0-9]+)", CastType.VT_INTEGER, SingleColumnValueRegexFilter.CompareOperator.EQUAL, 1);
    }

    @Test @DisplayName("filter: EXIST and NOT_EXIST")
    void existAndNOTEXIST() throws Exception {
        t.put(t.shared(1), t.key(0), c("v", "t1:120,"));
        RegexRule there = new RegexRule("t1:([0-9]+),", CastType.VT_INTEGER);
        RegexRule absent = new RegexRule("t9:([0-9]+),", CastType.VT_INTEGER);
        wantPasses(t, "EXIST, value there", true, new SingleColumnValueRegexFilter("v", there, SingleColumnValueRegexFilter.CompareOperator.EXIST));
        wantPasses(t, "EXIST, value absent", false, new SingleColumnValueRegexFilter("v", absent, SingleColumnValueRegexFilter.CompareOperator.EXIST));
        wantPasses(t, "NOT_EXIST, value there", false, new SingleColumnValueRegexFilter("v", there, SingleColumnValueRegexFilter.CompareOperator.NOT_EXIST));
        wantPasses(t, "NOT_EXIST, value absent", true, new SingleColumnValueRegexFilter("v", absent, SingleColumnValueRegexFilter.CompareOperator.NOT_EXIST));
    }

    @Test @DisplayName("filter: pagination of columns")
    void paginationOfColumns() throws Exception {
        t.put(t.shared(1), t.key(0), c("a", 1), c("b", 2), c("c", 3), c("d", 4), c("e", 5));
        wantCells("first page", under(t, new ColumnPaginationFilter(2)), "a", 1, "b", 2);
        wantCells("second page", under(t, new ColumnPaginationFilter(2, 2)), "c", 3, "d", 4);
        wantCells("last page", under(t, new ColumnPaginationFilter(2, 4)), "e", 5);
        SingleRowQueryCriteria criteria = query(t.shared(1), t.key(0));
        criteria.setStartColumn("b");
        criteria.setFilter(new ColumnPaginationFilter(1, 1));
        wantCells("from a start column", t.get(criteria), "c", 3);
    }

    private static void regex(T t, boolean passes, String regex, CastType cast, SingleColumnValueRegexFilter.CompareOperator operator, Object v) {
        wantPasses(t, regex + " " + operator + " " + v, passes, new SingleColumnValueRegexFilter("v", new RegexRule(regex, cast), operator, value(v)));
    }
}
