import time

import tablestore as ts

from fixture import Case, MAX, MIN, key_of

HOUR = 3600 * 1000
DAY = 24 * HOUR


class Versions(Case):
    TABLE = dict(versions=3, deviation=10 * 86400)

    def setUp(self):
        self.now = int(time.time() * 1000) - 1000

    def fill(self, key, *back):
        self.table.put(key, [('c', ago, self.now - ago) for ago in back])

    def ages(self, key, **read):
        row = self.table.get(key, **{'versions': 10, **read})
        return None if row is None else [self.now - stamp for _, _, stamp in row.cells]

    def test_newest_first(self):
        self.fill([1], 2, 0, 1)
        self.equal(self.ages([1]), [0, 1, 2])

    def test_only_the_newest_are_kept(self):
        self.fill([2], 4, 3, 2, 1, 0)
        self.equal(self.ages([2]), [0, 1, 2])

    def test_old_version_does_not_push_out_newer_ones(self):
        self.fill([3], 2, 1, 0)
        self.table.update([3], {'put': [('c', 0, self.now - 9)]})
        self.equal(self.ages([3]), [0, 1, 2])

    def test_read_of_fewer_versions(self):
        self.fill([4], 2, 1, 0)
        self.equal(self.ages([4], versions=2), [0, 1])

    def test_time_range_includes_start_and_excludes_end(self):
        self.fill([5], 2, 1, 0)
        self.equal(self.ages([5], time=(self.now - 2, self.now)), [1, 2])

    def test_time_range_without_a_number_of_versions(self):
        self.fill([6], 2, 1, 0)
        self.equal(self.ages([6], versions=None, time=(self.now - 2, self.now + 1)), [0, 1, 2])

    def test_time_range_together_with_a_number_of_versions(self):
        self.fill([7], 2, 1, 0)
        self.equal(self.ages([7], versions=1, time=(self.now - 2, self.now)), [1])

    def test_specific_time(self):
        self.fill([8], 2, 1, 0)
        self.equal(self.ages([8], versions=None, time=self.now - 1), [1])

    def test_time_range_without_cells_leaves_the_key(self):
        self.fill([9], 0)
        row = self.table.get([9], time=(1, 2))
        self.equal((row.key, row.cells), ([9], []))

    def test_time_range_and_columns_without_cells_leave_no_row(self):
        self.fill([10], 0)
        self.equal(self.table.get([10], columns=['c'], time=(1, 2)), None)

    def test_get_row_needs_versions_or_a_time_range(self):
        with self.refused(400, 'OTSParameterInvalid', part='No version condition is specified'):
            self.table.get([1], versions=None)

    def test_get_range_needs_versions_or_a_time_range(self):
        with self.refused(400, 'OTSParameterInvalid', part='No version condition is specified'):
            self.table.page([MIN], [MAX], versions=None)

    def test_batch_get_row_needs_versions_or_a_time_range(self):
        with self.refused(400, 'OTSParameterInvalid', 'No version condition is specified while querying row.'):
            self.table.batch_get([[1]], versions=None)

    def test_batch_get_row_with_a_time_range(self):
        self.fill([11], 2, 1, 0)
        request = ts.BatchGetRowRequest()
        request.add(ts.TableInBatchGetRowItem(self.table.name, [key_of([11])], time_range=(self.now - 1, self.now + 1)))
        row = self.client.batch_get_row(request).get_result_by_table(self.table.name)[0].row
        self.equal([self.now - stamp for _, _, stamp in row.attribute_columns], [0, 1])

    def test_get_range_with_a_time_range(self):
        self.fill([12], 2, 1, 0)
        page = self.table.page([12], [13], versions=5, time=(self.now - 1, self.now + 1))
        self.equal([self.now - stamp for _, _, stamp in page.rows[0].cells], [0, 1])

    def test_same_timestamp_replaces_the_cell(self):
        self.table.put([13], [('c', 'first', self.now)])
        self.table.update([13], {'put': [('c', 'second', self.now)]})
        self.equal(self.table.get([13], versions=10).cells, [('c', 'second', self.now)])

    def test_versions_of_different_types(self):
        self.table.put([14], [('c', 1, self.now - 2), ('c', 'text', self.now - 1), ('c', True, self.now)])
        self.equal([value for _, value, _ in self.table.get([14], versions=10).cells], [True, 'text', 1])

    def test_three_updates_without_timestamps_make_three_versions(self):
        for value in (1, 2, 3):
            self.table.update([15], {'put': [('c', value)]})
        self.equal([value for _, value, _ in self.table.get([15], versions=10).cells], [3, 2, 1])

    def test_deleting_an_absent_version_is_no_error(self):
        self.fill([16], 0)
        self.table.update([16], {'delete': [('c', None, self.now - 500)]})
        self.equal(self.ages([16]), [0])

    def test_deleted_version_may_be_written_again(self):
        self.fill([17], 1, 0)
        self.table.update([17], {'delete': [('c', None, self.now)]})
        self.equal(self.ages([17]), [1])
        self.table.update([17], {'put': [('c', 'again', self.now)]})
        self.equal(self.ages([17]), [0, 1])

    def test_deleted_column_may_be_written_again(self):
        self.fill([18], 1, 0)
        self.table.update([18], {'delete_all': ['c']})
        self.equal(self.ages([18]), [])
        self.table.update([18], {'put': [('c', 'again', self.now)]})
        self.equal(self.ages([18]), [0])

    def test_timestamp_out_of_bounds(self):
        with self.refused(400, 'OTSParameterInvalid', 'Timestamp must be in range [0, INT64_MAX/1000).'):
            self.table.put([19], [('c', 1, (2 ** 63 - 1) // 1000)])


class Ages(Case):
    TABLE = None

    def setUp(self):
        self.now = int(time.time() * 1000) - 1000

    def test_timestamp_outside_of_the_deviation_refuses_the_row(self):
        table = self.new_table(deviation=3600)
        for stamp in (self.now - 2 * HOUR, self.now + 2 * HOUR):
            with self.refused(400, 'OTSParameterInvalid', part='Invalid timestamp. Cell:late.'):
                table.put([1], [('good', 1), ('late', 1, stamp)])
        self.equal(table.get([1]), None)
        table.put([1], [('c', 1, self.now - HOUR // 2)])

    def test_changed_deviation_counts_at_once(self):
        table = self.new_table(deviation=3600)
        table.change(max_time_deviation=10 * 86400)
        table.put([1], [('c', 1, self.now - 5 * DAY)])
        self.equal(table.columns([1]), {'c': 1})

    def test_lowering_max_versions_hides_the_oldest(self):
        table = self.new_table(versions=5)
        table.put([1], [('c', back, self.now - back) for back in range(4)])
        table.change(max_version=2)
        self.equal([value for _, value, _ in table.get([1], versions=10).cells], [0, 1])

    def test_cells_older_than_the_ttl_are_hidden(self):
        table = self.new_table(ttl=86400, versions=5, deviation=10 * 86400)
        table.put([1], [('c', 'fresh', self.now - HOUR), ('c', 'stale', self.now - 2 * DAY), ('d', 'stale', self.now - 3 * DAY)])
        self.equal(table.get([1], versions=10).cells, [('c', 'fresh', self.now - HOUR)])

    def test_shortening_the_ttl_hides_old_cells(self):
        table = self.new_table(deviation=10 * 86400)
        table.put([1], [('new', 1), ('old', 1, self.now - 2 * DAY)])
        self.equal(table.columns([1]), {'new': 1, 'old': 1}, 'before')
        table.change(time_to_live=86400)
        self.equal(table.columns([1]), {'new': 1}, 'after')
