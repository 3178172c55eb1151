import tablestore as ts

from fixture import Case, MAX, MIN, key_of, put_item

UP = list(range(-5, 20))  # negative keys must sort before zero
DOWN = UP[::-1]


def keys(rows):
    return [row.key[0] for row in rows]


class Ranges(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.table.write([put_item([n], [('n', n)]) for n in DOWN])

    def test_forward_over_several_pages(self):
        rows, pages = self.table.scan([MIN], [MAX], limit=7)
        self.equal(keys(rows), UP)
        self.ok(pages >= 4, 'at least four pages', pages)

    def test_backward_over_several_pages(self):
        rows, pages = self.table.scan([MAX], [MIN], limit=7, direction='BACKWARD')
        self.equal(keys(rows), DOWN)
        self.ok(pages >= 4, 'at least four pages', pages)

    def test_cut_page_names_the_row_to_go_on_with(self):
        page = self.table.page([MIN], [MAX], limit=7)
        self.equal((len(page.rows), page.next), (7, [UP[7]]))

    def test_cut_page_backward_names_the_row_to_go_on_with(self):
        page = self.table.page([MAX], [MIN], limit=7, direction='BACKWARD')
        self.equal((len(page.rows), page.next), (7, [DOWN[7]]))

    def test_start_is_inclusive_and_end_exclusive(self):
        page = self.table.page([3], [6])
        self.equal((keys(page.rows), page.next), ([3, 4, 5], None))

    def test_backward_start_is_inclusive_and_end_exclusive(self):
        page = self.table.page([6], [3], direction='BACKWARD')
        self.equal((keys(page.rows), page.next), ([6, 5, 4], None))

    def test_range_without_rows_is_finished(self):
        page = self.table.page([1000], [2000])
        self.equal((page.rows, page.next), ([], None))

    def test_rows_carry_their_columns(self):
        page = self.table.page([0], [2])
        self.equal([[cell[:2] for cell in row.cells] for row in page.rows], [[('n', 0)], [('n', 1)]])

    def test_iterator_of_the_sdk(self):
        consumed = ts.CapacityUnit()
        rows = list(self.client.xget_range(self.table.name, 'FORWARD', key_of([MIN]), key_of([MAX]), consumed, count=12))
        self.equal([row.primary_key[0][1] for row in rows], UP[:12])
        self.ok(consumed.read >= 1, 'read units are counted', consumed.read)


class Order(Case):
    TABLE = None

    def test_two_key_columns_sort_column_by_column(self):
        table = self.new_table(key=('STRING', 'INTEGER'))
        for key in (['b', 1], ['a', 2], ['a', 10], ['', 3], ['b', -1]):
            table.put(key)
        self.equal([row.key for row in table.scan([MIN, MIN], [MAX, MAX], limit=2)[0]],
                   [['', 3], ['a', 2], ['a', 10], ['b', -1], ['b', 1]])
        self.equal([row.key for row in table.scan(['a', MIN], ['a', MAX])[0]], [['a', 2], ['a', 10]], 'within one value')

    def test_strings_sort_by_bytes_and_a_prefix_comes_first(self):
        table = self.new_table(key=('STRING',))
        ordered = ['', 'A', 'a', 'a\0', 'a\0b', 'a!', 'aa', 'b', 'é', '表']
        for text in reversed(ordered):
            table.put([text])
        self.equal(keys(table.scan([MIN], [MAX], limit=3)[0]), ordered)

    def test_binaries_sort_as_unsigned_bytes(self):
        table = self.new_table(key=('BINARY',))
        ordered = [bytearray(value) for value in (b'', b'\0', b'\0\0', b'\0\1', b'\1', b'\x7f', b'\x80', b'\xff', b'\xff\0')]
        for value in reversed(ordered):
            table.put([value])
        self.equal(keys(table.scan([MAX], [MIN], limit=4, direction='BACKWARD')[0]), ordered[::-1])
