package compat;

import static compat.T.*;

import com.alicloud.openservices.tablestore.model.*;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** ComputeSplitPointsBySize. */
final class SplitCases extends Case {
    private static final long MIB = 1 << 20;

    private static void wantWhole(List<Split> splits) {
        check(splits.get(0).getLowerBound().getPrimaryKeyColumn(0).getValue().isInfMin(), "the first split does not start at -inf");
        check(splits.get(splits.size() - 1).getUpperBound().getPrimaryKeyColumn(0).getValue().isInfMax(), "the last split does not end at +inf");
        for (int i = 1; i < splits.size(); i++) {
            equal("bounds meet", splits.get(i).getLowerBound(), splits.get(i - 1).getUpperBound());
        }
        for (Split split : splits) {
            check(split.getLocation() != null, "a split has no location");
        }
    }

    private static String bulky(T t) {
        String table = t.intTable();
        t.fill(table, 0, 800, n -> new Column[] {c("v", repeat((char) ('a' + n % 26), 10000))});
        return table;
    }

    @Test @DisplayName("split: an empty table is one split")
    void anEmptyTableIsOneSplit() throws Exception {
        ComputeSplitsBySizeResponse answer = t.client.computeSplitsBySize(new ComputeSplitsBySizeRequest(t.intTable(), 1));
        equal("splits", answer.getSplits().size(), 1);
        wantWhole(answer.getSplits());
        equal("key", answer.getPrimaryKeySchema().get(0).getName(), "pk");
        units("ComputeSplitPointsBySize", answer.getConsumedCapacity(), 1, 0);
    }

    @Test @DisplayName("split: a filled table, read split by split")
    void aFilledTableReadSplitBySplit() throws Exception {
        String table = bulky(t);
        List<Split> splits = t.client.computeSplitsBySize(new ComputeSplitsBySizeRequest(table, 2, MIB)).getSplits();
        check(splits.size() >= 2, "8 MiB make " + splits.size() + " split of 2 MiB");
        wantWhole(splits);
        int rows = 0;
        for (Split split : splits) {
            rows += t.readAll(range(table, split.getLowerBound(), split.getUpperBound())).rows().size();
        }
        equal("rows", rows, 800);
        ComputeSplitsBySizeRequest limited = new ComputeSplitsBySizeRequest(table, 1, MIB);
        limited.setSplitPointLimit(1);
        splits = t.client.computeSplitsBySize(limited).getSplits();
        check(splits.size() <= 2, splits.size() + " splits with one split point");
        wantWhole(splits);
    }

    @Test @DisplayName("split: size or unit too small")
    void sizeOrUnitTooSmall() throws Exception {
        invalid("The split_size should be greater than 0.", () -> t.client.computeSplitsBySize(new ComputeSplitsBySizeRequest(t.intTable(), 0)));
        invalid("The split_size_unit_in_byte should be greater equal than: 1048576",
                () -> t.client.computeSplitsBySize(new ComputeSplitsBySizeRequest(t.intTable(), 1, MIB - 1)));
    }
}
