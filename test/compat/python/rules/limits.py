from fixture import Case

TWO_MIB = 2097152
TOO_LONG = "The length of attribute column: 'c' exceeds the MaxLength:2097152 with CurrentLength:2097153."


class Cells(Case):
    def test_string_of_2_mib_and_one_byte_more(self):
        self.table.put([1], [('c', 'x' * TWO_MIB)])
        self.equal(self.table.columns([1])['c'] == 'x' * TWO_MIB, True)
        with self.refused(400, 'OTSParameterInvalid', TOO_LONG):
            self.table.put([2], [('c', 'x' * (TWO_MIB + 1))])
        self.equal(self.table.get([2]), None)

    def test_binary_of_2_mib_and_one_byte_more(self):
        self.table.put([3], [('c', bytearray(TWO_MIB))])
        self.equal(self.table.columns([3])['c'] == bytearray(TWO_MIB), True)
        with self.refused(400, 'OTSParameterInvalid', TOO_LONG):
            self.table.update([3], {'put': [('c', bytearray(TWO_MIB + 1))]})

    def test_bytes_are_counted_not_letters(self):
        with self.refused(400, 'OTSParameterInvalid', part='CurrentLength:%d.' % (TWO_MIB // 2 * 3)):
            self.table.put([4], [('c', '表' * (TWO_MIB // 2))])

    def test_nan_and_infinities(self):
        for value in (float('nan'), float('inf'), float('-inf')):
            with self.refused(400, 'OTSParameterInvalid'):
                self.table.put([5], [('c', value)])

    def test_string_that_is_not_utf_8(self):
        with self.refused(400, 'OTSParameterInvalid', part='must be UTF8 encoding.'):
            self.table.put([6], [('c', b'\xff\xfe')])


class Rows(Case):
    def test_1024_columns_are_accepted_and_1025_refused(self):
        columns = [('c%05d' % i, i) for i in range(1025)]
        self.table.put([1], columns[:1024])
        self.equal(len(self.table.get([1]).cells), 1024)
        message = 'The number of attribute columns exceeds the limit, limit count: 1024, column count: 1025.'
        with self.refused(400, 'OTSParameterInvalid', message):
            self.table.put([2], columns)

    def test_row_grows_past_1024_columns_by_updates(self):
        for part in range(3):
            self.table.update([3], {'put': [('c%d_%d' % (part, i), i) for i in range(600)]})
        self.equal(len(self.table.get([3]).cells), 1800)
        self.equal(self.table.columns([3], columns=['c2_599']), {'c2_599': 599})

    def test_row_grows_past_4_mb_by_updates(self):
        for name in 'abc':
            self.table.update([4], {'put': [(name, bytearray(name.encode() * TWO_MIB))]})
        for name in 'abc':
            self.equal(self.table.columns([4], columns=[name])[name] == bytearray(name.encode() * TWO_MIB), True, name)
        self.table.put([4], [('a', 1)])
        self.equal(self.table.columns([4]), {'a': 1}, 'after it was replaced')

    def test_put_of_more_than_4_mb(self):
        with self.refused(400, 'OTSParameterInvalid', part='The total data size of PutRow request exceeds the limit'):
            self.table.put([5], [(name, 'x' * 1500000) for name in 'abc'])

    def test_body_of_more_than_5_mb(self):
        with self.refused(413, 'OTSRequestBodyTooLarge'):
            self.table.put([6], [(name, 'x' * TWO_MIB) for name in 'abcd'])


class KeyValues(Case):
    TABLE = dict(key=('STRING', 'BINARY'))

    def test_1024_bytes_are_accepted_and_1025_refused(self):
        self.table.put(['x' * 1024, bytearray(1024)])
        for key, name in (['x' * 1025, bytearray()], 'k1'), (['', bytearray(1025)], 'k2'):
            message = "The length of primary key column: '%s' exceeds the MaxLength:1024 with CurrentLength:1025." % name
            with self.refused(400, 'OTSParameterInvalid', message):
                self.table.put(key)
