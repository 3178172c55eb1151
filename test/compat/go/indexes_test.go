package compat

import (
	"os"
	"slices"
	"testing"

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

func TestIndex(t *testing.T) {
	if os.Getenv("WIDEROW_NO_INDEXES") != "" {
		t.Skip("a server over a pool keeps no indexes")
	}
	run(t, "an index follows its table", func(t *T) {
		table, index := t.indexed(false, "d0")
		t.put(table, pk("pk", 1), c("d0", 7), c("d1", "x"))
		t.put(table, pk("pk", 2), c("d0", 5))
		t.equal("entries", t.firstKeysOf(index, "d0", "pk"), []any{int64(5), int64(7)})
		t.wantCells("entry", t.get(index, pk("d0", 7, "pk", 1)), "d1", "x")
		_, err := t.deleteRow(deleteChange(table, pk("pk", 2)))
		t.must(err)
		t.equal("entries", t.firstKeysOf(index, "d0", "pk"), []any{int64(7)})
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
