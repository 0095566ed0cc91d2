"""LOBs with python-oracledb in thin mode. Arguments: port, service, directory of the instance."""

import sys

import oracledb

PORT, SERVICE, LATCHWORK, DIRECTORY = sys.argv[1:5]
CLOB, BLOB = oracledb.DB_TYPE_CLOB, oracledb.DB_TYPE_BLOB
TEXT = "a\u00e9\u20ac\U0001f600" * 9000
DATA = bytes(range(256)) * 300


def connect():
    return oracledb.connect(user="u", password="Tiger1", dsn=f"127.0.0.1:{PORT}/{SERVICE}")


def fails(code, call):
    try:
        call()
    except oracledb.Error as e:
        assert code in str(e), f"{code} wanted, not {e}"
        return
    raise AssertionError(f"{code} wanted")


def units(text):
    return len(text.encode("utf-16-le")) // 2


def values(c):
    k = c.cursor()
    k.setinputsizes(None, CLOB, BLOB)
    k.execute("insert into docs values (:1, :2, :3)", [1, TEXT, DATA])
    k.execute("insert into docs values (2, empty_clob(), empty_blob())")
    k.execute("insert into docs values (3, null, null)")
    c.commit()
    k.execute("select c, b from docs where id = 1")
    assert [d[1] for d in k.description] == [CLOB, BLOB]
    text, data = k.fetchone()
    assert text.size() == units(TEXT) and data.size() == len(DATA)
    assert text.read() == TEXT and data.read() == DATA
    assert text.read(units(TEXT) - 3) == TEXT[-3:], text.read(units(TEXT) - 3)
    assert text.read(2, 2) == "\u00e9\u20ac" and data.read(3, 2) == b"\x02\x03"
    assert text.getchunksize() == data.getchunksize() == 8132
    empty = k.execute("select c, b from docs where id = 2").fetchone()
    assert [lob.size() for lob in empty] == [0, 0] and not empty[0].read() and not empty[1].read()
    assert k.execute("select c, b from docs where id = 3").fetchone() == (None, None)
    # Values that are not columns are temporary LOBs.
    assert k.execute("select c || '!', to_clob('x') from docs where id = 2").fetchone()[0].read() == "!"
    rows = k.execute("select id, c from docs where id < 3 order by id").fetchall()
    assert [(n, lob.size()) for n, lob in rows] == [(1, units(TEXT)), (2, 0)]
    oracledb.defaults.fetch_lobs = False
    again = k.execute("select id, c, b from docs where id in (1, 3) order by id").fetchall()
    assert again == [(1, TEXT, DATA), (3, None, None)]
    oracledb.defaults.fetch_lobs = True


def changes(c):
    k = c.cursor()
    before = k.execute("select c from docs where id = 1").fetchone()[0]
    fails("ORA-22920", lambda: before.write("x"))
    text, data = k.execute("select c, b from docs where id = 1 for update").fetchone()
    text.write("XY", 3)
    assert text.read(1, 4) == "a\u00e9XY"
    text.trim(4)
    assert text.read() == "a\u00e9XY" and text.size() == 4
    text.write("tail", 7)
    data.write(b"\xff\xfe", len(DATA) + 1)
    assert data.size() == len(DATA) + 2
    c.commit()
    # A locator read before the change keeps the old content; the one that made the change has the new content.
    assert before.read() == TEXT
    assert text.read() == "a\u00e9XY  tail"
    # A locator fetched within a transaction outlives it, with the transaction's changes.
    k.execute("insert into docs values (77, 'first', null)")
    inserted = k.execute("select c from docs where id = 77").fetchone()[0]
    c.commit()
    assert inserted.read() == "first"
    k.execute("update docs set c = 'second' where id = 77")
    updated = k.execute("select c from docs where id = 77").fetchall()[0][0]
    c.commit()
    assert updated.read() == "second"
    k.execute("delete from docs where id = 77")
    c.commit()
    fails("ORA-22920", lambda: text.write("x"))
    fails("ORA-22926", lambda: c.cursor().execute("select c from docs where id = 1 for update").fetchone()[0].trim(99))
    c.rollback()
    found = k.execute("select c, b from docs where id = 1").fetchone()
    assert found[0].read() == "a\u00e9XY  tail" and found[1].read() == DATA + b"\xff\xfe"
    text = k.execute("select c from docs where id = 1 for update").fetchone()[0]
    assert not text.isopen()
    text.open()
    assert text.isopen()
    text.close()
    assert not text.isopen()
    text.write("gone", 1)
    c.rollback()
    assert text.read() == "a\u00e9XY  tail"
    k.execute("delete from docs where id = 1")
    c.commit()
    fails("ORA-22922", lambda: text.read())


def binds(c):
    k = c.cursor()
    out = k.var(CLOB)
    k.execute("insert into docs values (4, empty_clob(), null) returning c into :1", [out])
    lob = out.getvalue()
    lob = lob[0] if isinstance(lob, list) else lob
    lob.write("returned")
    c.commit()
    assert k.execute("select c from docs where id = 4").fetchone()[0].read() == "returned"
    temporary = c.createlob(CLOB)
    temporary.write("temporary")
    k.execute("insert into docs values (5, :1, null)", [temporary])
    assert k.execute("select c from docs where id = 5").fetchone()[0].read() == "temporary"
    # A locator fetched by a block refers to the row.
    row = k.execute("select c from docs where id = 5 for update").fetchone()[0]
    k.execute("begin dbms_lob.append(:1, ' and more'); end;", [row])
    assert k.execute("select c from docs where id = 5").fetchone()[0].read() == "temporary and more"
    result = k.var(CLOB)
    k.execute("begin :1 := rpad('x', 30000, 'x') || :2; end;", [result, row])
    assert result.getvalue().read() == "x" * 30000 + "temporary and more", result.getvalue().size()
    k.execute("declare l clob; begin select c into l from docs where id = 5; :1 := l; end;", [result])
    result.getvalue().write("T", 1)
    assert k.execute("select c from docs where id = 5").fetchone()[0].read() == "Temporary and more"
    k.setinputsizes(None, CLOB)
    k.executemany("insert into docs values (:1, :2, null)", [(n, "z" * n * 1000) for n in range(10, 15)])
    assert k.execute("select sum(dbms_lob.getlength(c)) from docs where id >= 10").fetchone() == (60000,)
    c.rollback()
    cursor = k.callfunc("docs_of", oracledb.DB_TYPE_CURSOR, [4])
    assert cursor.fetchone()[1].read() == "returned"


with connect() as connection:
    values(connection)
    changes(connection)
    binds(connection)
print("all done")
