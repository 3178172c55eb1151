// Short forms of the SDK calls that the cases repeat.
package compat

import (
	"fmt"
	"math/rand"
	"os"
	"time"

	ts "github.com/aliyun/aliyun-tablestore-go-sdk/tablestore"
)

// Types and options under shorter names.
const (
	integer = ts.PrimaryKeyType_INTEGER
	text    = ts.PrimaryKeyType_STRING
	binary  = ts.PrimaryKeyType_BINARY

	ignore   = ts.RowExistenceExpectation_IGNORE
	exist    = ts.RowExistenceExpectation_EXPECT_EXIST
	notExist = ts.RowExistenceExpectation_EXPECT_NOT_EXIST
)

// Values that stand for the special key markers in pk().
type marker int

const (
	infMin marker = iota
	infMax
	autoIncrement
)

// pk builds a key from name, value, name, value...; a plain int is an INTEGER.
func pk(parts ...any) *ts.PrimaryKey {
	key := new(ts.PrimaryKey)
	for i := 0; i < len(parts); i += 2 {
		name := parts[i].(string)
		switch v := parts[i+1].(type) {
		case int:
			key.AddPrimaryKeyColumn(name, int64(v))
		case marker:
			switch v {
			case infMin:
				key.AddPrimaryKeyColumnWithMinValue(name)
			case infMax:
				key.AddPrimaryKeyColumnWithMaxValue(name)
			default:
				key.AddPrimaryKeyColumnWithAutoIncrement(name)
			}
		default:
			key.AddPrimaryKeyColumn(name, v)
		}
	}
	return key
}

// col is one attribute column to write; at is its timestamp, 0 for the server's.
type col struct {
	name  string
	value any
	at    int64
}

func c(name string, value any) col {
	if n, ok := value.(int); ok {
		value = int64(n)
	}
	return col{name: name, value: value}
}

func cAt(name string, value any, at int64) col {
	column := c(name, value)
	column.at = at
	return column
}

// --- tables -------------------------------------------------------------------------------------

var (
	runID        = fmt.Sprintf("%d_%06d", os.Getpid(), rand.Intn(1000000))
	nameCounter  int
	sharedTables = map[int]string{}
)

func uniqueName() string {
	nameCounter++
	return fmt.Sprintf("go_%s_%d", runID, nameCounter)
}

// keyColumn describes one key column: name, type, and whether the server generates it.
type keyColumn struct {
	name string
	kind ts.PrimaryKeyType
	auto bool
}

func createRequest(name string, maxVersions int, columns ...keyColumn) *ts.CreateTableRequest {
	meta := &ts.TableMeta{TableName: name}
	for _, k := range columns {
		if k.auto {
			meta.AddPrimaryKeyColumnOption(k.name, k.kind, ts.AUTO_INCREMENT)
		} else {
			meta.AddPrimaryKeyColumn(k.name, k.kind)
		}
	}
	return &ts.CreateTableRequest{
		TableMeta:          meta,
		TableOption:        ts.NewTableOptionWithMaxVersion(maxVersions),
		ReservedThroughput: &ts.ReservedThroughput{},
	}
}

// create sends the request and remembers the table, so that it is dropped after the case.
func (t *T) create(request *ts.CreateTableRequest) string {
	name := request.TableMeta.TableName
	t.tables = append(t.tables, name)
	_, err := t.client.CreateTable(request)
	t.must(err)
	return name
}

// table makes a table with one version per column.
func (t *T) table(columns ...keyColumn) string {
	return t.create(createRequest(uniqueName(), 1, columns...))
}

func (t *T) intTable() string { return t.table(keyColumn{"pk", integer, false}) }

func (t *T) dropTables() {
	for _, name := range t.tables {
		t.client.DeleteTable(&ts.DeleteTableRequest{TableName: name})
	}
}

// shared is a table that many cases use, each under its own partition key: fewer table operations.
// Its key is "p" STRING, "q" INTEGER.
func (t *T) shared(maxVersions int) string {
	if name, ok := sharedTables[maxVersions]; ok {
		return name
	}
	name := uniqueName()
	_, err := t.client.CreateTable(createRequest(name, maxVersions, keyColumn{"p", text, false}, keyColumn{"q", integer, false}))
	t.must(err)
	sharedTables[maxVersions] = name
	return name
}

func dropShared(client *ts.TableStoreClient) {
	for _, name := range sharedTables {
		client.DeleteTable(&ts.DeleteTableRequest{TableName: name})
	}
}

// key is the n-th key of this case in a shared table.
func (t *T) key(n int) *ts.PrimaryKey { return pk("p", t.name, "q", n) }

func (t *T) describe(table string) *ts.DescribeTableResponse {
	answer, err := t.client.DescribeTable(&ts.DescribeTableRequest{TableName: table})
	t.must(err)
	return answer
}

// --- rows ---------------------------------------------------------------------------------------

func putChange(table string, key *ts.PrimaryKey, columns ...col) *ts.PutRowChange {
	change := &ts.PutRowChange{TableName: table, PrimaryKey: key}
	change.SetCondition(ignore)
	for _, column := range columns {
		change.AddColumnWithTimestamp(column.name, column.value, column.at)
	}
	return change
}

func (t *T) putRow(change *ts.PutRowChange) (*ts.PutRowResponse, error) {
	return t.client.PutRow(&ts.PutRowRequest{PutRowChange: change})
}

func (t *T) put(table string, key *ts.PrimaryKey, columns ...col) *ts.PutRowResponse {
	answer, err := t.putRow(putChange(table, key, columns...))
	t.must(err)
	return answer
}

func updateChange(table string, key *ts.PrimaryKey) *ts.UpdateRowChange {
	change := &ts.UpdateRowChange{TableName: table, PrimaryKey: key}
	change.SetCondition(ignore)
	return change
}

func (t *T) updateRow(change *ts.UpdateRowChange) (*ts.UpdateRowResponse, error) {
	return t.client.UpdateRow(&ts.UpdateRowRequest{UpdateRowChange: change})
}

func (t *T) update(change *ts.UpdateRowChange) *ts.UpdateRowResponse {
	answer, err := t.updateRow(change)
	t.must(err)
	return answer
}

func deleteChange(table string, key *ts.PrimaryKey) *ts.DeleteRowChange {
	change := &ts.DeleteRowChange{TableName: table, PrimaryKey: key}
	change.SetCondition(ignore)
	return change
}

func (t *T) deleteRow(change *ts.DeleteRowChange) (*ts.DeleteRowResponse, error) {
	return t.client.DeleteRow(&ts.DeleteRowRequest{DeleteRowChange: change})
}

func query(table string, key *ts.PrimaryKey) *ts.SingleRowQueryCriteria {
	return &ts.SingleRowQueryCriteria{TableName: table, PrimaryKey: key, MaxVersion: 1}
}

func (t *T) getRow(criteria *ts.SingleRowQueryCriteria) (*ts.GetRowResponse, error) {
	return t.client.GetRow(&ts.GetRowRequest{SingleRowQueryCriteria: criteria})
}

func (t *T) get(table string, key *ts.PrimaryKey) *ts.GetRowResponse {
	return t.getBy(query(table, key))
}

func (t *T) getBy(criteria *ts.SingleRowQueryCriteria) *ts.GetRowResponse {
	answer, err := t.getRow(criteria)
	t.must(err)
	return answer
}

// present tells whether the answer holds a row; an absent row has no key.
func present(answer *ts.GetRowResponse) bool { return len(answer.PrimaryKey.PrimaryKeys) > 0 }

// cells turns columns into [name, value] pairs in the order they came.
func cells(columns []*ts.AttributeColumn) [][2]any {
	out := [][2]any{}
	for _, column := range columns {
		out = append(out, [2]any{column.ColumnName, column.Value})
	}
	return out
}

func pairs(parts ...any) [][2]any {
	out := [][2]any{}
	for i := 0; i < len(parts); i += 2 {
		out = append(out, [2]any{parts[i], wide(parts[i+1])})
	}
	return out
}

func wide(v any) any {
	if n, ok := v.(int); ok {
		return int64(n)
	}
	return v
}

// keyValues are the values of a key without the names.
func keyValues(key *ts.PrimaryKey) []any {
	out := []any{}
	for _, column := range key.PrimaryKeys {
		out = append(out, column.Value)
	}
	return out
}

func values(parts ...any) []any {
	out := []any{}
	for _, v := range parts {
		out = append(out, wide(v))
	}
	return out
}

func (t *T) wantCells(what string, answer *ts.GetRowResponse, expected ...any) {
	t.equal(what, cells(answer.Columns), pairs(expected...))
}

// --- batches ------------------------------------------------------------------------------------

func (t *T) batchWrite(changes ...ts.RowChange) (*ts.BatchWriteRowResponse, error) {
	request := &ts.BatchWriteRowRequest{}
	for _, change := range changes {
		request.AddRowChange(change)
	}
	return t.client.BatchWriteRow(request)
}

func (t *T) batchGet(criteria ...*ts.MultiRowQueryCriteria) (*ts.BatchGetRowResponse, error) {
	return t.client.BatchGetRow(&ts.BatchGetRowRequest{MultiRowQueryCriteria: criteria})
}

func multi(table string, keys ...*ts.PrimaryKey) *ts.MultiRowQueryCriteria {
	criteria := &ts.MultiRowQueryCriteria{TableName: table, MaxVersion: 1}
	for _, key := range keys {
		criteria.AddRow(key)
	}
	return criteria
}

// fill puts rows pk = from .. to-1 in batches of 200, the most one batch may hold.
func (t *T) fill(table string, from, to int, columns func(n int) []col) {
	for from < to {
		var changes []ts.RowChange
		for ; from < to && len(changes) < 200; from++ {
			changes = append(changes, putChange(table, pk("pk", from), columns(from)...))
		}
		answer, err := t.batchWrite(changes...)
		t.must(err)
		for _, row := range answer.TableToRowsResult[table] {
			t.check(row.IsSucceed, "row %d of a batch: %+v", row.Index, row.Error)
		}
	}
}

// --- ranges -------------------------------------------------------------------------------------

func rangeQuery(table string, start, end *ts.PrimaryKey) *ts.RangeRowQueryCriteria {
	return &ts.RangeRowQueryCriteria{TableName: table, StartPrimaryKey: start, EndPrimaryKey: end,
		MaxVersion: 1, Direction: ts.FORWARD}
}

func (t *T) getRange(criteria *ts.RangeRowQueryCriteria) (*ts.GetRangeResponse, error) {
	return t.client.GetRange(&ts.GetRangeRequest{RangeRowQueryCriteria: criteria})
}

// readAll follows next_start_primary_key to the end and returns the rows and the number of pages.
func (t *T) readAll(criteria *ts.RangeRowQueryCriteria) ([]*ts.Row, int) {
	var rows []*ts.Row
	for pages := 1; ; pages++ {
		answer, err := t.getRange(criteria)
		t.must(err)
		rows = append(rows, answer.Rows...)
		if answer.NextStartPrimaryKey == nil {
			return rows, pages
		}
		t.check(pages < 1000, "GetRange does not come to an end")
		criteria.StartPrimaryKey = answer.NextStartPrimaryKey
	}
}

// firstKeys are the values of the first key column of the rows.
func firstKeys(rows []*ts.Row) []any {
	out := []any{}
	for _, row := range rows {
		out = append(out, row.PrimaryKey.PrimaryKeys[0].Value)
	}
	return out
}

// --- filters ------------------------------------------------------------------------------------

// single builds a filter or condition that fails where the column is missing; cases that want the
// opposite set FilterIfMissing themselves.
func single(name string, comparator ts.ComparatorType, value any) *ts.SingleColumnCondition {
	condition := ts.NewSingleColumnCondition(name, comparator, wide(value))
	condition.FilterIfMissing = true
	condition.LatestVersionOnly = true
	return condition
}

func composite(operator ts.LogicalOperator, filters ...ts.ColumnFilter) *ts.CompositeColumnValueFilter {
	filter := ts.NewCompositeColumnCondition(operator)
	for _, f := range filters {
		filter.AddFilter(f)
	}
	return filter
}

// --- small helpers ------------------------------------------------------------------------------

func nowMillis() int64 { return time.Now().UnixMilli() }

func repeat(b byte, n int) string {
	out := make([]byte, n)
	for i := range out {
		out[i] = b
	}
	return string(out)
}
