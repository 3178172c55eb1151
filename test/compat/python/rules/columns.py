from fixture import Case, MAX, MIN, found


def names(row):
    return None if row is None else [name for name, _, _ in row.cells]


class Columns(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.table.put([1], [(name, name) for name in 'abcd'])
        cls.table.put([2], [('z', 'z')])
        cls.table.put([3])

    def test_columns_to_get_in_any_order_and_twice(self):
        self.equal(names(self.table.get([1], columns=['d', 'a', 'd', 'absent'])), ['a', 'd'])

    def test_key_column_stays_a_key_column(self):
        self.equal(names(self.table.get([1], columns=['k1', 'a'])), ['a'])

    def test_no_match_gives_no_row(self):
        self.equal(self.table.get([1], columns=['absent']), None)

    def test_start_column_is_included_and_end_column_is_not(self):
        self.equal(names(self.table.get([1], start='b', end='d')), ['b', 'c'])
        self.equal(names(self.table.get([1], start='c')), ['c', 'd'])
        self.equal(names(self.table.get([1], end='b')), ['a'])

    def test_get_range_leaves_out_rows_without_a_wanted_column(self):
        self.equal([row.key[0] for row in self.table.scan([MIN], [MAX], columns=['z'])[0]], [2])

    def test_get_range_without_columns_returns_rows_of_keys_alone(self):
        self.equal([row.key[0] for row in self.table.scan([MIN], [MAX])[0]], [1, 2, 3])

    def test_batch_get_row(self):
        results = self.table.batch_get([[1], [2]], columns=['c'])
        self.equal([names(found(result.row)) for result in results], [['c'], None])

    def test_1024_columns_are_accepted_and_1025_refused(self):
        wanted = ['a'] + ['absent%d' % i for i in range(1024)]
        self.equal(names(self.table.get([1], columns=wanted[:1024])), ['a'])
        message = 'The number of columns from the request exceeds the limit, limit count: 1024, column count: 1025.'
        with self.refused(400, 'OTSParameterInvalid', message):
            self.table.get([1], columns=wanted)
