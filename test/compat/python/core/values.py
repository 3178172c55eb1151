from fixture import Case, connect, Table

INT64_MAX = 2 ** 63 - 1
INT64_MIN = -2 ** 63

ATTRIBUTES = {
    'integer_zero': 0, 'integer_minus_one': -1, 'integer_maximum': INT64_MAX, 'integer_minimum': INT64_MIN,
    'string_empty': '', 'string_beyond_ascii': 'grün 表格存储 \U0001F980', 'string_with_nul': 'a\0b',
    'string_of_100_kb': 'x' * 100000,
    'binary_empty': bytearray(), 'binary_with_nuls': bytearray(b'\0\1\0\xff\0'), 'binary_of_every_byte': bytearray(range(256)),
    'double': 3.141592653589793, 'double_zero': 0.0, 'double_negative': -1e-300, 'double_largest': 1.7976931348623157e308,
    'boolean_true': True, 'boolean_false': False,
}

KEYS = {
    'INTEGER': [0, -1, INT64_MAX, INT64_MIN],
    'STRING': ['', 'a', 'grün 表格', 'a\0b', 'x' * 1024],
    'BINARY': [bytearray(), bytearray(b'\0'), bytearray(b'\xff\0\xfe'), bytearray(b'\7' * 1024)],
}


class Values(Case):
    def test_one_row_holds_all_types(self):
        columns = [('c%02d' % i, value) for i, value in enumerate(ATTRIBUTES.values())]
        self.table.put([0], columns)
        self.equal([(name, value) for name, value, _ in self.table.get([0]).cells], columns)

    def test_the_native_parser_and_the_plain_one_agree(self):
        columns = [('c%02d' % i, value) for i, value in enumerate(ATTRIBUTES.values())]
        self.table.put([-1], columns)
        answers = [Table(connect(enable_native=native, native_fallback=False), self.table.name).get([-1])
                   for native in (True, False)]
        self.equal(answers[0], answers[1])


def attribute_case(value, number):
    def test(self):
        self.table.put([number], [('c', value)])
        cells = self.table.get([number]).cells
        self.equal([(name, stored, type(stored)) for name, stored, _ in cells], [('c', value, type(value))])
    return test


for number, (name, value) in enumerate(ATTRIBUTES.items(), 1):
    setattr(Values, 'test_attribute_' + name, attribute_case(value, number))


class Keys(Case):
    TABLE = None

    def test_four_columns_of_all_types(self):
        table = self.new_table(key=('STRING', 'INTEGER', 'BINARY', 'STRING'))
        key = ['表', -5, bytearray(b'\0\x09'), '']
        table.put(key, [('c', True)])
        row = table.get(key)
        self.equal((row.key, row.cells[0][1]), (key, True))
        self.equal(table.get(['表', -5, bytearray(b'\0'), '']), None, 'a key that differs in one byte')


def key_case(kind, values):
    def test(self):
        table = self.new_table(key=(kind,))
        for i, value in enumerate(values):
            table.put([value], [('n', i)])
        for i, value in enumerate(values):
            row = table.get([value])
            self.equal((row.key, row.cells[0][1]), ([value], i), 'row %d' % i)
    return test


for kind, values in KEYS.items():
    setattr(Keys, 'test_%s_keys_address_their_own_rows' % kind.lower(), key_case(kind, values))
