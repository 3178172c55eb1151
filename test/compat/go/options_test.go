package compat

import (
	"strings"
	"testing"

	ts "github.com/aliyun/aliyun-tablestore-go-sdk/tablestore"
)

func (t *T) updateTable(request *ts.UpdateTableRequest) *ts.UpdateTableResponse {
	answer, err := t.client.UpdateTable(request)
	t.must(err)
	return answer
}

func TestOption(t *testing.T) {
	key := keyColumn{"pk", integer, false}

	run(t, "reserved throughput at creation", func(t *T) {
		request := createRequest(uniqueName(), 1, key)
		request.ReservedThroughput = &ts.ReservedThroughput{Readcap: 3, Writecap: 4}
		t.equal("throughput", *t.describe(t.create(request)).ReservedThroughput, *request.ReservedThroughput)
	})

	run(t, "reserved throughput changed", func(t *T) {
		table := t.intTable()
		wanted := ts.ReservedThroughput{Readcap: 10, Writecap: 20}
		answer := t.updateTable(&ts.UpdateTableRequest{TableName: table, ReservedThroughput: &wanted})
		t.equal("throughput in the answer", *answer.ReservedThroughput, wanted)
		t.equal("options in the answer", answer.TableOption.MaxVersion, 1)
		t.equal("throughput", *t.describe(table).ReservedThroughput, wanted)
	})

	run(t, "deviation changed", func(t *T) {
		table := t.intTable()
		option := ts.NewTableOptionWithMaxVersion(1)
		option.DeviationCellVersionInSec = 3 * 86400
		answer := t.updateTable(&ts.UpdateTableRequest{TableName: table, TableOption: option})
		t.equal("deviation in the answer", answer.TableOption.DeviationCellVersionInSec, int64(3*86400))
		t.put(table, pk("pk", 1), cAt("v", 1, nowMillis()-2*86400*1000))
	})

	run(t, "allow_update off refuses UpdateRow", func(t *T) {
		request := createRequest(uniqueName(), 1, key)
		off := false
		request.TableOption.AllowUpdate = &off
		table := t.create(request)
		t.equal("described", *t.describe(table).TableOption.AllowUpdate, false)
		t.put(table, pk("pk", 1), c("v", 1))
		t.refused(t.write("update", table, pk("pk", 1), ignore, nil), 400, invalid)
		t.wantCells("unchanged", t.get(table, pk("pk", 1)), "v", 1)
		_, err := t.deleteRow(deleteChange(table, pk("pk", 1)))
		t.must(err)
	})

	run(t, "allow_update switched off and on", func(t *T) {
		table := t.intTable()
		for _, allow := range []bool{false, true} {
			option := ts.NewTableOptionWithMaxVersion(1)
			option.AllowUpdate = &allow
			t.updateTable(&ts.UpdateTableRequest{TableName: table, TableOption: option})
			err := t.write("update", table, pk("pk", 1), ignore, nil)
			if allow {
				t.must(err)
			} else {
				t.refused(err, 400, invalid)
			}
		}
	})

	run(t, "update_full_row is fixed at creation", func(t *T) {
		request := createRequest(uniqueName(), 1, key)
		on := true
		request.TableOption.UpdateFullRow = &on
		t.equal("described", *t.describe(t.create(request)).TableOption.UpdateFullRow, true)
		option := ts.NewTableOptionWithMaxVersion(1)
		option.UpdateFullRow = &on
		_, err := t.client.UpdateTable(&ts.UpdateTableRequest{TableName: t.intTable(), TableOption: option})
		message := t.refused(err, 400, invalid).Message
		t.check(strings.Contains(message, "updateFullRow"), "message: %q", message)
	})

	run(t, "stream at creation", func(t *T) {
		request := createRequest(uniqueName(), 1, key)
		request.StreamSpec = &ts.StreamSpecification{EnableStream: true, ExpirationTime: 24, OriginColumnsToGet: []string{"a", "b"}}
		stream := t.describe(t.create(request)).StreamDetails
		t.equal("enabled", stream.EnableStream, true)
		t.equal("expiration", stream.ExpirationTime, int32(24))
		t.equal("columns", stream.OriginColumnsToGet, []string{"a", "b"})
		t.check(stream.StreamId != nil && *stream.StreamId != "", "there is no stream id")
		age := nowMillis() - stream.LastEnableTime/1000
		t.check(age > -60000 && age < 60000, "last enabled %d ms ago", age)
	})

	run(t, "stream switched on and off", func(t *T) {
		table := t.intTable()
		answer := t.updateTable(&ts.UpdateTableRequest{TableName: table, StreamSpec: &ts.StreamSpecification{EnableStream: true, ExpirationTime: 12}})
		t.equal("enabled in the answer", answer.StreamDetails.EnableStream, true)
		t.equal("expiration in the answer", answer.StreamDetails.ExpirationTime, int32(12))
		answer = t.updateTable(&ts.UpdateTableRequest{TableName: table, StreamSpec: &ts.StreamSpecification{}})
		t.equal("disabled in the answer", answer.StreamDetails.EnableStream, false)
		t.equal("disabled", t.describe(table).StreamDetails.EnableStream, false)
	})

	run(t, "encryption with a service key", func(t *T) {
		request := createRequest(uniqueName(), 1, key)
		request.SSESpecification = &ts.SSESpecification{}
		request.SSESpecification.SetEnable(true)
		request.SSESpecification.SetKeyType(ts.SSE_KMS_SERVICE)
		sse := t.describe(t.create(request)).SSEDetails
		t.equal("enabled", sse.Enable, true)
		t.equal("key type", sse.KeyType, ts.SSE_KMS_SERVICE)
	})

	run(t, "encryption with the user's own key", func(t *T) {
		request := createRequest(uniqueName(), 1, key)
		request.SSESpecification = &ts.SSESpecification{}
		request.SSESpecification.SetEnable(true)
		request.SSESpecification.SetKeyType(ts.SSE_BYOK)
		request.SSESpecification.SetKeyId("a-key")
		request.SSESpecification.SetRoleArn("a-role")
		t.equal("details", *t.describe(t.create(request)).SSEDetails,
			ts.SSEDetails{Enable: true, KeyType: ts.SSE_BYOK, KeyId: "a-key", RoleArn: "a-role"})
	})

	run(t, "defined columns added and deleted", func(t *T) {
		table := t.intTable()
		add := &ts.AddDefinedColumnRequest{TableName: table}
		add.AddDefinedColumn("a", ts.DefinedColumn_INTEGER)
		add.AddDefinedColumn("b", ts.DefinedColumn_STRING)
		_, err := t.client.AddDefinedColumn(add)
		t.must(err)
		columns := t.describe(table).TableMeta.DefinedColumns
		t.equal("number of defined columns", len(columns), 2)
		t.equal("second", *columns[1], ts.DefinedColumnSchema{Name: "b", ColumnType: ts.DefinedColumn_STRING})
		_, err = t.client.DeleteDefinedColumn(&ts.DeleteDefinedColumnRequest{TableName: table, DefinedColumns: []string{"a"}})
		t.must(err)
		columns = t.describe(table).TableMeta.DefinedColumns
		t.equal("number left", len(columns), 1)
		t.equal("left", columns[0].Name, "b")
	})
}
