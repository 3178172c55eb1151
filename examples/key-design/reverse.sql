-- Telephone numbers begin alike and end differently. Reversed, neighbours spread.
CREATE TABLE byhand (number VARCHAR, name VARCHAR, PRIMARY KEY (number));
UPSERT INTO byhand (number, name) VALUES (REVERSE('13800000001'), 'a'), (REVERSE('13800000002'), 'b'), (REVERSE('13900000001'), 'c');
SELECT REVERSE(number) AS number, name FROM byhand WHERE number = REVERSE('13800000002');
-- What begins with 138 is no longer a range.
-- refused:
SELECT name FROM byhand WHERE number LIKE '%831';

-- As a layout, the key stays as it is, and ranges are served.
CREATE TABLE numbers (number VARCHAR, name VARCHAR, PRIMARY KEY (number)) WITH (LAYOUT = 'reverse:8');
UPSERT INTO numbers (number, name) VALUES ('13800000001', 'a'), ('13800000002', 'b'), ('13900000001', 'c');
SELECT name FROM numbers WHERE number = '13800000002';
SELECT number, name FROM numbers WHERE number LIKE '138%';
