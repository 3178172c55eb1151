from fixture import Case, MAX, MIN, col, put_item

FORWARD_ERROR = (400, 'OTSParameterInvalid', 'Begin key must less than end key in FORWARD')
BACKWARD_ERROR = (400, 'OTSParameterInvalid', 'Begin key must more than end key in BACKWARD')
LIMIT_ERROR = (400, 'OTSParameterInvalid', 'The limit must be greater than 0.')


class Bounds(Case):
    TABLE = dict(key=('STRING', 'INTEGER'))

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.table.write([put_item([text, n], [('n', n)]) for text in 'abc' for n in (1, 2)])

    def keys(self, start, end, **read):
        return [tuple(row.key) for row in self.table.scan(start, end, **read)[0]]

    def test_limit_zero(self):
        with self.refused(*LIMIT_ERROR):
            self.table.page([MIN, MIN], [MAX, MAX], limit=0)

    def test_limit_below_zero(self):
        with self.refused(*LIMIT_ERROR):
            self.table.page([MIN, MIN], [MAX, MAX], limit=-1)

    def test_equal_bounds_forward(self):
        with self.refused(*FORWARD_ERROR):
            self.table.page(['a', 1], ['a', 1])

    def test_equal_bounds_backward(self):
        with self.refused(*BACKWARD_ERROR):
            self.table.page(['a', 1], ['a', 1], direction='BACKWARD')

    def test_wrong_order_forward(self):
        with self.refused(*FORWARD_ERROR):
            self.table.page(['b', 1], ['a', 1])

    def test_wrong_order_backward(self):
        with self.refused(*BACKWARD_ERROR):
            self.table.page([MIN, MIN], [MAX, MAX], direction='BACKWARD')

    def test_wrong_type(self):
        with self.refused(400, 'OTSInvalidPK', 'Validate PK type fail. Input: VT_INTEGER, Meta: VT_STRING.'):
            self.table.page([1, MIN], [2, MAX])

    def test_too_few_columns(self):
        with self.refused(400, 'OTSInvalidPK', 'Validate PK size fail. Input: 1, Meta: 2.'):
            self.table.page([MIN], [MAX])

    def test_values_after_infinities(self):
        self.equal(self.keys(['a', 2], ['c', MIN]), [('a', 2), ('b', 1), ('b', 2)])
        self.equal(self.keys([MIN, 5], ['a', 2]), [('a', 1)])
        self.equal(self.keys(['b', MAX], ['a', MAX], direction='BACKWARD'), [('b', 2), ('b', 1)])

    def test_limit_larger_than_the_range(self):
        page = self.table.page(['a', MIN], ['b', MIN], limit=1000)
        self.equal((len(page.rows), page.next), (2, None))

    def test_every_limit_gives_the_same_rows(self):
        everything = self.keys([MIN, MIN], [MAX, MAX])
        for limit in range(1, 8):
            self.equal(self.keys([MIN, MIN], [MAX, MAX], limit=limit), everything, 'limit %d' % limit)
            self.equal(self.keys([MAX, MAX], [MIN, MIN], limit=limit, direction='BACKWARD'), everything[::-1], 'back %d' % limit)


class Pages(Case):
    def test_page_ends_after_5000_rows(self):
        for start in range(0, 5100, 200):
            self.table.write([put_item([n], [('n', n)]) for n in range(start, min(start + 200, 5100))])
        page = self.table.page([MIN], [MAX], limit=10000)
        self.equal((len(page.rows), page.next), (5000, [5000]))
        rows, _ = self.table.scan([MAX], [MIN], direction='BACKWARD')
        self.equal([row.key[0] for row in rows], list(range(5099, -1, -1)))
        page = self.table.page([MIN], [MAX], filter=col('n', '=', -1))
        self.equal((page.rows, page.next), ([], [5000]), 'with a filter that nothing passes')

    def test_page_ends_after_4_mb(self):
        table = self.new_table()
        for start in range(0, 30, 10):
            table.write([put_item([n], [('c', bytearray(200000))]) for n in range(start, start + 10)])
        page = table.page([MIN], [MAX])
        self.ok(15 <= len(page.rows) <= 22, '15 to 22 rows on the first page', len(page.rows))
        self.equal(page.next, [len(page.rows)])
        self.equal(len(table.scan([MIN], [MAX])[0]), 30)
