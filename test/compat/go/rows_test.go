package compat

import (
	"testing"

	ts "github.com/aliyun/aliyun-tablestore-go-sdk/tablestore"
)

func TestRow(t *testing.T) {
	run(t, "put and get", func(t *T) {
		table, key := t.shared(1), t.key(7)
		t.put(table, key, c("v", "hello"))
		answer := t.get(table, key)
		t.equal("key", keyValues(&answer.PrimaryKey), values(t.name, 7))
		t.wantCells("columns", answer, "v", "hello")
		age := nowMillis() - answer.Columns[0].Timestamp
		t.check(age > -60000 && age < 60000, "the server's timestamp is %d ms old", age)
	})

	run(t, "columns come sorted by name", func(t *T) {
		table, key := t.shared(1), t.key(0)
		t.put(table, key, c("b", 1), c("a", 2), c("B", 3), c("_", 4), c("ab", 5))
		t.wantCells("columns", t.get(table, key), "B", 3, "_", 4, "a", 2, "ab", 5, "b", 1)
	})

	run(t, "put replaces the whole row", func(t *T) {
		table, key := t.shared(1), t.key(0)
		t.put(table, key, c("old", 1), c("both", 1))
		t.put(table, key, c("both", 2), c("new", 2))
		t.wantCells("columns", t.get(table, key), "both", 2, "new", 2)
	})

	run(t, "a key without columns is a row", func(t *T) {
		table, key := t.shared(1), t.key(0)
		t.put(table, key)
		answer := t.get(table, key)
		t.check(present(answer), "the row is absent")
		t.equal("number of columns", len(answer.Columns), 0)
	})

	run(t, "get of an absent row", func(t *T) {
		answer := t.get(t.shared(1), t.key(404))
		t.check(!present(answer) && len(answer.Columns) == 0, "expected no row, got %v", answer)
	})

	run(t, "update creates a row", func(t *T) {
		table, key := t.shared(1), t.key(0)
		change := updateChange(table, key)
		change.PutColumn("v", "made")
		t.update(change)
		t.wantCells("columns", t.get(table, key), "v", "made")
	})

	run(t, "update leaves other columns", func(t *T) {
		table, key := t.shared(1), t.key(0)
		t.put(table, key, c("a", 1), c("b", 1))
		change := updateChange(table, key)
		change.PutColumn("b", int64(2))
		change.PutColumn("c", int64(2))
		t.update(change)
		t.wantCells("columns", t.get(table, key), "a", 1, "b", 2, "c", 2)
	})

	run(t, "update deletes a column", func(t *T) {
		table, key := t.shared(1), t.key(0)
		t.put(table, key, c("a", 1), c("b", 1))
		change := updateChange(table, key)
		change.DeleteColumn("a")
		change.DeleteColumn("absent")
		t.update(change)
		t.wantCells("columns", t.get(table, key), "b", 1)
	})

	run(t, "deleting every column leaves the row", func(t *T) {
		table, key := t.shared(1), t.key(0)
		t.put(table, key, c("a", 1))
		change := updateChange(table, key)
		change.DeleteColumn("a")
		t.update(change)
		answer := t.get(table, key)
		t.check(present(answer), "the row is gone")
		t.equal("number of columns", len(answer.Columns), 0)
	})

	run(t, "update deletes one version", func(t *T) {
		table, key, now := t.shared(5), t.key(0), nowMillis()
		t.put(table, key, cAt("v", "old", now-2), cAt("v", "middle", now-1), cAt("v", "new", now))
		change := updateChange(table, key)
		change.DeleteColumnWithTimestamp("v", now-1)
		t.update(change)
		criteria := query(table, key)
		criteria.MaxVersion = 5
		t.wantCells("versions", t.getBy(criteria), "v", "new", "v", "old")
	})

	run(t, "an update made only of deletes creates nothing", func(t *T) {
		table, key := t.shared(1), t.key(0)
		change := updateChange(table, key)
		change.DeleteColumn("v")
		t.update(change)
		t.check(!present(t.get(table, key)), "a row was created")
	})

	run(t, "delete", func(t *T) {
		table, key := t.shared(1), t.key(0)
		t.put(table, key, c("v", 1))
		_, err := t.deleteRow(deleteChange(table, key))
		t.must(err)
		t.check(!present(t.get(table, key)), "the row is still there")
	})

	run(t, "delete of an absent row succeeds", func(t *T) {
		_, err := t.deleteRow(deleteChange(t.shared(1), t.key(0)))
		t.must(err)
	})

	run(t, "a deleted row can be written again", func(t *T) {
		table, key := t.shared(5), t.key(0)
		t.put(table, key, c("old", 1))
		_, err := t.deleteRow(deleteChange(table, key))
		t.must(err)
		change := updateChange(table, key)
		change.PutColumn("new", int64(2))
		t.update(change)
		criteria := query(table, key)
		criteria.MaxVersion = 5
		t.wantCells("columns", t.getBy(criteria), "new", 2)
	})

	run(t, "return type none returns no key", func(t *T) {
		change := putChange(t.shared(1), t.key(0), c("v", 1))
		change.ReturnType = ts.ReturnType_RT_NONE
		answer, err := t.putRow(change)
		t.must(err)
		t.equal("returned key", len(answer.PrimaryKey.PrimaryKeys), 0)
	})

	run(t, "put returns its key if asked", func(t *T) {
		change := putChange(t.shared(1), t.key(3), c("v", 1))
		change.SetReturnPk()
		answer, err := t.putRow(change)
		t.must(err)
		t.equal("returned key", keyValues(&answer.PrimaryKey), values(t.name, 3))
	})
}
