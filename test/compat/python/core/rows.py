import time

from fixture import Case


class Rows(Case):
    TABLE = dict(versions=3)

    def test_absent_row_reads_as_empty(self):
        self.equal(self.table.get([404]), None)

    def test_row_of_a_key_alone(self):
        self.table.put([1])
        row = self.table.get([1])
        self.equal((row.key, row.cells), ([1], []))

    def test_put_replaces_the_whole_row(self):
        self.table.put([2], [('a', 1), ('b', 2)])
        self.table.put([2], [('b', 3)])
        self.equal([cell[:2] for cell in self.table.get([2], versions=10).cells], [('b', 3)])

    def test_put_without_return_type_returns_nothing(self):
        self.equal(self.table.put([2], [('a', 1)])[1], None)

    def test_put_returns_the_key_on_request(self):
        row = self.table.put([2], [('a', 1)], return_type='RT_PK')[1]
        self.equal(row.primary_key, [('k1', 2)])

    def test_update_changes_the_named_columns_only(self):
        self.table.put([3], [('a', 1), ('b', 2)])
        self.table.update([3], {'put': [('b', 'new'), ('c', True)]})
        self.equal(self.table.columns([3]), {'a': 1, 'b': 'new', 'c': True})

    def test_update_creates_an_absent_row(self):
        self.table.update([4], {'put': [('a', 1)]})
        self.equal(self.table.columns([4]), {'a': 1})

    def test_update_deletes_a_whole_column(self):
        self.table.put([5], [('a', 1), ('b', 2)])
        self.table.update([5], {'delete_all': ['a']})
        self.equal(self.table.columns([5]), {'b': 2})

    def test_update_deletes_one_version(self):
        now = int(time.time() * 1000)
        self.table.put([6], [('a', 'old', now - 2000), ('a', 'middle', now - 1000), ('a', 'new', now)])
        self.table.update([6], {'delete': [('a', None, now - 1000)]})
        self.equal(self.table.get([6], versions=10).cells, [('a', 'new', now), ('a', 'old', now - 2000)])

    def test_put_delete_and_delete_all_in_one_update(self):
        now = int(time.time() * 1000)
        self.table.put([7], [('a', 1, now - 1000), ('a', 2, now), ('b', 1), ('c', 1)])
        self.table.update([7], {'put': [('d', 4)], 'delete': [('a', None, now)], 'delete_all': ['b']})
        self.equal(self.table.columns([7]), {'a': 1, 'c': 1, 'd': 4})

    def test_deleting_all_columns_leaves_the_row(self):
        self.table.put([8], [('a', 1)])
        self.table.update([8], {'delete_all': ['a']})
        row = self.table.get([8])
        self.equal((row.key, row.cells), ([8], []))

    def test_update_of_deletes_alone_creates_no_row(self):
        self.table.update([9], {'delete_all': ['a']})
        self.equal(self.table.get([9]), None)

    def test_update_without_cells_is_refused(self):
        with self.refused(400, 'OTSParameterInvalid'):
            self.table.update([9], {})

    def test_delete_removes_the_row_and_may_be_repeated(self):
        self.table.put([10], [('a', 1)])
        self.table.delete([10])
        self.equal(self.table.get([10]), None)
        self.table.delete([10])

    def test_columns_come_in_the_order_of_their_bytes(self):
        self.table.put([11], [(name, 1) for name in ('b', 'a', 'B', '_', 'aa')])
        self.equal([cell[0] for cell in self.table.get([11]).cells], ['B', '_', 'a', 'aa', 'b'])

    def test_cell_without_a_timestamp_has_the_time_of_writing(self):
        self.table.put([12], [('a', 1)])
        stamp = self.table.get([12]).cells[0][2]
        self.ok(abs(stamp - time.time() * 1000) < 60000, 'timestamp within a minute of now', stamp)
