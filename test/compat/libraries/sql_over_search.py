"""otssql: SQL by a search index, through the database interface of Python (PEP 249)."""

import os
import time

import otssql
import tablestore as ts

import fixture

TABLE = fixture.PREFIX + '_sql'
ROWS = 30


def setUpModule():
    global client, connection
    client = fixture.connect()
    client.create_table(ts.TableMeta(TABLE, [('id', 'INTEGER')]), ts.TableOptions(),
                        ts.ReservedThroughput(ts.CapacityUnit(0, 0)))
    F = ts.FieldSchema
    client.create_search_index(TABLE, 'index', ts.SearchIndexMeta([
        F('id', ts.FieldType.LONG, index=True, enable_sort_and_agg=True),
        F('kind', ts.FieldType.KEYWORD, index=True, enable_sort_and_agg=True),
        F('size', ts.FieldType.LONG, index=True, enable_sort_and_agg=True)]))
    for i in range(ROWS):
        client.put_row(TABLE, ts.Row([('id', i)], [('kind', 'k%d' % (i % 3)), ('size', i * 10)]))
    for _ in range(600):
        if client.search(TABLE, 'index', ts.SearchQuery(ts.MatchAllQuery(), limit=0, get_total_count=True)).total_count == ROWS:
            break
        time.sleep(0.05)
    connection = otssql.connect(os.environ['WIDEROW_ENDPOINT'], os.environ['WIDEROW_ACCESS_KEY_ID'],
                                os.environ['WIDEROW_ACCESS_KEY_SECRET'], os.environ['WIDEROW_INSTANCE'])


def tearDownModule():
    client.delete_search_index(TABLE, 'index')
    client.delete_table(TABLE)


class Statements(fixture.Case):
    def rows(self, statement):
        cursor = connection.cursor(otssql.DictCursor)
        cursor.execute(statement)
        return cursor.fetchall()

    def test_select(self):
        rows = self.rows("SELECT id, size FROM %s WHERE kind = 'k1' AND size > 100 ORDER BY size DESC LIMIT 3" % TABLE)
        self.assertEqual([(row['id'], row['size']) for row in rows], [(28, 280), (25, 250), (22, 220)])

    def test_group_by(self):
        rows = self.rows('SELECT kind, COUNT(*) AS number, SUM(size) AS total FROM %s GROUP BY kind' % TABLE)
        self.assertEqual(sorted((row['kind'], row['number'], row['total']) for row in rows),
                         [('k%d' % k, 10, float(sum(i * 10 for i in range(k, ROWS, 3)))) for k in range(3)])
