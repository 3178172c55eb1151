"""aliyun-table: rows as dictionaries, and what it makes of lists of conditions, by a search index."""

import contextlib
import io
import os
import time
import unittest

import tablestore as ts
from aliyun_table import TableClient

TABLE = 'compat_a_%d' % os.getpid()
ROWS = 150


def setUpModule():
    global client
    client = TableClient(os.environ['WIDEROW_INSTANCE'], os.environ['WIDEROW_ENDPOINT'],
                         os.environ['WIDEROW_ACCESS_KEY_ID'], os.environ['WIDEROW_ACCESS_KEY_SECRET'])
    client.otsclient.create_table(ts.TableMeta(TABLE, [('_id', 'INTEGER')]), ts.TableOptions(),
                                  ts.ReservedThroughput(ts.CapacityUnit(0, 0)))
    F = ts.FieldSchema
    client.otsclient.create_search_index(TABLE, 'filter', ts.SearchIndexMeta([
        F('user', ts.FieldType.KEYWORD, index=True, enable_sort_and_agg=True),
        F('likes', ts.FieldType.LONG, index=True, enable_sort_and_agg=True),
        F('title', ts.FieldType.TEXT, index=True, analyzer=ts.AnalyzerType.SINGLEWORD)]))
    for i in range(ROWS):
        client.put_row(TABLE, ['_id'], {'_id': i, 'user': 'u%d' % (i % 3), 'likes': i * 10, 'title': 'article %d of 王者荣耀' % i})
    for _ in range(600):
        if sum(1 for _ in found(('matchall', '', ''))) == ROWS:
            break
        time.sleep(0.05)


def tearDownModule():
    client.delete_index(TABLE, 'filter')
    client.otsclient.delete_table(TABLE)


def found(*must, **options):
    with contextlib.redirect_stdout(io.StringIO()):  # it prints where a query ends
        return list(client.query(TABLE, must_query_list=list(must), sort_list=[('likes', -1)], **options))


class Rows(unittest.TestCase):
    def test_put_gives_the_key(self):
        key = client.put_row(TABLE, ['_id'], {'_id': 1000, 'user': 'other', 'tags': ['a', 'b'], 'likes': -1})
        self.assertEqual(key, {'_id': 1000})
        row = next(client.query_all(TABLE, start_primary_key=1000))
        self.assertEqual(row, {'_id': 1000, 'user': 'other', 'tags': '["a", "b"]', 'likes': -1})
        client.otsclient.delete_row(TABLE, ts.Row([('_id', 1000)]), ts.Condition(ts.RowExistenceExpectation.IGNORE))

    def test_update_keeps_the_rest(self):
        self.assertEqual(client.update_row(TABLE, ['_id'], {'_id': 7, 'more': 'text'}), {'_id': 7})
        row = next(client.query_all(TABLE, start_primary_key=7))
        self.assertEqual((row['more'], row['user'], row['likes']), ('text', 'u1', 70))

    def test_all_rows_come_by_pages(self):
        self.assertEqual([row['_id'] for row in client.query_all(TABLE) if row['_id'] < ROWS], list(range(ROWS)))

    def test_tables_are_listed(self):
        self.assertIn(TABLE, client.get_table_list())


class Queries(unittest.TestCase):
    def ids(self, *must, **options):
        return [row['_id'] for row in found(*must, **options) if row['_id'] < ROWS]

    def test_pages_go_on_by_token(self):
        self.assertEqual(self.ids(('matchall', '', '')), list(range(ROWS))[::-1])

    def test_term_and_range(self):
        self.assertEqual(self.ids(('term', 'user', 'u1'), ('range', 'likes', '(100, 250]')), [25, 22, 19, 16, 13])

    def test_phrase(self):
        self.assertEqual(self.ids(('phrase', 'title', '王者荣耀'), ('range', 'likes', '[0, 30)')), [2, 1, 0])

    def test_total(self):
        pages = found(('term', 'user', 'u2'), get_total_count=True, limit=2)
        self.assertEqual([(total, row['_id']) for total, row in pages], [(50, 149), (50, 146)])

    def test_unknown_kind(self):
        with self.assertRaises(Exception) as caught:
            found(('fuzzy', 'user', 'u'))
        self.assertIn('fuzzy', str(caught.exception))

    def test_show_index(self):
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            client.show_index(TABLE)
        for word in ('filter', 'user', 'likes', 'title'):
            self.assertIn(word, shown.getvalue())
