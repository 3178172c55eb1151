package compat;

import static compat.T.*;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import com.alicloud.openservices.tablestore.SyncClient;
import com.alicloud.openservices.tablestore.TableStoreException;
import com.alicloud.openservices.tablestore.model.*;
import com.alicloud.openservices.tablestore.model.search.*;
import com.alicloud.openservices.tablestore.model.search.agg.*;
import com.alicloud.openservices.tablestore.model.search.groupby.*;
import com.alicloud.openservices.tablestore.model.search.query.*;
import com.alicloud.openservices.tablestore.model.search.sort.*;
import com.alicloud.openservices.tablestore.model.search.vector.*;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Search indexes: queries, order, pages, aggregations, groups, scans; and what describes them. */
final class SearchCases extends Case {
    private static final int ROWS = 20;
    private static final String INDEX = "ix";

    /** Made once; it goes with the server. */
    private static String made;

    private SyncClient client() {
        return server().client();
    }

    private static FieldSchema field(String name, FieldType type) {
        FieldSchema f = new FieldSchema(name, type).setIndex(true);
        return type == FieldType.TEXT || type == FieldType.VECTOR ? f : f.setEnableSortAndAgg(true);
    }

    private static IndexSchema schema() {
        IndexSchema s = new IndexSchema();
        s.setFieldSchemas(Arrays.asList(
            field("k", FieldType.KEYWORD), field("l", FieldType.LONG), field("d", FieldType.DOUBLE), field("b", FieldType.BOOLEAN),
            field("g", FieldType.GEO_POINT), field("t", FieldType.TEXT).setAnalyzer(FieldSchema.Analyzer.SingleWord),
            field("tags", FieldType.KEYWORD).setIsArray(true),
            field("at", FieldType.DATE).setDateFormats(Arrays.asList("yyyy-MM-dd HH:mm:ss")),
            field("v", FieldType.VECTOR).setVectorOptions(new VectorOptions(VectorDataType.FLOAT_32, 2, VectorMetricType.EUCLIDEAN))));
        return s;
    }

    private void create(String table) {
        CreateSearchIndexRequest request = new CreateSearchIndexRequest(table, INDEX);
        request.setIndexSchema(schema());
        try {
            client().createSearchIndex(request);
        } catch (TableStoreException e) { // a server over a pool
            assumeFalse("OTSUnsupportOperation".equals(e.getErrorCode()), "the server keeps no search indexes");
            throw e;
        }
    }

    private String table() throws Exception {
        synchronized (SearchCases.class) {
            if (made != null) {
                return made;
            }
            String name = uniqueName();
            client().createTable(createRequest(name, 1, key("id", PrimaryKeyType.INTEGER)));
            create(name);
            for (int i = 0; i < ROWS; i++) {
                t.put(name, pk("id", i), c("k", "k" + i % 4), c("l", i), c("d", i + 0.5), c("b", i % 2 == 0), c("g", "30." + i + ",120." + i),
                    c("t", "row number " + i), c("tags", "[\"a\",\"t" + i % 3 + "\"]"), c("at", String.format("2026-01-%02d 10:00:00", i + 1)),
                    c("v", "[" + i + ",1]"));
            }
            settle(name, ROWS);
            made = name;
            return made;
        }
    }

    /** Nothing tells when a write is found but a search that finds it. */
    private void settle(String table, long rows) throws Exception {
        SearchQuery all = SearchQuery.newBuilder().query(QueryBuilders.matchAll()).limit(0).getTotalCount(true).build();
        for (int tries = 0; tries < 600; tries++) {
            if (client().search(new SearchRequest(table, INDEX, all)).getTotalCount() == rows) {
                return;
            }
            Thread.sleep(25);
        }
        fail("the rows are not found");
    }

    private SearchResponse search(SearchQuery query) throws Exception {
        return client().search(new SearchRequest(table(), INDEX, query));
    }

    private static List<Long> ids(List<Row> rows) {
        return rows.stream().map(r -> r.getPrimaryKey().getPrimaryKeyColumn(0).getValue().asLong()).collect(Collectors.toList());
    }

    private List<Long> found(QueryBuilder query) throws Exception {
        return ids(search(SearchQuery.newBuilder().query(query).limit(100).build()).getRows());
    }

    private static List<Long> longs(long... n) {
        return Arrays.stream(n).boxed().collect(Collectors.toList());
    }

    @Test @DisplayName("search: queries")
    void queries() throws Exception {
        equal("term", found(QueryBuilders.term("l", 7)), longs(7));
        equal("terms", found(QueryBuilders.terms("l").terms(3, 5)), longs(3, 5));
        equal("keyword", found(QueryBuilders.term("k", "k1")), longs(1, 5, 9, 13, 17));
        equal("array", found(QueryBuilders.term("tags", "t0")), longs(0, 3, 6, 9, 12, 15, 18));
        equal("range", found(QueryBuilders.range("l").greaterThan(16).lessThanOrEqual(18)), longs(17, 18));
        equal("date", found(QueryBuilders.range("at").greaterThanOrEqual("2026-01-19 10:00:00")), longs(18, 19));
        equal("prefix", found(QueryBuilders.prefix("k", "k3")), longs(3, 7, 11, 15, 19));
        equal("suffix", found(QueryBuilders.wildcard("k", "*3")), longs(3, 7, 11, 15, 19));
        equal("wildcard", found(QueryBuilders.wildcard("k", "?2")), longs(2, 6, 10, 14, 18));
        equal("match", found(QueryBuilders.match("t", "11")), longs(11));
        equal("match and", found(QueryBuilders.match("t", "row 12").operator(QueryOperator.AND)), longs(12));
        equal("phrase", found(QueryBuilders.matchPhrase("t", "number 4")), longs(4));
        equal("exists", found(QueryBuilders.exists("d")).size(), ROWS);
        equal("no such", found(QueryBuilders.exists("k")).size(), ROWS);
        equal("bool", found(QueryBuilders.bool().must(QueryBuilders.term("k", "k1")).mustNot(QueryBuilders.range("l").greaterThan(9))
            .filter(QueryBuilders.term("b", false))), longs(1, 5, 9));
        equal("should", found(QueryBuilders.bool().should(QueryBuilders.term("l", 1)).should(QueryBuilders.term("l", 2)).minimumShouldMatch(1)), longs(1, 2));
        equal("const", found(QueryBuilders.constScore().filter(QueryBuilders.term("l", 2))), longs(2));
        equal("geo", found(QueryBuilders.geoDistance("g").centerPoint("30.1,120.1").distanceInMeter(10)), longs(1, 10));
        equal("box", found(QueryBuilders.geoBoundingBox("g").topLeft("30.35,120.25").bottomRight("30.25,120.35")), longs(3));
        equal("polygon", found(QueryBuilders.geoPolygon("g").addPoint("30.25,120.25").addPoint("30.35,120.25").addPoint("30.35,120.35")
            .addPoint("30.25,120.35")), longs(3));
        equal("knn", ids(search(SearchQuery.newBuilder().query(QueryBuilders.knnVector("v", 3, new float[] {5, 1}))
            .sort(new Sort(Arrays.asList(new ScoreSort()))).limit(3).build()).getRows()).get(0), 5L);
        equal("function score", search(SearchQuery.newBuilder().query(QueryBuilders.functionScore("l").query(QueryBuilders.matchAll()))
            .sort(new Sort(Arrays.asList(new ScoreSort()))).limit(1).build()).getRows().size(), 1);
    }

    @Test @DisplayName("search: order, pages by token and by offset, columns, total")
    void orderAndPages() throws Exception {
        Sort down = new Sort(Arrays.asList(new FieldSort("l", SortOrder.DESC)));
        List<Long> seen = new ArrayList<>();
        SearchRequest request = new SearchRequest(table(), INDEX,
            SearchQuery.newBuilder().query(QueryBuilders.matchAll()).sort(down).limit(6).getTotalCount(true).build());
        SearchRequest.ColumnsToGet columns = new SearchRequest.ColumnsToGet();
        columns.setColumns(Arrays.asList("k"));
        request.setColumnsToGet(columns);
        for (;;) {
            SearchResponse answer = client().search(request);
            equal("total", answer.getTotalCount(), (long) ROWS);
            equal("all succeeded", answer.isAllSuccess(), true);
            seen.addAll(ids(answer.getRows()));
            check(answer.getRows().stream().allMatch(r -> r.getColumns().length == 1 && r.getColumns()[0].getName().equals("k")), "other columns");
            if (answer.getNextToken() == null) {
                break;
            }
            request.getSearchQuery().setToken(answer.getNextToken());
        }
        equal("pages", seen, java.util.stream.LongStream.iterate(ROWS - 1, i -> i - 1).limit(ROWS).boxed().collect(Collectors.toList()));
        equal("offset", ids(search(SearchQuery.newBuilder().query(QueryBuilders.matchAll()).sort(down).offset(3).limit(2).build()).getRows()), longs(16, 15));
        Sort near = new Sort(Arrays.asList(new GeoDistanceSort("g", Arrays.asList("30.0,120.0"))));
        equal("near", ids(search(SearchQuery.newBuilder().query(QueryBuilders.matchAll()).sort(near).limit(1).build()).getRows()), longs(0));
        Sort keys = new Sort(Arrays.asList(new PrimaryKeySort(SortOrder.DESC)));
        equal("key", ids(search(SearchQuery.newBuilder().query(QueryBuilders.matchAll()).sort(keys).limit(2).build()).getRows()), longs(19, 18));
    }

    @Test @DisplayName("search: aggregations")
    void aggregations() throws Exception {
        SearchResponse answer = search(SearchQuery.newBuilder().query(QueryBuilders.matchAll()).limit(0)
            .addAggregation(AggregationBuilders.min("min", "l").missing(100)).addAggregation(AggregationBuilders.max("max", "l"))
            .addAggregation(AggregationBuilders.sum("sum", "l")).addAggregation(AggregationBuilders.avg("avg", "d"))
            .addAggregation(AggregationBuilders.count("count", "k")).addAggregation(AggregationBuilders.distinctCount("distinct", "k"))
            .addAggregation(AggregationBuilders.percentiles("percentiles", "l").percentiles(Arrays.asList(0.0, 50.0, 100.0)))
            .addAggregation(AggregationBuilders.topRows("top").limit(2).sort(new Sort(Arrays.asList(new FieldSort("l", SortOrder.DESC))))).build());
        AggregationResults a = answer.getAggregationResults();
        equal("min", a.getAsMinAggregationResult("min").getValue(), 0.0);
        equal("max", a.getAsMaxAggregationResult("max").getValue(), 19.0);
        equal("sum", a.getAsSumAggregationResult("sum").getValue(), 190.0);
        equal("avg", a.getAsAvgAggregationResult("avg").getValue(), 10.0);
        equal("count", a.getAsCountAggregationResult("count").getValue(), 20L);
        equal("distinct", a.getAsDistinctCountAggregationResult("distinct").getValue(), 4L);
        equal("percentiles", a.getAsPercentilesAggregationResult("percentiles").getPercentilesAggregationItems().size(), 3);
        equal("top", ids(a.getAsTopRowsAggregationResult("top").getRows()), longs(19, 18));
    }

    @Test @DisplayName("search: groups")
    void groups() throws Exception {
        SearchResponse answer = search(SearchQuery.newBuilder().query(QueryBuilders.matchAll()).limit(0)
            .addGroupBy(GroupByBuilders.groupByField("field", "k").size(3).addGroupBySorter(GroupBySorter.groupKeySortInDesc())
                .addSubAggregation(AggregationBuilders.max("max", "l")))
            .addGroupBy(GroupByBuilders.groupByRange("range", "d").addRange(0, 3).addRange(3, 20))
            .addGroupBy(GroupByBuilders.groupByFilter("filter").addFilter(QueryBuilders.term("k", "k0")).addFilter(QueryBuilders.term("l", 1)))
            .addGroupBy(GroupByBuilders.groupByGeoDistance("distance", "g").origin(30, 120).addRange(0, 1e7))
            .addGroupBy(GroupByBuilders.groupByHistogram("histogram", "l").interval(10).addFieldRange(0, 19))
            .addGroupBy(GroupByBuilders.groupByDateHistogram("days", "at").interval(7, DateTimeUnit.DAY))
            .addGroupBy(GroupByBuilders.groupByGeoGrid("grid", "g").precision(GeoHashPrecision.GHP_1252KM_624KM_2))
            .addGroupBy(GroupByBuilders.groupByComposite("composite").size(3).addSources(GroupByBuilders.groupByField("s", "k")).build())
            .build());
        GroupByResults g = answer.getGroupByResults();
        List<GroupByFieldResultItem> items = g.getAsGroupByFieldResult("field").getGroupByFieldResultItems();
        equal("keys", items.stream().map(i -> i.getKey() + ":" + i.getRowCount()).collect(Collectors.toList()), Arrays.asList("k3:5", "k2:5", "k1:5"));
        equal("max", items.get(0).getSubAggregationResults().getAsMaxAggregationResult("max").getValue(), 19.0);
        equal("ranges", g.getAsGroupByRangeResult("range").getGroupByRangeResultItems().stream().map(i -> i.getRowCount()).collect(Collectors.toList()), longs(3, 17));
        equal("filters", g.getAsGroupByFilterResult("filter").getGroupByFilterResultItems().stream().map(i -> i.getRowCount()).collect(Collectors.toList()), longs(5, 1));
        equal("distances", g.getAsGroupByGeoDistanceResult("distance").getGroupByGeoDistanceResultItems().get(0).getRowCount(), 20L);
        equal("histogram", g.getAsGroupByHistogramResult("histogram").getGroupByHistogramItems().size(), 2);
        equal("days", g.getAsGroupByDateHistogramResult("days").getGroupByDateHistogramItems().stream().mapToLong(i -> i.getRowCount()).sum(), 20L);
        check(!g.getAsGroupByGeoGridResult("grid").getGroupByGeoGridResultItems().isEmpty(), "no cells");
        equal("composite", g.getAsGroupByCompositeResult("composite").getGroupByCompositeResultItems().size(), 3);
    }

    @Test @DisplayName("search: a parallel scan finds every row once")
    void parallelScan() throws Exception {
        ComputeSplitsRequest splits = new ComputeSplitsRequest();
        splits.setTableName(table());
        splits.setSplitsOptions(new SearchIndexSplitsOptions(INDEX));
        ComputeSplitsResponse computed = client().computeSplits(splits);
        List<Long> seen = new ArrayList<>();
        for (int i = 0; i < computed.getSplitsSize(); i++) {
            ScanQuery scan = ScanQuery.newBuilder().query(QueryBuilders.matchAll()).limit(7).aliveTimeInSeconds(60)
                .maxParallel(computed.getSplitsSize()).currentParallelId(i).build();
            for (;;) {
                ParallelScanRequest request = ParallelScanRequest.newBuilder().tableName(table()).indexName(INDEX).scanQuery(scan)
                    .sessionId(computed.getSessionId()).build();
                ParallelScanResponse answer = client().parallelScan(request);
                seen.addAll(ids(answer.getRows()));
                if (answer.getNextToken() == null) {
                    break;
                }
                scan.setToken(answer.getNextToken());
            }
        }
        seen.sort(null);
        equal("rows", seen, java.util.stream.LongStream.range(0, ROWS).boxed().collect(Collectors.toList()));
    }

    @Test @DisplayName("search: an index is described, and goes; its mistakes have their texts")
    void descriptions() throws Exception {
        String name = t.create(createRequest(uniqueName(), 1, key("id", PrimaryKeyType.INTEGER)));
        create(name);
        ListSearchIndexRequest list = new ListSearchIndexRequest();
        list.setTableName(name);
        equal("listed", client().listSearchIndex(list).getIndexInfos().stream().map(i -> i.getTableName() + "." + i.getIndexName()).collect(Collectors.toList()),
            Arrays.asList(name + "." + INDEX));
        DescribeSearchIndexRequest describe = new DescribeSearchIndexRequest();
        describe.setTableName(name);
        describe.setIndexName(INDEX);
        describe.setIncludeSyncStat(true);
        DescribeSearchIndexResponse described = client().describeSearchIndex(describe);
        equal("fields", described.getSchema().getFieldSchemas().stream().map(f -> f.getFieldName() + ":" + f.getFieldType()).collect(Collectors.toList()),
            schema().getFieldSchemas().stream().map(f -> f.getFieldName() + ":" + f.getFieldType()).collect(Collectors.toList()));
        check(described.getSyncStat() != null, "no sync state");
        error(409, "OTSObjectAlreadyExist", "search index [ix] already exists", () -> create(name));
        DeleteSearchIndexRequest delete = new DeleteSearchIndexRequest();
        delete.setTableName(name);
        delete.setIndexName(INDEX);
        client().deleteSearchIndex(delete);
        equal("none", client().listSearchIndex(list).getIndexInfos().size(), 0);
    }
}
