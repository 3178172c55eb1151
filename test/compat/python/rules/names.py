from fixture import Case

BAD_TABLE_NAMES = {
    'digit': '0', 'hash': '#', 'chinese': '中文', 'with_hash': 'T#', 'with_chinese': 'T中文', 'digit_first': '3t',
    'hyphen': '-', '256_letters': 'x' * 256,
}
ODD_COLUMN_NAMES = [
    '.', ':', "'", '"', '$', '&', '*', '(', ')', '/', '\\', '\n', '\r', ' ', 'a b', 'x.y:z', '0', '9lives', '-', 'a#',
]


class TableNames(Case):
    TABLE = None

    def test_underscore_first_and_255_letters(self):
        for longer in (lambda name: '_' + name, lambda name: name.rjust(255, 'x')):
            table = self.unmade_table()
            table.name = longer(table.name)
            table.create()
            self.equal(table.describe().table_meta.table_name, table.name)


def bad_name_case(name):
    def test(self):
        table = self.unmade_table()
        table.name = name
        error = (400, 'OTSParameterInvalid', "Invalid table name: '%s'." % name)
        for call in (table.create, table.describe, table.drop, lambda: table.get([1])):
            with self.refused(*error):
                call()
    return test


for title, name in BAD_TABLE_NAMES.items():
    setattr(TableNames, 'test_bad_' + title, bad_name_case(name))


class ColumnNames(Case):
    def test_odd_characters(self):
        columns = {name: i for i, name in enumerate(ODD_COLUMN_NAMES)}
        self.table.put([1], list(columns.items()))
        self.equal(self.table.columns([1]), columns)

    def test_odd_column_can_be_asked_for(self):
        self.table.put([2], [('a b', 1), ('c', 2)])
        self.equal(self.table.columns([2], columns=['a b']), {'a b': 1})

    def test_leading_hash(self):
        for name in ('#', '#abc', '# '):
            with self.refused(400, 'OTSParameterInvalid', "Invalid column name: '%s'." % name):
                self.table.put([3], [(name, 1)])
            with self.refused(400, 'OTSParameterInvalid', "Invalid column name: '%s'." % name):
                self.table.get([3], columns=[name])

    def test_255_bytes_are_accepted_and_256_refused(self):
        self.table.put([4], [('c' * 255, 1)])
        self.equal(self.table.columns([4]), {'c' * 255: 1})
        with self.refused(400, 'OTSParameterInvalid', part='Invalid column name: '):
            self.table.put([4], [('c' * 256, 1)])

    def test_beyond_ascii_is_malformed_by_the_sdk_and_cleanly_refused(self):
        # the SDK writes the length in letters where the format wants bytes
        with self.refused(400, 'OTSParameterInvalid'):
            self.table.put([5], [('公司', 1)])
        self.equal(self.table.get([5]), None)

    def test_attribute_named_like_a_key_column(self):
        with self.refused(400, 'OTSParameterInvalid', part='Duplicated attribute column name with primary key column'):
            self.table.put([6], [('k1', 1)])

    def test_case_matters(self):
        self.table.put([7], [('C', 1), ('c', 2)])
        self.equal(self.table.columns([7]), {'C': 1, 'c': 2})
