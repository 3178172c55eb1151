package compat;

import static compat.T.*;

import com.alicloud.openservices.tablestore.model.*;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Column names. */
final class NameCases extends Case {
    private static final String[] ODD = {"公司", "0", "-", "a b", " ", ".", ":", "'", "\"", "$", "&", "*", "(", ")", "/", "\\", "\n", "\r",
        ".a", "a.", "a:b", "a'b", "$a", "a#", "(a)", "a/b", "a\\b", "a\nb", "\ra", "é", repeat('n', 255)};

    @Test @DisplayName("name: odd column names are written and read")
    void oddColumnNamesAreWrittenAndRead() throws Exception {
        for (int i = 0; i < ODD.length; i++) {
            String name = ODD[i];
            t.put(t.shared(1), t.key(i), c(name, i));
            wantCells("all columns", t.get(t.shared(1), t.key(i)), name, i);
            SingleRowQueryCriteria criteria = query(t.shared(1), t.key(i));
            criteria.addColumnsToGet(name);
            criteria.setFilter(is(name, i));
            wantCells("that column", t.get(criteria), name, i);
        }
    }

    @Test @DisplayName("name: bad column names")
    void badColumnNames() throws Exception {
        for (String name : new String[] {"#", "#abc", "#公司", "# ", repeat('n', 256)}) {
            String message = "Invalid column name: '" + name + "'.";
            invalid(message, () -> t.put(t.shared(1), t.key(0), c(name, 1)));
            invalid(message, () -> t.update(updateChange(t.shared(1), t.key(0)).deleteColumns(name)));
            SingleRowQueryCriteria columns = query(t.shared(1), t.key(0));
            columns.addColumnsToGet(name);
            invalid(message, () -> t.get(columns));
            invalid(message, () -> t.passes(t.shared(1), t.key(0), is(name, 1)));
            invalid(message, () -> t.batchWrite(putChange(t.shared(1), t.key(1), c("v", 1)), putChange(t.shared(1), t.key(0), c(name, 1))));
        }
    }

    @Test @DisplayName("name: names are checked before versions and bounds")
    void namesAreCheckedBeforeVersionsAndBounds() throws Exception {
        invalid("Invalid table name: '-'.", () -> t.get(new SingleRowQueryCriteria("-", t.key(0))));
        SingleRowQueryCriteria column = new SingleRowQueryCriteria(t.shared(1), t.key(0));
        column.addColumnsToGet("#");
        invalid("Invalid column name: '#'.", () -> t.get(column));
        RangeRowQueryCriteria bounds = range(t.shared(1), t.key(0), t.key(0));
        bounds.addColumnsToGet("#");
        invalid("Invalid column name: '#'.", () -> t.getRange(bounds));
    }
}
