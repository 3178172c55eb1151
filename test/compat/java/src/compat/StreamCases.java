package compat;

import static compat.T.*;

import com.alicloud.openservices.tablestore.model.*;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIfEnvironmentVariable;

/** The records of a table's stream. */
final class StreamCases extends EveryClient {
    /** A table whose stream keeps records, with the values of before of column a. */
    private String streamed(boolean transactions) {
        CreateTableRequest request = createRequest(uniqueName(), 10, key("pk", PrimaryKeyType.INTEGER));
        StreamSpecification stream = new StreamSpecification(true, 24);
        stream.addOriginColumnsToGet("a");
        request.setStreamSpecification(stream);
        request.setLocalTxnEnabled(transactions);
        return t.create(request);
    }

    private Stream stream(String table) {
        List<Stream> streams = t.client.listStream(new ListStreamRequest(table)).getStreams();
        equal("streams of the table", streams.size(), 1);
        return streams.get(0);
    }

    /** From the oldest record on, or from a time, in microseconds. */
    private String iterator(String table, Long from) {
        String id = stream(table).getStreamId();
        List<StreamShard> shards = t.client.describeStream(new DescribeStreamRequest(id)).getShards();
        equal("shards", shards.size(), 1);
        GetShardIteratorRequest request = new GetShardIteratorRequest(id, shards.get(0).getShardId());
        if (from != null) {
            request.setTimestamp(from);
        }
        return t.client.getShardIterator(request).getShardIterator();
    }

    private GetStreamRecordResponse read(String iterator, int limit) {
        GetStreamRecordRequest request = new GetStreamRecordRequest(iterator);
        request.setLimit(limit);
        return t.client.getStreamRecord(request);
    }

    private List<StreamRecord> records(String table) {
        return read(iterator(table, null), 100).getRecords();
    }

    private static long keyOf(StreamRecord record) {
        return record.getPrimaryKey().getPrimaryKeyColumn(0).getValue().asLong();
    }

    @Test @DisplayName("stream: listed and described")
    void listedAndDescribed() throws Exception {
        String table = streamed(false);
        Stream stream = stream(table);
        equal("table", stream.getTableName(), table);
        equal("id", stream.getStreamId(), t.describe(table).getStreamDetails().getStreamId());
        DescribeStreamResponse described = t.client.describeStream(new DescribeStreamRequest(stream.getStreamId()));
        equal("table described", described.getTableName(), table);
        equal("hours", described.getExpirationTime(), 24);
        equal("created", described.getCreationTime(), stream.getCreationTime());
        equal("status", described.getStatus(), StreamStatus.ACTIVE);
        equal("shards", described.getShards().size(), 1);
        refused(404, "OTSObjectNotExist", () -> t.client.describeStream(new DescribeStreamRequest(table + "_1")));
    }

    @Test @DisplayName("stream: every change in order")
    void everyChangeInOrder() throws Exception {
        String table = streamed(false);
        t.put(table, pk("pk", 1), c("a", 1), c("b", "x"));
        t.update(updateChange(table, pk("pk", 1)).put(c("a", 2)).deleteColumns("b").deleteColumn("c", 1000));
        t.delete(deleteChange(table, pk("pk", 1)));

        List<StreamRecord> records = records(table);
        equal("records", records.size(), 3);
        equal("kinds", records.stream().map(StreamRecord::getRecordType).toList(),
                List.of(StreamRecord.RecordType.PUT, StreamRecord.RecordType.UPDATE, StreamRecord.RecordType.DELETE));
        long last = 0;
        for (StreamRecord record : records) {
            equal("key", keyOf(record), 1L);
            check(record.getSequenceInfo().getTimestamp() > last, "times do not ascend");
            last = record.getSequenceInfo().getTimestamp();
        }
        List<RecordColumn> update = records.get(1).getColumns();
        equal("columns put", records.get(0).getColumns().size(), 2);
        equal("columns updated", update.stream().map(RecordColumn::getColumnType).toList(),
                List.of(RecordColumn.ColumnType.PUT, RecordColumn.ColumnType.DELETE_ALL_VERSION,
                        RecordColumn.ColumnType.DELETE_ONE_VERSION));
        equal("which version", update.get(2).getColumn().getTimestamp(), 1000L);
        equal("values before the put", records.get(0).getOriginColumns().size(), 0);
        equal("value before the update", records.get(1).getOriginColumns().get(0).getColumn().getValue().asLong(), 1L);
        equal("value before the deletion", records.get(2).getOriginColumns().get(0).getColumn().getValue().asLong(), 2L);
    }

    @Test @DisplayName("stream: pages, and what was written since")
    void pages() throws Exception {
        String table = streamed(false);
        for (int i = 0; i < 5; i++) {
            t.put(table, pk("pk", i), c("a", i));
        }
        List<Long> keys = new ArrayList<>();
        String at = iterator(table, null);
        for (int page = 0; page < 3; page++) {
            GetStreamRecordResponse answer = read(at, 2);
            answer.getRecords().forEach(record -> keys.add(keyOf(record)));
            at = answer.getNextShardIterator();
        }
        equal("keys", keys, List.of(0L, 1L, 2L, 3L, 4L));
        GetStreamRecordResponse last = read(at, 2);
        equal("behind the last", last.getRecords().size(), 0);
        equal("more", last.getMayMoreRecord(), false);
        t.put(table, pk("pk", 9), c("a", 9));
        equal("written since", read(last.getNextShardIterator(), 2).getRecords().size(), 1);
        long third = records(table).get(2).getSequenceInfo().getTimestamp();
        equal("from a time on", keyOf(read(iterator(table, third), 1).getRecords().get(0)), 2L);
    }

    @DisabledIfEnvironmentVariable(named = "WIDEROW_NO_TRANSACTIONS", matches = ".+")
    @Test @DisplayName("stream: what a transaction commits")
    void transaction() throws Exception {
        String table = streamed(true);
        for (boolean commits : new boolean[] {false, true}) {
            String id = t.client.startLocalTransaction(new StartLocalTransactionRequest(table, pk("pk", 1))).getTransactionID();
            for (int v = 1; v <= 2; v++) {
                PutRowRequest request = new PutRowRequest(putChange(table, pk("pk", 1), c("a", v)));
                request.setTransactionId(id);
                t.client.putRow(request);
            }
            equal("records before its end", records(table).size(), 0);
            if (commits) {
                t.client.commitTransaction(new CommitTransactionRequest(id));
            } else {
                t.client.abortTransaction(new AbortTransactionRequest(id));
            }
        }
        List<StreamRecord> records = records(table);
        equal("last value", records.get(records.size() - 1).getColumns().get(0).getColumn().getValue().asLong(), 2L);
        equal("value before the commit", records.get(0).getOriginColumns().size(), 0);
    }

    @Test @DisplayName("stream: iterators altered, or of a stream that is off")
    void iteratorsThatEnd() throws Exception {
        String table = streamed(false);
        String at = iterator(table, null);
        refused(400, INVALID, () -> read(at + "0", 1));
        UpdateTableRequest request = new UpdateTableRequest(table);
        request.setStreamSpecification(new StreamSpecification(false));
        t.client.updateTable(request);
        refused(400, INVALID, () -> read(at, 1));
        equal("streams", t.client.listStream(new ListStreamRequest(table)).getStreams().size(), 0);
    }
}
