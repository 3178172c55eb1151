package compat

import (
	"os"
	"testing"

	ts "github.com/aliyun/aliyun-tablestore-go-sdk/tablestore"
)

// streamed makes a table whose stream keeps records, with the values of before of column a.
func (t *T) streamed() string {
	request := createRequest(uniqueName(), 10, keyColumn{"pk", integer, false})
	request.StreamSpec = &ts.StreamSpecification{EnableStream: true, ExpirationTime: 24, OriginColumnsToGet: []string{"a"}}
	return t.create(request)
}

func (t *T) stream(table string) ts.Stream {
	t.Helper()
	answer, err := t.client.ListStream(&ts.ListStreamRequest{TableName: &table})
	t.must(err)
	t.equal("streams of the table", len(answer.Streams), 1)
	return answer.Streams[0]
}

func (t *T) shards(id *ts.StreamId) *ts.DescribeStreamResponse {
	t.Helper()
	answer, err := t.client.DescribeStream(&ts.DescribeStreamRequest{StreamId: id})
	t.must(err)
	return answer
}

func (t *T) iterator(table string, from *int64) *ts.ShardIterator {
	t.Helper()
	id := t.stream(table).Id
	shards := t.shards(id).Shards
	t.equal("shards", len(shards), 1)
	answer, err := t.client.GetShardIterator(&ts.GetShardIteratorRequest{StreamId: id, ShardId: shards[0].SelfShard, Timestamp: from})
	t.must(err)
	return answer.ShardIterator
}

func (t *T) records(at *ts.ShardIterator, limit int32) *ts.GetStreamRecordResponse {
	t.Helper()
	answer, err := t.client.GetStreamRecord(&ts.GetStreamRecordRequest{ShardIterator: at, Limit: &limit})
	t.must(err)
	return answer
}

func TestStream(t *testing.T) {
	run(t, "a stream is listed and described", func(t *T) {
		table := t.streamed()
		stream := t.stream(table)
		t.equal("table", *stream.TableName, table)
		t.equal("id", *stream.Id, *t.describe(table).StreamDetails.StreamId)
		described := t.shards(stream.Id)
		t.equal("table described", *described.TableName, table)
		t.equal("hours", described.ExpirationTime, int32(24))
		t.equal("created", described.CreationTime, stream.CreationTime)
		t.equal("active", described.Status, ts.SS_Active)
		t.check(described.NextShardId == nil, "there are more shards")
		t.check(len(described.Shards) == 1 && described.Shards[0].FatherShard == nil, "the first shard has a parent")
	})

	run(t, "records tell every change in order", func(t *T) {
		table := t.streamed()
		t.put(table, pk("pk", 1), c("a", 1), c("b", "x"))
		change := updateChange(table, pk("pk", 1))
		change.PutColumn("a", int64(2))
		change.DeleteColumn("b")
		change.DeleteColumnWithTimestamp("c", 1000)
		t.update(change)
		_, err := t.deleteRow(deleteChange(table, pk("pk", 1)))
		t.must(err)

		records := t.records(t.iterator(table, nil), 100).Records
		t.equal("records", len(records), 3)
		kinds := []ts.ActionType{ts.AT_Put, ts.AT_Update, ts.AT_Delete}
		var last int64
		for i, record := range records {
			t.equal("kind", record.Type, kinds[i])
			t.equal("key", keyValues(record.PrimaryKey), []any{int64(1)})
			t.check(record.Info.Timestamp > last, "%d behind %d", record.Info.Timestamp, last)
			last = record.Info.Timestamp
		}
		put, update := records[0].Columns, records[1].Columns
		t.equal("columns put", len(put), 2)
		t.equal("value put", put[0].Value, int64(1))
		t.equal("columns updated", len(update), 3)
		t.equal("value updated", update[0].Value, int64(2))
		t.equal("deletion", update[1].Type, ts.RCT_DeleteAllVersions)
		t.equal("deletion of a version", update[2].Type, ts.RCT_DeleteOneVersion)
		t.equal("which", *update[2].Timestamp, int64(1000))
		t.equal("columns of the deletion", len(records[2].Columns), 0)
		t.equal("values before the put", len(records[0].OriginColumns), 0)
		t.equal("value before the update", records[1].OriginColumns[0].Value, int64(1))
		t.equal("value before the deletion", records[2].OriginColumns[0].Value, int64(2))
	})

	run(t, "a limit ends an answer and the next iterator goes on", func(t *T) {
		table := t.streamed()
		for i := range 5 {
			t.put(table, pk("pk", i), c("a", i))
		}
		var got []any
		at := t.iterator(table, nil)
		for range 3 {
			answer := t.records(at, 2)
			for _, record := range answer.Records {
				got = append(got, keyValues(record.PrimaryKey)...)
			}
			at = answer.NextShardIterator
		}
		t.equal("keys", got, []any{int64(0), int64(1), int64(2), int64(3), int64(4)})
		last := t.records(at, 2)
		t.equal("behind the last", len(last.Records), 0)
		t.equal("more", *last.MayMoreRecord, false)
		t.put(table, pk("pk", 9), c("a", 9))
		t.equal("written since", len(t.records(last.NextShardIterator, 2).Records), 1)
	})

	run(t, "records from a time on", func(t *T) {
		table := t.streamed()
		t.put(table, pk("pk", 1), c("a", 1))
		t.put(table, pk("pk", 2), c("a", 2))
		second := t.records(t.iterator(table, nil), 100).Records[1].Info.Timestamp
		records := t.records(t.iterator(table, &second), 100).Records
		t.equal("records", len(records), 1)
		t.equal("key", keyValues(records[0].PrimaryKey), []any{int64(2)})
	})

	run(t, "a transaction has records once it is committed, and none if it is aborted", func(t *T) {
		if os.Getenv("WIDEROW_NO_TRANSACTIONS") != "" {
			t.Skip("the server has no transactions")
		}
		request := createRequest(uniqueName(), 10, keyColumn{"user", text, false}, keyColumn{"line", integer, false})
		on := true
		request.EnableLocalTxn = &on
		request.StreamSpec = &ts.StreamSpecification{EnableStream: true, ExpirationTime: 24, OriginColumnsToGet: []string{"a"}}
		table := t.create(request)
		t.put(table, line("ann", 1), c("a", 1))
		from := t.records(t.iterator(table, nil), 100).NextShardIterator
		for _, commits := range []bool{false, true} {
			id := t.begin(table, "ann")
			t.must(t.putIn(id, table, line("ann", 1), c("a", 2)))
			t.must(t.putIn(id, table, line("ann", 2), c("a", 3)))
			t.equal("records before its end", len(t.records(from, 100).Records), 0)
			if commits {
				t.must(t.commit(id))
			} else {
				t.must(t.abort(id))
				t.equal("records of what was aborted", len(t.records(from, 100).Records), 0)
			}
		}
		records := t.records(from, 100).Records
		t.equal("records of the commit", len(records), 2)
		t.equal("first", keyValues(records[0].PrimaryKey), []any{"ann", int64(1)})
		t.equal("value before the commit", records[0].OriginColumns[0].Value, int64(1))
		t.equal("second", keyValues(records[1].PrimaryKey), []any{"ann", int64(2)})
	})

	run(t, "an iterator of a stream that was switched off", func(t *T) {
		table := t.streamed()
		at := t.iterator(table, nil)
		t.updateTable(&ts.UpdateTableRequest{TableName: table, StreamSpec: &ts.StreamSpecification{}})
		_, err := t.client.GetStreamRecord(&ts.GetStreamRecordRequest{ShardIterator: at})
		t.refused(err, 400, invalid)
		answer, err := t.client.ListStream(&ts.ListStreamRequest{TableName: &table})
		t.must(err)
		t.equal("streams", len(answer.Streams), 0)
	})

	run(t, "an altered iterator", func(t *T) {
		altered := ts.ShardIterator(string(*t.iterator(t.streamed(), nil)) + "0")
		_, err := t.client.GetStreamRecord(&ts.GetStreamRecordRequest{ShardIterator: &altered})
		t.refused(err, 400, invalid)
	})
}
