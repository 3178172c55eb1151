"""The server under test, and names that no other suite uses."""

import contextlib
import os
import random
import string
import unittest

import tablestore as ts

PREFIX = 'compat_l_%d_%s' % (os.getpid(), ''.join(random.choices(string.ascii_lowercase, k=6)))


class FewRetries(ts.WriteRetryPolicy):
    """The policy that the libraries choose, but a server that keeps failing must not hold up the suite."""
    max_retry_times = 4


def connect(**options):
    options.setdefault('socket_timeout', 15)
    return ts.OTSClient(
        os.environ['WIDEROW_ENDPOINT'], os.environ['WIDEROW_ACCESS_KEY_ID'], os.environ['WIDEROW_ACCESS_KEY_SECRET'],
        os.environ['WIDEROW_INSTANCE'], logger_name='compat', retry_policy=FewRetries(), **options)


def drop(client, *tables):
    """Of the tables named those that are there."""
    for table in set(tables) & set(client.list_table()):
        client.delete_table(table)


class Case(unittest.TestCase):
    maxDiff = 2000

    @contextlib.contextmanager
    def refused(self, code, status, *words):
        """The server's own answer, with these words in its text."""
        with self.assertRaises(ts.OTSServiceError) as caught:
            yield
        self.assertEqual((caught.exception.get_error_code(), caught.exception.get_http_status()), (code, status))
        for word in words:
            self.assertIn(word, caught.exception.get_error_message())
