import tablestore as ts

from fixture import Case, delete_item, found, key_of, put_item, update_item


def verdicts(results):
    return [(result.is_ok, result.error_code) for result in results]


OK = (True, None)


class BatchWrite(Case):
    def test_puts_updates_and_deletes(self):
        self.table.put([2], [('a', 1)])
        self.table.put([3], [('a', 1)])
        results = self.table.write([
            put_item([1], [('a', 'put')]), update_item([2], {'put': [('b', 'updated')]}), delete_item([3])])
        self.equal(verdicts(results), [OK, OK, OK])
        self.equal([self.table.columns([n]) for n in (1, 2, 3)], [{'a': 'put'}, {'a': 1, 'b': 'updated'}, None])

    def test_one_failing_row_does_not_stop_the_others(self):
        results = self.table.write([
            put_item([11], [('a', 1)]), update_item([12], {'put': [('a', 1)]}, expect='EXPECT_EXIST'), put_item([13], [('a', 1)])])
        self.equal(verdicts(results), [OK, (False, 'OTSConditionCheckFail'), OK])
        self.equal(results[1].error_message, 'Condition check failed.')
        self.equal((self.table.get([12]), self.table.columns([13])), (None, {'a': 1}))

    def test_key_that_does_not_fit_fails_its_row_only(self):
        results = self.table.write([put_item(['text'], [('a', 1)]), put_item([14], [('a', 1)])])
        self.equal(verdicts(results), [(False, 'OTSInvalidPK'), OK])
        self.equal(results[0].error_message, 'Validate PK type fail. Input: VT_STRING, Meta: VT_INTEGER.')

    def test_over_two_tables(self):
        other = self.new_table(key=('STRING',))
        request = ts.BatchWriteRowRequest()
        request.add(ts.TableInBatchWriteRowItem(self.table.name, [put_item([21], [('a', 1)])]))
        request.add(ts.TableInBatchWriteRowItem(other.name, [put_item(['x'], [('a', 2)])]))
        self.ok(self.client.batch_write_row(request).is_all_succeed(), 'all rows succeed')
        self.equal((self.table.columns([21]), other.columns(['x'])), ({'a': 1}, {'a': 2}))


class BatchGet(Case):
    def test_order_as_asked_and_absent_rows_empty(self):
        self.table.put([31], [('a', 'one')])
        self.table.put([32], [('a', 'two')])
        results = self.table.batch_get([[32], [99], [31]])
        self.equal(verdicts(results), [OK, OK, OK])
        rows = [found(result.row) for result in results]
        self.equal([row and row.key for row in rows], [[32], None, [31]])

    def test_key_that_does_not_fit_fails_its_row_only(self):
        self.table.put([33], [('a', 1)])
        self.equal(verdicts(self.table.batch_get([['text'], [33]])), [(False, 'OTSInvalidPK'), OK])

    def test_over_two_tables_each_with_its_own_columns(self):
        other = self.new_table(key=('STRING',))
        self.table.put([41], [('a', 1), ('b', 2)])
        other.put(['y'], [('a', 3), ('b', 4)])
        request = ts.BatchGetRowRequest()
        request.add(ts.TableInBatchGetRowItem(self.table.name, [key_of([41])], ['a'], max_version=1))
        request.add(ts.TableInBatchGetRowItem(other.name, [key_of(['y'])], ['b'], max_version=1))
        answer = self.client.batch_get_row(request)
        names = [[cell[0] for cell in answer.get_result_by_table(table.name)[0].row.attribute_columns]
                 for table in (self.table, other)]
        self.equal(names, [['a'], ['b']])
