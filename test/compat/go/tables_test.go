package compat

import (
	"slices"
	"testing"

	ts "github.com/aliyun/aliyun-tablestore-go-sdk/tablestore"
)

func TestTable(t *testing.T) {
	run(t, "create, list, delete", func(t *T) {
		name := t.intTable()
		list, err := t.client.ListTable()
		t.must(err)
		t.check(slices.Contains(list.TableNames, name), "%s is not listed", name)
		_, err = t.client.DeleteTable(&ts.DeleteTableRequest{TableName: name})
		t.must(err)
		list, err = t.client.ListTable()
		t.must(err)
		t.check(!slices.Contains(list.TableNames, name), "%s is still listed", name)
	})

	run(t, "describe returns the key in order", func(t *T) {
		name := t.table(keyColumn{"z", text, false}, keyColumn{"a", integer, false}, keyColumn{"m", binary, false})
		var got []string
		for _, key := range t.describe(name).TableMeta.SchemaEntry {
			got = append(got, *key.Name+[]string{"", "INTEGER", "STRING", "BINARY"}[*key.Type])
		}
		t.equal("key", got, []string{"zSTRING", "aINTEGER", "mBINARY"})
	})

	run(t, "describe returns the options set", func(t *T) {
		request := createRequest(uniqueName(), 7, keyColumn{"pk", integer, false})
		request.TableOption.TimeToAlive = 90000
		request.TableOption.DeviationCellVersionInSec = 123456
		option := t.describe(t.create(request)).TableOption
		t.equal("TTL", option.TimeToAlive, 90000)
		t.equal("max versions", option.MaxVersion, 7)
		t.equal("deviation", option.DeviationCellVersionInSec, int64(123456))
	})

	run(t, "defaults of what was not set", func(t *T) {
		answer := t.describe(t.intTable())
		t.equal("TTL", answer.TableOption.TimeToAlive, -1)
		t.equal("max versions", answer.TableOption.MaxVersion, 1)
		t.equal("deviation", answer.TableOption.DeviationCellVersionInSec, int64(86400))
		t.equal("allow update", *answer.TableOption.AllowUpdate, true)
		t.equal("update full row", *answer.TableOption.UpdateFullRow, false)
		t.equal("stream", answer.StreamDetails.EnableStream, false)
		t.equal("throughput", *answer.ReservedThroughput, ts.ReservedThroughput{})
		t.equal("indexes", len(answer.IndexMetas), 0)
	})

	run(t, "describe returns defined columns of every type", func(t *T) {
		request := createRequest(uniqueName(), 1, keyColumn{"pk", integer, false})
		kinds := []ts.DefinedColumnType{ts.DefinedColumn_INTEGER, ts.DefinedColumn_DOUBLE,
			ts.DefinedColumn_BOOLEAN, ts.DefinedColumn_STRING, ts.DefinedColumn_BINARY}
		for i, kind := range kinds {
			request.TableMeta.AddDefinedColumn(string(rune('a'+i)), kind)
		}
		got := t.describe(t.create(request)).TableMeta.DefinedColumns
		t.equal("number of defined columns", len(got), len(kinds))
		for i, column := range got {
			t.equal("defined column", *column, ts.DefinedColumnSchema{Name: string(rune('a' + i)), ColumnType: kinds[i]})
		}
	})

	run(t, "update options", func(t *T) {
		name := t.intTable()
		answer, err := t.client.UpdateTable(&ts.UpdateTableRequest{TableName: name, TableOption: ts.NewTableOption(100000, 3)})
		t.must(err)
		t.equal("TTL in the answer", answer.TableOption.TimeToAlive, 100000)
		t.equal("max versions in the answer", answer.TableOption.MaxVersion, 3)
		t.equal("stream in the answer", answer.StreamDetails.EnableStream, false)
		option := t.describe(name).TableOption
		t.equal("TTL", option.TimeToAlive, 100000)
		t.equal("max versions", option.MaxVersion, 3)
		t.equal("deviation stays", option.DeviationCellVersionInSec, int64(86400))
	})

	run(t, "create twice", func(t *T) {
		name := t.intTable()
		_, err := t.client.CreateTable(createRequest(name, 1, keyColumn{"pk", integer, false}))
		t.wantError(err, 409, "OTSObjectAlreadyExist", "Requested table already exists.")
	})

	run(t, "names differ by case", func(t *T) {
		lower := uniqueName() + "_a"
		upper := lower[:len(lower)-1] + "A"
		t.create(createRequest(lower, 1, keyColumn{"pk", integer, false}))
		t.create(createRequest(upper, 1, keyColumn{"pk", integer, false}))
	})

	run(t, "a table made again is empty", func(t *T) {
		name := t.intTable()
		t.put(name, pk("pk", 1), c("v", 1))
		_, err := t.client.DeleteTable(&ts.DeleteTableRequest{TableName: name})
		t.must(err)
		_, err = t.client.CreateTable(createRequest(name, 1, keyColumn{"pk", integer, false}))
		t.must(err)
		t.check(!present(t.get(name, pk("pk", 1))), "a row of the deleted table came back")
	})
}
