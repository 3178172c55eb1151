import os
import subprocess
import unittest

import tablestore as ts

from fixture import MAX, MIN, Case, found, key_of

ROOT = os.path.dirname(os.path.abspath(__file__)) + '/../../../..'
WIDEROW = os.environ.get('WIDEROW', '%s/%s/widerow' % (ROOT, os.environ.get('BUILD', 'build')))
CONFLICT = (409, 'OTSRowOperationConflict', 'Data is being modified by the other request.')
ENDED = (403, 'OTSSessionNotExist', 'Session not exist or may be timeout.')


# This SDK has the operations, and no way to make a table for them.
@unittest.skipIf(os.environ.get('WIDEROW_NO_TRANSACTIONS'), 'the server has no transactions')
@unittest.skipUnless(os.access(WIDEROW, os.X_OK), 'there is no command line to make the table with')
class Transactions(Case):
    TABLE = None

    def setUp(self):
        self.table = self.unmade_table(key=('STRING', 'INTEGER'))
        subprocess.run([WIDEROW, 'create', self.table.name, '--key', 'k1:string,k2:integer', '--transactions',
                        '--endpoint', os.environ['WIDEROW_ENDPOINT'], '--instance', os.environ['WIDEROW_INSTANCE']], check=True)

    def begin(self, user):
        return self.client.start_local_transaction(self.table.name, [('k1', user)])

    def put(self, key, cells, txn=None):
        row = ts.Row(key_of(key), cells)
        self.client.put_row(self.table.name, row, ts.Condition('IGNORE'), None, txn)

    def columns(self, key, txn=None):
        _, row, _ = self.client.get_row(self.table.name, key_of(key), None, None, 1, transaction_id=txn)
        row = found(row)
        return row and {name: value for name, value, _ in row.cells}

    def lines(self, user, txn=None):
        _, _, rows, _ = self.client.get_range(self.table.name, 'FORWARD', key_of([user, MIN]), key_of([user, MAX]), None, 100,
                                              None, 1, transaction_id=txn)
        return [found(row).key[1] for row in rows]

    def test_a_commit_shows_what_only_the_transaction_saw(self):
        self.put(['ann', 1], [('n', 1)])
        txn = self.begin('ann')
        self.put(['ann', 2], [('n', 2)], txn)
        self.client.update_row(self.table.name, ts.Row(key_of(['ann', 1]), {'PUT': [('n', 10)]}), ts.Condition('IGNORE'), None, txn)
        self.equal((self.columns(['ann', 1], txn), self.columns(['ann', 2], txn)), ({'n': 10}, {'n': 2}))
        self.equal((self.columns(['ann', 1]), self.columns(['ann', 2])), ({'n': 1}, None))
        self.client.commit_transaction(txn)
        self.equal((self.columns(['ann', 1]), self.columns(['ann', 2])), ({'n': 10}, {'n': 2}))
        with self.refused(*ENDED):
            self.client.commit_transaction(txn)

    def test_a_range_inside_has_its_changes(self):
        for n in (1, 3):
            self.put(['ann', n], [])
        txn = self.begin('ann')
        self.put(['ann', 2], [], txn)
        self.client.delete_row(self.table.name, ts.Row(key_of(['ann', 3])), ts.Condition('IGNORE'), None, txn)
        self.equal((self.lines('ann', txn), self.lines('ann')), ([1, 2], [1, 3]))
        self.client.commit_transaction(txn)
        self.equal(self.lines('ann'), [1, 2])

    def test_an_abort_leaves_nothing(self):
        txn = self.begin('ann')
        self.put(['ann', 1], [], txn)
        self.client.abort_transaction(txn)
        self.equal(self.lines('ann'), [])
        self.put(['ann', 1], [])
        with self.refused(*ENDED):
            self.client.abort_transaction(txn)

    def test_others_do_not_write_its_value(self):
        txn = self.begin('ann')
        with self.refused(*CONFLICT):
            self.put(['ann', 1], [])
        with self.refused(*CONFLICT):
            self.begin('ann')
        self.put(['bob', 1], [])
        with self.refused(400, 'OTSDataOutOfRange'):
            self.put(['bob', 1], [], txn)
        self.client.commit_transaction(txn)

    def test_starts_that_are_refused(self):
        with self.refused(400, 'OTSParameterInvalid', 'StartLocalTransaction support only one primary key.'):
            self.client.start_local_transaction(self.table.name, key_of(['ann', 1]))
        plain = self.new_table()
        with self.refused(400, 'OTSParameterInvalid',
                          'Try to call method using explicit transaction on explicit-transaction-disabled table.'):
            self.client.start_local_transaction(plain.name, [('k1', 1)])
        with self.refused(400, 'OTSParameterInvalid', 'TransactionID is invalid.'):
            self.client.commit_transaction('fake_transaction_id')
