from fixture import Case, put_item, units

# A key column k1 of type INTEGER counts 10 bytes, a column c its name and its value.
OVERHEAD = 11


class Capacity(Case):
    def test_small_put(self):
        self.equal(units(self.table.put([1], [('c', 'x')])[0]), (0, 1))

    def test_put_with_an_existence_check(self):
        self.equal(units(self.table.put([2], [('c', 'x')], expect='EXPECT_NOT_EXIST')[0]), (1, 1))

    def test_small_update(self):
        self.equal(units(self.table.update([3], {'put': [('c', 'x')]})[0]), (0, 1))

    def test_delete(self):
        self.equal(units(self.table.delete([4])[0]), (0, 1))

    def test_delete_with_an_existence_check(self):
        self.table.put([4], [('c', 'x')])
        self.equal(units(self.table.delete([4], expect='EXPECT_EXIST')[0]), (1, 1))

    def test_read_of_a_small_row(self):
        self.table.put([5], [('c', 'x')])
        self.equal(self.table.get_cost([5]), (1, 0))

    def test_read_of_an_absent_row(self):
        self.equal(self.table.get_cost([404]), (1, 0))

    def test_4096_bytes_are_one_unit_and_4097_two(self):
        for key, size, count in ((6, 4096, 1), (7, 4097, 2)):
            self.equal(units(self.table.put([key], [('c', 'x' * (size - OVERHEAD))])[0]), (0, count), 'put of %d' % size)
            self.equal(self.table.get_cost([key]), (count, 0), 'get of %d' % size)

    def test_only_the_columns_read_are_charged(self):
        self.table.put([8], [('big', 'x' * 9000), ('c', 'x')])
        self.equal(self.table.get_cost([8], columns=['c']), (1, 0))

    def test_range_is_rounded_up_once(self):
        for key in range(100, 110):
            self.table.put([key], [('c', 'x' * 1000)])
        self.equal(self.table.page([100], [110]).cost, (3, 0))
        self.equal(self.table.page([5000], [6000]).cost, (1, 0), 'empty range')

    def test_batch_charges_each_row_by_itself(self):
        results = self.table.write([put_item([201], [('c', 'x')]), put_item([202], [('c', 'x' * 5000)])])
        self.equal([units(result.consumed) for result in results], [(0, 1), (0, 2)])
        results = self.table.batch_get([[201], [202], [999]])
        self.equal([units(result.consumed) for result in results], [(1, 0), (2, 0), (1, 0)])
