"""The required features, with python-oracledb in thin mode. Arguments: port, service, directory of the instance."""

import datetime
import sys
import threading

import oracledb

PORT, SERVICE, LATCHWORK, DIRECTORY = sys.argv[1:5]


def connect(user="u", password="Tiger1", service=SERVICE, **more):
    # The driver's cache deadlocks with itself when it drops a statement with a cursor in its binds.
    more.setdefault("stmtcachesize", 500)
    return oracledb.connect(user=user, password=password, dsn=f"127.0.0.1:{PORT}/{service}", **more)


def local(*statements):
    """Runs statements as SYSDBA on the local socket."""
    import subprocess

    text = "".join(s + ";\n" for s in statements) + "exit\n"
    command = [LATCHWORK, "sql", "-s", "--dir", DIRECTORY, "/", "as", "sysdba"]
    return subprocess.run(command, input=text, text=True, capture_output=True, timeout=60).stdout


def fails(code, call, offset=None):
    try:
        call()
    except oracledb.Error as e:
        error = e.args[0]
        assert code in str(e), f"{code} wanted, not {e}"
        assert offset is None or error.offset == offset, f"offset {error.offset}"
        return
    raise AssertionError(f"{code} wanted")


def logons():
    fails("ORA-01017", lambda: connect(password="tiger1"))
    fails("ORA-01017", lambda: connect(user="nobody"))
    fails("ORA-01017", lambda: connect(password="Tiger1", user="keyless"))
    fails("ORA-28000", lambda: connect(user="locked", password="x"))
    fails("ORA-01017", lambda: connect(user="locked", password="y"))
    fails("ORA-28009", lambda: connect(user="sys", password="Secret1"))
    fails("ORA-01017", lambda: connect(mode=oracledb.SYSDBA))
    fails("DPY-6001", lambda: connect(service="nope"))
    fails("DPY-6003", lambda: oracledb.connect(user="u", password="Tiger1", host="127.0.0.1", port=int(PORT), sid="nope"))
    with connect(user="sys", password="Secret1", mode=oracledb.SYSDBA) as c:
        assert c.cursor().execute("select user from dual").fetchone() == ("SYS",)
    with connect(service=SERVICE.upper()) as c:
        assert c.version.startswith("19.") and c.username == "u"
        c.ping()


def passwords():
    local("create user aging identified by Tiger1", "grant create session to aging", "alter user aging password expire")
    fails("ORA-28001", lambda: connect(user="aging"))
    with connect(user="aging", newpassword="Tiger2") as c:
        assert c.warning is None
        fails("ORA-28008", lambda: c.changepassword("wrong", "Tiger3"))
        c.changepassword("Tiger2", "Tiger3")
        assert c.cursor().execute("select user from dual").fetchone() == ("AGING",)
    fails("ORA-01017", lambda: connect(user="aging", password="Tiger2"))
    connect(user="aging", password="Tiger3").close()
    # DDL makes sessions read the dictionary again.
    older = "update user$ set ptime = sysdate - 181 where name = 'AGING'"
    local(older, "commit", "create or replace synonym something for dual")
    with connect(user="aging", password="Tiger3") as c:
        assert "ORA-28002" in c.warning.full_code, c.warning
        assert c.cursor().execute("select user from dual").fetchone() == ("AGING",)


def queries(c):
    k = c.cursor()
    row = k.execute("select 1, 'abc', date '2020-01-02', null, 1.5, cast(12 as number(5,2)) from dual").fetchone()
    assert row == (1, "abc", datetime.datetime(2020, 1, 2), None, 1.5, 12), row
    assert [d[1].name for d in k.description][:3] == ["DB_TYPE_NUMBER", "DB_TYPE_CHAR", "DB_TYPE_DATE"]
    assert (k.description[5][4], k.description[5][5]) == (5, 2)
    at = datetime.datetime(2020, 1, 2, 3, 4, 5, 678000)
    values = [42, "x\u00e9\u20ac", datetime.datetime(2020, 1, 2, 3, 4, 5), b"\x01\xff", None, -0.25]
    assert list(k.execute("select :1, :2, :3, :4, :5, :6 from dual", values).fetchone()) == values
    assert k.execute("select :t from dual", t=k.var(oracledb.DB_TYPE_TIMESTAMP, 1).getvalue()).fetchone() == (None,)
    k.setinputsizes(t=oracledb.DB_TYPE_TIMESTAMP)
    assert k.execute("select :t from dual", t=at).fetchone() == (at,)
    assert k.execute("select :a || :b || :a from dual", a="p", b="q").fetchone() == ("pqp",)
    assert k.execute("select :1, :1 from dual", [1, 2]).fetchone() == (1, 2)
    double = "select cast(1.5 as binary_double), cast(2.5 as binary_float), interval '3' day from dual"
    assert k.execute(double).fetchone() == (1.5, 2.5, datetime.timedelta(days=3))
    assert k.execute("select interval '2-3' year to month from dual").fetchone() == (oracledb.IntervalYM(2, 3),)
    assert k.execute("select length(:1) from dual", ["y" * 4000]).fetchone() == (4000,)
    assert k.execute("select id from v").fetchall() == [(n,) for n in range(1, 1001)]
    k.arraysize, k.prefetchrows = 7, 3
    again = "select id from v where id <= :n"
    for n in [3, 10, 0, 100]:
        assert len(k.execute(again, n=n).fetchall()) == n
    fails("ORA-00942", lambda: k.execute("select * from nosuch"), offset=14)
    fails("ORA-00904", lambda: k.execute("select x from dual"), offset=7)
    fails("ORA-01476", lambda: k.execute("select 1 / (id - 50) from v").fetchall())
    assert k.execute("select 7 from dual").fetchone() == (7,)
    k.parse("select n, t from w")
    assert [d[0] for d in k.description] == ["N", "T"]


def changes(c):
    k = c.cursor()
    k.execute("insert into w values (:1, :2)", [1, "one"])
    assert k.rowcount == 1 and c.transaction_in_progress
    assert "        0" in local("select count(*) n from u.w")
    c.commit()
    assert not c.transaction_in_progress
    assert "        1" in local("select count(*) n from u.w")
    k.executemany("insert into w values (:1, :2)", [(n, f"t{n}") for n in range(2, 302)])
    assert k.rowcount == 300
    c.rollback()
    k.executemany("insert into w values (:1, :2)", [(n, None) for n in range(2, 12)])
    c.commit()
    k.execute("update w set t = 'x' where n > :1", [6])
    assert k.rowcount == 5
    one = k.var(int)
    k.execute("update w set t = 'y' where n = 3 returning n into :1", [one])
    assert one.getvalue() == [3]
    k.execute("delete from w where n > 8 returning n into :1", [one])
    assert sorted(one.getvalue()) == [9, 10, 11] and k.rowcount == 3
    c.rollback()
    fails("ORA-00001", lambda: k.execute("insert into w values (1, 'again')"))
    fails("ORA-00001", lambda: k.executemany("insert into w values (:1, null)", [(50,), (1,), (51,)]))
    assert k.execute("select count(*) from w where n >= 50").fetchone() == (1,)
    c.rollback()
    c.autocommit = True
    k.execute("insert into w values (60, null)")
    c.autocommit = False
    c.rollback()
    assert k.execute("select n from w where n = 60").fetchone() == (60,)


def arrays(c):
    k = c.cursor()
    insert = "insert into w values (:1, :2)"
    k.execute("delete from w")
    c.commit()
    # One execution of any size; when a row fails, the number of rows before it is reported.
    k.executemany(insert + " -- one", [(n, f"t{n}") for n in range(20000)])
    assert k.rowcount == 20000
    counted = local("select 'seen:' || executions || ' ' || rows_processed || ':' from v$sql where sql_text like '%-- one'")
    assert "seen:1 20000:" in counted, counted
    c.rollback()
    rows = [(n, f"t{n}") for n in range(1000)]
    for at, value, code in [(700, (3, "again"), "ORA-00001"), (300, (None, "x"), "ORA-01400"), (0, (1, "y" * 30), "ORA-12899")]:
        bad = rows[:at] + [value] + rows[at:]
        fails(code, lambda: k.executemany(insert, bad))
        assert k.rowcount == at and (c.transaction_in_progress or at == 0)
        c.rollback()
    bad = [(1, "a"), (2, "b"), (2, "c"), (4, "d")]
    fails("ORA-00001", lambda: k.executemany(insert, bad, arraydmlrowcounts=True))
    assert k.getarraydmlrowcounts() == [1, 1] and k.rowcount == 2
    c.rollback()
    # Errors by row, good rows kept.
    bad = [(n // 2 if n % 50 == 49 else n, None if n % 7 else "x" * (1 + n % 30)) for n in range(5000)]
    k.executemany(insert, bad, batcherrors=True, arraydmlrowcounts=True)
    errors = {e.offset: e for e in k.getbatcherrors()}
    want, there = {}, set()
    for at, (n, t) in enumerate(bad):
        if t and len(t) > 20:
            want[at] = "ORA-12899"
        elif n in there:
            want[at] = "ORA-00001"
        there |= {n} if at not in want else set()
    assert {n: e.message[:9] for n, e in errors.items()} == want, len(want)
    assert sorted(errors) == [e.offset for e in k.getbatcherrors()]
    assert k.getarraydmlrowcounts() == [0 if n in want else 1 for n in range(5000)]
    assert k.rowcount == 5000 - len(want)
    assert errors[49].full_code == "ORA-00001" and errors[49].code == 1
    assert k.execute("select count(*) from w").fetchone() == (5000 - len(want),)
    k.executemany(insert, [(10000, None)], batcherrors=True)
    assert k.getbatcherrors() == [] and k.rowcount == 1
    k.executemany(insert, [(10000, None)], batcherrors=True)
    assert [(e.offset, e.code) for e in k.getbatcherrors()] == [(0, 1)]
    c.rollback()
    # Autocommit with all rows accepted, but not when some were refused.
    c.autocommit = True
    k.executemany(insert, [(1, "a"), (1, "b")], batcherrors=True)
    assert c.transaction_in_progress
    c.rollback()
    k.executemany(insert, [(n, "a") for n in range(10)])
    c.autocommit = False
    assert not c.transaction_in_progress
    k.executemany("update w set t = :1 where n >= :2 and n < 8", [(f"u{n}", n) for n in (7, 20, 0)], arraydmlrowcounts=True)
    assert k.getarraydmlrowcounts() == [1, 0, 8] and k.rowcount == 9
    k.executemany("delete from w where n = :n or n = :n + 1", [{"n": n} for n in (0, 5, 0)], arraydmlrowcounts=True)
    assert k.getarraydmlrowcounts() == [2, 2, 0]
    # The driver sends the option only with the statement's first execution.
    for _ in range(3):
        k.executemany("update w set t = 'r' where n = :1", [(7,), (-1,)], arraydmlrowcounts=True)
        assert k.getarraydmlrowcounts() == [1, 0]
    k.executemany("update w set t = :1 where t = :1", [("a", "a"), ("b", "c")])
    c.rollback()
    # A repeated name is the same expression, whether values are given by name or by position.
    grouped = "select mod(n, :m) g, count(*) from (select level n from dual connect by level < 8) group by mod(n, :m)"
    assert sorted(k.execute(grouped, m=2)) == [(0, 3), (1, 4)]
    assert sorted(c.cursor().execute(grouped + " -- by place", [2, 2])) == [(0, 3), (1, 4)]
    assert k.execute(grouped + " having mod(n, :m) = 1 order by mod(n, :m)", m=2).fetchall() == [(1, 4)]
    distinct = "select distinct n + :a from (select level n from dual connect by level < 4) order by n + :a"
    assert k.execute(distinct, a=1).fetchall() == [(2,), (3,), (4,)]
    fails("ORA-00979", lambda: c.cursor().execute(grouped.replace("mod(n, :m) g", "mod(n, :x) g"), m=2, x=2))
    # The values of RETURNING, by row.
    out = k.var(int, arraysize=4)
    k.setinputsizes(None, out)
    k.executemany("update w set t = 'z' where n >= :1 returning n into :2", [(8,), (50,), (7,)])
    assert [sorted(out.getvalue(n)) for n in range(3)] == [[8, 9], [], [7, 8, 9]]
    c.rollback()
    # NULL first, types in order of appearance; without binds.
    k.executemany(insert, [(None, "x")] + [(n, None) for n in range(100, 105)], batcherrors=True)
    assert [(e.offset, e.code) for e in k.getbatcherrors()] == [(0, 1400)] and k.rowcount == 5
    k.executemany("insert into w select max(n) + 1, 'm' from w", 3)
    assert k.rowcount == 3
    fails("ORA-00942", lambda: k.executemany("insert into nosuch values (:1)", [(1,), (2,)], batcherrors=True), offset=12)
    fails("ORA-01722", lambda: k.executemany(insert, [("200", "x"), ("y", "x")]))
    # More than a packet, and broken in the middle.
    c.rollback()
    wide = "insert into u.wide values (:1, :2)"
    k.executemany(wide, [(n, "z" * (n % 4001)) for n in range(3000)])
    assert k.execute("select count(*), sum(length(t)) from u.wide").fetchone() == (3000, sum(n % 4001 for n in range(3000)))
    c.rollback()
    sleep = "begin insert into w values (:1, 'b'); dbms_session.sleep(0.05); end;"
    timer = threading.Timer(0.4, c.cancel)
    timer.start()
    fails("ORA-01013", lambda: k.executemany(sleep, [(n,) for n in range(1000, 1200)]))
    timer.join()
    assert 0 < k.execute("select count(*) from w where n >= 1000").fetchone()[0] < 200
    c.rollback()
    k.execute("delete from w where n < 60 and n <> 1")
    k.execute("merge into w using dual on (n = 1) when not matched then insert values (1, 'one')")
    c.commit()


def cursors(c):
    """Cursors that PL/SQL opens, in binds and as results."""
    k, r = c.cursor(), c.cursor()
    r.arraysize = 7
    opens = "begin open :r for select id, 'x' || id from v where id <= :n order by id; end;"
    for n in [0, 1, 6, 7, 8, 100]:
        k.execute(opens, r=r, n=n)
        assert [d[0] for d in r.description] == ["ID", "'X'||ID"]
        assert r.fetchall() == [(i, f"x{i}") for i in range(1, n + 1)]
    # Its rows are as of its OPEN, and a commit does not close it.
    k.execute("insert into w values (700, 'seen')")
    k.execute("begin open :r for select t from w where n = 700; end;", r=r)
    k.execute("delete from w where n = 700")
    c.commit()
    assert r.fetchall() == [("seen",)]
    f = k.callfunc("cursor_of", oracledb.DB_TYPE_CURSOR, [3])
    assert f.fetchmany(2) == [(1,), (2,)]
    # PL/SQL continues where the client has stopped, and vice versa.
    k.execute(opens, r=r, n=10)
    r.arraysize = 2
    assert r.fetchmany(2) == [(1, "x1"), (2, "x2")]
    assert k.callfunc("next_of", str, [r]) == "3 x3"
    assert r.fetchone() == (4, "x4")
    q = c.cursor()
    q.prefetchrows, q.arraysize = 0, 1
    q.execute("select id, 'y' || id from v where id <= 5 order by id")
    assert q.fetchone() == (1, "y1")
    assert k.callfunc("next_of", str, [q]) == "2 y2"
    assert q.fetchone() == (3, "y3")
    k.execute("begin close :r; end;", r=q)
    fails("ORA-01001", q.fetchall)
    # One that was never opened, and one that closes in the block.
    never = k.var(oracledb.DB_TYPE_CURSOR)
    k.execute("begin if false then open :r for select 1 from dual; end if; end;", r=never)
    fails("DPY-4025", lambda: never.getvalue().fetchall())
    fails("ORA-01476", lambda: k.execute("begin open :r for select 1 / (id - 3) from v; end;", r=r) or r.fetchall())
    fails("ORA-01001", lambda: k.execute("declare n number; begin fetch :r into n; end;", r=k.var(oracledb.DB_TYPE_CURSOR)))
    # Results, in order; a failing block has none.
    k.execute("""declare c sys_refcursor; begin
        for i in 1..3 loop open c for select id from v where id <= i order by id; dbms_sql.return_result(c); end loop; end;""")
    assert [one.fetchall() for one in k.getimplicitresults()] == [[(j,) for j in range(1, i + 1)] for i in range(1, 4)]
    failing = "declare c sys_refcursor; begin open c for select 1 from dual; dbms_sql.return_result(c); raise no_data_found; end;"
    for _ in range(400):
        fails("ORA-01403", lambda: k.execute(failing))
    fails("ORA-01001", lambda: k.execute("declare c sys_refcursor; begin dbms_sql.return_result(c); end;"))
    # Cursors in rows, nested ones, and their state after their query is closed or run again.
    nest = "select id, cursor(select v.id + w.id, :t from v w where w.id <= v.id order by 1) c from v where id <= :n order by id"
    for n in [1, 5, 5]:
        k.arraysize = 2
        rows = [(i, inner.fetchall()) for i, inner in k.execute(nest, t="t", n=n)]
        assert rows == [(i, [(i + j, "t") for j in range(1, i + 1)]) for i in range(1, n + 1)], rows
    deep = k.execute("select cursor(select id, cursor(select v.id * 10 from dual) from v where id < 3 order by id) from dual").fetchone()[0]
    assert [(i, inner.fetchall()) for i, inner in deep] == [(1, [(10,)]), (2, [(20,)])]
    # A cursor is a value only for blocks; queries with cursors in rows, and cursors of blocks, are not scrollable.
    k.execute(opens, r=r, n=10)
    for text in ["insert into w values (:1, 'x')", "select :1 + 1 from dual", "delete from w where n = :1"]:
        fails("ORA-00932", lambda: k.execute(text, [r]))
    assert r.fetchone() == (1, "x1")
    with c.cursor(scrollable=True) as s:
        fails("ORA-03001", lambda: s.execute(nest, t="t", n=3).fetchall())
        s.prefetchrows = s.arraysize = 2
        s.execute("select id from v where id <= 10 order by id")
        fails("ORA-03001", lambda: k.callfunc("next_of", str, [s]))
        s.scroll(mode="last")
        assert s.fetchone() == (10,)
    for _ in range(30):
        k.arraysize = 50
        k.execute("select cursor(select 1 from dual) from v where id <= 200").fetchone()
    fails("ORA-01000", lambda: c.cursor().execute("select cursor(select 1 from dual) from v").fetchall())
    # A cursor read to its end is released: the driver does not tell the server that it is closed.
    def read_out(cursor):
        with cursor:
            return [tuple(read_out(v) if isinstance(v, oracledb.Cursor) else v for v in row) for row in cursor]
    many = "select n, cursor(select v.n, cursor(select v.n + 1 from dual) from dual) from (select level n from dual connect by level <= 1000) v"
    for size in (1, 100):
        cursor = c.cursor()
        cursor.arraysize = cursor.prefetchrows = size
        read = read_out(cursor.execute(many))
        assert read == [(n, [(n, [(n + 1,)])]) for n in range(1, 1001)], read[:3]
    # They are counted, and closed with their session.
    sid = k.execute("select sys_context('userenv', 'sid') from dual").fetchone()[0]
    def opened():
        text = local(f"select 'open:' || value || ':' from v$sesstat natural join v$statname where sid = {sid} and name = 'opened cursors current'")
        return int(text.split("open:")[1].split(":")[0])
    before = opened()
    held = []
    def open_many():
        for _ in range(2000):
            held.append(c.cursor())
            k.execute("begin open :r for select id from v; end;", r=held[-1])
    fails("ORA-01000", open_many)
    for one in held:
        one.close()
    assert opened() > 100
    assert k.execute("select 1 from dual").fetchone() == (1,)
    assert opened() <= before + 1, (opened(), before)
    assert k.execute("select 1 from dual").fetchone() == (1,)


def cursor_arguments(c):
    """Cursors of the client as arguments of functions that SQL calls."""
    k, q = c.cursor(), c.cursor()
    q.prefetchrows, q.arraysize = 0, 1
    opens = "select id, 'y' || id from v where id <= 5 order by id"
    q.execute(opens)
    assert k.execute("select next_of(:1) from dual", [q]).fetchone() == ("1 y1",)
    assert q.fetchone() == (2, "y2")
    assert k.execute("select next_of(c => :c) from dual", c=q).fetchone() == ("3 y3",)
    # For each row, and in later fetches of the query.
    q.execute(opens)
    k.prefetchrows, k.arraysize = 1, 1
    assert [t for t, in k.execute("select next_of(:1) from v where id < 4", [q])] == ["1 y1", "2 y2", "3 y3"]
    # DML, with RETURNING and without.
    got = k.var(str)
    k.execute("insert into w values (801, next_of(:1)) returning t into :2", [q, got])
    assert got.getvalue() == ["4 y4"]
    k.execute("update w set t = next_of(:1) where n = 801", [q])
    assert k.execute("select t from w where n = 801").fetchone() == ("5 y5",)
    c.rollback()
    # A closed cursor, one never opened, and the statement's own.
    q.execute(opens)
    k.execute("begin close :1; end;", [q])
    fails("ORA-01001", lambda: k.execute("select next_of(:1) from dual", [q]).fetchone())
    own = c.cursor()
    own.execute("select next_of(:1) from dual", [q.execute(opens)])
    fails("DPY", lambda: own.execute("select next_of(:1) from dual", [own]).fetchone())
    for text in ["select :1 from dual", "select next_of(nvl(:1, null)) from dual", "select id from v where id = :1",
                 "select length(:1) from dual", "select id from v order by :1"]:  # fmt: skip
        fails("ORA-00932", lambda: k.execute(text, [q.execute(opens)]))
    assert k.execute("select 1 from dual").fetchone() == (1,)


def parses(c):
    """A statement executed again by its number is not parsed again, unless something that it depends on changes."""
    k = c.cursor()
    sid = k.execute("select sys_context('userenv', 'sid') from dual").fetchone()[0]
    watcher = connect(user="sys", password="Secret1", mode=oracledb.SYSDBA)
    def counted():
        asked = "select value from v$sesstat natural join v$statname where sid = :1 and name = 'parse count (total)'"
        return watcher.cursor().execute(asked, [sid]).fetchone()[0]
    def are(n, do):
        before = counted()
        do()
        assert counted() - before == n, f"{counted() - before} parses, not {n}"
    def each(text, *sets):
        for binds in sets:
            with c.cursor() as own:
                own.execute(text, binds)
    def anew(text, n):
        for _ in range(n):
            with c.cursor() as own:
                own.prepare(text, cache_statement=False)
                own.execute(None)
    are(1, lambda: each("select /* parses */ t from w where n = :1", [1], [2], [3], [4]))
    are(0, lambda: each("select /* parses */ t from w where n = :1", [5]))
    are(1, lambda: each("insert /* parses */ into w values (:1, :2)", [901, "a"], [902, "b"], [903, "c"], [904, "d"]))
    are(1, lambda: each("/* once */ begin p(:1, :2); end;", [1, "a"], [2, "b"], [3, "c"]))
    are(1, lambda: [k.executemany("update /* parses */ w set t = :1 where n = :2", [("x", 901), ("y", 902)]) for _ in range(3)])
    are(1, lambda: [k.executemany("/* array */ begin p(:1, :2); end; ", [(1, "x"), (2, "y")]) for _ in range(3)])
    are(10, lambda: anew("select /* anew */ 1 from dual", 10))
    # A described statement is executed without another parse; its binds have types by then.
    own = c.cursor()
    are(1, lambda: own.parse("select /* described */ id from v where rownum = 1"))
    assert [d[0] for d in own.description] == ["ID"]
    are(0, lambda: own.execute(None))
    typed = "select /* described */ id from v where id = :1"
    are(1, lambda: own.parse(typed))
    assert own.execute(typed, [3]).fetchall() == [(3,)]
    are(0, lambda: own.execute(typed, [4]))
    # Rows that were not fetched, and an execution that failed.
    many = "select /* parses */ id from v where id >= :1 order by id"
    are(1, lambda: [k.execute(many, [n]).fetchone() for n in range(1, 5)])
    assert k.execute(many, [990]).fetchall() == [(n,) for n in range(990, 1001)]
    for n in [1, 0, 2]:
        (fails if n == 0 else lambda _, do: do())("ORA-01476", lambda: k.execute("select 6 / :1 from dual", [n]).fetchall())
    # Other types, a changed dictionary, another schema: parsed again, with the right result.
    said = [k.execute("select /* types */ :1 from dual", [v]).fetchone()[0] for v in [1, "a", 2, b"a"]]
    assert said == [1, "a", 2, b"a"], said
    local("create table u.again (a number)", "insert into u.again values (1)", "commit")
    for columns in range(1, 4):
        assert len(k.execute("select * from again").fetchone()) == columns
        local(f"alter table u.again add (b{columns} number)")
    local("create view other.again as select 'other' a from dual", "grant select on other.again to u")
    for schema, first in [("other", "other"), ("u", 1), ("other", "other"), ("u", 1)]:
        k.execute(f"alter session set current_schema = {schema}")
        assert k.execute("select a from again").fetchone() == (first,)
    # A privilege that was revoked.
    assert k.execute("select * from other.again").fetchone() == ("other",)
    local("revoke select on other.again from u")
    fails("ORA-00942", lambda: k.execute("select * from other.again"))
    local("drop table u.again", "drop view other.again")
    k.execute("delete from w where n > 900")
    c.commit()
    # A query counts itself as open.
    own = "select value from v$mystat natural join v$statname where name = 'opened cursors current'"
    assert watcher.cursor().execute(own).fetchone()[0] >= 1
    watcher.close()


def tables(c):
    """Index-by tables of PL/SQL in binds, and types of binds that select an overload."""
    k = c.cursor()
    k.execute("""create or replace package pk as
        type nt is table of number index by binary_integer; type st is table of varchar2(10) index by pls_integer;
        function total(a nt) return number; procedure twice(a in out st); procedure make(n number, a out nt);
        procedure holes(a out nt); procedure low(a out nt);
        function f(x number) return varchar2; function f(x varchar2) return varchar2; function f(x date) return varchar2;
        function f(x boolean) return varchar2; end;""")
    k.execute("""create or replace package body pk as
        function total(a nt) return number is t number := 0;
          begin for i in 1 .. a.count loop t := t + a(i); end loop; return t; end;
        procedure twice(a in out st) is n number := a.count;
          begin for i in 1 .. n loop a(n + i) := a(i) || a(i); end loop; end;
        procedure make(n number, a out nt) is begin for i in 1 .. n loop a(i) := i * 10; end loop; end;
        procedure holes(a out nt) is begin a(1) := 1; a(4) := 4; end;
        procedure low(a out nt) is begin a(0) := 1; end;
        function f(x number) return varchar2 is begin return 'number'; end;
        function f(x varchar2) return varchar2 is begin return 'text'; end;
        function f(x date) return varchar2 is begin return 'date'; end;
        function f(x boolean) return varchar2 is begin return 'boolean'; end; end;""")
    for _ in range(4):
        day = datetime.datetime(2024, 1, 2)
        # A variable of the cursor would convert any value to its type.
        assert [c.cursor().callfunc("pk.f", str, [x]) for x in (1, "a", day, True)] == ["number", "text", "date", "boolean"]
    assert k.callfunc("pk.total", int, [k.arrayvar(int, [1, 2, 3])]) == 6
    assert k.callfunc("pk.total", int, [k.arrayvar(int, 5)]) == 0
    texts = k.arrayvar(str, 4)
    for given in (["a", "b"], ["x"], []):
        texts.setvalue(0, given)
        k.callproc("pk.twice", [texts])
        assert texts.getvalue() == given + [t + t for t in given]
    out = k.arrayvar(int, 5)
    for n in (3, 5, 0):
        k.callproc("pk.make", [n, out])
        assert out.getvalue() == [i * 10 for i in range(1, n + 1)]
    k.callproc("pk.holes", [out])
    assert out.getvalue() == [1, None, None, 4]
    fails("ORA-06513", lambda: k.callproc("pk.make", [6, out]))
    fails("ORA-06513", lambda: k.callproc("pk.low", [out]))
    fails("PLS-00418", lambda: k.callfunc("pk.total", int, [k.arrayvar(str, ["x"])]))
    fails("PLS-00306", lambda: k.callfunc("pk.total", int, [1]))
    fails("ORA-06502", lambda: k.callproc("pk.twice", [k.arrayvar(str, ["x" * 20], 40)]))
    fails("ORA-01484", lambda: k.execute("select :1 from dual", [k.arrayvar(int, [1])]))
    fails("ORA-01484", lambda: k.execute("update w set n = :1", [k.arrayvar(int, [1])]))
    fails("PLS-00382", lambda: k.execute("begin :1 := true; end;", [k.var(int)]))
    fails("PLS-00382", lambda: k.execute("declare r sys_refcursor; begin r := :1; end;", [5]))
    k.callproc("dbms_output.enable")
    k.execute("begin for i in 1 .. 5 loop dbms_output.put_line('line ' || i); end loop; end;")
    lines, n = k.arrayvar(str, 3, 100), k.var(int)
    for wanted in (["line 1", "line 2", "line 3"], ["line 4", "line 5"], []):
        n.setvalue(0, 3)
        k.callproc("dbms_output.get_lines", [lines, n])
        assert (lines.getvalue(), n.getvalue()) == (wanted, len(wanted))
    k.callproc("dbms_output.disable")
    assert k.execute("select 1 from dual").fetchone() == (1,)


def blocks(c):
    k = c.cursor()
    text, n, day = k.var(str, 100), k.var(int), k.var(datetime.datetime)
    for who in ["there", "again"]:
        block = "begin :o := 'hi ' || :i; :n := :m * 2; :d := date '2020-02-03'; end;"
        k.execute(block, o=text, i=who, n=n, m=21, d=day)
        assert (text.getvalue(), n.getvalue(), day.getvalue()) == (f"hi {who}", 42, datetime.datetime(2020, 2, 3))
    b = k.var(str, 50)
    b.setvalue(0, "x")
    assert k.callproc("p", [5, b]) == [5, "x5"]
    assert k.callfunc("f", int, [7]) == 21
    assert k.callfunc("f", int, [None]) is None
    fails("ORA-06502", lambda: k.execute("begin :o := rpad('x', 500); end;", o=k.var(str, 100)))
    fails("ORA-20001", lambda: k.execute("begin raise_application_error(-20001, 'own'); end;"))
    fails("ORA-06550", lambda: k.execute("begin nosuch; end;"))
    assert k.execute("select 1 from dual").fetchone() == (1,)


    k.executemany("begin insert into w values (:1, :2); end;", [(n, "b") for n in range(90, 93)])
    assert k.execute("select count(*) from w where t = 'b'").fetchone() == (3,)
    c.rollback()
    out = k.var(int, arraysize=5)
    k.setinputsizes(None, out)
    k.executemany("begin p2(:a, :b); end;", [(n,) for n in range(5)])
    assert [out.getvalue(n) for n in range(5)] == [0, 2, 4, 6, 8]
    long = "z" * 3000
    k.executemany("insert into u.wide values (:1, :2)", [(n, long) for n in range(700)])
    assert k.execute("select count(*), sum(length(t)), max(n) from u.wide").fetchone() == (700, 2_100_000, 699)
    c.rollback()
    # A message of every length around that of a packet.
    for length in list(range(7900, 8200, 7)) + list(range(16000, 16400, 19)):
        assert k.execute("begin :o := length(:i); end;", o=n, i="y" * length) is None and n.getvalue() == length


def many_binds(c):
    """So many binds that a quadratic cost takes minutes, and more than a statement may have."""
    k = c.cursor()
    many, most = 20_000, 65_535
    for _ in range(2):
        total = k.var(int)
        adds = "".join(f"n := n + :b{n}; " for n in range(many))
        k.execute(f"declare n number := 0; begin {adds} :t := n; end;", [*range(many), total])
        assert total.getvalue() == sum(range(many))

    def query(binds):
        lists = (",".join(f":{n}" for n in range(first, min(first + 1000, binds))) for first in range(0, binds, 1000))
        text = "select count(*) from dual where 1 in (" + ") or 1 in (".join(lists) + ")"
        return k.execute(text, list(range(binds))).fetchone()

    assert query(many) == (1,)
    fails("ORA-01745", lambda: query(most + 1))
    block = "begin " + "".join(f"n := :b{n}; " for n in range(most + 1)) + "end;"
    fails("ORA-01745", lambda: k.execute(block, list(range(most + 1))))
    assert k.execute("select 1 from dual").fetchone() == (1,)


def rowids(c):
    cur = c.cursor()
    keys = [(1, "x"), (2, "ABC" * 75), (3, "A" * 250)]
    cur.executemany("insert into io values (:1, :2)", keys)
    for rowid, shown, a in cur.execute("select rowid, rowidtochar(rowid), a from io").fetchall():
        assert rowid == shown and rowid.startswith("*"), (rowid, shown)
        assert cur.execute("select a from io where rowid = :1", [rowid]).fetchall() == [(a,)]
    cur.execute("insert into rids select a, null, rowid from io")
    named = cur.execute("select count(*) from rids, io where io.rowid = rids.u").fetchone()
    assert named == (3,), named
    cur.execute("insert into rids select n, rowid, rowid from w where rownum = 1")
    cur.execute("insert into rids values (9, null, null)")
    found = cur.execute("select n, r, u from rids order by n").fetchall()
    assert found[-1] == (9, None, None) and any(r is not None and r == u for _, r, u in found), found
    out = cur.var(oracledb.DB_TYPE_UROWID)
    cur.execute("begin select rowid into :1 from io where a = 3; end;", [out])
    assert cur.execute("select length(b) from io where rowid = :1", [out.getvalue()]).fetchone() == (250,)
    cur.setinputsizes(r=oracledb.DB_TYPE_UROWID)
    cur.execute("insert into rids values (10, null, :r)", r=out)
    fails("ORA-01410", lambda: cur.execute("select a from io where rowid = :1", ["*BAAAAA"]).fetchall())
    c.rollback()


def ends(c):
    """Values too large for a bind, invalid names of binds, and the end of the rows."""
    cur = c.cursor()
    number, text = cur.var(int), cur.var(str, 2)
    insert = "insert into w values (77, 'much too long') returning n, t into :1, :2"
    fails("DPY-4002", lambda: cur.execute(insert, [number, text]))
    wide = cur.var(str, 20)
    cur.execute("update w set t = 'fits' where n = 77 returning t into :1", [wide])
    assert wide.getvalue() == ["fits"]
    fails("ORA-01745", lambda: cur.parse("select :ROWID from dual"))
    fails("ORA-01745", lambda: cur.parse("update w set n = 1 returning n into :date"))
    assert cur.execute('select :"DATE" from dual', ["quoted"]).fetchone() == ("quoted",)
    trips = (
        "select value from v$sesstat join v$statname using (statistic#) "
        "where sid = :1 and name = 'SQL*Net roundtrips to/from client'"
    )
    with connect(user="sys", password="Secret1", mode=oracledb.AUTH_MODE_SYSDBA) as other:

        def count(rows, size):
            before = other.cursor().execute(trips, [c.session_id]).fetchone()[0]
            with c.cursor() as cursor:
                cursor.prefetchrows = cursor.arraysize = size
                assert len(cursor.execute(f"select id from v where rownum <= {rows}").fetchall()) == rows
            return other.cursor().execute(trips, [c.session_id]).fetchone()[0] - before

        # After exactly the requested number of rows it is unknown whether there are more.
        asked = [(1, 2), (1, 1), (5, 1), (300, 300), (590, 300)]
        assert [count(rows, size) for rows, size in asked] == [1, 2, 6, 2, 2]
    c.rollback()


def breaks(c):
    k = c.cursor()
    for sql in ["begin loop null; end loop; end;", "select count(*) from v a, v b, v c, v d"]:
        timer = threading.Timer(0.2, c.cancel)
        timer.start()
        fails("ORA-01013", lambda: k.execute(sql))
        timer.join()
        assert k.execute("select 8 from dual").fetchone() == (8,)
    c.call_timeout = 300
    fails("DPY-4024", lambda: k.execute("begin loop null; end loop; end;"))
    c.call_timeout = 0
    assert k.execute("select 9 from dual").fetchone() == (9,)
    c.cancel()
    fails("ORA-01013", lambda: k.execute("select 10 from dual"))
    assert k.execute("select 11 from dual").fetchone() == (11,)
    with connect() as waits:
        k.execute("insert into w values (70, null)")
        timer = threading.Timer(0.3, waits.cancel)
        timer.start()
        fails("ORA-01013", lambda: waits.cursor().execute("insert into w values (70, null)"))
        timer.join()
        c.rollback()


def sessions(c):
    c.module, c.action, c.client_identifier = "mod", "act", "me"
    c.ping()
    seen = local("select 'seen:' || module || action || client_identifier from v$session where username = 'U'")
    assert "seen:modactme" in seen, seen
    c.current_schema = "SYS"
    assert c.cursor().execute("select sys_context('userenv', 'current_schema') from dual").fetchone() == ("SYS",)
    c.current_schema = "NOSUCH"
    fails("ORA-01435", lambda: c.cursor().execute("select 1 from dual"))
    c.current_schema = "U"
    killed = connect()
    killed.cursor().execute("insert into w values (80, null)")
    local(f"alter system kill session '{killed.session_id},{killed.serial_num}'")
    fails("ORA-00028", lambda: killed.cursor().execute("select 1 from dual"))
    gone = connect()
    gone.cursor().execute("insert into w values (80, null)")
    process = int(local(f"select 'p' || spid || 'p' from v$process p, v$session s where s.paddr = p.addr and s.sid = {gone.session_id}").split("p")[1])
    import os
    import signal

    os.kill(process, signal.SIGKILL)
    fails("DPY-4011", lambda: gone.cursor().execute("select 1 from dual"))
    assert c.cursor().execute("select count(*) from w where n = 80").fetchone() == (0,)


def time_zones():
    """All four types of time in both directions. The driver uses the clock of a received value and drops the zone."""
    import os

    moment = datetime.datetime(2022, 6, 2, 8, 0, 0, 125000)
    os.environ["ORA_SDTZ"] = "Europe/Berlin"
    c = connect()
    del os.environ["ORA_SDTZ"]
    k = c.cursor()
    assert k.execute("select sessiontimezone, dbtimezone from dual").fetchone() == ("Europe/Berlin", "+00:00")
    local("create table u.times (id number, tz timestamp with time zone, ltz timestamp with local time zone, ts timestamp, d date)")
    kinds = [oracledb.DB_TYPE_TIMESTAMP_TZ, oracledb.DB_TYPE_TIMESTAMP_LTZ, oracledb.DB_TYPE_TIMESTAMP, oracledb.DB_TYPE_DATE]
    for n, kind in enumerate(kinds):
        k.setinputsizes(None, *[kind] * 4)
        k.execute("insert into times values (:1, :2, :3, :4, :5)", [n] + [moment] * 4)
    shown = "select to_char(tz, 'HH24:MI TZR'), to_char(ltz, 'HH24:MI TZR'), to_char(ts, 'HH24:MI'), to_char(d, 'HH24:MI') from times where id = :1"
    rows = [k.execute(shown, [n]).fetchone() for n in range(4)]
    assert rows[0] == ("08:00 +00:00", "10:00 EUROPE/BERLIN", "08:00", "08:00"), rows[0]
    assert rows[1] == ("10:00 EUROPE/BERLIN", "10:00 EUROPE/BERLIN", "10:00", "10:00"), rows[1]
    assert rows[2] == ("08:00 EUROPE/BERLIN", "08:00 EUROPE/BERLIN", "08:00", "08:00") == rows[3], rows[2:]
    k.execute("select id, tz, ltz, ts, d from times where id = 0")
    assert [d[1] for d in k.description[1:]] == kinds
    assert k.fetchone() == (0, moment, moment, moment, moment.replace(microsecond=0))
    # A region is sent as Oracle's number, for which this driver has no name.
    fails("DPY-3022", lambda: k.execute("select timestamp '2022-06-02 08:00:00 Europe/Berlin' from dual").fetchone())
    east = k.execute("select timestamp '2022-06-02 08:00:00 +05:30' from dual").fetchone()[0]
    assert east == datetime.datetime(2022, 6, 2, 8), east
    at = k.var(oracledb.DB_TYPE_TIMESTAMP_TZ)
    k.execute("begin :1 := timestamp '2022-06-02 08:00:00 Europe/Berlin' at time zone '-03:30'; end;", [at])
    assert at.getvalue() == datetime.datetime(2022, 6, 2, 2, 30), at.getvalue()
    fails("ORA-01882", lambda: k.execute("alter session set time_zone = 'Mars/Olympus'"))
    fails("ORA-01878", lambda: k.execute("select timestamp '2022-03-27 02:30:00 Europe/Berlin' from dual"))
    assert k.execute("select count(distinct tz) from times").fetchone() == (3,)
    c.close()


def sessionless():
    one, two = connect(), connect()
    a, b = one.cursor(), two.cursor()
    insert, count = "insert into sessionless (n) values (:1)", "select count(*) from sessionless"
    seen = lambda cursor: cursor.execute(count).fetchone()[0]

    # The start precedes a call or is sent alone; a suspended transaction is detached until it is resumed.
    one.begin_sessionless_transaction(b"first", timeout=60, defer_round_trip=True)
    a.execute(insert, (1,))
    assert seen(a) == 1 and one.transaction_in_progress
    fails("ORA-26217", lambda: two.begin_sessionless_transaction(b"first"))
    # A session that cannot resume one gets an error, and continues.
    fails("ORA-25351", lambda: two.resume_sessionless_transaction(b"first", timeout=0))
    one.suspend_sessionless_transaction()
    assert seen(a) == 0 and not one.transaction_in_progress
    fails("DPY-3036", one.suspend_sessionless_transaction)
    two.resume_sessionless_transaction(b"first", defer_round_trip=True)
    b.executemany(insert, [(2,), (3,)], suspend_on_success=True)
    assert seen(b) == 0 and not two.transaction_in_progress
    two.resume_sessionless_transaction(b"first")
    assert seen(b) == 3
    two.commit()
    fails("DPY-3036", two.suspend_sessionless_transaction)
    fails("ORA-26218", lambda: two.resume_sessionless_transaction(b"first"))
    assert seen(a) == 3

    # A failing statement leaves no changes.
    one.begin_sessionless_transaction(b"second", timeout=60)
    fails("ORA-01722", lambda: a.execute("insert into sessionless (n) values ('x')", suspend_on_success=True))
    a.execute(insert, (4,), suspend_on_success=True)
    assert seen(a) == 3
    # Another user's transaction is not visible.
    with connect("other") as other:
        fails("ORA-26218", lambda: other.resume_sessionless_transaction(b"second"))
    # Transactions begun by statements and by calls are not mixed.
    resume = "begin :id := dbms_transaction.start_transaction('7365636F6E64', 1, 5, 2); end;"
    b.execute(resume, id=b.var(oracledb.DB_TYPE_RAW))
    fails("DPY-3034", two.suspend_sessionless_transaction)
    b.callproc("dbms_transaction.suspend_transaction")
    fails("DPY-3036", two.suspend_sessionless_transaction)
    # DDL ends it.
    two.resume_sessionless_transaction(b"second")
    b.execute("alter table sessionless add (m number)")
    fails("DPY-3036", two.suspend_sessionless_transaction)
    assert seen(a) == 4
    # It ends with its attached session.
    two.begin_sessionless_transaction(b"third")
    b.execute(insert, (5,))
    two.close()
    fails("ORA-26218", lambda: one.resume_sessionless_transaction(b"third"))
    assert seen(a) == 4
    # An identifier that is too long is refused, and the connection continues.
    for xid in [one.xid(1, "g" * 65, "b"), one.xid(1, "g", "b" * 65)]:
        fails("ORA-03115", lambda: one.tpc_begin(xid))
    assert seen(a) == 4
    one.close()


def many():
    opened, failed = [], []

    def one():
        try:
            c = connect()
            opened.append(c)
            assert c.cursor().execute("select 5 from dual").fetchone() == (5,)
        except Exception as e:
            failed.append(e)

    threads = [threading.Thread(target=one) for _ in range(50)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failed and len(opened) == 50, failed
    for c in opened:
        c.close()


logons()
passwords()
with connect() as connection:
    queries(connection)
    changes(connection)
    arrays(connection)
    blocks(connection)
    many_binds(connection)
    cursors(connection)
    cursor_arguments(connection)
    parses(connection)
    tables(connection)
    rowids(connection)
    ends(connection)
    breaks(connection)
    sessions(connection)
time_zones()
sessionless()
many()
print("all done")
