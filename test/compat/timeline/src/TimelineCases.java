package compat;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.alicloud.openservices.tablestore.SyncClient;
import com.alicloud.openservices.tablestore.model.search.*;
import com.alicloud.openservices.tablestore.model.search.sort.SortOrder;
import com.alicloud.openservices.tablestore.timeline2.*;
import com.alicloud.openservices.tablestore.timeline2.core.TimelineStoreFactoryImpl;
import com.alicloud.openservices.tablestore.timeline2.model.*;
import com.alicloud.openservices.tablestore.timeline2.query.*;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Timeline, a library for messages and feeds: as it is published, on the SDK that it was built with. */
final class TimelineCases {
    private static final String NAME = "timeline_" + ProcessHandle.current().pid() + "_";
    private static int counter;
    private final SyncClient client = new SyncClient(System.getenv("WIDEROW_ENDPOINT"), System.getenv("WIDEROW_ACCESS_KEY_ID"),
        System.getenv("WIDEROW_ACCESS_KEY_SECRET"), System.getenv("WIDEROW_INSTANCE"));

    private static synchronized String uniqueName() {
        return NAME + ++counter;
    }

    private static void equal(String what, Object actual, Object expected) {
        assertEquals(expected, actual, what);
    }

    private static final TimelineIdentifierSchema KEY = new TimelineIdentifierSchema.Builder().addStringField("timeline_id").build();

    private static TimelineIdentifier id(String name) {
        return new TimelineIdentifier.Builder().addField("timeline_id", name).build();
    }

    private static IndexSchema index(String... keywords) {
        List<FieldSchema> fields = new ArrayList<>();
        for (String name : keywords) {
            fields.add(new FieldSchema(name, FieldType.KEYWORD).setIndex(true).setEnableSortAndAgg(true));
        }
        fields.add(new FieldSchema("text", FieldType.TEXT).setIndex(true).setAnalyzer(FieldSchema.Analyzer.MaxWord));
        IndexSchema schema = new IndexSchema();
        schema.setFieldSchemas(fields);
        return schema;
    }

    private interface Count {
        long now();
    }

    private static void settle(Count count, long expected) throws Exception {
        for (int tries = 0; tries < 600 && count.now() != expected; tries++) {
            Thread.sleep(25);
        }
        equal("found", count.now(), expected);
    }

    @Test @DisplayName("timeline: messages are stored, read both ways, and found")
    void messages() throws Exception {
        TimelineStoreFactory factory = new TimelineStoreFactoryImpl(client);
        TimelineStore store = factory.createTimelineStore(new TimelineSchema(uniqueName(), KEY).autoGenerateSeqId().withIndex("messages", index("from")));
        store.prepareTables();
        TimelineQueue group = store.createTimelineQueue(id("group 1")), other = store.createTimelineQueue(id("group 2"));
        List<Long> numbers = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            numbers.add(group.store(new TimelineMessage().setField("text", "hello number " + i).setField("from", "ann")).getSequenceID());
        }
        other.store(new TimelineMessage().setField("text", "hello elsewhere").setField("from", "bob"));
        equal("in order", numbers, numbers.stream().sorted().toList());
        equal("latest", group.getLatestTimelineEntry().getMessage().getString("text"), "hello number 4");
        equal("one", group.get(numbers.get(2)).getMessage().getString("text"), "hello number 2");
        group.update(numbers.get(2), new TimelineMessage().setField("text", "changed").setField("from", "ann"));
        group.delete(numbers.get(0));
        List<String> back = new ArrayList<>();
        for (Iterator<TimelineEntry> all = group.scan(new ScanParameter().scanBackward(Long.MAX_VALUE, 0).maxCount(10)); all.hasNext();) {
            back.add(all.next().getMessage().getString("text"));
        }
        equal("backward", back, Arrays.asList("hello number 4", "hello number 3", "changed", "hello number 1"));
        settle(() -> store.search(new SearchParameter(FieldCondition.field("text").match("hello")).limit(10).calculateTotalCount()).getTotalCount(), 4);
        SearchResult<TimelineEntry> found = store.search(new SearchParameter(FieldCondition.and(FieldCondition.field("from").equals("ann"),
            FieldCondition.field("text").match("number"))).limit(10).orderBy(new String[] {"from"}, SortOrder.ASC).calculateTotalCount());
        equal("found", found.getTotalCount(), 3L);
        equal("whose", found.getEntries().get(0).getIdentifier(), id("group 1"));
        store.dropAllTables();
        store.close();
    }

    @Test @DisplayName("timeline: many messages in the background, with numbers of their own")
    void manyMessages() throws Exception {
        TimelineStore store = new TimelineStoreFactoryImpl(client).createTimelineStore(new TimelineSchema(uniqueName(), KEY).manualSetSeqId());
        store.prepareTables();
        TimelineQueue queue = store.createTimelineQueue(id("feed"));
        for (int i = 1; i <= 300; i++) {
            queue.batchStore(i, new TimelineMessage().setField("text", "m" + i));
        }
        queue.flush();
        equal("latest", queue.getLatestSequenceId(), 300L);
        int n = 0;
        for (Iterator<TimelineEntry> all = queue.scan(new ScanParameter().scanForward(1).maxCount(1000)); all.hasNext(); n++) {
            equal("number", all.next().getSequenceID(), (long) n + 1);
        }
        equal("all", n, 300);
        store.dropAllTables();
        store.close();
    }

    @Test @DisplayName("timeline: what is known of each timeline is kept and found")
    void metas() throws Exception {
        TimelineMetaStore metas = new TimelineStoreFactoryImpl(client)
            .createMetaStore(new TimelineMetaSchema(uniqueName(), KEY).withIndex("metas", index("owner")));
        metas.prepareTables();
        for (int i = 0; i < 4; i++) {
            metas.insert(new TimelineMeta(id("group " + i)).setField("owner", i % 2 == 0 ? "ann" : "bob").setField("text", "group of friends " + i));
        }
        equal("read", metas.read(id("group 2")).getString("owner"), "ann");
        metas.update(new TimelineMeta(id("group 2")).setField("owner", "bob"));
        metas.delete(id("group 3"));
        settle(() -> metas.search(new SearchParameter(FieldCondition.field("owner").equals("bob")).calculateTotalCount().limit(10)).getTotalCount(), 2);
        equal("both", metas.search(new SearchParameter(FieldCondition.or(FieldCondition.field("text").matchPhrase("of friends"),
            FieldCondition.field("owner").in("nobody"))).calculateTotalCount().limit(10)).getTotalCount(), 3L);
        metas.dropAllTables();
        metas.close();
    }
}
