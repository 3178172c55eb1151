package compat

import (
	"math"
	"testing"

	ts "github.com/aliyun/aliyun-tablestore-go-sdk/tablestore"
)

func incrementChange(table string, key *ts.PrimaryKey, name string, by int64) *ts.UpdateRowChange {
	change := updateChange(table, key)
	change.IncrementColumn(name, by)
	return change
}

func TestCounter(t *testing.T) {
	run(t, "counts from nothing, up and down", func(t *T) {
		table, key := t.shared(1), t.key(0)
		for _, by := range []int64{5, 7, -20} {
			t.update(incrementChange(table, key, "n", by))
		}
		t.wantCells("columns", t.get(table, key), "n", -8)
	})

	run(t, "returns the new value", func(t *T) {
		table, key := t.shared(1), t.key(0)
		t.put(table, key, c("n", 100), c("other", 1))
		change := incrementChange(table, key, "n", 11)
		change.SetReturnIncrementValue()
		change.AppendIncrementColumnToReturn("n")
		answer := t.update(change)
		t.equal("returned columns", cells(answer.Columns), pairs("n", 111))
	})

	run(t, "together with puts and deletes of other columns", func(t *T) {
		table, key := t.shared(1), t.key(0)
		t.put(table, key, c("n", 1), c("old", 1))
		change := incrementChange(table, key, "n", 1)
		change.PutColumn("new", "x")
		change.DeleteColumn("old")
		t.update(change)
		t.wantCells("columns", t.get(table, key), "n", 2, "new", "x")
	})

	run(t, "a column that is not a number", func(t *T) {
		table, key := t.shared(1), t.key(0)
		t.put(table, key, c("n", "text"))
		_, err := t.updateRow(incrementChange(table, key, "n", 1))
		t.refused(err, 400, invalid)
		t.wantCells("unchanged", t.get(table, key), "n", "text")
	})

	run(t, "overflow", func(t *T) {
		table, key := t.shared(1), t.key(0)
		t.put(table, key, c("n", int64(math.MaxInt64)))
		_, err := t.updateRow(incrementChange(table, key, "n", 1))
		t.refused(err, 400, invalid)
		t.wantCells("unchanged", t.get(table, key), "n", int64(math.MaxInt64))
	})

	run(t, "a returned column must be incremented", func(t *T) {
		table, key := t.shared(1), t.key(0)
		t.put(table, key, c("n", 1), c("other", 1))
		change := incrementChange(table, key, "n", 1)
		change.SetReturnIncrementValue()
		change.AppendIncrementColumnToReturn("other")
		_, err := t.updateRow(change)
		t.refused(err, 400, invalid)
		t.wantCells("unchanged", t.get(table, key), "n", 1, "other", 1)
	})

	run(t, "under a condition", func(t *T) {
		table, key := t.shared(1), t.key(0)
		t.put(table, key, c("n", 1))
		change := incrementChange(table, key, "n", 1)
		change.SetColumnCondition(single("n", ts.CT_EQUAL, 5))
		_, err := t.updateRow(change)
		t.wantError(err, 403, conditionCode, conditionText)
		t.wantCells("unchanged", t.get(table, key), "n", 1)
	})

	run(t, "in a batch", func(t *T) {
		table := t.shared(1)
		one, two := incrementChange(table, t.key(1), "n", 1), incrementChange(table, t.key(2), "n", 2)
		two.SetReturnIncrementValue()
		two.AppendIncrementColumnToReturn("n")
		answer, err := t.batchWrite(one, two)
		t.must(err)
		rows := answer.TableToRowsResult[table]
		t.check(rows[0].IsSucceed && rows[1].IsSucceed, "rows: %+v", rows)
		t.equal("returned columns", cells(rows[1].Columns), pairs("n", 2))
		t.wantCells("first", t.get(table, t.key(1)), "n", 1)
	})

	run(t, "a new version on top of the old ones", func(t *T) {
		table, key := t.shared(5), t.key(0)
		for n := 0; n < 3; n++ {
			t.update(incrementChange(table, key, "n", 10))
		}
		t.wantCells("versions", t.versions(table, key, 5), "n", 30, "n", 20, "n", 10)
	})
}
