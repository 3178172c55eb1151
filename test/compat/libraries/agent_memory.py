"""tablestore-for-agent-memory: sessions and messages of agents, documents with metadata, texts and vectors."""

import time

import tablestore as ts
from tablestore_for_agent_memory.base.base_knowledge_store import Document
from tablestore_for_agent_memory.base.base_memory_store import Message, Session
from tablestore_for_agent_memory.base.common import MetaType, Order
from tablestore_for_agent_memory.base.filter import Filters
from tablestore_for_agent_memory.knowledge.knowledge_store import KnowledgeStore
from tablestore_for_agent_memory.memory.memory_store import MemoryStore

import fixture

P = fixture.PREFIX
KNOWLEDGE, TENANTS, SESSIONS, MESSAGES = P + '_knowledge', P + '_tenants', P + '_sessions', P + '_messages'
DOCUMENTS = 60


def knowledge_store(table, tenants):
    schema = [ts.FieldSchema('city', ts.FieldType.KEYWORD), ts.FieldSchema('size', ts.FieldType.LONG),
              ts.FieldSchema('score', ts.FieldType.DOUBLE), ts.FieldSchema('open', ts.FieldType.BOOLEAN)]
    store = KnowledgeStore(client, vector_dimension=4, enable_multi_tenant=tenants, table_name=table,
                           search_index_name='index', search_index_schema=schema)
    store.init_table()
    return store


def drop(*tables):
    for table in tables:
        for _, index in client.list_search_index(table):
            client.delete_search_index(table, index)
    fixture.drop(client, *tables)


def indexed(table, index, rows):
    """The index follows its table a moment later."""
    for _ in range(600):
        found = client.search(table, index, ts.SearchQuery(ts.MatchAllQuery(), limit=0, get_total_count=True))
        if found.total_count == rows:
            return
        time.sleep(0.05)
    raise AssertionError('%s has %d rows of %d' % (index, found.total_count, rows))


def document(i):
    return Document(
        'doc%03d' % i, text='the number %d is %s' % (i, 'even' if i % 2 == 0 else 'odd'),
        embedding=[i - 30, 30 - i, 1, 0.5],
        metadata={'city': 'hangzhou' if i % 3 == 0 else 'beijing', 'size': i, 'score': i / 2, 'open': i % 2 == 0})


def setUpModule():
    global client, documents, memory
    client = fixture.connect()
    documents = knowledge_store(KNOWLEDGE, False)
    for i in range(DOCUMENTS):
        documents.put_document(document(i))
    indexed(KNOWLEDGE, 'index', DOCUMENTS)
    memory = MemoryStore(
        client, session_table_name=SESSIONS, message_table_name=MESSAGES,
        session_secondary_index_name=P + '_s2', message_secondary_index_name=P + '_m2',
        session_secondary_index_meta={'title': MetaType.STRING},
        session_search_index_schema=[ts.FieldSchema('title', ts.FieldType.KEYWORD)],
        message_search_index_schema=[ts.FieldSchema('kind', ts.FieldType.KEYWORD)])
    memory.init_table()
    memory.init_search_index()


def tearDownModule():
    drop(KNOWLEDGE, TENANTS)
    for table in (SESSIONS, MESSAGES):
        drop(table)


def ids(response):
    return [hit.document.document_id for hit in response.hits]


class Knowledge(fixture.Case):
    def found(self, condition, wanted, **more):
        got = ids(documents.search_documents(metadata_filter=condition, **more))
        self.assertEqual(sorted(got), ['doc%03d' % i for i in wanted])

    def test_a_document_comes_back(self):
        self.assertEqual(documents.get_document('doc007'), document(7))

    def test_metadata(self):
        self.found(Filters.eq('city', 'hangzhou'), range(0, DOCUMENTS, 3))
        self.found(Filters.logical_and([Filters.gt('size', 10), Filters.lte('score', 7.5)]), range(11, 16))
        self.found(Filters.logical_or([Filters.lt('size', 2), Filters.gte('size', 58)]), [0, 1, 58, 59])
        self.found(Filters.logical_not([Filters.eq('open', True)]), range(1, DOCUMENTS, 2))
        self.found(Filters.In('size', [3, 5, 999]), [3, 5])
        self.found(Filters.all(), range(DOCUMENTS))

    def test_pages(self):
        got, token = [], None
        while True:
            page = documents.search_documents(metadata_filter=Filters.gte('size', 0), limit=7, next_token=token)
            got += ids(page)
            token = page.next_token
            if token is None:
                break
        self.assertEqual(got, ['doc%03d' % i for i in range(DOCUMENTS)])

    def test_full_text(self):
        even = documents.full_text_search(query='even', limit=100)
        self.assertEqual(sorted(ids(even)), ['doc%03d' % i for i in range(0, DOCUMENTS, 2)])
        self.assertTrue(all(0 < hit.score < 10 for hit in even.hits))
        one = documents.full_text_search(query='17', metadata_filter=Filters.eq('city', 'beijing'))
        self.assertEqual(ids(one), ['doc017'])
        self.assertEqual(one.hits[0].document.text, 'the number 17 is odd')

    def test_vectors(self):
        near = documents.vector_search([0, 0, 1, 0.5], top_k=3)
        self.assertEqual(ids(near)[0], 'doc030')
        self.assertEqual(sorted(ids(near)), ['doc029', 'doc030', 'doc031'])
        self.assertGreater(near.hits[0].score, near.hits[1].score)
        near = documents.vector_search([0, 0, 1, 0.5], top_k=2, metadata_filter=Filters.gt('size', 40))
        self.assertEqual(ids(near), ['doc041', 'doc042'])

    def test_tenants(self):
        store = knowledge_store(TENANTS, True)
        for tenant in ('a', 'b'):
            for i in range(5):
                one = document(i)
                one.tenant_id = tenant
                store.put_document(one)
        indexed(TENANTS, 'index', 10)
        mine = store.search_documents(tenant_id='a', metadata_filter=Filters.gt('size', 2))
        self.assertEqual([(hit.document.document_id, hit.document.tenant_id) for hit in mine.hits],
                         [('doc003', 'a'), ('doc004', 'a')])
        store.delete_document_by_tenant('b')
        indexed(TENANTS, 'index', 5)


class Memory(fixture.Case):
    def test_sessions_and_messages(self):
        for i in range(20):
            memory.put_session(Session('user', 'session%02d' % i, update_time=1000 + i,
                                       metadata={'title': 'title%d' % (i % 4)}))
        for i in range(30):
            memory.put_message(Message('session01', 'message%02d' % i, content='text %d of it' % i, create_time=2000 + i,
                                       metadata={'kind': 'kind%d' % (i % 3)}))
        indexed(SESSIONS, 'session_search_index_name', 20)
        indexed(MESSAGES, 'message_search_index', 30)
        recent = list(memory.list_recent_sessions(user_id='user', max_count=3))
        self.assertEqual([s.session_id for s in recent], ['session19', 'session18', 'session17'])
        titled = memory.search_sessions(metadata_filter=Filters.eq('title', 'title2'), limit=10)
        self.assertEqual(sorted(s.session_id for s in titled.hits), ['session%02d' % i for i in range(2, 20, 4)])
        kinds = memory.search_messages(metadata_filter=Filters.eq('kind', 'kind1'), limit=100)
        self.assertEqual(sorted(m.message_id for m in kinds.hits), ['message%02d' % i for i in range(1, 30, 3)])
        asked = list(memory.list_messages('session01', order=Order.DESC, max_count=2))
        self.assertEqual([m.message_id for m in asked], ['message29', 'message28'])
        memory.delete_messages('session01')
        indexed(MESSAGES, 'message_search_index', 0)
