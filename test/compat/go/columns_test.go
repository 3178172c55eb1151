package compat

import (
	"fmt"
	"testing"

	ts "github.com/aliyun/aliyun-tablestore-go-sdk/tablestore"
)

// columns reads one row with columns_to_get.
func (t *T) columns(table string, key *ts.PrimaryKey, names ...string) *ts.GetRowResponse {
	criteria := query(table, key)
	criteria.ColumnsToGet = names
	return t.getBy(criteria)
}

func columnNames(n int) []string {
	var names []string
	for i := 0; i < n; i++ {
		names = append(names, fmt.Sprintf("c%04d", i))
	}
	return names
}

func TestColumn(t *testing.T) {
	abc := func(t *T) (string, *ts.PrimaryKey) {
		t.put(t.shared(1), t.key(0), c("a", 1), c("b", 2), c("c", 3), c("d", 4))
		return t.shared(1), t.key(0)
	}

	run(t, "columns: some of them", func(t *T) {
		table, key := abc(t)
		t.wantCells("columns", t.columns(table, key, "c", "a", "absent"), "a", 1, "c", 3)
	})

	run(t, "columns: key columns come back as key only", func(t *T) {
		table, key := abc(t)
		answer := t.columns(table, key, "p", "q", "b")
		t.equal("key", keyValues(&answer.PrimaryKey), values(t.name, 0))
		t.wantCells("columns", answer, "b", 2)
	})

	run(t, "columns: a name given twice counts once", func(t *T) {
		table, key := abc(t)
		t.wantCells("columns", t.columns(table, key, "b", "b"), "b", 2)
	})

	run(t, "columns: none of them there is no row", func(t *T) {
		table, key := abc(t)
		t.check(!present(t.columns(table, key, "absent")), "a row came back")
	})

	run(t, "columns: a range leaves out rows without them", func(t *T) {
		table := t.intTable()
		t.put(table, pk("pk", 1), c("a", 1))
		t.put(table, pk("pk", 2), c("b", 1))
		t.put(table, pk("pk", 3), c("a", 1), c("b", 1))
		criteria := everyRow(table)
		criteria.ColumnsToGet = []string{"a"}
		rows, _ := t.readAll(criteria)
		t.equal("keys", firstKeys(rows), values(1, 3))
	})

	run(t, "columns: from start, before end", func(t *T) {
		table, key := abc(t)
		criteria := query(table, key)
		criteria.SetStartColumn("b")
		t.wantCells("from b", t.getBy(criteria), "b", 2, "c", 3, "d", 4)
		criteria.SetEndtColumn("d")
		t.wantCells("from b to d", t.getBy(criteria), "b", 2, "c", 3)
		criteria.StartColumn = nil
		t.wantCells("to d", t.getBy(criteria), "a", 1, "b", 2, "c", 3)
	})

	run(t, "columns: start and end in a range", func(t *T) {
		table := t.intTable()
		t.put(table, pk("pk", 1), c("a", 1), c("b", 2), c("c", 3))
		criteria := everyRow(table)
		start, end := "b", "c"
		criteria.StartColumn, criteria.EndColumn = &start, &end
		rows, _ := t.readAll(criteria)
		t.equal("columns", cells(rows[0].Columns), pairs("b", 2))
	})

	run(t, "columns: 1024 names are allowed, 1025 are not", func(t *T) {
		table, key := abc(t)
		names := append(columnNames(1023), "a")
		t.wantCells("columns", t.columns(table, key, names...), "a", 1)
		criteria := query(table, key)
		criteria.ColumnsToGet = columnNames(1025)
		_, err := t.getRow(criteria)
		t.wantInvalid(err, "The number of columns from the request exceeds the limit, limit count: 1024, column count: 1025.")
	})
}
