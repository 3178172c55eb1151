-- The newest values of a device first: a descending column is stored so, and the newest is the first row of a forward read.
CREATE TABLE samples (device VARCHAR, at BIGINT, temperature DOUBLE, PRIMARY KEY (device, at DESC));
UPSERT INTO samples (device, at, temperature) VALUES ('d1', 1000, 20.5), ('d1', 1010, 20.75), ('d1', 1020, 21), ('d2', 1005, 18), ('d2', 1015, 18.5);

SELECT at, temperature FROM samples WHERE device = 'd1' LIMIT 1;
SELECT at FROM samples WHERE device = 'd1' AND at >= 1000 AND at < 1020;
EXPLAIN SELECT at FROM samples WHERE device = 'd1' AND at > 1000;

-- With the time in front, all devices would write at the end of one range, and a device's values would lie far apart.
-- refused:
SELECT device, temperature FROM samples WHERE at > 1010;
