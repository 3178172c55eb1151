"""llama-index-vector-stores-tablestore: nodes of documents, found by vectors, texts and metadata."""

import time

import tablestore as ts
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores.types import (
    FilterCondition, FilterOperator, MetadataFilter, MetadataFilters, VectorStoreQuery, VectorStoreQueryMode)
from llama_index.vector_stores.tablestore import TablestoreVectorStore

import fixture

TABLE = fixture.PREFIX + '_nodes'
TITLES = ['the shawshank redemption', 'the godfather', 'the dark knight', 'inception and dreams', 'fight club']


def node(i):
    return TextNode(id_='node%d' % i, text=TITLES[i], embedding=[float(i == k) + 0.1 for k in range(5)],
                    metadata={'year': 1990 + i, 'kind': 'odd' if i % 2 else 'even'},
                    relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id='film%d' % i)})


def indexed(rows):
    for _ in range(600):
        found = client.search(TABLE, 'index', ts.SearchQuery(ts.MatchAllQuery(), limit=0, get_total_count=True))
        if found.total_count == rows:
            return
        time.sleep(0.05)
    raise AssertionError('the index has %d rows of %d' % (found.total_count, rows))


def setUpModule():
    global client, store
    client = fixture.connect()
    store = TablestoreVectorStore(
        tablestore_client=client, table_name=TABLE, index_name='index', vector_dimension=5,
        metadata_mappings=[ts.FieldSchema('year', ts.FieldType.LONG), ts.FieldSchema('kind', ts.FieldType.KEYWORD)])
    store.create_table_if_not_exist()
    store.create_search_index_if_not_exist()
    store.add([node(i) for i in range(5)])
    indexed(5)


def tearDownModule():
    store.delete_table_if_exists()


class Nodes(fixture.Case):
    def ids(self, **query):
        return store.query(VectorStoreQuery(**query)).ids

    def test_nearest(self):
        found = store.query(VectorStoreQuery(query_embedding=[0.1, 0.1, 1.1, 0.1, 0.1], similarity_top_k=2))
        self.assertEqual(found.ids[0], 'node2')
        self.assertEqual(found.nodes[0].text, TITLES[2])
        self.assertEqual(len(found.ids), 2)
        self.assertAlmostEqual(found.similarities[0], 1, places=5)

    def test_nearest_of_some(self):
        recent = MetadataFilters(filters=[
            MetadataFilter(key='year', value=1993, operator=FilterOperator.LTE),
            MetadataFilter(key='kind', value='odd', operator=FilterOperator.EQ)], condition=FilterCondition.AND)
        self.assertEqual(self.ids(query_embedding=[0.0, 0.0, 0.0, 1.0, 0.0], similarity_top_k=5, filters=recent),
                         ['node3', 'node1'])

    def test_text(self):
        found = self.ids(query_str='dark knight', mode=VectorStoreQueryMode.TEXT_SEARCH, similarity_top_k=5)
        self.assertEqual(found[0], 'node2')

    def test_both(self):
        found = self.ids(query_str='dreams', query_embedding=[1.1, 0.1, 0.1, 0.1, 0.1],
                         mode=VectorStoreQueryMode.HYBRID, similarity_top_k=1)
        self.assertTrue(set(found) <= {'node0', 'node3'})

    def test_by_metadata(self):
        old = MetadataFilters(filters=[MetadataFilter(key='year', value=[1990, 1994], operator=FilterOperator.IN)])
        self.assertEqual(sorted(n.node_id for n in store.get_nodes(filters=old)), ['node0', 'node4'])
