"""langgraph-checkpoint-tablestore, the long-term memory: TablestoreStore."""

import asyncio

from langgraph.store.base import GetOp, PutOp, SearchOp
from langgraph.store.tablestore import TablestoreStore
from langgraph.store.tablestore.store import DeleteOp

import fixture

NAME = fixture.PREFIX + '_store'


def setUpModule():
    global client, store
    client = fixture.connect()
    store = TablestoreStore(client, NAME)


def tearDownModule():
    fixture.drop(client, NAME)


class Store(fixture.Case):
    def setUp(self):
        """A namespace of the case's own."""
        self.here = ('case', self.id().rsplit('.', 1)[1])

    def fill(self, count):
        store.mset([(self.here, 'k%03d' % i, {'i': i, 'even': i % 2 == 0}) for i in range(count)])

    def test_the_table_is_made_and_found_again(self):
        answer = client.describe_table(NAME)
        self.assertEqual(answer.table_meta.schema_of_primary_key, [('namespace', 'STRING'), ('key', 'STRING')])
        store.put(self.here, 'k', {'a': 1})
        self.assertEqual(TablestoreStore(client, NAME).get(self.here, 'k'), {'a': 1})

    def test_put_and_get(self):
        value = {'text': '表', 'list': [1, 2.5, None, True], 'deep': {'er': {}}}
        store.put(self.here, 'k', value)
        self.assertEqual(store.get(self.here, 'k'), value)
        store.put(self.here, 'k', {'new': 1})
        self.assertEqual(store.get(self.here, 'k'), {'new': 1})

    def test_a_key_that_is_not_there(self):
        self.assertIsNone(store.get(self.here, 'nothing'))

    def test_delete_leaves_nothing_to_get(self):
        store.put(self.here, 'k', {'a': 1})
        store.delete(self.here, 'k')
        self.assertIsNone(store.get(self.here, 'k'))

    def test_mget_keeps_the_order_of_the_keys(self):
        self.fill(4)
        keys = [(self.here, 'k003'), (self.here, 'nothing'), (self.here, 'k001'), (('elsewhere',), 'k000')]
        self.assertEqual([value and value['i'] for value in store.mget(keys)], [3, None, 1, None])

    def test_mdelete(self):
        self.fill(4)
        store.mdelete([(self.here, 'k000'), (self.here, 'k002'), (self.here, 'nothing')])
        self.assertEqual([key for _, key in store.yield_keys(self.here)], ['k001', 'k003'])

    def test_yield_keys_follows_the_next_key(self):
        self.fill(250)  # the library asks for 100 at a time
        self.assertEqual(list(store.yield_keys(self.here)), [(self.here, 'k%03d' % i) for i in range(250)])

    def test_search(self):
        self.fill(10)
        self.assertEqual([value['i'] for value in store.search(self.here)], list(range(10)))
        self.assertEqual([value['i'] for value in store.search(self.here, limit=3, offset=2)], [2, 3, 4])
        self.assertEqual([value['i'] for value in store.search(self.here, filter={'even': False})], [1, 3, 5, 7, 9])

    def test_list(self):
        self.fill(5)
        store.put(self.here, 'other', {'i': -1})
        namespace = '/'.join(self.here)
        self.assertEqual([key for key, _ in store.list(namespace, limit=2)], ['k000', 'k001'])
        self.assertEqual([value['i'] for _, value in store.list(namespace, prefix='k')], [0, 1, 2, 3, 4])
        self.assertEqual(len(list(store.list(namespace))), 6)

    def test_list_namespaces(self):
        for name in ('one', 'two'):
            store.put(self.here + (name,), 'k', {'a': 1})
        found = [name for name in store.list_namespaces() if name.startswith('/'.join(self.here))]
        self.assertEqual(found, ['/'.join(self.here + (name,)) for name in ('one', 'two')])

    def test_clear_is_broken_in_the_library(self):
        # it takes its text apart letter by letter, and deletes in the namespace 'c/l/e/a/r'
        store.clear('clear')
        store.put(('clear',), 'k', {'a': 1})
        store.clear('clear')
        self.assertEqual(store.get(('clear',), 'k'), {'a': 1})
        self.assertEqual(list(store.yield_keys(('c', 'l', 'e', 'a', 'r'))), [(('c', 'l', 'e', 'a', 'r'), 'k')])

    def test_batch(self):
        store.put(self.here, 'old', {'a': 1})
        answer = store.batch([GetOp(self.here, 'old'), PutOp(self.here, 'new', {'a': 2}), DeleteOp(self.here, 'old'),
                              SearchOp(self.here, None, 10, 0)])
        self.assertEqual(answer, [{'a': 1}, None, None, [{'a': 2}]])

    def test_asynchronous(self):
        async def use():
            await asyncio.gather(*[store.aput(self.here, 'k%d' % i, {'i': i}) for i in range(8)])
            got = await asyncio.gather(*[store.aget(self.here, 'k%d' % i) for i in range(8)])
            self.assertEqual([value['i'] for value in got], list(range(8)))
            await store.adelete(self.here, 'k0')
            self.assertIsNone(await store.aget(self.here, 'k0'))
            await store.abatch([DeleteOp(self.here, 'k0')])
            self.assertEqual([value['i'] for value in await store.asearch(self.here)], [1, 2, 3, 4, 5, 6, 7])
        asyncio.run(use())
