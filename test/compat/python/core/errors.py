import tablestore as ts

from fixture import Case, MAX, MIN, connect, key_of, put_item

NO_TABLE = (404, 'OTSObjectNotExist', 'Requested table does not exist.')
# What programs look for when they read rows of a table that may not be there yet.
NO_TABLE_TO_READ = (400, 'OTSParameterInvalid', 'Requested table does not exist (table not exist).')
KEY = ['a', 1]

ON_MISSING = {
    'describe': lambda table: table.describe(),
    'update': lambda table: table.change(max_version=2),
    'delete': lambda table: table.drop(),
    'get_row': lambda table: table.get(KEY),
    'put_row': lambda table: table.put(KEY, [('c', 1)]),
    'update_row': lambda table: table.update(KEY, {'put': [('c', 1)]}),
    'delete_row': lambda table: table.delete(KEY),
    'get_range': lambda table: table.page([MIN, MIN], [MAX, MAX]),
}


class MissingTable(Case):
    TABLE = None


def missing_case(name, run):
    def test(self):
        with self.refused(*(NO_TABLE_TO_READ if name.startswith('get_') else NO_TABLE)):
            run(self.unmade_table(key=('STRING', 'INTEGER')))
    return test


for name, run in ON_MISSING.items():
    setattr(MissingTable, 'test_' + name, missing_case(name, run))


class Access(Case):
    TABLE = None

    def test_wrong_secret(self):
        with self.refused(403, 'OTSAuthFailed'):
            connect(secret='not-the-secret').list_table()

    def test_unknown_key(self):
        with self.refused(403, 'OTSAuthFailed'):
            connect(key_id='nobody').list_table()

    def test_unknown_instance(self):
        with self.refused(403, 'OTSAuthFailed'):
            connect(instance='no-such-one').list_table()


class Keys(Case):
    TABLE = dict(key=('STRING', 'INTEGER'))

    def test_wrong_type(self):
        with self.refused(400, 'OTSInvalidPK', 'Validate PK type fail. Input: VT_STRING, Meta: VT_INTEGER.'):
            self.table.get(['a', 'text'])

    def test_binary_for_string(self):
        with self.refused(400, 'OTSInvalidPK', 'Validate PK type fail. Input: VT_BLOB, Meta: VT_STRING.'):
            self.table.put([bytearray(b'a'), 1], [('c', 1)])

    def test_too_few_columns(self):
        with self.refused(400, 'OTSInvalidPK', 'Validate PK size fail. Input: 1, Meta: 2.'):
            self.table.put(['a'], [('c', 1)])

    def test_too_many_columns(self):
        with self.refused(400, 'OTSInvalidPK', 'Validate PK size fail. Input: 3, Meta: 2.'):
            self.table.delete(['a', 1, 2])

    def test_wrong_name(self):
        with self.refused(400, 'OTSInvalidPK', 'Validate PK name fail. Input: other, Meta: k2.'):
            self.client.get_row(self.table.name, [('k1', 'a'), ('other', 1)], max_version=1)

    def test_wrong_order(self):
        with self.refused(400, 'OTSInvalidPK', 'Validate PK name fail. Input: k2, Meta: k1.'):
            self.client.get_row(self.table.name, [('k2', 1), ('k1', 'a')], max_version=1)

    def test_infinities_outside_of_a_range(self):
        for value, name in ((MIN, 'VT_INF_MIN'), (MAX, 'VT_INF_MAX')):
            message = '%s is an invalid type for the primary key.' % name
            with self.refused(400, 'OTSParameterInvalid', message):
                self.table.get(['a', value])
            with self.refused(400, 'OTSParameterInvalid', message):
                self.table.put(['a', value], [('c', 1)])
            with self.refused(400, 'OTSParameterInvalid', message):
                self.table.write([put_item(['a', value], [('c', 1)])])


class OtherOperations(Case):
    """Operations the server does not have yet must say so; the clean-up of many programs calls the two lists."""

    def test_list_search_index_is_empty(self):
        self.equal(self.client.list_search_index(self.table.name), [])

    def test_list_search_index_of_all_tables_is_empty(self):
        self.equal(self.client.list_search_index(), [])

    def test_list_timeseries_table_is_empty(self):
        self.equal(self.client.list_timeseries_table(), [])

    def test_search_names_an_index_that_is_not_there(self):
        with self.refused(400, 'OTSMetaNotMatch', 'search index [none] does not exist'):
            self.client.search(self.table.name, 'none', ts.SearchQuery(ts.MatchAllQuery(), limit=1),
                               ts.ColumnsToGet(return_type=ts.ColumnReturnType.ALL))

    def test_create_timeseries_table_is_refused_by_its_name(self):
        meta = ts.TimeseriesTableMeta('series', ts.TimeseriesTableOptions(86400))
        with self.refused(part='CreateTimeseriesTable'):
            self.client.create_timeseries_table(ts.CreateTimeseriesTableRequest(meta))

    def test_compute_splits_names_an_index_that_is_not_there(self):
        with self.refused(400, 'OTSMetaNotMatch', 'search index [none] does not exist'):
            self.client.compute_splits(self.table.name, 'none')

    def test_the_connection_still_works_afterwards(self):
        with self.refused():
            self.client.compute_splits(self.table.name, 'none')
        self.client.put_row(self.table.name, ts.Row(key_of([1]), [('c', 1)]))
        self.equal(self.table.columns([1]), {'c': 1})
