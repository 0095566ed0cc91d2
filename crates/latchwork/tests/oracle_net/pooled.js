// node-oracledb against the connection pool of the database: pooled.js PORT SERVICE.
'use strict';

const assert = require('assert');
const oracledb = require('oracledb');

const [PORT, SERVICE] = process.argv.slice(2);
const who = { user: 'u', password: 'Tiger1', connectString: `127.0.0.1:${PORT}/${SERVICE}:pooled` };

async function one(connection, sql, binds = []) {
  return (await connection.execute(sql, binds)).rows[0][0];
}

async function main() {
  oracledb.connectionClass = 'ALONE';
  const alone = await oracledb.getConnection(who);
  const server = "select server from v$session where sid = sys_context('userenv', 'sid')";
  assert.strictEqual(await one(alone, server), 'POOLED');
  await alone.execute('begin kept.put(7); end;');
  await alone.close();
  oracledb.connectionClass = 'NODE';
  const pool = await oracledb.createPool({ ...who, poolMin: 1, poolMax: 8, poolIncrement: 1, poolAlias: 'shared' });
  for (let turn = 0; turn < 4; turn += 1) {
    const connection = await oracledb.getConnection('shared');
    assert.strictEqual(await one(connection, 'select kept.get from dual'), turn === 0 ? 1 : 10 + turn - 1);
    await connection.execute('begin kept.put(:1); end;', [10 + turn]);
    assert.strictEqual(await one(connection, 'select :1 + 1 from dual', [turn]), turn + 1);
    assert.strictEqual(await one(connection, 'select :1 + 1 from dual', [turn]), turn + 1);
    await connection.execute("insert into w values (1, 'not committed')");
    await connection.close();
  }
  // More clients than servers.
  await Promise.all(Array.from({ length: 8 }, async (_, n) => {
    for (let turn = 0; turn < 4; turn += 1) {
      const connection = await oracledb.getConnection('shared');
      await connection.execute("insert into w values (:1, 'y')", [100 + n * 10 + turn], { autoCommit: true });
      await connection.close();
    }
  }));
  const connection = await pool.getConnection();
  assert.strictEqual(await one(connection, 'select count(*) from w'), 32);
  assert.ok(await one(connection, "select count(*) from v$session where server = 'POOLED'") <= 3);
  await connection.close();
  await pool.close(0);
  console.log('all done');
}

main().catch((e) => {
  console.error(e);
  process.exit(1);
});
