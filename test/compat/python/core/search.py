import json
import time
import unittest

import tablestore as ts

from fixture import Case

F, KEYWORD, LONG, DOUBLE, TEXT, BOOLEAN = (ts.FieldSchema, ts.FieldType.KEYWORD, ts.FieldType.LONG, ts.FieldType.DOUBLE,
                                           ts.FieldType.TEXT, ts.FieldType.BOOLEAN)
ASC, DESC = ts.SortOrder.ASC, ts.SortOrder.DESC
ALL = ts.MatchAllQuery()
INDEX = 'ix'
ROWS = 30


def fields():
    return [
        F('k', KEYWORD, index=True, enable_sort_and_agg=True, store=True),
        F('t', TEXT, index=True),
        F('l', LONG, index=True, enable_sort_and_agg=True),
        F('d', DOUBLE, index=True, enable_sort_and_agg=True),
        F('b', BOOLEAN, index=True, enable_sort_and_agg=True),
        F('ka', KEYWORD, index=True, is_array=True),
        F('la', LONG, index=True, is_array=True),
        F('g', ts.FieldType.GEOPOINT, index=True),
        F('v', ts.FieldType.VECTOR,
          vector_options=ts.VectorOptions(ts.VectorDataType.VD_FLOAT_32, ts.VectorMetricType.VM_COSINE, 4)),
    ]


def cells(i):
    return [('k', 'key%03d' % i), ('t', 'this is %d' % i), ('l', i), ('d', 0.1), ('b', i % 2 == 0),
            ('ka', json.dumps(['a', 'b', str(i)])), ('la', '[-1, %d]' % i), ('g', '30.%d,120.%d' % (i, i)),
            ('v', '[%d, %d, 1, 0.5]' % (i, -i))]


class SearchCase(Case):
    """Cases of a class share an index of a table with ROWS rows."""
    TABLE = dict(key=('INTEGER', 'STRING'))

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        try:
            cls.index(cls.table)
        except ts.OTSServiceError as err:  # a server over a pool
            if err.code != 'OTSUnsupportOperation':
                raise
            raise unittest.SkipTest('the server keeps no search indexes')
        for i in range(ROWS):
            cls.table.put([i, 'pk%d' % (i % 10)], cls.cells(i))
        cls.wait(cls.table, ROWS)

    @classmethod
    def tearDownClass(cls):
        for table in cls.made:
            try:
                for name, index in cls.client.list_search_index(table.name):
                    cls.client.delete_search_index(name, index)
            except ts.OTSServiceError:
                pass
        super().tearDownClass()

    cells = staticmethod(cells)
    fields = staticmethod(fields)

    @classmethod
    def index(cls, table, name=INDEX, **options):
        cls.client.create_search_index(table.name, name, ts.SearchIndexMeta(cls.fields(), **options))

    @classmethod
    def wait(cls, table, rows, name=INDEX):
        """Until a search finds so many rows: it may take a while until a write is found."""
        query = ts.SearchQuery(ALL, limit=0, get_total_count=True)
        for _ in range(600):
            found = cls.client.search(table.name, name, query).total_count
            if found == rows:
                return
            time.sleep(0.1)
        raise AssertionError('%d rows are found, not %d' % (found, rows))

    def search(self, query=ALL, columns=None, **options):
        options.setdefault('get_total_count', True)
        return self.client.search(self.table.name, INDEX, ts.SearchQuery(query, **options), columns)

    def finds(self, query, expected, **options):
        """The numbers of the rows found, and the total."""
        answer = self.search(query, limit=100, **options)
        numbers = [row[0][0][1] for row in answer.rows]
        self.equal(numbers, list(expected), repr(query.__class__))
        self.equal(answer.total_count, len(numbers), 'total')
        return answer


class Indexes(SearchCase):
    def test_list(self):
        self.ok((self.table.name, INDEX) in [tuple(x) for x in self.client.list_search_index(self.table.name)], 'listed')
        self.ok((self.table.name, INDEX) in [tuple(x) for x in self.client.list_search_index()], 'listed among all')
        self.equal(list(self.client.list_search_index(self.new_table().name)), [])

    def test_describe(self):
        meta, stat = self.client.describe_search_index(self.table.name, INDEX)
        self.equal([f.field_name for f in meta.fields], ['k', 't', 'l', 'd', 'b', 'ka', 'la', 'g', 'v'])
        k, t, ka = meta.fields[0], meta.fields[1], meta.fields[5]
        self.equal((k.index, k.enable_sort_and_agg, k.store, k.is_array), (True, True, True, False))
        self.equal((t.analyzer, t.enable_sort_and_agg), ('single_word', False))
        self.equal(ka.is_array, True)
        self.equal(len(meta.index_sort.sorters), 1)
        self.ok(isinstance(meta.index_sort.sorters[0], ts.PrimaryKeySort), 'the key sorts')
        self.equal(meta.time_to_live, -1)
        self.ok(stat.current_sync_timestamp >= 0, 'a time', stat.current_sync_timestamp)

    def test_unknown_names(self):
        for call in (lambda: self.client.compute_splits(self.table.name, 'none'), lambda: self.client.search(
                self.table.name, 'none', ts.SearchQuery(ALL))):
            with self.refused(400, 'OTSMetaNotMatch'):
                call()
        with self.refused(400, 'OTSParameterInvalid'):
            self.client.search('no_such_table', INDEX, ts.SearchQuery(ALL))
        with self.refused(400, 'OTSParameterInvalid'):
            self.search(ts.TermQuery('nothing', 1))

    def test_an_index_that_is_deleted_is_gone(self):
        table = self.new_table()
        self.index(table)
        self.client.delete_search_index(table.name, INDEX)
        self.equal(list(self.client.list_search_index(table.name)), [])

    def test_rows_of_before(self):
        table = self.new_table()
        for i in range(20):
            table.put([i], cells(i))
        self.index(table)
        self.wait(table, 20)

    def test_changes_are_followed(self):
        table = self.new_table()
        self.index(table)
        for i in range(5):
            table.put([i], cells(i))
        self.wait(table, 5)
        table.delete([0])
        self.wait(table, 4)
        table.update([1], {'put': [('k', 'changed')]})
        for _ in range(600):
            query = ts.SearchQuery(ts.TermQuery('k', 'changed'), get_total_count=True)
            if self.client.search(table.name, INDEX, query).total_count == 1:
                return
            time.sleep(0.1)
        self.fail('the change is not found')


class Queries(SearchCase):
    def test_all(self):
        answer = self.finds(ALL, range(ROWS))
        self.equal(answer.is_all_succeed, True)
        self.equal(len(answer.search_hits), ROWS)

    def test_match(self):
        self.finds(ts.MatchQuery('t', 'this'), range(ROWS))
        self.finds(ts.MatchQuery('t', 'not'), [])
        self.finds(ts.MatchQuery('t', 'this is 0', minimum_should_match=3, operator=ts.QueryOperator.OR), [0])
        self.finds(ts.MatchQuery('t', 'this is 0', operator=ts.QueryOperator.AND), [0])
        self.finds(ts.MatchPhraseQuery('t', 'this is'), range(ROWS))
        self.finds(ts.MatchPhraseQuery('t', 'is this'), [])

    def test_terms(self):
        self.finds(ts.TermQuery('k', 'key001'), [1])
        self.finds(ts.TermQuery('t', '12'), [12])
        self.finds(ts.TermQuery('l', 7), [7])
        self.finds(ts.TermQuery('l', '7'), [7])
        self.finds(ts.TermQuery('la', 7), [7])
        self.finds(ts.TermQuery('ka', 'a'), range(ROWS))
        self.finds(ts.TermQuery('b', True), range(0, ROWS, 2))
        self.finds(ts.TermQuery('d', 0.1), range(ROWS))
        self.finds(ts.TermsQuery('l', [3, 4, 999]), [3, 4])

    def test_ranges(self):
        self.finds(ts.RangeQuery('l', 5, 8), [5, 6, 7])
        self.finds(ts.RangeQuery('k', 'key005', 'key007', include_lower=False, include_upper=True), [6, 7])
        self.finds(ts.RangeQuery('l', range_from=27), [27, 28, 29])
        self.finds(ts.RangeQuery('l', range_to=2, include_upper=True), [0, 1, 2])
        self.finds(ts.RangeQuery('la', '27', '100'), [27, 28, 29])

    def test_patterns(self):
        self.finds(ts.PrefixQuery('k', 'key00'), range(10))
        self.finds(ts.PrefixQuery('t', 'this is'), [])
        self.finds(ts.WildcardQuery('k', 'key01*'), range(10, 20))
        self.finds(ts.WildcardQuery('k', '*2?'), range(20, 30))
        self.finds(ts.WildcardQuery('t', 't*'), range(ROWS))
        self.finds(ts.ExistsQuery('k'), range(ROWS))

    def test_bool(self):
        less, even = ts.RangeQuery('l', range_to=6), ts.TermQuery('b', True)
        self.finds(ts.BoolQuery(must_queries=[less, even]), [0, 2, 4])
        self.finds(ts.BoolQuery(must_queries=[less], must_not_queries=[even]), [1, 3, 5])
        self.finds(ts.BoolQuery(should_queries=[ts.TermQuery('l', 1), ts.TermQuery('l', 2)]), [1, 2])
        self.finds(ts.BoolQuery(should_queries=[less, even], minimum_should_match=2), [0, 2, 4])
        self.finds(ts.BoolQuery(filter_queries=[less], should_queries=[ts.TermQuery('l', 99)]), range(6))

    def test_places(self):
        self.finds(ts.GeoDistanceQuery('g', '30.1,120.1', 1), [1, 10])
        self.finds(ts.GeoBoundingBoxQuery('g', '30.25,120.1', '30.2,120.3'), [21, 22, 23, 24, 25])
        self.finds(ts.GeoPolygonQuery('g', ['29,119', '29,121', '30.05,121', '30.05,119']), [0])

    def test_a_value_that_does_not_fit(self):
        with self.refused(400, 'OTSParameterInvalid'):
            self.search(ts.TermQuery('l', 'text'))


class Pages(SearchCase):
    def test_columns(self):
        get = ts.ColumnsToGet
        self.equal(self.search(limit=1).rows[0][1], [])
        rows = self.search(limit=1, columns=get([], ts.ColumnReturnType.ALL)).rows
        self.equal([c[0] for c in rows[0][1]], ['b', 'd', 'g', 'k', 'ka', 'l', 'la', 't', 'v'])
        rows = self.search(limit=1, columns=get(['la', 'k', 'nothing'], ts.ColumnReturnType.SPECIFIED)).rows
        self.equal([c[:2] for c in rows[0][1]], [('k', 'key000'), ('la', '[-1, 0]')])
        rows = self.search(limit=1, columns=get([], ts.ColumnReturnType.ALL_FROM_INDEX)).rows
        self.ok('k' in [c[0] for c in rows[0][1]], 'stored fields', rows)

    def test_order(self):
        for order, first in ((ASC, 0), (DESC, ROWS - 1)):
            answer = self.search(sort=ts.Sort([ts.FieldSort('l', order)]), limit=3)
            self.equal(answer.rows[0][0][0][1], first)
            answer = self.search(sort=ts.Sort([ts.PrimaryKeySort(order)]), limit=3)
            self.equal(answer.rows[0][0][0][1], first)
        answer = self.search(sort=ts.Sort([ts.FieldSort('b', DESC), ts.FieldSort('l', DESC)]), limit=2)
        self.equal([row[0][0][1] for row in answer.rows], [28, 26])

    def test_tokens(self):
        found, token = [], None
        while True:
            answer = self.search(limit=7, next_token=token, sort=None if token else ts.Sort([ts.FieldSort('l', DESC)]))
            found += [row[0][0][1] for row in answer.rows]
            self.equal(answer.total_count, ROWS)
            token = answer.next_token
            if not token:
                break
        self.equal(found, list(range(ROWS - 1, -1, -1)))

    def test_a_full_page_has_a_token(self):
        self.ok(self.search(limit=ROWS).next_token, 'a token')
        self.ok(not self.search(limit=ROWS + 1).next_token, 'none')

    def test_offset(self):
        answer = self.search(offset=3, limit=2)
        self.equal([row[0][0][1] for row in answer.rows], [3, 4])
        self.equal(answer.total_count, ROWS)

    def test_defaults(self):
        answer = self.search(get_total_count=False)
        self.equal(len(answer.rows), 10)
        self.equal(answer.total_count, -1)
        self.equal([len(hit.highlight_result.highlight_fields) for hit in answer.search_hits], [0] * 10)


class Aggregations(SearchCase):
    def aggregate(self, *aggregations):
        return [result.value for result in self.search(limit=0, aggs=list(aggregations)).agg_results]

    def test_numbers(self):
        self.equal(self.aggregate(ts.Max('l'), ts.Min('l'), ts.Sum('l'), ts.Avg('l'), ts.Count('l'), ts.DistinctCount('b')),
                   [29.0, 0.0, 435.0, 14.5, 30, 2])

    def test_arrays(self):
        self.equal(self.aggregate(ts.Max('la'), ts.Count('la'), ts.DistinctCount('ka')), [29.0, 60, 32])

    def test_percentiles(self):
        items, = self.aggregate(ts.Percentiles('l', [100, 50]))
        self.equal([(item.key, item.value) for item in items], [(50.0, 14), (100.0, 29)])

    def test_top_rows(self):
        rows, = self.aggregate(ts.TopRows(2, ts.Sort([ts.FieldSort('l', DESC)])))
        self.equal([row[0][0][1] for row in rows], [29, 28])

    def test_refusals(self):
        with self.refused(400, 'OTSParameterInvalid', part='[avg agg] field: none does not exist'):
            self.aggregate(ts.Avg('none'))
        with self.refused(400, 'OTSParameterInvalid', part='[sum agg] field_name:b type:boolean is invalid'):
            self.aggregate(ts.Sum('b'))
        with self.refused(400, 'OTSParameterInvalid'):
            self.aggregate(ts.Max('l', name='a'), ts.Min('l', name='a'))

    def groups(self, group_by):
        return self.search(limit=0, group_bys=[group_by]).group_by_results[0].items

    def test_by_field(self):
        items = self.groups(ts.GroupByField('b', group_by_sort=[ts.GroupKeySort(DESC)], sub_aggs=[ts.Max('l', name='m')]))
        self.equal([(item.key, item.row_count, item.sub_aggs[0].value) for item in items], [('true', 15, 28.0), ('false', 15, 29.0)])

    def test_by_range_and_filter(self):
        items = self.groups(ts.GroupByRange('l', [(0, 10), (11, 25), (100, 200)]))
        self.equal([item.row_count for item in items], [10, 14, 0])
        items = self.groups(ts.GroupByFilter([ts.TermQuery('ka', 'a'), ts.TermQuery('l', 1)]))
        self.equal([item.row_count for item in items], [30, 1])

    def test_histogram(self):
        items = self.groups(ts.GroupByHistogram('l', 10, ts.FieldRange(0, 29)))
        self.equal([(item.key, item.value) for item in items], [(0, 10), (10, 10), (20, 10)])


class Scans(SearchCase):
    def scan(self, session, token=None, limit=20, at=0, of=1):
        query = ts.ScanQuery(ALL, limit, token, at, of, 30)
        return self.client.parallel_scan(self.table.name, INDEX, query, session, ts.ColumnsToGet(['l'], ts.ColumnReturnType.SPECIFIED))

    def test_all_rows(self):
        splits = self.client.compute_splits(self.table.name, INDEX)
        self.equal(splits.splits_size, 1)
        found, sizes, token = [], [], None
        while True:
            answer = self.scan(splits.session_id, token)
            found += [row[1][0][1] for row in answer.rows]
            sizes.append(len(answer.rows))
            token = answer.next_token
            if not token:
                break
        self.equal(sorted(found), list(range(ROWS)))
        self.equal(sizes, [20, 10, 0])

    def test_refusals(self):
        session = self.client.compute_splits(self.table.name, INDEX).session_id
        with self.refused(400, 'OTSParameterInvalid', '[parallel_scan.current_parallel_id] must in [0, max_parallel), '
                          'current max_parallel is 1, current_parallel_id is 101'):
            self.scan(session, at=101)
        with self.refused(400, 'OTSParameterInvalid', '[parallel_scan.max_parallel_id] must in (0 ,1], current max_parallel_id is 2'):
            self.scan(session, of=2)
