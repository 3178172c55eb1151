"""The other ways into the server that the SDK has: threads on one client, and the asynchronous client."""

import asyncio
import concurrent.futures

import tablestore as ts

from fixture import Case, connect, found, key_of


class Threads(Case):
    def test_rows_written_at_once_are_all_there(self):
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            list(pool.map(lambda n: self.table.put([n], [('n', n)]), range(64)))
            self.equal(list(pool.map(lambda n: self.table.columns([n]), range(64))), [{'n': n} for n in range(64)])

    def test_increments_at_once_lose_nothing(self):
        def add(_):
            try:
                self.table.update([1000], {'increment': [('n', 1)]})
                return 1
            except ts.OTSServiceError:  # a server may refuse a collision, but not forget a success
                return 0
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            done = sum(pool.map(add, range(64)))
        self.ok(done > 0, 'some increments succeed', done)
        self.equal(self.table.columns([1000]), {'n': done})

    def test_one_of_many_creators_wins(self):
        def create(n):
            try:
                self.table.put([2000], [('winner', n)], expect='EXPECT_NOT_EXIST')
                return n
            except ts.OTSServiceError as err:
                self.equal(err.code, 'OTSConditionCheckFail')
                return None
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            winners = [n for n in pool.map(create, range(32)) if n is not None]
        self.equal(len(winners), 1, 'number of winners')
        self.equal(self.table.columns([2000]), {'winner': winners[0]})


class Asynchronous(Case):
    def test_write_and_read(self):
        async def talk():
            async with connect(ts.AsyncOTSClient) as client:
                await asyncio.gather(*[
                    client.put_row(self.table.name, ts.Row(key_of([n]), [('n', n)])) for n in range(20)])
                answers = await asyncio.gather(*[
                    client.get_row(self.table.name, key_of([n])) for n in range(20)])
                return [found(row).cells[0][1] for _, row, _ in answers]
        self.equal(asyncio.run(talk()), list(range(20)))

    def test_error(self):
        async def talk():
            async with connect(ts.AsyncOTSClient) as client:
                await client.describe_table(self.table.name + '_absent')
        with self.refused(404, 'OTSObjectNotExist', 'Requested table does not exist.'):
            asyncio.run(talk())
