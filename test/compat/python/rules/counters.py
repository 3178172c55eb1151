import time

from fixture import Case, update_item

INT64_MAX = 2 ** 63 - 1


class Counters(Case):
    def add(self, key, *counts, **more):
        return self.table.update([key], {'increment': list(counts)}, **more)

    def test_absent_column_counts_from_zero(self):
        self.add(1, ('n', 5))
        self.equal(self.table.columns([1]), {'n': 5})

    def test_increments_add_up(self):
        self.table.put([2], [('n', 10)])
        self.add(2, ('n', 5))
        self.add(2, ('n', -20))
        self.equal(self.table.columns([2]), {'n': -5})

    def test_increment_and_put_in_one_update(self):
        self.table.put([3], [('n', 1)])
        self.table.update([3], {'put': [('c', 'x')], 'increment': [('n', 1), ('m', 7)]})
        self.equal(self.table.columns([3]), {'c': 'x', 'm': 7, 'n': 2})

    def test_increment_returns_the_key_on_request(self):
        row = self.add(4, ('n', 1), return_type='RT_PK')[1]
        self.equal(row.primary_key, [('k1', 4)])

    def test_column_of_another_type_is_refused(self):
        self.table.put([5], [('n', 'text')])
        with self.refused(400, 'OTSParameterInvalid'):
            self.table.update([5], {'increment': [('n', 1)], 'put': [('c', 'x')]})
        self.equal(self.table.columns([5]), {'n': 'text'})

    def test_overflow_is_refused(self):
        for start, step in ((INT64_MAX, 1), (-INT64_MAX - 1, -1)):
            self.table.put([6], [('n', start)])
            with self.refused(400, 'OTSParameterInvalid'):
                self.add(6, ('n', step))
            self.equal(self.table.columns([6]), {'n': start})

    def test_timestamp_is_refused(self):
        with self.refused(400, 'OTSParameterInvalid'):
            self.add(7, ('n', 1, int(time.time() * 1000)))

    def test_put_and_increment_of_one_column_are_refused(self):
        with self.refused(400, 'OTSParameterInvalid'):
            self.table.update([8], {'put': [('n', 1)], 'increment': [('n', 1)]})

    def test_string_step_is_refused(self):
        with self.refused(400, 'OTSParameterInvalid'):
            self.add(9, ('n', 'one'))

    def test_condition_is_obeyed(self):
        with self.refused(403, 'OTSConditionCheckFail'):
            self.add(10, ('n', 1), expect='EXPECT_EXIST')
        self.equal(self.table.get([10]), None)

    def test_in_a_batch(self):
        results = self.table.write([update_item([11], {'increment': [('n', 4)]}), update_item([12], {'increment': [('n', 5)]})])
        self.equal([result.is_ok for result in results], [True, True])
        self.equal((self.table.columns([11]), self.table.columns([12])), ({'n': 4}, {'n': 5}))

    def test_double(self):
        self.add(13, ('d', 1.5))
        self.add(13, ('d', 0.25))
        self.equal(self.table.columns([13]), {'d': 1.75})
