import time

import tablestore as ts

from fixture import Case, MAX, MIN, all_of, any_of, col, found, none_of, put_item

# Rows 0 to 9: even rows have a column even; every row has n (INTEGER), half (DOUBLE), name (STRING) and odd (BOOLEAN).
SELECTIONS = {
    'equal': (col('n', '=', 3), [3]),
    'greater': (col('n', '>', 6), [7, 8, 9]),
    'double_less_or_equal': (col('half', '<=', 1.0), [0, 1, 2]),
    'string_greater_or_equal': (col('name', '>=', 'row 8'), [8, 9]),
    'binary_less': (col('raw', '<', bytearray(b'\2')), [0, 1]),
    'boolean': (col('odd', '=', True), [1, 3, 5, 7, 9]),
    'passes_if_missing': (col('even', '=', 4), [1, 3, 4, 5, 7, 9]),
    'fails_if_missing': (col('even', '=', 4, pass_if_missing=False), [4]),
    'not_equal_fails_if_missing': (col('even', '!=', 4, pass_if_missing=False), [0, 2, 6, 8]),
    'and': (all_of(col('n', '>', 2), col('n', '<', 5)), [3, 4]),
    'or': (any_of(col('n', '<', 2), col('n', '>', 7)), [0, 1, 8, 9]),
    'not': (none_of(col('n', '>', 1)), [0, 1]),
    'three_levels': (all_of(any_of(col('n', '=', 1), col('n', '=', 2), col('n', '=', 3)),
                            none_of(all_of(col('odd', '=', True), col('n', '<', 2)))), [2, 3]),
    'another_type_never_matches': (col('name', '=', 3), []),
    'key_column': (col('k1', '=', 6, pass_if_missing=False), [6]),
}


def regex(comparator, value=None, pattern=r't1:([0-9]+),', cast=ts.CastType.VT_INTEGER):
    return ts.SingleColumnRegexCondition('text', comparator, value, ts.RegexRule(pattern, cast))


# Rows 1 to 3 have text 't1:10,x', 't1:20,x', 'nothing'; row 4 has none.
EXTRACTIONS = {
    'integer_equal': (regex(ts.ComparatorType.EQUAL, 20), [2]),
    'integer_greater': (regex(ts.ComparatorType.GREATER_THAN, 9), [1, 2]),
    'string_equal': (regex(ts.ComparatorType.EQUAL, '10', cast=ts.CastType.VT_STRING), [1]),
    'double_less': (regex(ts.ComparatorType.LESS_THAN, 10.5, cast=ts.CastType.VT_DOUBLE), [1]),
    'exist': (regex(ts.ComparatorType.EXIST), [1, 2]),
}


class Selections(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.table.write([put_item([i], [
            ('n', i), ('half', i / 2), ('name', 'row %d' % i), ('odd', i % 2 == 1), ('raw', bytearray([i])),
        ] + ([] if i % 2 else [('even', i)])) for i in range(10)])

    def test_get_row_filtered_out_is_empty(self):
        self.equal(self.table.get([3], filter=col('n', '=', 4)), None)
        self.equal(self.table.get([3], filter=col('n', '=', 3)).key, [3])

    def test_batch_get_row_filtered_out_is_ok_and_empty(self):
        results = self.table.batch_get([[3], [4]], filter=col('n', '=', 4))
        self.equal([result.is_ok for result in results], [True, True])
        self.equal([found(result.row) is not None for result in results], [False, True])

    def test_limit_counts_the_rows_returned(self):
        rows, _ = self.table.scan([MIN], [MAX], filter=col('odd', '=', True), limit=2)
        self.equal([row.key[0] for row in rows], [1, 3, 5, 7, 9])

    def test_backward(self):
        rows, _ = self.table.scan([MAX], [MIN], direction='BACKWARD', filter=col('n', '>', 6), limit=2)
        self.equal([row.key[0] for row in rows], [9, 8, 7])

    def test_column_that_is_not_read_counts_as_missing(self):
        self.equal(self.table.get([3], columns=['name'], filter=col('n', '=', 4)).key, [3])
        self.equal(self.table.get([3], columns=['name'], filter=col('n', '=', 3, pass_if_missing=False)), None)

    def test_not_takes_exactly_one_filter(self):
        with self.refused(400, 'OTSParameterInvalid', 'Invalid NOT operator: the number of sub-filters must be 1.'):
            self.table.get([1], filter=none_of(col('n', '=', 1), col('n', '=', 2)))

    def test_and_takes_two_filters_or_more(self):
        message = 'Invalid AND/OR operator: the number of sub-filters must be more than 1.'
        for combine in (all_of, any_of):
            with self.refused(400, 'OTSParameterInvalid', message):
                self.table.get([1], filter=combine(col('n', '=', 1)))

    def test_32_filters_are_accepted_and_33_refused(self):
        self.equal(self.table.get([3], filter=any_of(*[col('n', '=', i) for i in range(31)])).key, [3])
        with self.refused(400, 'OTSParameterInvalid', 'The count of filter exceeds the max: 32.'):
            self.table.get([3], filter=any_of(*[col('n', '=', i) for i in range(32)]))


class Extractions(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        texts = {1: 't1:10,x', 2: 't1:20,x', 3: 'nothing'}
        cls.table.write([put_item([i], [('text', texts[i])] if i in texts else [('other', 1)]) for i in range(1, 5)])

    def test_as_a_condition(self):
        with self.refused(403, 'OTSConditionCheckFail'):
            self.table.update([1], {'put': [('done', 1)]}, when=regex(ts.ComparatorType.EQUAL, 11))
        self.table.update([1], {'put': [('done', 1)]}, when=regex(ts.ComparatorType.EQUAL, 10))

    def test_broken_pattern_is_refused(self):
        with self.refused(400, 'OTSParameterInvalid'):
            self.table.get([1], filter=regex(ts.ComparatorType.EQUAL, 1, pattern='([0-9'))

    def test_pattern_of_more_than_256_bytes_is_refused(self):
        with self.refused(400, 'OTSParameterInvalid'):
            self.table.get([1], filter=regex(ts.ComparatorType.EQUAL, 1, pattern='(%s)' % ('a' * 256)))


class LatestVersion(Case):
    TABLE = dict(versions=5)

    def test_newest_version_or_any(self):
        now = int(time.time() * 1000)
        self.table.put([1], [('c', 'old', now - 1), ('c', 'new', now)])
        self.equal(self.table.get([1], versions=5, filter=col('c', '=', 'old')), None)
        row = self.table.get([1], versions=5, filter=col('c', '=', 'old', latest_version_only=False))
        self.equal([value for _, value, _ in row.cells], ['new', 'old'])


def selection_case(filter, expected):
    def test(self):
        rows, _ = self.table.scan([MIN], [MAX], filter=filter)
        self.equal([row.key[0] for row in rows], expected)
    return test


for name, selection in SELECTIONS.items():
    setattr(Selections, 'test_get_range_' + name, selection_case(*selection))
for name, selection in EXTRACTIONS.items():
    setattr(Extractions, 'test_' + name, selection_case(*selection))
