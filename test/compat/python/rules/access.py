"""Signatures and the clock, as far as this SDK lets a caller bend them."""

import datetime

from fixture import Case, Table, connect

ANY_REGION = 'cn-hangzhou'


def stamp(minutes):
    return (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(minutes=minutes)).strftime('%Y-%m-%dT%H:%M:%S.000Z')


class Access(Case):
    def test_signature_of_version_4(self):
        table = Table(connect(region=ANY_REGION), self.table.name)
        table.put([1], [('c', 'x')])
        self.equal(table.columns([1]), {'c': 'x'})

    def test_wrong_secret_with_version_4(self):
        with self.refused(403, 'OTSAuthFailed'):
            connect(secret='not-the-secret', region=ANY_REGION).list_table()

    def test_error_answers_are_signed_with_version_4(self):
        table = Table(connect(region=ANY_REGION), self.table.name)
        with self.refused(403, 'OTSConditionCheckFail'):
            table.put([404], [('c', 'x')], expect='EXPECT_EXIST')

    def test_clock_of_14_minutes_off_is_accepted(self):
        for minutes in (-14, 14):
            connect(extra_headers={'x-ots-date': stamp(minutes)}).list_table()

    def test_clock_of_16_minutes_off_is_refused(self):
        for minutes in (-16, 16):
            with self.refused(403, 'OTSAuthFailed'):
                connect(extra_headers={'x-ots-date': stamp(minutes)}).list_table()

    def test_digest_of_another_body_is_refused(self):
        with self.refused(403, 'OTSAuthFailed'):
            connect(extra_headers={'x-ots-contentmd5': 'AAAAAAAAAAAAAAAAAAAAAA=='}).describe_table(self.table.name)

    def test_headers_of_tracing_are_signed_and_ignored(self):
        connect(extra_headers={'x-ots-sdk-traceid': 'abc', 'x-ots-request-priority': '1', 'x-ots-unknown': ' spaced '}).list_table()
