"""langgraph-checkpoint-tablestore, the checkpointer: TablestoreSaver.

Version 0.1.0, the only one published, gives the SDK a datetime in put and put_writes, which the SDK refuses before
it sends anything; and its get_tuple and the inherited get call each other. Cases say so, because the libraries run
unmodified: they will tell when a version comes that is better. What it does send is checked in full.
"""

import asyncio
import contextlib
import io
import json

import tablestore as ts
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.tablestore import TablestoreSaver

import fixture

NAME = fixture.PREFIX + '_checkpoints'


def setUpModule():
    global client, saver
    client = fixture.connect()
    saver = TablestoreSaver(client, NAME)


def tearDownModule():
    fixture.drop(client, NAME)


def config(thread, namespace='', checkpoint=None):
    return {'configurable': {'thread_id': thread, 'checkpoint_ns': namespace, 'checkpoint_id': checkpoint}}


def add(thread, namespace, number):
    """A row in the form that the library's list reads."""
    key = [('thread_id', thread), ('checkpoint_ns', namespace), ('checkpoint_id', 'c%03d' % number)]
    client.put_row(NAME, ts.Row(key, [
        ('v', 1), ('ts', '2024-01-01T00:00:00+00:00'), ('id', 'c%03d' % number),
        ('channel_values', json.dumps({'n': number})), ('channel_versions', json.dumps({'n': 1})),
        ('source', 'loop'), ('step', number), ('writes', json.dumps({'n': [number]}))]))


def numbers(found):
    return [item.checkpoint['channel_values']['n'] for item in found]


class Saver(fixture.Case):
    def test_the_table_is_made(self):
        answer = client.describe_table(NAME)
        self.assertEqual(answer.table_meta.schema_of_primary_key,
                         [('thread_id', 'STRING'), ('checkpoint_ns', 'STRING'), ('checkpoint_id', 'STRING')])
        options = answer.table_options
        self.assertEqual((options.time_to_live, options.max_version, options.max_time_deviation, options.allow_update),
                         (-1, 1, 86400, True))

    def test_the_table_is_found_again(self):
        add('again', '', 1)
        self.assertEqual(numbers(TablestoreSaver(client, NAME).list(config('again'))), [1])

    def test_list_of_an_unknown_thread(self):
        self.assertEqual(list(saver.list(config('nobody'))), [])

    def test_list(self):
        for i in range(5):
            add('five', '', i)
        found = list(saver.list(config('five')))
        self.assertEqual(numbers(found), [0, 1, 2, 3, 4])
        self.assertEqual(found[2].config, config('five', '', 'c002'))
        self.assertEqual((found[2].checkpoint['v'], found[2].checkpoint['channel_versions']), (1, {'n': 1}))
        self.assertEqual((found[2].metadata['step'], found[2].metadata['writes']), (2, {'n': [2]}))

    def test_list_with_a_limit(self):
        for i in range(5):
            add('limited', '', i)
        self.assertEqual(numbers(saver.list(config('limited'), limit=3)), [0, 1, 2])

    def test_list_of_a_namespace(self):
        add('spaces', '', 1)
        add('spaces', 'child', 2)
        add('spaces', 'child:1', 3)
        add('spaces2', 'child', 4)
        self.assertEqual(numbers(saver.list(config('spaces'))), [1])
        self.assertEqual(numbers(saver.list(config('spaces', 'child'))), [2])

    def test_put_and_put_writes_are_refused_by_the_sdk(self):
        saved = empty_checkpoint()
        with contextlib.redirect_stdout(io.StringIO()):  # the library prints what it saves
            with self.assertRaisesRegex(ts.OTSClientError, 'datetime'):
                saver.put(config('put', '', 'parent'), saved, {'source': 'input'}, {})
        with self.assertRaisesRegex(ts.OTSClientError, 'datetime'):
            saver.put_writes(config('put', '', saved['id']), [('channel', 1)], 'task')
        self.assertEqual(list(saver.list(config('put'))), [])

    def test_get_tuple_calls_itself(self):
        with self.assertRaises(RecursionError):
            saver.get_tuple(config('five', '', 'c001'))

    def test_the_other_operations_are_not_offered(self):
        where = config('t', '', 'c')
        with self.assertRaises(NotImplementedError):
            saver.delete_thread('t')
        for call in (saver.aput(where, empty_checkpoint(), {}, {}), saver.aput_writes(where, [('channel', 1)], 'task'),
                     saver.aget_tuple(where), saver.adelete_thread('t')):
            with self.assertRaises(NotImplementedError):
                asyncio.run(call)
