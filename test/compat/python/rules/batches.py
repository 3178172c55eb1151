import tablestore as ts

from fixture import Case, col, delete_item, found, put_item, update_item

NO_TABLE_CODE = 'OTSObjectNotExist'


class Order(Case):
    def test_one_key_several_times(self):
        results = self.table.write([
            put_item([1], [('a', 1), ('b', 1)]), update_item([1], {'put': [('a', 2)]}),
            update_item([1], {'delete_all': ['b'], 'put': [('c', 3)]})])
        self.equal([result.is_ok for result in results], [True, True, True])
        self.equal(self.table.columns([1]), {'a': 2, 'c': 3})

    def test_put_and_then_deleted(self):
        self.table.write([put_item([2], [('a', 1)]), delete_item([2])])
        self.equal(self.table.get([2]), None)

    def test_ten_puts_of_one_key_the_last_one_wins(self):
        self.table.write([put_item([3], [('a', i)]) for i in range(10)])
        self.equal(self.table.columns([3]), {'a': 9})

    def test_one_key_twice_with_a_condition_is_refused(self):
        # The documents do not say whether the batch or its rows fail; either is an answer a client understands.
        items = [put_item([4], [('a', 1)], expect='EXPECT_NOT_EXIST'), put_item([4], [('a', 2)], expect='EXPECT_NOT_EXIST')]
        try:
            failed = [result.error_message for result in self.table.write(items) if not result.is_ok]
        except ts.OTSServiceError as err:
            failed = [err.message]
        self.ok(failed, 'at least one failure')

    def test_one_key_read_twice(self):
        self.table.put([5], [('a', 1)])
        self.equal([found(result.row).key for result in self.table.batch_get([[5], [5]])], [[5], [5]])


class Limits(Case):
    def test_200_rows_are_written_and_201_refused(self):
        items = [put_item([n], [('n', n)]) for n in range(201)]
        self.equal(sum(result.is_ok for result in self.table.write(items[:200])), 200)
        with self.refused(400, 'OTSParameterInvalid', 'Rows count exceeds the upper limit: 200.'):
            self.table.write(items)

    def test_100_rows_are_read_and_101_refused(self):
        self.table.write([put_item([n], [('n', n)]) for n in range(1000, 1100)])
        keys = [[n] for n in range(1000, 1101)]
        self.equal([found(result.row).key for result in self.table.batch_get(keys[:100])], keys[:100])
        with self.refused(400, 'OTSParameterInvalid', 'Rows count exceeds the upper limit: 100.'):
            self.table.batch_get(keys)

    def test_4_mib_are_accepted_and_one_byte_more_refused(self):
        half = 4194304 // 2 - 11  # 10 bytes of key and 1 byte of column name in each of the two rows
        full = put_item([2001], [('c', 'x' * half)])
        results = self.table.write([full, put_item([2002], [('c', 'x' * half)])])
        self.equal([result.is_ok for result in results], [True, True])
        message = 'The total data size of BatchWriteRow request exceeds the limit, limit size: 4194304, data size: 4194305.'
        with self.refused(400, 'OTSParameterInvalid', message):
            self.table.write([full, put_item([2002], [('c', 'x' * (half + 1))])])

    def test_oversize_value_refuses_the_whole_batch(self):
        with self.refused(400, 'OTSParameterInvalid', part='The length of attribute column: '):
            self.table.write([put_item([3001], [('a', 1)]), put_item([3002], [('a', 'x' * 2097153)])])
        self.equal(self.table.get([3001]), None)


class Emptiness(Case):
    def test_no_tables_to_write(self):
        with self.refused(400, 'OTSParameterInvalid', 'No row is specified in BatchWriteRow.'):
            self.client.batch_write_row(ts.BatchWriteRowRequest())

    def test_table_without_rows_to_write(self):
        with self.refused(400, 'OTSParameterInvalid', part='No operation is specified for table:'):
            self.table.write([])

    def test_no_tables_to_read(self):
        with self.refused(400, 'OTSParameterInvalid', 'No row specified in the request of BatchGetRow.'):
            self.client.batch_get_row(ts.BatchGetRowRequest())

    def test_row_of_a_key_alone_may_be_put(self):
        self.equal([result.is_ok for result in self.table.write([put_item([1], [])])], [True])
        self.equal(self.table.get([1]).key, [1])


class MissingTable(Case):
    """A table that is not there fails the request or each of its rows; the sources disagree, clients take both."""

    def codes(self, call):
        try:
            return [result.error_code for result in call()]
        except ts.OTSServiceError as err:
            return [err.code]

    def test_write(self):
        table = self.unmade_table()
        self.equal(self.codes(lambda: table.write([put_item([1], [('a', 1)])])), [NO_TABLE_CODE])

    def test_read(self):
        table = self.unmade_table()
        with self.refused(400, 'OTSParameterInvalid', 'Requested table does not exist (table not exist).'):
            table.batch_get([[1]])


class Conditions(Case):
    def test_checked_row_by_row(self):
        self.table.put([1], [('a', 1)])
        results = self.table.write([
            put_item([1], [('a', 2)], when=col('a', '=', 5)), put_item([2], [('a', 2)], expect='EXPECT_NOT_EXIST'),
            delete_item([3], expect='EXPECT_EXIST')])
        self.equal([result.is_ok for result in results], [False, True, False])
        self.equal((self.table.columns([1]), self.table.columns([2])), ({'a': 1}, {'a': 2}))
