from fixture import AUTO, MAX, MIN, Case, col, delete_item, put_item, update_item


class AutoKeys(Case):
    TABLE = dict(key=('STRING', 'AUTO'))

    def add(self, partition, cells=()):
        row = self.table.put([partition, AUTO], cells, return_type='RT_PK')[1]
        return [value for _, value in row.primary_key]

    def test_describe_shows_which_column_is_numbered(self):
        schema = self.table.describe().table_meta.schema_of_primary_key
        self.equal(schema, [('k1', 'STRING'), ('k2', 'INTEGER', AUTO)])

    def test_number_is_positive_and_rises(self):
        numbers = [self.add('a', [('i', i)])[1] for i in range(5)]
        self.ok(all(number > 0 for number in numbers), 'positive numbers', numbers)
        self.ok(all(a < b for a, b in zip(numbers, numbers[1:])), 'rising numbers', numbers)
        rows, _ = self.table.scan(['a', MIN], ['a', MAX])
        self.equal([row.cells[0][1] for row in rows], [0, 1, 2, 3, 4], 'rows in the order of writing')

    def test_row_is_used_by_its_number(self):
        key = self.add('b', [('c', 1)])
        self.table.update(key, {'put': [('c', 2)]}, expect='EXPECT_EXIST')
        self.equal(self.table.columns(key), {'c': 2})
        self.table.delete(key)
        self.equal(self.table.get(key), None)

    def test_without_the_request_no_key_is_returned(self):
        self.equal(self.table.put(['c', AUTO], [('c', 1)])[1], None)

    def test_numbers_in_a_batch(self):
        results = self.table.write([put_item(['d', AUTO], [('i', i)], return_type='RT_PK') for i in range(3)])
        numbers = [result.row.primary_key[1][1] for result in results]
        self.ok(numbers[0] < numbers[1] < numbers[2], 'rising numbers', numbers)

    def test_batch_changes_rows_by_their_numbers(self):
        first, second = self.add('e', [('c', 1)]), self.add('e', [('c', 1)])
        self.table.write([update_item(first, {'put': [('c', 9)]}), delete_item(second)])
        self.equal((self.table.columns(first), self.table.get(second)), ({'c': 9}, None))

    def test_placeholder_allows_no_expectation(self):
        for expect in ('EXPECT_EXIST', 'EXPECT_NOT_EXIST'):
            with self.refused(400, 'OTSParameterInvalid', part='when modify row with pk auto increment'):
                self.table.put(['f', AUTO], [], expect=expect)

    def test_placeholder_allows_no_condition(self):
        with self.refused(400, 'OTSParameterInvalid', "Can't set condition when modify row with pk auto increment"):
            self.table.put(['f', AUTO], [], when=col('c', '=', 1))

    def test_placeholder_cannot_be_read(self):
        with self.refused(400, 'OTSParameterInvalid', "PKAutoIncr can't be used for read operations."):
            self.table.get(['f', AUTO])

    def test_placeholder_cannot_be_deleted(self):
        with self.refused(400, 'OTSParameterInvalid'):
            self.table.delete(['f', AUTO])

    def test_placeholder_where_nothing_is_numbered(self):
        plain = self.new_table(key=('STRING', 'INTEGER'))
        with self.refused(400):
            plain.put(['f', AUTO], [('c', 1)])


class BadAutoKeys(Case):
    TABLE = None

    def test_first_column(self):
        with self.refused(400, 'OTSParameterInvalid', part="First primary key can't be auto increment"):
            self.new_table(key=('AUTO', 'STRING'))

    def test_two_columns(self):
        with self.refused(400, 'OTSParameterInvalid', 'AUTO_INCREMENT primary key count must <= 1.'):
            self.new_table(key=('STRING', 'AUTO', 'AUTO'))

    def test_column_of_another_type(self):
        table = self.unmade_table(key=('STRING', 'STRING'))
        table.schema[1] += (AUTO,)
        with self.refused(400, 'OTSParameterInvalid', 'AUTO_INCREMENT primary key must be integer.'):
            table.create()
