package compat

import (
	"strings"
	"testing"

	ts "github.com/aliyun/aliyun-tablestore-go-sdk/tablestore"
)

func (t *T) autoTable() string {
	return t.table(keyColumn{"p", text, false}, keyColumn{"id", integer, true})
}

// putAuto puts a row under a generated id and returns the id.
func (t *T) putAuto(table, partition string) int64 {
	change := putChange(table, pk("p", partition, "id", autoIncrement), c("v", 1))
	change.SetReturnPk()
	answer, err := t.putRow(change)
	t.must(err)
	t.equal("number of returned key columns", len(answer.PrimaryKey.PrimaryKeys), 2)
	id, ok := answer.PrimaryKey.PrimaryKeys[1].Value.(int64)
	t.check(ok, "the generated key is %s", show(answer.PrimaryKey.PrimaryKeys[1].Value))
	return id
}

func (t *T) createError(request *ts.CreateTableRequest) error {
	t.tables = append(t.tables, request.TableMeta.TableName)
	_, err := t.client.CreateTable(request)
	return err
}

func TestAutoIncrement(t *testing.T) {
	run(t, "positive and rising in one partition key", func(t *T) {
		table, last := t.autoTable(), int64(0)
		for n := 0; n < 5; n++ {
			id := t.putAuto(table, "one")
			t.check(id > last, "id %d after %d", id, last)
			last = id
		}
		t.check(t.putAuto(table, "two") > 0, "the id of another partition key is not positive")
	})

	run(t, "the option is described", func(t *T) {
		key := t.describe(t.autoTable()).TableMeta.SchemaEntry
		t.check(key[1].Option != nil && *key[1].Option == ts.AUTO_INCREMENT, "the second key column has no option")
		t.check(key[0].Option == nil, "the first key column has an option")
	})

	run(t, "the row is read and deleted by its id", func(t *T) {
		table := t.autoTable()
		id := t.putAuto(table, "one")
		t.wantCells("columns", t.get(table, pk("p", "one", "id", id)), "v", 1)
		_, err := t.deleteRow(deleteChange(table, pk("p", "one", "id", id)))
		t.must(err)
		t.check(t.putAuto(table, "one") > id, "a deleted id was given out again")
	})

	run(t, "in a batch", func(t *T) {
		table := t.autoTable()
		var changes []ts.RowChange
		for n := 0; n < 3; n++ {
			change := putChange(table, pk("p", "one", "id", autoIncrement), c("v", n))
			change.SetReturnPk()
			changes = append(changes, change)
		}
		answer, err := t.batchWrite(changes...)
		t.must(err)
		last := int64(0)
		for n, row := range answer.TableToRowsResult[table] {
			t.check(row.IsSucceed, "row %d: %+v", n, row.Error)
			id := row.PrimaryKey.PrimaryKeys[1].Value.(int64)
			t.check(id > last, "id %d after %d", id, last)
			t.wantCells("row", t.get(table, pk("p", "one", "id", id)), "v", n)
			last = id
		}
	})

	run(t, "no condition beside the placeholder", func(t *T) {
		table := t.autoTable()
		change := putChange(table, pk("p", "one", "id", autoIncrement), c("v", 1))
		change.SetCondition(notExist)
		_, err := t.putRow(change)
		t.refused(err, 400, invalid)
		change.SetCondition(ignore)
		change.SetColumnCondition(single("v", ts.CT_EQUAL, 1))
		_, err = t.putRow(change)
		t.wantInvalid(err, "Can't set condition when modify row with pk auto increment")
	})

	run(t, "no placeholder in reads", func(t *T) {
		_, err := t.getRow(query(t.autoTable(), pk("p", "one", "id", autoIncrement)))
		t.wantInvalid(err, "PKAutoIncr can't be used for read operations.")
	})

	run(t, "refused at creation", func(t *T) {
		err := t.createError(createRequest(uniqueName(), 1, keyColumn{"p", text, false}, keyColumn{"id", text, true}))
		t.wantInvalid(err, "AUTO_INCREMENT primary key must be integer.")
		err = t.createError(createRequest(uniqueName(), 1, keyColumn{"p", text, false}, keyColumn{"a", integer, true}, keyColumn{"b", integer, true}))
		t.wantInvalid(err, "AUTO_INCREMENT primary key count must <= 1.")
		err = t.createError(createRequest(uniqueName(), 1, keyColumn{"id", integer, true}))
		message := t.refused(err, 400, invalid).Message
		t.check(strings.HasPrefix(message, "First primary key can't be auto increment, table: "), "message: %q", message)
	})
}
