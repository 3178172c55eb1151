package compat

import (
	"slices"
	"testing"

	ts "github.com/aliyun/aliyun-tablestore-go-sdk/tablestore"
)

func everyRow(table string) *ts.RangeRowQueryCriteria {
	return rangeQuery(table, pk("pk", infMin), pk("pk", infMax))
}

// numbered makes a table of the rows from .. to-1.
func (t *T) numbered(from, to int) string {
	table := t.intTable()
	t.fill(table, from, to, func(n int) []col { return []col{c("v", n)} })
	return table
}

func count(from, to int) []any {
	out := []any{}
	for ; from < to; from++ {
		out = append(out, int64(from))
	}
	return out
}

func reversed(in []any) []any {
	out := slices.Clone(in)
	slices.Reverse(out)
	return out
}

func TestRange(t *testing.T) {
	run(t, "forward over several pages", func(t *T) {
		table := t.numbered(-12, 13)
		criteria := everyRow(table)
		criteria.Limit = 7
		rows, pages := t.readAll(criteria)
		t.equal("keys", firstKeys(rows), count(-12, 13))
		t.equal("pages", pages, 4)
		t.equal("a row's columns", cells(rows[0].Columns), pairs("v", -12))
	})

	run(t, "backward over several pages", func(t *T) {
		table := t.numbered(-12, 13)
		criteria := rangeQuery(table, pk("pk", infMax), pk("pk", infMin))
		criteria.Direction = ts.BACKWARD
		criteria.Limit = 7
		rows, pages := t.readAll(criteria)
		t.equal("keys", firstKeys(rows), reversed(count(-12, 13)))
		t.equal("pages", pages, 4)
	})

	run(t, "next key is the first row not read", func(t *T) {
		table := t.numbered(0, 5)
		criteria := everyRow(table)
		criteria.Limit = 2
		answer, err := t.getRange(criteria)
		t.must(err)
		t.equal("rows", firstKeys(answer.Rows), count(0, 2))
		t.check(answer.NextStartPrimaryKey != nil, "there is no next key")
		t.equal("next key", keyValues(answer.NextStartPrimaryKey), values(2))
	})

	run(t, "start is inclusive, end is exclusive", func(t *T) {
		table := t.numbered(0, 10)
		rows, _ := t.readAll(rangeQuery(table, pk("pk", 3), pk("pk", 7)))
		t.equal("forward", firstKeys(rows), count(3, 7))
		back := rangeQuery(table, pk("pk", 7), pk("pk", 3))
		back.Direction = ts.BACKWARD
		rows, _ = t.readAll(back)
		t.equal("backward", firstKeys(rows), reversed(count(4, 8)))
	})

	run(t, "no row in it", func(t *T) {
		table := t.numbered(0, 5)
		rows, _ := t.readAll(rangeQuery(table, pk("pk", 100), pk("pk", 200)))
		t.equal("number of rows", len(rows), 0)
	})

	run(t, "an empty table", func(t *T) {
		rows, pages := t.readAll(everyRow(t.intTable()))
		t.equal("number of rows", len(rows), 0)
		t.equal("pages", pages, 1)
	})

	run(t, "strings sort as bytes", func(t *T) {
		table := t.table(keyColumn{"pk", text, false})
		sorted := []any{"", "\x00", "1", "10", "2", "A", "a", "a\x00", "a\x00b", "ab", "b", "é", "中", "🙂"}
		for _, i := range []int{5, 2, 13, 0, 8, 11, 3, 1, 12, 4, 7, 10, 6, 9} {
			t.put(table, pk("pk", sorted[i]))
		}
		rows, _ := t.readAll(everyRow(table))
		t.equal("keys", firstKeys(rows), sorted)
	})

	run(t, "binaries sort as unsigned bytes", func(t *T) {
		table := t.table(keyColumn{"pk", binary, false})
		sorted := []any{[]byte{}, []byte{0}, []byte{0, 0}, []byte{0, 0xff}, []byte{1}, []byte{0x7f}, []byte{0x80}, []byte{0xff}, []byte{0xff, 0xff}}
		for _, i := range []int{4, 8, 0, 6, 2, 7, 1, 3, 5} {
			t.put(table, pk("pk", sorted[i]))
		}
		rows, _ := t.readAll(everyRow(table))
		t.equal("keys", firstKeys(rows), sorted)
		back := rangeQuery(table, pk("pk", infMax), pk("pk", infMin))
		back.Direction = ts.BACKWARD
		back.Limit = 2
		rows, _ = t.readAll(back)
		t.equal("keys backward", firstKeys(rows), reversed(sorted))
	})

	run(t, "two key columns sort column by column", func(t *T) {
		table := t.shared(1)
		for _, n := range []int{2, -1, 0, 1} {
			t.put(table, pk("p", t.name+"/a", "q", n), c("v", n))
			t.put(table, pk("p", t.name+"/b", "q", n), c("v", n+10))
		}
		rows, _ := t.readAll(rangeQuery(table, pk("p", t.name+"/a", "q", infMin), pk("p", t.name+"/b", "q", infMax)))
		var got []any
		for _, row := range rows {
			got = append(got, row.Columns[0].Value)
		}
		t.equal("rows", got, values(-1, 0, 1, 2, 9, 10, 11, 12))
		rows, _ = t.readAll(rangeQuery(table, pk("p", t.name+"/a", "q", 1), pk("p", t.name+"/b", "q", 0)))
		t.equal("rows between two full keys", len(rows), 3)
	})

	run(t, "infinities in the middle of a key", func(t *T) {
		table := t.table(keyColumn{"a", integer, false}, keyColumn{"b", integer, false}, keyColumn{"c", integer, false})
		for n := 0; n < 27; n++ {
			t.put(table, pk("a", n/9, "b", n/3%3, "c", n%3))
		}
		rows, _ := t.readAll(rangeQuery(table, pk("a", 0, "b", infMax, "c", 2), pk("a", 2, "b", infMin, "c", 0)))
		t.equal("rows of the middle value", len(rows), 9)
		t.equal("first", keyValues(rows[0].PrimaryKey), values(1, 0, 0))
	})

	run(t, "a page sees what was written before it", func(t *T) {
		table := t.numbered(0, 4)
		criteria := everyRow(table)
		criteria.Limit = 2
		answer, err := t.getRange(criteria)
		t.must(err)
		_, err = t.deleteRow(deleteChange(table, pk("pk", 2)))
		t.must(err)
		criteria.StartPrimaryKey = answer.NextStartPrimaryKey
		rows, _ := t.readAll(criteria)
		t.equal("the rest", firstKeys(rows), values(3))
	})

	run(t, "matrix encoding may be asked for", func(t *T) {
		table := t.numbered(0, 5)
		criteria := everyRow(table)
		criteria.ColumnsToGet = []string{"pk", "v"}
		criteria.DataBlockType = ts.SimpleRowMatrix
		answer, err := t.getRange(criteria)
		t.must(err)
		t.equal("format", answer.DataBlockType, ts.SimpleRowMatrix)
		rows, _ := t.readAll(criteria)
		t.equal("keys", firstKeys(rows), count(0, 5))
		t.equal("columns", cells(rows[4].Columns), pairs("v", 4))
	})

	run(t, "a matrix has every type, and leaves out what a row has not", func(t *T) {
		table := t.intTable()
		t.put(table, pk("pk", 1), c("s", "text"), c("b", []byte{0, 255}), c("i", -5), c("d", 2.5), c("t", true))
		t.put(table, pk("pk", 2), c("other", 1))
		criteria := everyRow(table)
		criteria.ColumnsToGet = []string{"t", "s", "i", "d", "b", "pk"}
		criteria.DataBlockType = ts.SimpleRowMatrix
		answer, err := t.getRange(criteria)
		t.must(err)
		t.equal("format", answer.DataBlockType, ts.SimpleRowMatrix)
		t.equal("keys", firstKeys(answer.Rows), count(1, 3))
		t.equal("columns", cells(answer.Rows[0].Columns), pairs("b", []byte{0, 255}, "d", 2.5, "i", -5, "s", "text", "t", true))
		t.equal("columns of a row without them", len(answer.Rows[1].Columns), 0)

		criteria.MaxVersion = 2
		answer, err = t.getRange(criteria)
		t.must(err)
		t.equal("format of several versions, which a matrix cannot hold", answer.DataBlockType, ts.PlainBuffer)
		criteria.MaxVersion = 1
		criteria.ColumnsToGet = nil
		answer, err = t.getRange(criteria)
		t.must(err)
		t.equal("format of all columns", answer.DataBlockType, ts.PlainBuffer)
	})
}
