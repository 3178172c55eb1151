-- Numbers that rise put each new row at the end of the key range, so that one partition takes all writes. A hash in front spreads them.
-- The server computes it: statements name the key alone.
CREATE TABLE orders (orderid BIGINT, state VARCHAR, PRIMARY KEY (hash32(orderid), orderid));
UPSERT INTO orders (orderid, state) VALUES (1001, 'open'), (1002, 'paid'), (1003, 'open'), (1004, 'paid');
SELECT state FROM orders WHERE orderid = 1002;
-- A range is merged of the buckets, in the key's order. (Lindorm refuses it.)
SELECT orderid, state FROM orders WHERE orderid >= 1002 AND orderid < 1004;
SELECT CREATE_OPTIONS FROM information_schema.TABLES WHERE TABLE_NAME = 'orders';

-- By hand, as an ordinary column: whoever asks has to compute it, too, and ranges are gone.
CREATE TABLE byhand (prefix VARCHAR, userid VARCHAR, orderid BIGINT, state VARCHAR, PRIMARY KEY (prefix, userid, orderid));
UPSERT INTO byhand (prefix, userid, orderid, state) VALUES (SUBSTR(MD5('u1'), 1, 4), 'u1', 1, 'open'), (SUBSTR(MD5('u2'), 1, 4), 'u2', 1, 'paid');
SELECT prefix, state FROM byhand WHERE prefix = SUBSTR(MD5('u2'), 1, 4) AND userid = 'u2';
-- refused:
SELECT state FROM byhand WHERE userid = 'u2';
