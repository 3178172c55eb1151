from fixture import Case, all_of, any_of, col, none_of

FAILED = (403, 'OTSConditionCheckFail', 'Condition check failed.')

# expectation -> is the write done on a row that (exists, does not)?
EXISTENCE = {'IGNORE': (True, True), 'EXPECT_EXIST': (True, False), 'EXPECT_NOT_EXIST': (False, True)}

# All are asked of the row {n: 5, s: 'abc'}.
COLUMN_CONDITIONS = {
    'equal': (col('n', '=', 5), True),
    'equal_another': (col('n', '=', 6), False),
    'not_equal': (col('n', '!=', 6), True),
    'greater': (col('n', '>', 4), True),
    'greater_or_equal': (col('n', '>=', 5), True),
    'less': (col('n', '<', 5), False),
    'less_or_equal': (col('n', '<=', 5), True),
    'string_greater': (col('s', '>', 'abb'), True),
    'and_true': (all_of(col('n', '=', 5), col('s', '=', 'abc')), True),
    'and_false': (all_of(col('n', '=', 5), col('s', '=', 'xyz')), False),
    'or_true': (any_of(col('n', '=', 6), col('s', '=', 'abc')), True),
    'or_false': (any_of(col('n', '=', 6), col('s', '=', 'xyz')), False),
    'not_true': (none_of(col('n', '=', 6)), True),
    'not_false': (none_of(col('n', '=', 5)), False),
    'nested': (none_of(all_of(col('n', '=', 5), any_of(col('s', '=', 'xyz'), col('n', '>', 9)))), True),
    'absent_column_passes': (col('absent', '=', 1), True),
    'absent_column_fails': (col('absent', '=', 1, pass_if_missing=False), False),
}


def write(table, kind, key, **condition):
    if kind == 'put':
        table.put(key, [('c', 'new')], **condition)
    elif kind == 'update':
        table.update(key, {'put': [('c', 'new')]}, **condition)
    else:
        table.delete(key, **condition)


class Existence(Case):
    pass


class ColumnConditions(Case):
    def test_together_with_expect_exist(self):
        for number, kind in enumerate(('put', 'update', 'delete')):
            self.table.put([-number], [('n', 5)])
            with self.refused(*FAILED):
                write(self.table, kind, [-number], expect='EXPECT_EXIST', when=col('n', '=', 1))
            write(self.table, kind, [-number], expect='EXPECT_EXIST', when=col('n', '=', 5))

    def test_on_an_absent_row_every_column_is_missing(self):
        with self.refused(*FAILED):
            self.table.put([1000], [('n', 5)], when=col('n', '=', 1, pass_if_missing=False))
        self.table.put([1000], [('n', 5)], when=col('n', '=', 1))


def existence_case(number, kind, expect, exists, done):
    def test(self):
        if exists:
            self.table.put([number], [('c', 'old')])
        if done:
            write(self.table, kind, [number], expect=expect)
            self.equal(self.table.columns([number]), None if kind == 'delete' else {'c': 'new'}, 'row afterwards')
        else:
            with self.refused(*FAILED):
                write(self.table, kind, [number], expect=expect)
            self.equal(self.table.columns([number]), {'c': 'old'} if exists else None, 'row after the refusal')
    return test


def column_case(number, when, passes):
    def test(self):
        self.table.put([number], [('n', 5), ('s', 'abc')])
        if passes:
            self.table.update([number], {'put': [('done', True)]}, when=when)
        else:
            with self.refused(*FAILED):
                self.table.update([number], {'put': [('done', True)]}, when=when)
        self.equal(self.table.columns([number]).get('done'), True if passes else None, 'column "done"')
    return test


number = 0
for kind in ('put', 'update', 'delete'):
    for expect, outcome in EXISTENCE.items():
        for exists, done in zip((True, False), outcome):
            number += 1
            title = 'test_%s_%s_on_%s' % (kind, expect.lower(), 'a_row' if exists else 'no_row')
            setattr(Existence, title, existence_case(number, kind, expect, exists, done))

for number, (title, (when, passes)) in enumerate(COLUMN_CONDITIONS.items(), 1):
    setattr(ColumnConditions, 'test_' + title, column_case(number, when, passes))
