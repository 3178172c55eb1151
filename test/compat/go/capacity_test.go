package compat

import (
	"testing"

	ts "github.com/aliyun/aliyun-tablestore-go-sdk/tablestore"
)

func (t *T) wantUnits(what string, units *ts.ConsumedCapacityUnit, read, write int32) {
	t.equal("capacity of "+what, *units, ts.ConsumedCapacityUnit{Read: read, Write: write})
}

func TestCapacity(t *testing.T) {
	run(t, "small rows", func(t *T) {
		table, key := t.shared(1), t.key(0)
		t.wantUnits("PutRow", t.put(table, key, c("v", 1)).ConsumedCapacityUnit, 0, 1)
		t.wantUnits("GetRow", t.get(table, key).ConsumedCapacityUnit, 1, 0)
		change := updateChange(table, key)
		change.PutColumn("w", int64(1))
		t.wantUnits("UpdateRow", t.update(change).ConsumedCapacityUnit, 0, 1)
		answer, err := t.deleteRow(deleteChange(table, key))
		t.must(err)
		t.wantUnits("DeleteRow", answer.ConsumedCapacityUnit, 0, 1)
		t.wantUnits("GetRow of an absent row", t.get(table, key).ConsumedCapacityUnit, 1, 0)
	})

	run(t, "a row just over 8 KB costs 3", func(t *T) {
		table, key := t.shared(1), t.key(0)
		big := c("v", repeat('x', 8192))
		t.wantUnits("PutRow", t.put(table, key, big).ConsumedCapacityUnit, 0, 3)
		t.wantUnits("GetRow", t.get(table, key).ConsumedCapacityUnit, 3, 0)
		change := updateChange(table, key)
		change.PutColumn("v", big.value)
		t.wantUnits("UpdateRow", t.update(change).ConsumedCapacityUnit, 0, 3)
	})

	run(t, "an expectation costs one read", func(t *T) {
		table, key := t.shared(1), t.key(0)
		put := putChange(table, key, c("v", repeat('x', 8192)))
		put.SetCondition(notExist)
		answer, err := t.putRow(put)
		t.must(err)
		t.wantUnits("PutRow", answer.ConsumedCapacityUnit, 1, 3)
		update := updateChange(table, key)
		update.PutColumn("w", int64(1))
		update.SetCondition(exist)
		t.wantUnits("UpdateRow", t.update(update).ConsumedCapacityUnit, 1, 1)
		remove := deleteChange(table, key)
		remove.SetCondition(exist)
		removed, err := t.deleteRow(remove)
		t.must(err)
		t.wantUnits("DeleteRow", removed.ConsumedCapacityUnit, 1, 1)
	})

	run(t, "a column condition costs one read", func(t *T) {
		table, key := t.shared(1), t.key(0)
		t.put(table, key, c("v", 1))
		change := putChange(table, key, c("v", 2))
		change.SetColumnCondition(single("v", ts.CT_EQUAL, 1))
		answer, err := t.putRow(change)
		t.must(err)
		t.wantUnits("PutRow", answer.ConsumedCapacityUnit, 1, 1)
	})

	run(t, "batches count row by row", func(t *T) {
		table := t.shared(1)
		guarded := putChange(table, t.key(2), c("v", 1))
		guarded.SetCondition(notExist)
		answer, err := t.batchWrite(putChange(table, t.key(1), c("v", repeat('x', 8192))), guarded)
		t.must(err)
		rows := answer.TableToRowsResult[table]
		t.wantUnits("first row written", rows[0].ConsumedCapacityUnit, 0, 3)
		t.wantUnits("second row written", rows[1].ConsumedCapacityUnit, 1, 1)
		read, err := t.batchGet(multi(table, t.key(1), t.key(2), t.key(3)))
		t.must(err)
		rows = read.TableToRowsResult[table]
		t.wantUnits("first row read", rows[0].ConsumedCapacityUnit, 3, 0)
		t.wantUnits("second row read", rows[1].ConsumedCapacityUnit, 1, 0)
		t.wantUnits("absent row read", rows[2].ConsumedCapacityUnit, 1, 0)
	})

	run(t, "a range is rounded once", func(t *T) {
		table := t.intTable()
		t.fill(table, 0, 10, func(int) []col { return []col{c("v", repeat('x', 1000))} })
		answer, err := t.getRange(everyRow(table))
		t.must(err)
		// 10 rows of 2 + 8 + 1 + 1000 bytes are 10110 bytes.
		t.wantUnits("GetRange", answer.ConsumedCapacityUnit, 3, 0)
	})
}
