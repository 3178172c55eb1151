import tablestore as ts

from fixture import Case, MAX, MIN, key_of, put_item


class Creation(Case):
    TABLE = None

    def test_defined_columns_are_described_as_given(self):
        defined = [('i', 'INTEGER'), ('d', 'DOUBLE'), ('b', 'BOOLEAN'), ('s', 'STRING'), ('x', 'BINARY')]
        table = self.new_table(defined=defined)
        self.equal(table.describe().table_meta.defined_columns, defined)
        table.put([1], [('i', 1), ('not_defined', 'x')])

    def test_33_defined_columns_are_refused(self):
        with self.refused(400, 'OTSParameterInvalid', 'The number of defined columns must be in range: [0, 32].'):
            self.new_table(defined=[('d%d' % i, 'STRING') for i in range(33)])

    def test_four_key_columns_are_accepted(self):
        self.new_table(key=('STRING', 'INTEGER', 'BINARY', 'STRING'))

    def test_no_or_five_key_columns_are_refused(self):
        for count in (0, 5):
            with self.refused(400, 'OTSParameterInvalid', 'The number of primary key columns must be in range: [1, 4].'):
                self.new_table(key=('STRING',) * count)

    def test_key_column_given_twice(self):
        table = self.unmade_table(key=('STRING', 'INTEGER'))
        table.schema[1] = ('k1', 'INTEGER')
        with self.refused(400, 'OTSParameterInvalid', "Duplicated primary key name: 'k1'."):
            table.create()

    def test_bad_ttl(self):
        for ttl in (0, -2):
            with self.refused(400, 'OTSParameterInvalid', 'TimeToLive cannot be 0 or less than -1.'):
                self.new_table(ttl=ttl)

    def test_bad_max_versions(self):
        for versions in (0, -1):
            with self.refused(400, 'OTSParameterInvalid', part='The maximum versions cannot be less than or equal to 0'):
                self.new_table(versions=versions)

    def test_bad_deviation(self):
        with self.refused(400, 'OTSParameterInvalid', 'The maximum deviation must be in range [0, INT64_MAX/1000000].'):
            self.new_table(deviation=-1)

    def test_largest_ttl(self):
        self.equal(self.new_table(ttl=2 ** 31 - 1).describe().table_options.time_to_live, 2 ** 31 - 1)

    def test_split_at_creation(self):
        # not a public call of the SDK, but the only way it has to make a table of several partitions
        table = self.unmade_table()
        meta = ts.TableMeta(table.name, table.schema)
        self.client._create_table_ex(meta, table.options, ts.ReservedThroughput(ts.CapacityUnit(0, 0)), split_points=[100, 200])
        keys = [0, 99, 100, 101, 199, 200, 201]
        table.write([put_item([key], [('n', key)]) for key in reversed(keys)])
        self.equal([row.key[0] for row in table.scan([MIN], [MAX], limit=3)[0]], keys)
        self.equal([row.key[0] for row in table.scan([MAX], [MIN], direction='BACKWARD')[0]], keys[::-1])
        self.equal([row.primary_key for row in self.client.get_range(table.name, 'FORWARD', key_of([99]), key_of([102]))[2]],
                   [[('k1', 99)], [('k1', 100)], [('k1', 101)]])


class Update(Case):
    TABLE = None

    def test_throughput(self):
        table = self.new_table()
        answer = self.client.update_table(table.name, None, ts.ReservedThroughput(ts.CapacityUnit(3, 4)))
        for where, details in (('answer', answer), ('describe', table.describe())):
            unit = details.reserved_throughput_details.capacity_unit
            self.equal((unit.read, unit.write), (3, 4), where)
        self.ok(answer.reserved_throughput_details.last_increase_time > 1600000000, 'time of the last increase in seconds',
                answer.reserved_throughput_details.last_increase_time)

    def test_throughput_of_reads_alone(self):
        table = self.new_table()
        self.client.update_table(table.name, None, ts.ReservedThroughput(ts.CapacityUnit(7, None)))
        unit = table.describe().reserved_throughput_details.capacity_unit
        self.equal((unit.read, unit.write), (7, 0))

    def test_all_options_at_once(self):
        table = self.new_table()
        table.change(time_to_live=172800, max_version=7, max_time_deviation=3600)
        options = table.describe().table_options
        self.equal((options.time_to_live, options.max_version, options.max_time_deviation), (172800, 7, 3600))

    def test_nothing_to_update(self):
        with self.refused(400, 'OTSParameterInvalid'):
            self.client.update_table(self.new_table().name)

    def test_bad_options_change_nothing(self):
        table = self.new_table(ttl=172800, versions=2)
        with self.refused(400, 'OTSParameterInvalid', 'TimeToLive cannot be 0 or less than -1.'):
            table.change(time_to_live=0, max_version=9)
        options = table.describe().table_options
        self.equal((options.time_to_live, options.max_version), (172800, 2))

    def test_allow_update_false_refuses_updates_and_nothing_else(self):
        table = self.new_table(allow_update=False)
        self.equal(table.describe().table_options.allow_update, False)
        table.put([1], [('a', 1)])
        with self.refused(400):
            table.update([1], {'put': [('a', 2)]})
        self.equal(table.columns([1]), {'a': 1})
        table.delete([1])
        table.change(allow_update=True)
        table.update([1], {'put': [('a', 2)]})
