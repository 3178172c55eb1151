-- Log lines of hosts, asked for by host and time. Three designs.

-- 1. Time first: a range over all hosts is served, but every line goes to the end of the table, and one host's lines lie apart.
CREATE TABLE log_time (at BIGINT, host VARCHAR, line VARCHAR, PRIMARY KEY (at, host));
UPSERT INTO log_time (at, host, line) VALUES (1, 'web1', 'up'), (2, 'web2', 'up'), (3, 'web1', 'GET /'), (4, 'web1', 'GET /x'), (5, 'web2', 'down');
SELECT host, line FROM log_time WHERE at >= 2 AND at < 5;
-- refused:
SELECT at, line FROM log_time WHERE host = 'web1';

-- 2. Host first: a host's lines are a range, and hosts spread the writes. Across hosts there is no range of time.
CREATE TABLE log_host (host VARCHAR, at BIGINT, line VARCHAR, PRIMARY KEY (host, at DESC));
UPSERT INTO log_host (host, at, line) VALUES ('web1', 1, 'up'), ('web2', 2, 'up'), ('web1', 3, 'GET /'), ('web1', 4, 'GET /x'), ('web2', 5, 'down');
SELECT at, line FROM log_host WHERE host = 'web1' AND at >= 2 LIMIT 10;
-- refused:
SELECT host, line FROM log_host WHERE at >= 2 AND at < 5;

-- 3. Host first, and an index by time for who needs both: each line is written twice.
CREATE TABLE log_both (host VARCHAR, at BIGINT, minute BIGINT, line VARCHAR, PRIMARY KEY (host, at DESC), INDEX log_minute (minute) INCLUDE (line));
UPSERT INTO log_both (host, at, minute, line) VALUES ('web1', 1, 0, 'up'), ('web2', 2, 0, 'up'), ('web1', 63, 1, 'GET /'), ('web1', 64, 1, 'GET /x'), ('web2', 125, 2, 'down');
SELECT at, line FROM log_both WHERE host = 'web1';
SELECT host, at, line FROM log_both WHERE minute = 1;
EXPLAIN SELECT host, at, line FROM log_both WHERE minute = 1;
