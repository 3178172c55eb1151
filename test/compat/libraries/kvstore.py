"""llama-index-storage-kvstore-tablestore: a key-value store, one table a collection, one column a field.

The library waits five seconds after it has made a table, so the cases share three collections.
"""

import asyncio
import os

from llama_index.core.data_structs.data_structs import IndexDict
from llama_index.core.schema import Document, NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.storage.docstore.keyval_docstore import KVDocumentStore
from llama_index.core.storage.index_store.keyval_index_store import KVIndexStore
from llama_index.core.storage.kvstore.types import DEFAULT_COLLECTION
from llama_index.storage.kvstore.tablestore import TablestoreKVStore

import tablestore as ts

import fixture

OWN, SECOND = fixture.PREFIX + '_kv', fixture.PREFIX + '_kv2'


def setUpModule():
    global client, store
    client = fixture.connect()
    fixture.drop(client, DEFAULT_COLLECTION)  # it has no prefix
    store = TablestoreKVStore(tablestore_client=client)


def tearDownModule():
    fixture.drop(client, OWN, SECOND, DEFAULT_COLLECTION)


class Store(fixture.Case):
    def setUp(self):
        store.delete_all(OWN)

    def test_the_table_is_made_at_first_use(self):
        answer = client.describe_table(OWN)
        self.assertEqual(answer.table_meta.schema_of_primary_key, [('pk', 'STRING')])
        self.assertEqual(answer.table_options.time_to_live, -1)
        self.assertEqual(answer.table_options.max_version, 1)

    def test_a_store_made_from_an_endpoint_sees_the_same_rows(self):
        store.put('k', {'a': 1}, OWN)
        other = TablestoreKVStore(
            endpoint=os.environ['WIDEROW_ENDPOINT'], instance_name=os.environ['WIDEROW_INSTANCE'],
            access_key_id=os.environ['WIDEROW_ACCESS_KEY_ID'],
            access_key_secret=os.environ['WIDEROW_ACCESS_KEY_SECRET'], socket_timeout=15)
        self.assertEqual(other.get('k', OWN), {'a': 1})

    def test_a_value_of_every_type_comes_back(self):
        value = {'text': 'plain', 'chinese': '表格存储', 'empty': '', 'int': -(1 << 63), 'float': 0.1, 'yes': True,
                 'no': False, 'bytes': bytearray(b'\x00\xff'), 'list': [1, 'two', None], 'dict': {'a': {'b': [3.5]}}}
        store.put('every type', value, OWN)
        self.assertEqual(store.get('every type', OWN), value)

    def test_fields_may_have_names_that_tables_may_not(self):
        value = {'__data__': 'x', 'with space': 1, 'a.b-c/d': 2}
        store.put('names', value, OWN)
        self.assertEqual(store.get('names', OWN), value)

    def test_a_field_name_beyond_ascii_is_sent_broken_by_the_sdk(self):
        # the SDK counts its characters where the format wants bytes
        with self.refused('OTSParameterInvalid', 400):
            store.put('names', {'列': 3}, OWN)
        self.assertIsNone(store.get('names', OWN))

    def test_a_key_that_is_not_there(self):
        self.assertIsNone(store.get('nothing', OWN))

    def test_keys_are_any_text(self):
        for key in ('', 'a' * 1000, 'x\x00y', '键', 'a/b?c=d'):
            with self.subTest(key=key):
                store.put(key, {'key': 'is ' + key}, OWN)
                self.assertEqual(store.get(key, OWN), {'key': 'is ' + key})

    def test_put_replaces_the_whole_value(self):
        store.put('k', {'a': 1, 'b': 2}, OWN)
        store.put('k', {'b': 3}, OWN)
        self.assertEqual(store.get('k', OWN), {'b': 3})

    def test_put_all(self):
        pairs = [('k%d' % i, {'i': i}) for i in range(20)]
        store.put_all(pairs, collection=OWN)
        self.assertEqual(store.get_all(OWN), dict(pairs))

    def test_put_all_in_batches_is_not_offered(self):
        with self.assertRaises(NotImplementedError):
            store.put_all([('k', {'a': 1})], collection=OWN, batch_size=2)

    def test_get_all_follows_the_next_key(self):
        # 300 values of 20 kB are more than one answer of GetRange may hold
        text = 'x' * 20000
        for i in range(300):
            store.put('k%03d' % i, {'i': i, 'text': text}, OWN)
        everything = store.get_all(OWN)
        self.assertEqual(list(everything), ['k%03d' % i for i in range(300)])
        self.assertTrue(all(value == {'i': i, 'text': text} for i, value in enumerate(everything.values())))
        store.delete_all(OWN)
        self.assertEqual(store.get_all(OWN), {})

    def test_get_all_of_nothing(self):
        self.assertEqual(store.get_all(OWN), {})

    def test_delete(self):
        store.put('k', {'a': 1}, OWN)
        store.put('l', {'a': 2}, OWN)
        self.assertTrue(store.delete('k', OWN))
        self.assertIsNone(store.get('k', OWN))
        self.assertEqual(store.get_all(OWN), {'l': {'a': 2}})

    def test_delete_of_nothing(self):
        self.assertTrue(store.delete('nothing', OWN))

    def test_collections_are_apart(self):
        store.put('k', {'in': 'own'}, OWN)
        store.put('k', {'in': 'default'})
        self.assertEqual(store.get('k', OWN), {'in': 'own'})
        self.assertEqual(store.get('k'), {'in': 'default'})
        store.delete_all()
        self.assertEqual(store.get_all(), {})
        self.assertEqual(store.get_all(OWN), {'k': {'in': 'own'}})

    def test_the_asynchronous_operations_are_not_offered(self):
        for call in (store.aput('k', {}), store.aget('k'), store.aget_all(), store.adelete('k'),
                     store.aput_all([('k', {})])):
            with self.assertRaises(NotImplementedError):
                asyncio.run(call)


class OnTop(fixture.Case):
    """What llama-index itself builds on a key-value store."""

    def test_index_store(self):
        store.delete_all(OWN)
        index = KVIndexStore(store, namespace=fixture.PREFIX, collection_suffix='_kv')
        first, second = IndexDict(summary='first'), IndexDict(summary='second')
        index.add_index_struct(first)
        index.add_index_struct(second)
        self.assertEqual(index.get_index_struct(first.index_id).summary, 'first')
        self.assertEqual({struct.summary for struct in index.index_structs()}, {'first', 'second'})
        index.delete_index_struct(first.index_id)
        self.assertEqual([struct.summary for struct in index.index_structs()], ['second'])

    def test_document_store(self):
        for collection in (OWN, SECOND, DEFAULT_COLLECTION):
            store.delete_all(collection)
        documents = KVDocumentStore(store, namespace=fixture.PREFIX, node_collection_suffix='_kv',
                                    metadata_collection_suffix='_kv2', ref_doc_collection_suffix='_kv')
        documents._ref_doc_collection = DEFAULT_COLLECTION  # its name cannot be given; saves making a fourth
        source = Document(id_='d1', text='all of the text')
        nodes = [TextNode(id_='n%d' % i, text='part %d' % i, metadata={'page': i},
                          relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id='d1')}) for i in range(3)]
        documents.add_documents([source] + nodes)
        self.assertEqual(set(documents.docs), {'d1', 'n0', 'n1', 'n2'})
        found = documents.get_document('n1')
        self.assertEqual((found.text, found.metadata, found.ref_doc_id), ('part 1', {'page': 1}, 'd1'))
        self.assertEqual(documents.get_document_hash('n1'), nodes[1].hash)
        self.assertEqual(set(documents.get_ref_doc_info('d1').node_ids), {'n0', 'n1', 'n2'})
        documents.delete_document('n1')
        self.assertFalse(documents.document_exists('n1'))
        self.assertEqual(set(documents.get_ref_doc_info('d1').node_ids), {'n0', 'n2'})


class Missing(fixture.Case):
    """What siblings of the two libraries ask for (vector, chat and memory stores); here through the same client."""

    def test_the_list_of_search_indexes_is_empty(self):
        self.assertFalse(store._tablestore_client.list_search_index(OWN))

    def test_secondary_indexes(self):
        sdk = store._tablestore_client
        with self.assertRaises(ts.OTSServiceError) as caught:
            sdk.create_secondary_index(OWN, ts.SecondaryIndexMeta('index', ['text'], []), False)
        self.assertIn('neither a primary key nor a defined column', caught.exception.get_error_message())

    def test_transactions(self):
        with self.refused('OTSParameterInvalid', 400, 'explicit-transaction-disabled table'):
            store._tablestore_client.start_local_transaction(OWN, [('pk', 'a')])
