// Holds the conversation of steps.txt with node-oracledb in its thin mode. Arguments: steps.txt, port, service.
// For the output and the meaning of the operations see python.py.
'use strict';

const fs = require('fs');
const oracledb = require('oracledb');

const [STEPS, PORT, SERVICE] = process.argv.slice(2);
const TYPES = {
  n: oracledb.DB_TYPE_NUMBER, s: oracledb.DB_TYPE_VARCHAR, c: oracledb.DB_TYPE_CHAR, d: oracledb.DB_TYPE_TIMESTAMP,
  r: oracledb.DB_TYPE_RAW, b: oracledb.DB_TYPE_BOOLEAN,
};

const connect = (user = 'u', password = 'Tiger1', more = {}) =>
  oracledb.getConnection({ user, password, connectString: `127.0.0.1:${PORT}/${SERVICE}`, ...more });

function value(kind, text) {
  switch (kind) {
    case 'n': return Number(text);
    case 's*': return 'y'.repeat(Number(text));
    case 'd': return new Date(text.replace(' ', 'T'));
    case 'r': return Buffer.from(text, 'hex');
    case 'b': return text === 'true';
    default: return text;
  }
}

function cut(line) {
  const at = line.indexOf(' ');
  return at < 0 ? [line, ''] : [line.slice(0, at), line.slice(at + 1)];
}

function bound(key, rest) {
  const [kind, text] = cut(rest);
  if (kind === 'a') return { type: oracledb.DB_TYPE_NUMBER, dir: oracledb.BIND_IN, val: text.split(' ').map(Number) };
  const type = TYPES[kind[0]];
  const maxSize = 'scr'.includes(kind[0]) ? Math.max(200, kind === 's*' ? Number(text) : 0) : undefined;
  if (key === 'out') return { type, dir: oracledb.BIND_OUT, maxSize };
  const dir = key === 'inout' ? oracledb.BIND_INOUT : oracledb.BIND_IN;
  return { type, dir, maxSize, val: key === 'null' ? null : value(kind, text) };
}

const two = (n) => String(n).padStart(2, '0');

function shown(v) {
  if (v === null || v === undefined) return 'null';
  if (typeof v === 'string') return `'${v}'`;
  if (Buffer.isBuffer(v)) return '0x' + v.toString('hex');
  if (v instanceof Date) {
    const day = `${v.getFullYear()}-${two(v.getMonth() + 1)}-${two(v.getDate())}`;
    const ms = v.getMilliseconds();
    const fraction = ms ? '.' + String(ms).padStart(3, '0').replace(/0+$/, '') : '';
    return `${day} ${two(v.getHours())}:${two(v.getMinutes())}:${two(v.getSeconds())}${fraction}`;
  }
  return String(v);
}

const rows = (all) => all.map((row) => row.map(shown).join(' | ')).join(' / ');

function code(e) {
  return e.code || (/^[A-Z]{3}-\d+/.exec(e.message) || [String(e)])[0];
}

const valuesOf = (row) => row.split(';').map((cell) => {
  const [kind, text] = cut(cell.trim());
  return kind === 'null' ? null : value(kind, text);
});

class Conversation {
  async do(op, text, more) {
    const binds = more.filter(([key]) => key !== 'row').map(([key, rest]) => bound(key, rest));
    const table = more.filter(([key]) => key === 'row').map(([, rest]) => valuesOf(rest));
    return await this['do_' + op](text, binds, table);
  }

  async do_logon(text) {
    const [user, password] = text.split(' ');
    await (await connect(user, password)).close();
    return 'open';
  }

  async do_query(sql, binds) {
    return rows((await this.c.execute(sql, binds)).rows);
  }

  async do_exec(sql, binds) {
    const r = await this.c.execute(sql, binds);
    const outs = (r.outBinds || []).map((v) => shown(Array.isArray(v) ? v[0] : v)).join(' | ');
    return outs ? `${r.rowsAffected} : ${outs}` : String(r.rowsAffected);
  }

  async do_each(sql, binds, table) {
    const counts = [];
    for (const row of table) counts.push((await this.c.execute(sql, row)).rowsAffected);
    return counts.join(' ');
  }

  // Types and sizes of the columns of an array of binds.
  defs(table) {
    return table[0].map((_, at) => {
      const column = table.map((row) => row[at]).filter((v) => v !== null);
      return typeof column[0] === 'number' ? { type: oracledb.NUMBER } : { type: oracledb.STRING, maxSize: 200 };
    });
  }

  async do_many(sql, binds, table) {
    return String((await this.c.executeMany(sql, table, { bindDefs: this.defs(table) })).rowsAffected);
  }

  async do_other(sql) {
    const other = await connect('other');
    try {
      return rows((await other.execute(sql)).rows);
    } finally {
      await other.close();
    }
  }

  async do_commit() {
    await this.c.commit();
  }

  async do_rollback() {
    await this.c.rollback();
  }

  async do_position(sql) {
    try {
      await this.c.execute(sql);
    } catch (e) {
      return `${code(e)} at ${e.offset}`;
    }
  }

  async do_returning(sql) {
    const r = await this.c.execute(sql, [{ type: oracledb.NUMBER, dir: oracledb.BIND_OUT }]);
    return r.outBinds[0].join(' ');
  }

  async do_counts(sql, binds, table) {
    const r = await this.c.executeMany(sql, table, { bindDefs: this.defs(table), dmlRowCounts: true });
    return r.dmlRowCounts.join(' ');
  }

  async do_batch(sql, binds, table) {
    const r = await this.c.executeMany(sql, table, { bindDefs: this.defs(table), batchErrors: true });
    return r.batchErrors.map((e) => `${e.offset} ${code(e)}`).join(', ');
  }

  async do_block(sql, binds) {
    return (await this.c.execute(sql, binds)).outBinds.map(shown).join(' | ');
  }

  async do_refcursor(sql) {
    const r = await this.c.execute(sql, [{ type: oracledb.CURSOR, dir: oracledb.BIND_OUT }]);
    const all = await r.outBinds[0].getRows();
    await r.outBinds[0].close();
    return rows(all);
  }

  async do_nested(sql) {
    const [[a, b]] = (await this.c.execute(sql)).rows;
    return `${shown(a)} : ${rows(Array.isArray(b) ? b : await b.getRows())}`;
  }

  async do_nestedsum(sql) {
    const all = (await this.c.execute(sql, [], { resultSet: true, fetchArraySize: 20, prefetchRows: 20 })).resultSet;
    let [count, sum] = [0, 0];
    for (let row = await all.getRow(); row; row = await all.getRow()) {
      const inner = Array.isArray(row[1]) ? row[1] : await row[1].getRows();
      count += 1;
      for (const [n] of inner) sum += n;
    }
    await all.close();
    return `${count} rows, ${sum}`;
  }

  async do_implicit(sql) {
    const said = (await this.c.execute(sql)).implicitResults;
    return said.map(rows).join(' / ');
  }

  async do_fetch(text) {
    const [n, sql] = cut(text);
    const how = { fetchArraySize: Number(n), prefetchRows: Number(n), maxRows: 0 };
    const all = (await this.c.execute(sql, [], how)).rows;
    return `${all.length} rows, ${all.reduce((sum, row) => sum + row[0], 0)}`;
  }

  async do_length(sql) {
    return String((await this.c.execute(sql)).rows[0][0].length);
  }

  async do_describe(sql) {
    return (await this.c.getStatementInfo(sql)).metaData.map((m) => m.name).join(' ');
  }

  async do_parse(sql) {
    await this.c.getStatementInfo(sql);
  }

  // The driver has no scrollable cursors.
  async do_scroll() {
    return '-';
  }

  async do_change(sql, binds, table) {
    const said = [];
    for (const row of table) said.push(rows((await this.c.execute(sql, row)).rows));
    return said.join(', ');
  }

  async do_cancel(sql) {
    const timer = setTimeout(() => this.c.breakExecution().catch(() => {}), 300);
    try {
      await this.c.execute(sql);
    } finally {
      clearTimeout(timer);
    }
  }

  async do_module(text) {
    [this.c.module, this.c.action] = text.split(' ');
  }

  async do_lastrowid(sql) {
    const r = await this.c.execute(sql);
    return rows((await this.c.execute('select id from kinds where rowid = :1', [r.lastRowid])).rows);
  }

  async do_autocommit(sql) {
    await this.c.execute(sql, [], { autoCommit: true });
  }

  async do_ping() {
    await this.c.ping();
    return 'alive';
  }

  async do_newpassword(text) {
    const [user, old, newPassword] = text.split(' ');
    await (await connect(user, old, { newPassword })).close();
    const c = await connect(user, newPassword);
    const r = await c.execute('select user from dual');
    await c.close();
    return r.rows[0][0];
  }

  async do_proxy(text) {
    const [user, password, through] = text.split(' ');
    const c = await connect(`${user}[${through}]`, password);
    const r = await c.execute("select user, sys_context('userenv', 'proxy_user') from dual");
    await c.close();
    return r.rows[0].join(' ');
  }
}

async function main() {
  const conversation = new Conversation();
  conversation.c = await connect();
  for (const text of fs.readFileSync(STEPS, 'utf8').split(/\n\n+/)) {
    const lines = text.split('\n').filter((line) => line && !line.startsWith('#') && !line.startsWith('='));
    if (!lines.length) continue;
    const name = lines.shift().replace(/^\[|\]$/g, '');
    let said = 'None';
    try {
      while (lines.length) {
        const [op, rest] = cut(lines.shift());
        const more = [];
        while (lines.length && ['bind', 'null', 'out', 'inout', 'row'].includes(cut(lines[0])[0])) {
          more.push(cut(lines.shift()));
        }
        const heard = await conversation.do(op, rest, more);
        said = heard === undefined ? 'None' : heard;
      }
    } catch (e) {
      said = code(e);
    }
    console.log(`${name}\t${said}`);
  }
  await conversation.c.close();
}

main().catch((e) => {
  console.error(e);
  process.exit(1);
});
