package compat

import (
	"slices"
	"testing"
	"time"

	ts "github.com/aliyun/aliyun-tablestore-go-sdk/tablestore"
)

// indexed makes a table with an index over these columns, which are its key's pk and the defined d0 and d1.
func (t *T) indexed(local bool, columns ...string) (table, index string) {
	request := createRequest(uniqueName(), 1, keyColumn{"pk", integer, false})
	request.TableMeta.AddDefinedColumn("d0", ts.DefinedColumn_INTEGER)
	request.TableMeta.AddDefinedColumn("d1", ts.DefinedColumn_STRING)
	table = t.create(request)
	index = table + "_ix"
	meta := &ts.IndexMeta{IndexName: index, Primarykey: columns, DefinedColumns: []string{"d1"}}
	if local {
		meta.SetAsLocalIndex()
	}
	_, err := t.client.CreateIndex(&ts.CreateIndexRequest{MainTableName: table, IndexMeta: meta})
	t.must(err)
	return table, index
}

func (t *T) firstKeysOf(index string, columns ...string) []any {
	var from, to []any
	for _, column := range columns {
		from, to = append(from, column, infMin), append(to, column, infMax)
	}
	rows, _ := t.readAll(rangeQuery(index, pk(from...), pk(to...)))
	return firstKeys(rows)
}

// follows waits until the index, which over a pool follows its table as the service's do, has entries with these first keys.
func (t *T) follows(index string, columns []string, expected ...any) {
	for tries := 0; tries < 200 && !slices.Equal(t.firstKeysOf(index, columns...), expected); tries++ {
		time.Sleep(100 * time.Millisecond)
	}
	t.equal("entries", t.firstKeysOf(index, columns...), expected)
}

func TestIndex(t *testing.T) {
	run(t, "an index follows its table", func(t *T) {
		table, index := t.indexed(false, "d0")
		t.put(table, pk("pk", 1), c("d0", 7), c("d1", "x"))
		t.put(table, pk("pk", 2), c("d0", 5))
		t.follows(index, []string{"d0", "pk"}, int64(5), int64(7))
		t.wantCells("entry", t.get(index, pk("d0", 7, "pk", 1)), "d1", "x")
		_, err := t.deleteRow(deleteChange(table, pk("pk", 2)))
		t.must(err)
		t.follows(index, []string{"d0", "pk"}, int64(7))
	})

	run(t, "a local index", func(t *T) {
		table, index := t.indexed(true, "pk", "d0")
		t.put(table, pk("pk", 1), c("d0", 7))
		t.equal("entries", t.firstKeysOf(index, "pk", "d0"), []any{int64(1)})
	})

	run(t, "an index is described, not written, and dropped", func(t *T) {
		table, index := t.indexed(false, "d0")
		meta := t.describe(table).IndexMetas[0]
		t.equal("name", meta.IndexName, index)
		t.equal("key", meta.Primarykey, []string{"d0"})
		t.equal("attributes", meta.DefinedColumns, []string{"d1"})
		_, err := t.putRow(putChange(index, pk("d0", 1, "pk", 1)))
		t.wantInvalid(err, "Can't write index table directly")
		_, err = t.client.DeleteIndex(&ts.DeleteIndexRequest{MainTableName: table, IndexName: index})
		t.must(err)
		list, err := t.client.ListTable()
		t.must(err)
		t.check(!slices.Contains(list.TableNames, index), "%s is still listed", index)
	})
}
