'use strict';

const { before, describe, it } = require('node:test');
const { equal, refused } = require('../expect');
const { LIMIT, client, sharedTable, withServer } = require('../server');

describe('rules/sql', () => {
  withServer();
  const table = sharedTable({ key: ['STRING'] });
  const sql = (query) => client.sqlQuery({ query: query.replaceAll('{}', table.name) });

  async function values(query) {
    const { sqlRows } = await sql(query);
    const cell = (value) => {
      if (value === null || typeof value !== 'object') return value;
      return value.valueArray ? Buffer.from(value.valueArray()).toString('hex') : value.toFloat64();
    };
    return Array.from({ length: sqlRows.rowCount.toFloat64() }, (_, row) => (
      Array.from({ length: sqlRows.columnCount }, (__, column) => cell(sqlRows.get(row, column)))));
  }

  before(async () => {
    for (let i = 0; i < 12; i += 1) {
      await table.put([`k${String(i).padStart(2, '0')}`], [
        ['word', `${i % 4}_aaa`], ['n', BigInt(i)], ['odd', i % 2 !== 0], ['real', i * 0.5 + 0.25], ['bin', Buffer.from([i, 255])]]);
    }
    await sql('drop MAPPING table {} ;'); // there is none yet but the one that made itself
    await sql('create table {} (k1 varchar(1024), n bigint, word mediumtext, odd bool, `real` double, bin MEDIUMBLOB, primary key(k1))');
  }, LIMIT);

  it('rows of every type', LIMIT, async () => {
    equal(await values('select * from {} where n>5 limit 2'), [
      ['k06', 6, '2_aaa', false, 3.25, '06ff'], ['k07', 7, '3_aaa', true, 3.75, '07ff']]);
    const { sqlRows } = await sql('select * from {} where n > 100');
    equal(sqlRows.sqlTableMeta.schemas.map(({ name, typeName }) => [name, typeName]), [
      ['k1', 'STRING'], ['n', 'LONG'], ['word', 'STRING'], ['odd', 'BOOLEAN'], ['real', 'DOUBLE'], ['bin', 'BINARY']]);
    equal(sqlRows.rowCount.toFloat64(), 0);
  });

  it('groups and functions', LIMIT, async () => {
    equal(await values('select word, count(*), sum(n) from {} group by word order by word desc limit 1'), [['3_aaa', 3, 21]]);
    equal(await values("select date(from_unixtime(1668585138.995)), concat('a', 1.5)"), [['2022-11-16', 'a1.5']]);
  });

  it('describe and show', LIMIT, async () => {
    equal((await values('describe {}'))[4], ['real', 'double', 'YES', '', null, '']);
    equal((await values('show tables')).flat().includes(table.name), true);
  });

  it('what is wrong is said', LIMIT, async () => {
    await refused(sql('select nothing from {}'), 400, 'OTSParameterInvalid', "Unknown column 'nothing' in 'field list'");
  });
});
