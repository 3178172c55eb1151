// mysql2 against the MySQL door: texts and prepared statements, many connections at once.
'use strict'
const assert = require('node:assert')
const fs = require('node:fs')
const path = require('node:path')
const { test, before, after } = require('node:test')
const mysql = require('mysql2/promise')

const options = {
    host: '127.0.0.1',
    port: Number(process.env.PORT),
    user: 'key1',
    password: 'secret1',
    database: 'inst',
    supportBigNumbers: true,
    bigNumberStrings: true
}
let db

before(async () => {
    db = await mysql.createConnection(options)
    await db.query('create table p (k varchar, n bigint, v double, s varchar, b varbinary, t timestamp, primary key (k, n))')
})
after(() => db.end())

test('prepared statements write and read every type', async () => {
    const at = new Date(Date.UTC(2024, 1, 29, 3, 4, 5, 678))
    await db.execute('upsert into p (k, n, v, s, b, t) values (?, ?, ?, ?, ?, ?)', ['a', 1, 1.5, 'grüß', Buffer.from([0, 255]), '2024-02-29 03:04:05.678'])
    const [rows] = await db.execute('select * from p where k = ? and n = ?', ['a', 1])
    assert.strictEqual(rows.length, 1)
    assert.strictEqual(Number(rows[0].n), 1)
    assert.strictEqual(rows[0].v, 1.5)
    assert.strictEqual(rows[0].s, 'grüß')
    assert.deepStrictEqual([...rows[0].b], [0, 255])
    assert.ok(rows[0].t instanceof Date && rows[0].t.getMilliseconds() === at.getMilliseconds())
})

// statements.txt says how they stand there.
const outcome = async (connection, prepared, sql) => {
    try {
        const [rows] = await connection[prepared ? 'execute' : 'query']({ sql, rowsAsArray: true })
        if (!Array.isArray(rows)) return `+ ${rows.affectedRows}`
        return '= ' + rows.map((row) => row.map((v) => (v === null ? 'NULL' : String(v))).join(',')).join('|')
    } catch (fault) {
        return `! ${fault.errno}`
    }
}
for (const prepared of [false, true])
    test(`the documented statements, ${prepared ? 'prepared' : 'as texts'}`, async () => {
        const lines = fs.readFileSync(path.join(__dirname, '../statements.txt'), 'utf8').split('\n')
        const one = await mysql.createConnection(options)
        for (const [i, sql] of lines.entries()) {
            if (!sql || '#=+!'.includes(sql[0])) continue
            const expected = '=+!'.includes((lines[i + 1] || '#')[0]) ? lines[i + 1] : null
            const was = await outcome(one, prepared, sql)
            if (expected === null) assert.ok(was[0] !== '!', `${sql}: ${was}`)
            else assert.strictEqual(was, expected, sql)
        }
        await one.end()
    })

test('NULL comes and goes', async () => {
    await db.execute('upsert into p (k, n, v, s) values (?, ?, ?, ?)', ['null', 1, null, 'x'])
    const [rows] = await db.execute('select v, s from p where k = ? and n = 1', ['null'])
    assert.deepStrictEqual({ ...rows[0] }, { v: null, s: 'x' })
})

test('a statement is run many times, with other values', async () => {
    for (let i = 0; i < 200; i++)
        await db.execute('upsert into p (k, n, v) values (?, ?, ?)', ['many', i, i])
    const [rows] = await db.execute('select n from p where k = ? and n >= ? and n < ?', ['many', 50, 60])
    assert.deepStrictEqual(rows.map(r => Number(r.n)), [50, 51, 52, 53, 54, 55, 56, 57, 58, 59])
})

test('a prepared statement tells its columns before it runs', async () => {
    const { statement } = await db.prepare('select n, v + 1 as w, s from p where k = ?')
    assert.deepStrictEqual(statement.columns.map(c => c.name), ['n', 'w', 's'])
    assert.deepStrictEqual(statement.columns.map(c => c.columnType ?? c.type), [8, 5, 253])
    assert.strictEqual(statement.parameters.length, 1)
    statement.close()
})

test('faults have numbers, and the connection goes on', async () => {
    await assert.rejects(db.execute('select * from nosuch where k = ?', [1]), { errno: 1146, sqlState: '42S02' })
    await assert.rejects(db.query('selec'), { errno: 1064 })
    await assert.rejects(db.query("select * from p where s = 'x'"), /Detect inefficient query/)
    const [rows] = await db.query('select 1 as one')
    assert.strictEqual(Number(rows[0].one), 1)
})

test('twenty connections at once', async () => {
    const pool = mysql.createPool({ ...options, connectionLimit: 20 })
    await Promise.all(Array.from({ length: 400 }, (_, i) => pool.execute('upsert into p (k, n, v) values (?, ?, ?)', ['pool', i, i])))
    const [rows] = await pool.query("select count(*) as c, sum(v) as s from p where k = 'pool'")
    assert.strictEqual(Number(rows[0].c), 400)
    assert.strictEqual(Number(rows[0].s), 399 * 200)
    await pool.end()
})

test('a long result comes row by row, a long text whole', async () => {
    const long = 'x'.repeat(1 << 20)
    await db.execute('upsert into p (k, n, s) values (?, ?, ?)', ['long', 1, long])
    const [rows] = await db.query("select s from p where k = 'long' and n = 1")
    assert.strictEqual(rows[0].s, long)
    for (let i = 0; i < 10000; i += 2000) {
        const values = Array.from({ length: 2000 }, (_, j) => `('range', ${i + j}, 'value ${i + j}')`)
        await db.query(`upsert into p (k, n, s) values ${values}`)
    }
    const [all] = await db.query("select n, s from p where k = 'range'")
    assert.strictEqual(all.length, 10000)
    assert.ok(all.every((r, i) => Number(r.n) === i && r.s === `value ${i}`))
})

test('another user on the same connection', async () => {
    const other = await mysql.createConnection(options)
    await other.changeUser({ user: 'key1', password: 'secret1', database: 'inst' })
    const [rows] = await other.query('select database() as d')
    assert.strictEqual(rows[0].d, 'inst')
    await assert.rejects(other.changeUser({ user: 'key1', password: 'wrong', database: 'inst' }), { errno: 1045 })
    other.destroy()
})
