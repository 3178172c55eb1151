-- Trades are asked for by buyer, by seller and by product. A table has one order of rows.

-- 1. Three tables, each with the key that one question needs. Who writes keeps them the same.
CREATE TABLE by_buyer (buyer VARCHAR, at BIGINT, seller VARCHAR, product VARCHAR, amount DOUBLE, PRIMARY KEY (buyer, at DESC, seller, product));
CREATE TABLE by_seller (seller VARCHAR, at BIGINT, buyer VARCHAR, product VARCHAR, amount DOUBLE, PRIMARY KEY (seller, at DESC, buyer, product));
CREATE TABLE by_product (product VARCHAR, at BIGINT, buyer VARCHAR, seller VARCHAR, amount DOUBLE, PRIMARY KEY (product, at DESC, buyer, seller));
UPSERT INTO by_buyer (buyer, at, seller, product, amount) VALUES ('b1', 1, 's1', 'pen', 2), ('b1', 2, 's2', 'ink', 5), ('b2', 3, 's1', 'pen', 4);
UPSERT INTO by_seller (seller, at, buyer, product, amount) VALUES ('s1', 1, 'b1', 'pen', 2), ('s2', 2, 'b1', 'ink', 5), ('s1', 3, 'b2', 'pen', 4);
UPSERT INTO by_product (product, at, buyer, seller, amount) VALUES ('pen', 1, 'b1', 's1', 2), ('ink', 2, 'b1', 's2', 5), ('pen', 3, 'b2', 's1', 4);
SELECT at, seller, product FROM by_buyer WHERE buyer = 'b1';
SELECT at, buyer, amount FROM by_seller WHERE seller = 's1';
SELECT SUM(amount) AS sold FROM by_product WHERE product = 'pen';
-- refused:
SELECT at FROM by_buyer WHERE seller = 's1';

-- 2. One table with two indexes, which the database keeps with each write: nothing can be forgotten.
CREATE TABLE trades (buyer VARCHAR, at BIGINT, seller VARCHAR, product VARCHAR, amount DOUBLE, PRIMARY KEY (buyer, at DESC),
    INDEX trades_seller (seller) INCLUDE (product, amount), INDEX trades_product (product));
UPSERT INTO trades (buyer, at, seller, product, amount) VALUES ('b1', 1, 's1', 'pen', 2), ('b1', 2, 's2', 'ink', 5), ('b2', 3, 's1', 'pen', 4);
SELECT at, seller, product FROM trades WHERE buyer = 'b1';
SELECT buyer, at, amount FROM trades WHERE seller = 's1';
EXPLAIN SELECT buyer, at, amount FROM trades WHERE seller = 's1';
-- What the index has not is read from the table, row by row.
SELECT amount FROM trades WHERE product = 'pen';
EXPLAIN SELECT amount FROM trades WHERE product = 'pen';
-- refused:
SELECT buyer FROM trades WHERE amount > 3;
