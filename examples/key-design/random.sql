-- Clicks on one page, at the same moment, by many servers: a random number at the end makes each a row of its own. (It is fixed here.)
CREATE TABLE clicks (page VARCHAR, at BIGINT, salt INT, who VARCHAR, PRIMARY KEY (page, at, salt));
UPSERT INTO clicks (page, at, salt, who) VALUES ('p1', 1000, 17, 'a'), ('p1', 1000, 62, 'b'), ('p1', 1001, 5, 'a'), ('p2', 1000, 41, 'c');
SELECT COUNT(*) AS clicks FROM clicks WHERE page = 'p1' AND at = 1000;
SELECT at, who FROM clicks WHERE page = 'p1' AND at >= 1000 AND at < 1002;
-- Nobody knows the number afterwards, so a row can be read only among its neighbours, and not changed by what is known of it.
-- refused:
UPDATE clicks SET who = 'x' WHERE page = 'p1' AND at = 1000;
-- refused:
SELECT page FROM clicks WHERE who = 'a';
