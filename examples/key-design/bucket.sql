-- Events of all users in the order of time, in 4 buckets: bucket = at % 4 as the first column, so that four ranges take the writes.
CREATE TABLE events (bucket INT, at BIGINT, id VARCHAR, what VARCHAR, PRIMARY KEY (bucket, at, id));
UPSERT INTO events (bucket, at, id, what) VALUES
    (1000 % 4, 1000, 'a', 'login'), (1001 % 4, 1001, 'b', 'login'), (1002 % 4, 1002, 'a', 'order'), (1003 % 4, 1003, 'c', 'login'), (1004 % 4, 1004, 'a', 'logout');
-- A range of time is asked for once a bucket.
SELECT at, id, what FROM events WHERE bucket IN (0, 1, 2, 3) AND at >= 1001 AND at < 1004 ORDER BY at LIMIT 100;
EXPLAIN SELECT at FROM events WHERE bucket IN (0, 1, 2, 3) AND at >= 1001 AND at < 1004;
-- Who forgets the bucket reads all of it.
-- refused:
SELECT at FROM events WHERE at >= 1001 AND at < 1004;

-- As a layout, the bucket is the server's, and the range is one.
CREATE TABLE timed (at BIGINT, id VARCHAR, what VARCHAR, PRIMARY KEY (at, id)) WITH (LAYOUT = 'time:at/1:4');
UPSERT INTO timed (at, id, what) VALUES (1000, 'a', 'login'), (1001, 'b', 'login'), (1002, 'a', 'order'), (1003, 'c', 'login'), (1004, 'a', 'logout');
SELECT at, id, what FROM timed WHERE at >= 1001 AND at < 1004;
