package compat

import (
	"testing"

	ts "github.com/aliyun/aliyun-tablestore-go-sdk/tablestore"
)

func TestName(t *testing.T) {
	odd := []string{"公司", "0", "-", "a b", " ", ".", ":", "'", "\"", "$", "&", "*", "(", ")", "/", "\\", "\n", "\r",
		".a", "a.", "a:b", "a'b", "a\"b", "$a", "a#", "a&b", "(a)", "a/b", "a\\b", "a\nb", "\ra", "é", repeat('n', 255)}

	run(t, "odd column names are written and read", func(t *T) {
		for i, name := range odd {
			key := t.key(i)
			t.put(t.shared(1), key, c(name, i))
			t.wantCells("all columns", t.get(t.shared(1), key), name, i)
			t.wantCells("that column", t.columns(t.shared(1), key, name), name, i)
			t.equal("filter on it", t.passes(t.shared(1), key, single(name, ts.CT_EQUAL, i)), true)
		}
	})

	run(t, "bad column names", func(t *T) {
		table, key := t.shared(1), t.key(0)
		for _, name := range []string{"#", "#abc", "#公司", "# ", repeat('n', 256)} {
			message := "Invalid column name: '" + name + "'."
			_, err := t.putRow(putChange(table, key, c(name, 1)))
			t.wantInvalid(err, message)
			change := updateChange(table, key)
			change.DeleteColumn(name)
			_, err = t.updateRow(change)
			t.wantInvalid(err, message)
			criteria := query(table, key)
			criteria.ColumnsToGet = []string{name}
			_, err = t.getRow(criteria)
			t.wantInvalid(err, message)
			t.wantInvalid(t.filterError(single(name, ts.CT_EQUAL, 1)), message)
			_, err = t.batchWrite(putChange(table, t.key(1), c("v", 1)), putChange(table, key, c(name, 1)))
			t.wantInvalid(err, message)
		}
	})

	run(t, "a bad table name comes before a missing table", func(t *T) {
		_, err := t.getRow(query("-", t.key(0)))
		t.wantInvalid(err, "Invalid table name: '-'.")
		_, err = t.batchWrite(putChange(t.shared(1), t.key(0), c("v", 1)), putChange("-", t.key(0), c("v", 1)))
		t.wantInvalid(err, "Invalid table name: '-'.")
		_, err = t.batchGet(multi("-", t.key(0)))
		t.wantInvalid(err, "Invalid table name: '-'.")
	})

	run(t, "a bad column name comes before equal bounds", func(t *T) {
		criteria := rangeQuery(t.intTable(), pk("pk", 1), pk("pk", 1))
		criteria.ColumnsToGet = []string{"#"}
		_, err := t.getRange(criteria)
		t.wantInvalid(err, "Invalid column name: '#'.")
	})
}
