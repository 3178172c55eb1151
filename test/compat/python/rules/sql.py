"""SQLQuery: mapping tables, and SELECT over them."""

import tablestore as ts

from fixture import Case


class Sql(Case):
    TABLE = None

    def query(self, text):
        rows, consumed, search = self.client.exe_sql_query(text.format(self.table.name))
        self.equal(list(search), [])
        self.consumed = consumed
        return [list(row.attribute_columns) for row in rows]

    def values(self, text):
        return [[value for _, value in row] for row in self.query(text)]

    def setUp(self):
        super().setUp()
        self.table = self.unmade_table(key=('STRING', 'INTEGER'))
        self.table.create()
        for i in range(4):
            self.table.put(['u%d' % i, i], [('name', 'n%d' % i), ('age', i % 2), ('grade', 4.5 + i), ('bin', bytearray([i])), ('ok', i > 1)])
        self.query('create table if not exists {} (k1 varchar(1024), k2 bigint(20) not null, name mediumtext, age bigint, '
                   'grade double, bin mediumblob, ok bool, primary key(`k1`, `k2`));')

    def test_select(self):
        self.equal(self.values('select * from {}')[2], ['u2', 2, 'n2', 0, 6.5, b'\x02', True])
        self.equal([name for name, _ in self.query('SELECT K1, name as Called FROM {} LIMIT 1')[0]], ['K1', 'Called'])
        self.equal(self.values('select k2 from {} where grade > 5.0 and not (k2 = 2) order by k2 desc'), [[3], [1]])
        self.equal(self.values("select name from {} where k1 = 'u3' and k2 = 3"), [['n3']])
        self.equal(self.values('select count(*), sum(age), max(name) from {}'), [[4, 2.0, 'n3']])
        self.equal(self.values('select age, avg(grade) from {} group by age order by age'), [[0, 5.5], [1, 6.5]])
        self.equal(self.values('select a.k2 as one, b.k2 as other from {0} a join {0} b on a.age = b.age where a.k2 < b.k2 order by a.k2'), [[0, 2], [1, 3]])

    def test_consumed(self):
        self.query('select * from {}')
        self.equal([name for name, _ in self.consumed], [self.table.name])
        self.equal(self.consumed[0][1].read > 0, True)

    def test_what_is_not_there_is_null(self):
        self.table.put(['u9', 9], [('age', 'nine'), ('other', 1)])
        self.equal(self.values("select * from {} where k1 = 'u9'"), [['u9', 9, None, None, None, None, None]])

    def test_describe(self):
        self.equal(self.values('desc {}')[:3], [['k1', 'varchar(1024)', 'NO', 'PRI', None, ''], ['k2', 'bigint(20)', 'NO', 'PRI', None, ''],
                                               ['name', 'mediumtext', 'YES', '', None, '']])
        self.equal([self.table.name] in self.values('show tables'), True)
        self.equal(self.values('show index in {}')[1][1:], [0, 'PRIMARY', 2, 'k2', ''])

    def test_mapping_changes(self):
        self.query('alter table {} add column other bigint')
        self.table.put(['u9', 9], [('other', 7)])
        self.equal(self.values("select other from {} where k1 = 'u9'"), [[7]])
        self.query('alter table {} drop column other')
        with self.refused(400, 'OTSParameterInvalid', "Unknown column 'other' in 'field list'"):
            self.query('select other from {}')
        self.query('drop mapping table {}')
        self.equal(self.values('select * from {} limit 1'), [['u0', 0]])  # a mapping of the key made itself
        self.equal(self.table.get(['u0', 0]) is not None, True)

    def test_refusals(self):
        with self.refused(400, 'OTSParameterInvalid', part=".nothere' doesn't exist"):
            self.query('select * from nothere')
        for text in ('select from {}', 'insert into {} (k1) values (1)', 'create table {} (k1 varchar(1024), k2 bigint, primary key(k1, k2))', ''):
            with self.refused(400, 'OTSParameterInvalid'):
                self.query(text)

    def test_scans_are_bounded(self):
        items = [ts.PutRowItem(ts.Row([('k1', 'w'), ('k2', i)], [('age', i)]), ts.Condition('IGNORE')) for i in range(400)]
        self.table.write(items[:200])
        self.table.write(items[200:])
        self.equal(self.values("select count(*) from {} where k1 = 'w'"), [[400]])
        with self.refused(400, 'OTSParameterInvalid', part='scans more than 100000 rows'):
            self.query('select count(*) from {0} a cross join {0} b')
        self.equal(self.values("select count(*) from {0} a join {0} b on a.k1 = b.k1 and a.k2 = b.k2"), [[404]])
