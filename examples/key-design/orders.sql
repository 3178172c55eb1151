-- Orders of users. A user's orders are asked for together, so the user comes first; the order's number makes the key unique.
CREATE TABLE orders (userid VARCHAR, orderid BIGINT, amount DOUBLE, state VARCHAR, PRIMARY KEY (userid, orderid));
UPSERT INTO orders (userid, orderid, amount, state) VALUES
    ('u1', 100, 9.5, 'paid'), ('u1', 200, 12, 'open'), ('u1', 456, 3, 'paid'), ('u2', 150, 7, 'open'), ('u2', 300, 1, 'paid');

-- One row, by its whole key: a get.
SELECT amount, state FROM orders WHERE userid = 'u1' AND orderid = 200;
EXPLAIN SELECT amount FROM orders WHERE userid = 'u1' AND orderid = 200;
-- A range of one user's orders: they lie side by side.
SELECT orderid, amount FROM orders WHERE userid = 'u1' AND orderid > 123 AND orderid < 456;
EXPLAIN SELECT orderid FROM orders WHERE userid = 'u1' AND orderid > 123 AND orderid < 456;
-- Other columns filter within the range.
SELECT orderid FROM orders WHERE userid = 'u1' AND state = 'paid';

-- Without the user all rows would be read to find a few: refused, with what would serve it.
-- refused:
SELECT * FROM orders WHERE orderid = 150;
-- refused:
SELECT * FROM orders WHERE state = 'open';
