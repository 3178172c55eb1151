import time

import tablestore as ts

from fixture import MAX, MIN, Case, found, key_of

META = ts.SecondaryIndexMeta


class Indexes(Case):
    TABLE = None

    def indexed(self, rows=()):
        table = self.new_table(key=('INTEGER', 'STRING'), defined=[('d0', 'INTEGER'), ('d1', 'STRING')])
        for key, cells in rows:
            table.put(key, cells)
        return table, table.name + '_ix'

    def entries(self, index, *names):
        """All rows of an index whose key columns have these names."""
        bounds = [[(name, bound) for name in names] for bound in (MIN, MAX)]
        _, _, rows, _ = self.client.get_range(index, 'FORWARD', *bounds, None, 100, None, 1)
        return [(row.key, [cell[:2] for cell in row.cells]) for row in map(found, rows)]

    def follows(self, index, names, expected):
        """Over a pool, as in the service, a global index follows its table: it comes to have these entries."""
        for _ in range(200):
            if self.entries(index, *names) == expected:
                break
            time.sleep(0.1)
        self.equal(self.entries(index, *names), expected)

    def test_an_index_follows_its_table(self):
        table, index = self.indexed()
        self.client.create_secondary_index(table.name, META(index, ['d0'], ['d1']), False)
        table.put([1, 'a'], [('d0', 7), ('d1', 'one')])
        table.put([2, 'b'], [('d0', 5)])
        table.put([3, 'c'], [('d1', 'none')])
        self.follows(index, ['d0', 'k1', 'k2'], [([5, 2, 'b'], []), ([7, 1, 'a'], [('d1', 'one')])])
        table.delete([1, 'a'])
        self.follows(index, ['d0', 'k1', 'k2'], [([5, 2, 'b'], [])])

    def test_the_table_of_an_index_is_listed_and_described(self):
        table, index = self.indexed()
        self.client.create_secondary_index(table.name, META(index, ['k2', 'd0'], ['d1'], ts.SecondaryIndexType.GLOBAL_INDEX), False)
        self.ok(index in self.client.list_table(), 'list contains %s' % index)
        meta = self.client.describe_table(index).table_meta
        self.equal(meta.schema_of_primary_key, [('k2', 'STRING'), ('d0', 'INTEGER'), ('k1', 'INTEGER')])
        meta = table.describe().secondary_indexes[0]
        self.equal((meta.index_name, list(meta.primary_key_names), list(meta.defined_column_names)), (index, ['k2', 'd0'], ['d1']))

    def test_a_local_index(self):
        table, index = self.indexed()
        meta = META(index, ['k1', 'd0'], [], ts.SecondaryIndexType.LOCAL_INDEX)
        self.client.create_secondary_index(table.name, meta, False)
        table.put([1, 'a'], [('d0', 7)])
        self.equal(self.entries(index, 'k1', 'd0', 'k2'), [([1, 7, 'a'], [])])

    def test_base_data(self):
        table, index = self.indexed([([n, 'x'], [('d0', -n)]) for n in range(20)])
        self.client.create_secondary_index(table.name, META(index, ['d0'], []), True)
        for _ in range(300):
            try:
                rows = self.entries(index, 'd0', 'k1', 'k2')
                break
            except ts.OTSServiceError as err:
                self.ok('Disallow read index table in building base state' in err.message, 'building', err.message)
                time.sleep(0.1)
        self.equal([key[1] for key, _ in rows], list(range(19, -1, -1)))

    def test_an_index_is_not_written(self):
        table, index = self.indexed()
        self.client.create_secondary_index(table.name, META(index, ['d0'], []), False)
        row = ts.Row([('d0', 1), ('k1', 1), ('k2', 'a')], [])
        with self.refused(400, 'OTSParameterInvalid', part="Can't write index table directly"):
            self.client.put_row(index, row, ts.Condition('IGNORE'))

    def test_at_most_five(self):
        table, index = self.indexed()
        for n in range(5):
            self.client.create_secondary_index(table.name, META('%s%d' % (index, n), ['d0'], []), False)
        with self.refused(400, 'OTSParameterInvalid', 'Number of index per table exceeds the quota:5.'):
            self.client.create_secondary_index(table.name, META(index, ['d0'], []), False)

    def test_a_dropped_index_is_gone(self):
        table, index = self.indexed()
        self.client.create_secondary_index(table.name, META(index, ['d0'], []), False)
        self.client.delete_secondary_index(table.name, index)
        self.ok(index not in self.client.list_table(), 'list without %s' % index)
        with self.refused(400, 'OTSParameterInvalid', part='Requested table does not exist'):
            self.client.get_row(index, key_of([1]), None, None, 1)
