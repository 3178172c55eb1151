"""LlamaIndex's stores of documents, indexes and chats, and LangChain's vector store: the main use of each.

Documents and indexes lie in key-value stores, whose library waits five seconds after it has made a table."""

import os
import time
import warnings

import tablestore as ts
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from llama_index.core.data_structs import IndexDict
from llama_index.core.llms import ChatMessage
from llama_index.core.schema import TextNode
from llama_index.storage.chat_store.tablestore import TablestoreChatStore
from llama_index.storage.docstore.tablestore import TablestoreDocumentStore
from llama_index.storage.index_store.tablestore import TablestoreIndexStore
from llama_index.storage.kvstore.tablestore import TablestoreKVStore

import fixture

with warnings.catch_warnings():
    warnings.simplefilter('ignore')  # the package is being sunset
    from langchain_community.vectorstores.tablestore import TablestoreVectorStore

NAMESPACE = fixture.PREFIX + '_'
CHATS, VECTORS = fixture.PREFIX + '_chats', fixture.PREFIX + '_lc'


def setUpModule():
    global client
    client = fixture.connect()


def tearDownModule():
    for table, index in client.list_search_index(VECTORS):
        client.delete_search_index(table, index)
    fixture.drop(client, *[t for t in client.list_table() if t.startswith(fixture.PREFIX)])


class Stores(fixture.Case):
    def test_documents(self):
        store = TablestoreDocumentStore(TablestoreKVStore(tablestore_client=client), namespace=NAMESPACE)
        store.add_documents([TextNode(text='one', id_='a'), TextNode(text='two', id_='b')])
        self.assertEqual(store.get_document('a').text, 'one')
        store.delete_document('a')
        self.assertEqual(list(store.docs), ['b'])

    def test_indexes(self):
        store = TablestoreIndexStore(TablestoreKVStore(tablestore_client=client), namespace=NAMESPACE + 'i_')
        index = IndexDict()
        store.add_index_struct(index)
        self.assertEqual(store.get_index_struct(index.index_id).index_id, index.index_id)
        store.delete_index_struct(index.index_id)
        self.assertEqual(store.index_structs(), [])

    def test_chats(self):
        store = TablestoreChatStore(tablestore_client=client, table_name=CHATS)
        store.create_table_if_not_exist()
        store.add_message('ann', ChatMessage(role='user', content='hello'))
        store.add_message('ann', ChatMessage(role='assistant', content='good day'))
        store.set_messages('bob', [ChatMessage(role='user', content='me too')])
        self.assertEqual([m.content for m in store.get_messages('ann')], ['hello', 'good day'])
        self.assertEqual(sorted(store.get_keys()), ['ann', 'bob'])
        store.delete_message('ann', 0)
        self.assertEqual([m.content for m in store.get_messages('ann')], ['good day'])
        store.delete_messages('ann')
        self.assertEqual(store.get_keys(), ['bob'])


class LangChain(fixture.Case):
    def test_a_vector_store(self):
        store = TablestoreVectorStore(
            embedding=DeterministicFakeEmbedding(size=8), endpoint=os.environ['WIDEROW_ENDPOINT'],
            instance_name=os.environ['WIDEROW_INSTANCE'], access_key_id=os.environ['WIDEROW_ACCESS_KEY_ID'],
            access_key_secret=os.environ['WIDEROW_ACCESS_KEY_SECRET'], table_name=VECTORS, vector_dimension=8,
            metadata_mappings=[ts.FieldSchema('kind', ts.FieldType.KEYWORD, index=True, enable_sort_and_agg=True),
                               ts.FieldSchema('year', ts.FieldType.LONG, index=True, enable_sort_and_agg=True)])
        store.create_table_if_not_exist()
        store.create_search_index_if_not_exist()
        store.add_documents([Document(id=str(i), page_content='text %d' % i, metadata={'kind': 'odd' if i % 2 else 'even', 'year': 2000 + i})
                             for i in range(6)])
        for _ in range(600):
            found = store.similarity_search('text 3', k=6)
            if len(found) == 6:
                break
            time.sleep(0.05)
        self.assertEqual(found[0].page_content, 'text 3')
        even = store.similarity_search_with_score('text 3', k=6, tablestore_filter_query=ts.BoolQuery(
            must_queries=[ts.TermQuery('kind', 'even')], filter_queries=[ts.RangeQuery('year', range_from=2002, range_to=2010)]))
        self.assertEqual(sorted(d.metadata['year'] for d, _ in even), [2002, 2004])
        self.assertEqual([d.page_content for d in store.get_by_ids(['1', '2'])], ['text 1', 'text 2'])
        self.assertTrue(store.delete(['1']))
        with self.assertRaises(ValueError):
            store.get_by_ids(['1'])
