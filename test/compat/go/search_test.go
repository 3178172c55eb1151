package compat

import (
	"fmt"
	"sort"
	"strings"
	"testing"
	"time"

	ts "github.com/aliyun/aliyun-tablestore-go-sdk/tablestore"
	"github.com/aliyun/aliyun-tablestore-go-sdk/tablestore/search"
	"github.com/aliyun/aliyun-tablestore-go-sdk/tablestore/search/model"
	"github.com/golang/protobuf/proto"
)

const searchRows = 20

func field(name string, kind ts.FieldType) *ts.FieldSchema {
	f := &ts.FieldSchema{FieldName: proto.String(name), FieldType: kind, Index: proto.Bool(true)}
	if kind != ts.FieldType_TEXT && kind != ts.FieldType_VECTOR {
		f.EnableSortAndAgg = proto.Bool(true)
	}
	return f
}

// searchTable has rows 0 to 19, and an index "ix" that has caught up with them.
func (t *T) searchTable() string {
	name := t.table(keyColumn{"id", integer, false})
	vector, date, single := field("v", ts.FieldType_VECTOR), field("at", ts.FieldType_DATE), ts.Analyzer_SingleWord
	vector.VectorOptions = &ts.VectorOptions{Dimension: proto.Int32(2), VectorDataType: ts.VectorDataType_FLOAT_32.Enum(),
		VectorMetricType: ts.VectorMetricType_EUCLIDEAN.Enum()}
	date.DateFormats = []string{"yyyy-MM-dd"}
	words := field("t", ts.FieldType_TEXT)
	words.Analyzer = &single
	_, err := t.client.CreateSearchIndex(&ts.CreateSearchIndexRequest{TableName: name, IndexName: "ix", IndexSchema: &ts.IndexSchema{
		FieldSchemas: []*ts.FieldSchema{field("k", ts.FieldType_KEYWORD), field("l", ts.FieldType_LONG), field("d", ts.FieldType_DOUBLE),
			field("b", ts.FieldType_BOOLEAN), field("g", ts.FieldType_GEO_POINT), words, date, vector}}})
	if err != nil && strings.Contains(err.Error(), "OTSUnsupportOperation") { // a server over a pool
		t.Skip("the server keeps no search indexes")
	}
	t.must(err)
	for i := 0; i < searchRows; i++ {
		t.put(name, pk("id", i), c("k", fmt.Sprint("k", i%4)), c("l", i), c("d", float64(i)+0.5), c("b", i%2 == 0),
			c("g", fmt.Sprintf("30.%d,120.%d", i, i)), c("t", fmt.Sprint("row number ", i)), c("at", fmt.Sprintf("2026-01-%02d", i+1)),
			c("v", fmt.Sprintf("[%d,1]", i)))
	}
	for tries := 0; ; tries++ {
		if t.search(name, search.NewSearchQuery().SetQuery(&search.MatchAllQuery{}).SetLimit(0).SetGetTotalCount(true)).TotalCount == searchRows {
			return name
		}
		t.check(tries < 600, "the rows are not found")
		time.Sleep(25 * time.Millisecond)
	}
}

func (t *T) dropIndex(table string) {
	_, err := t.client.DeleteSearchIndex(&ts.DeleteSearchIndexRequest{TableName: table, IndexName: "ix"})
	t.must(err)
}

func (t *T) search(table string, query search.SearchQuery) *ts.SearchResponse {
	request := (&ts.SearchRequest{}).SetTableName(table).SetIndexName("ix").SetSearchQuery(query)
	answer, err := t.client.Search(request)
	t.must(err)
	t.check(answer.IsAllSuccess, "not all succeeded")
	return answer
}

// ids of rows, as text: "1 5 9".
func ids(rows []*ts.Row) string {
	var out []string
	for _, row := range rows {
		out = append(out, fmt.Sprint(row.PrimaryKey.PrimaryKeys[0].Value))
	}
	return strings.Join(out, " ")
}

func (t *T) found(table string, query search.Query) string {
	return ids(t.search(table, search.NewSearchQuery().SetQuery(query).SetLimit(100)).Rows)
}

func by(field string, order search.SortOrder) *search.Sort {
	return &search.Sort{Sorters: []search.Sorter{&search.FieldSort{FieldName: field, Order: order.Enum()}}}
}

func TestSearch(t *testing.T) {
	run(t, "queries", func(t *T) {
		name := t.searchTable()
		defer t.dropIndex(name)
		k1 := &search.TermQuery{FieldName: "k", Term: "k1"}
		above := &search.RangeQuery{FieldName: "l", From: 9, IncludeLower: false}
		for _, c := range []struct {
			what     string
			query    search.Query
			expected string
		}{
			{"term", &search.TermQuery{FieldName: "l", Term: 7}, "7"},
			{"terms", &search.TermsQuery{FieldName: "l", Terms: []interface{}{3, 5}}, "3 5"},
			{"keyword", k1, "1 5 9 13 17"},
			{"bool", &search.TermQuery{FieldName: "b", Term: true}, "0 2 4 6 8 10 12 14 16 18"},
			{"range", &search.RangeQuery{FieldName: "l", From: 17, To: 19, IncludeLower: true}, "17 18"},
			{"date", &search.RangeQuery{FieldName: "at", From: "2026-01-19", IncludeLower: true}, "18 19"},
			{"prefix", &search.PrefixQuery{FieldName: "k", Prefix: "k3"}, "3 7 11 15 19"},
			{"wildcard", &search.WildcardQuery{FieldName: "k", Value: "?2"}, "2 6 10 14 18"},
			{"match", &search.MatchQuery{FieldName: "t", Text: "11"}, "11"},
			{"phrase", &search.MatchPhraseQuery{FieldName: "t", Text: "number 4"}, "4"},
			{"both", &search.BoolQuery{MustQueries: []search.Query{k1}, MustNotQueries: []search.Query{above}}, "1 5 9"},
			{"constant", &search.ConstScoreQuery{Filter: k1}, "1 5 9 13 17"},
			{"distance", &search.GeoDistanceQuery{FieldName: "g", CenterPoint: "30.1,120.1", DistanceInMeter: 10}, "1 10"},
			{"box", &search.GeoBoundingBoxQuery{FieldName: "g", TopLeft: "30.35,120.25", BottomRight: "30.25,120.35"}, "3"},
			{"polygon", &search.GeoPolygonQuery{FieldName: "g", Points: []string{"30.25,120.25", "30.35,120.25", "30.35,120.35", "30.25,120.35"}}, "3"},
		} {
			t.equal(c.what, t.found(name, c.query), c.expected)
		}
		near := search.NewSearchQuery().SetLimit(1).SetSort(&search.Sort{Sorters: []search.Sorter{search.NewScoreSort()}}).
			SetQuery(&search.KnnVectorQuery{FieldName: "v", TopK: proto.Int32(3), Float32QueryVector: []float32{5, 1}})
		t.equal("nearest", ids(t.search(name, near).Rows), "5")
	})

	run(t, "order, and pages by token", func(t *T) {
		name := t.searchTable()
		defer t.dropIndex(name)
		query := search.NewSearchQuery().SetQuery(&search.MatchAllQuery{}).SetSort(by("l", search.SortOrder_DESC)).SetLimit(6).SetGetTotalCount(true)
		request := (&ts.SearchRequest{}).SetTableName(name).SetIndexName("ix").SetSearchQuery(query).SetColumnsToGet(&ts.ColumnsToGet{Columns: []string{"k"}})
		var pages []string
		for {
			answer, err := t.client.Search(request)
			t.must(err)
			t.equal("total", answer.TotalCount, int64(searchRows))
			pages = append(pages, ids(answer.Rows))
			t.equal("columns", len(answer.Rows[0].Columns), 1)
			if answer.NextToken == nil {
				break
			}
			request.SetSearchQuery(query.SetToken(answer.NextToken))
		}
		t.equal("pages", strings.Join(pages, " | "), "19 18 17 16 15 14 | 13 12 11 10 9 8 | 7 6 5 4 3 2 | 1 0")
	})

	run(t, "aggregations and groups", func(t *T) {
		name := t.searchTable()
		defer t.dropIndex(name)
		answer := t.search(name, search.NewSearchQuery().SetQuery(&search.MatchAllQuery{}).SetLimit(0).
			Aggregation(search.NewAvgAggregation("avg", "l")).Aggregation(search.NewDistinctCountAggregation("distinct", "k")).
			Aggregation(search.NewMaxAggregation("max", "l")).Aggregation(search.NewSumAggregation("sum", "l")).
			Aggregation(search.NewCountAggregation("count", "k")).Aggregation(search.NewMinAggregation("min", "d")).
			Aggregation(search.NewTopRowsAggregation("top").SetLimit(2).SetSort(by("l", search.SortOrder_DESC))).
			Aggregation(search.NewPercentilesAggregation("percentiles", "l").SetPercents([]float64{0, 50, 100})).
			GroupBy(search.NewGroupByField("field", "k").Size(2).GroupBySorters([]search.GroupBySorter{&search.GroupKeyGroupBySort{Order: search.SortOrder_DESC.Enum()}}).
				SubAggregation(search.NewMaxAggregation("max", "l"))).
			GroupBy(search.NewGroupByRange("range", "l").Range(search.NegInf, 3).Range(3, search.Inf)).
			GroupBy(search.NewGroupByFilter("filter").Query(&search.TermQuery{FieldName: "k", Term: "k0"})).
			GroupBy(search.NewGroupByGeoDistance("distance", "g", search.GeoPoint{Lat: 30, Lon: 120}).Range(search.NegInf, 1e7)).
			GroupBy(search.NewGroupByHistogram("histogram", "l").SetInterval(10).SetFiledRange(0, 19)).
			GroupBy(search.NewGroupByDateHistogram("days", "at").SetInterval(model.DateTimeValue{Unit: model.DateTimeUnit_DAY.Enum(), Value: proto.Int32(7)})).
			GroupBy(search.NewGroupByGeoGrid("grid", "g").SetPrecision(model.GHP_156KM_156KM_3).SetSize(10)))
		a, g := answer.AggregationResults, answer.GroupByResults
		avg, err := a.Avg("avg")
		t.must(err)
		t.equal("avg", avg.Value, 9.5)
		distinct, err := a.DistinctCount("distinct")
		t.must(err)
		t.equal("distinct", distinct.Value, int64(4))
		sum, err := a.Sum("sum")
		t.must(err)
		t.equal("sum", sum.Value, 190.0)
		least, err := a.Min("min")
		t.must(err)
		t.equal("min", least.Value, 0.5)
		count, err := a.Count("count")
		t.must(err)
		t.equal("count", count.Value, int64(searchRows))
		top, err := a.TopRows("top")
		t.must(err)
		t.equal("top", len(top.Value), 2)
		percentiles, err := a.Percentiles("percentiles")
		t.must(err)
		t.equal("percentiles", len(percentiles.PercentilesAggregationItems), 3)
		groups, err := g.GroupByField("field")
		t.must(err)
		t.equal("first", fmt.Sprint(groups.Items[0].Key, " ", groups.Items[0].RowCount), "k3 5")
		most, err := groups.Items[0].SubAggregations.Max("max")
		t.must(err)
		t.equal("most", most.Value, 19.0)
		ranges, err := g.GroupByRange("range")
		t.must(err)
		t.equal("ranges", fmt.Sprint(ranges.Items[0].RowCount, " ", ranges.Items[1].RowCount), "3 17")
		filter, err := g.GroupByFilter("filter")
		t.must(err)
		t.equal("filter", filter.Items[0].RowCount, int64(5))
		distance, err := g.GroupByGeoDistance("distance")
		t.must(err)
		t.equal("distance", distance.Items[0].RowCount, int64(searchRows))
		histogram, err := g.GroupByHistogram("histogram")
		t.must(err)
		t.equal("histogram", len(histogram.Items), 2)
		days, err := g.GroupByDateHistogram("days")
		t.must(err)
		t.check(len(days.Items) >= 3, "too few days")
		grid, err := g.GroupByGeoGrid("grid")
		t.must(err)
		t.check(len(grid.Items) > 0, "no cells")
	})

	run(t, "a parallel scan finds every row once", func(t *T) {
		name := t.searchTable()
		defer t.dropIndex(name)
		splits, err := t.client.ComputeSplits((&ts.ComputeSplitsRequest{}).SetTableName(name).SetSearchIndexSplitsOptions(ts.SearchIndexSplitsOptions{IndexName: "ix"}))
		t.must(err)
		var all []string
		for i := int32(0); i < splits.SplitsSize; i++ {
			query := search.NewScanQuery().SetQuery(&search.MatchAllQuery{}).SetLimit(7).SetMaxParallel(splits.SplitsSize).SetCurrentParallelID(i)
			request := (&ts.ParallelScanRequest{}).SetTableName(name).SetIndexName("ix").SetScanQuery(query).SetSessionId(splits.SessionId).
				SetColumnsToGet(&ts.ColumnsToGet{ReturnAllFromIndex: false})
			for {
				answer, err := t.client.ParallelScan(request)
				t.must(err)
				all = append(all, strings.Fields(ids(answer.Rows))...)
				if answer.NextToken == nil {
					break
				}
				request.SetScanQuery(query.SetToken(answer.NextToken))
			}
		}
		sort.Strings(all)
		expected := make([]string, searchRows)
		for i := range expected {
			expected[i] = fmt.Sprint(i)
		}
		sort.Strings(expected)
		t.equal("rows", all, expected)
	})

	run(t, "an index is listed, described, and goes", func(t *T) {
		name := t.searchTable()
		list, err := t.client.ListSearchIndex(&ts.ListSearchIndexRequest{TableName: name})
		t.must(err)
		t.equal("listed", fmt.Sprint(len(list.IndexInfo), list.IndexInfo[0].IndexName), "1ix")
		described, err := t.client.DescribeSearchIndex(&ts.DescribeSearchIndexRequest{TableName: name, IndexName: "ix"})
		t.must(err)
		var fields []string
		for _, f := range described.Schema.FieldSchemas {
			fields = append(fields, *f.FieldName)
		}
		t.equal("fields", strings.Join(fields, " "), "k l d b g t at v")
		t.check(described.SyncStat != nil, "no sync state")
		t.dropIndex(name)
		_, err = t.client.Search((&ts.SearchRequest{}).SetTableName(name).SetIndexName("ix").SetSearchQuery(search.NewSearchQuery().SetQuery(&search.MatchAllQuery{})))
		t.refused(err, 400, "OTSMetaNotMatch")
	})
}
