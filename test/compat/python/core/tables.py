import tablestore as ts

from fixture import Case


class Tables(Case):
    TABLE = dict(key=('STRING', 'INTEGER', 'BINARY'), ttl=172800, versions=3, deviation=1000)

    def test_created_table_is_listed(self):
        names = self.client.list_table()
        self.ok(self.table.name in names, 'list contains %s' % self.table.name, names)

    def test_describe_returns_the_key_as_given(self):
        meta = self.table.describe().table_meta
        self.equal(meta.table_name, self.table.name)
        self.equal(meta.schema_of_primary_key, [('k1', 'STRING'), ('k2', 'INTEGER'), ('k3', 'BINARY')])

    def test_describe_returns_the_options_as_given(self):
        options = self.table.describe().table_options
        self.equal((options.time_to_live, options.max_version, options.max_time_deviation), (172800, 3, 1000))

    def test_describe_returns_throughput(self):
        unit = self.table.describe().reserved_throughput_details.capacity_unit
        self.equal((unit.read, unit.write), (0, 0))

    def test_default_options(self):
        options = self.new_table().describe().table_options
        self.equal((options.time_to_live, options.max_version, options.max_time_deviation, options.allow_update),
                   (-1, 1, 86400, True))

    def test_update_changes_what_is_sent_and_leaves_the_rest(self):
        table = self.new_table(ttl=172800, versions=2)
        answer = table.change(max_version=5).table_options
        self.equal((answer.time_to_live, answer.max_version), (172800, 5), 'answer')
        options = table.describe().table_options
        self.equal((options.time_to_live, options.max_version), (172800, 5), 'describe')

    def test_deleted_table_is_gone_with_its_rows(self):
        table = self.new_table()
        table.put([1], [('c', 'x')])
        table.drop()
        self.ok(table.name not in self.client.list_table(), 'list without %s' % table.name)
        table.create()
        self.equal(table.get([1]), None)

    def test_create_twice(self):
        with self.refused(409, 'OTSObjectAlreadyExist', 'Requested table already exists.'):
            self.table.create()

    def test_request_id_has_36_letters(self):
        self.equal(len(self.table.describe().request_id), 36)

    def test_error_has_a_request_id(self):
        with self.assertRaises(ts.OTSServiceError) as caught:
            self.client.describe_table(self.table.name + '_absent')
        self.equal(len(caught.exception.get_request_id()), 36)
