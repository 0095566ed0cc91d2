"""python-oracledb against the connection pool: pooled.py PORT SERVICE …."""

import sys
import threading
import time

import oracledb

port, service = sys.argv[1:3]
dsn = f"127.0.0.1:{port}/{service}:pooled"
who = {"user": "u", "password": "Tiger1", "dsn": dsn}


def one(connection, sql, *binds):
    with connection.cursor() as cursor:
        return cursor.execute(sql, binds).fetchone()[0]


def put(connection, value):
    connection.cursor().callproc("kept.put", [value])


GET = "select kept.get from dual"
SERVER = "select server from v$session where sid = sys_context('userenv', 'sid')"

# A standalone connection gets a new session, which ends with it.
with oracledb.connect(cclass="OWN", **who) as connection:
    assert one(connection, SERVER) == "POOLED"
    put(connection, 7)
with oracledb.connect(cclass="OWN", **who) as connection:
    assert one(connection, GET) == 1
with oracledb.connect(cclass="OWN", purity=oracledb.PURITY_SELF, **who) as connection:
    assert one(connection, GET) == 1
    put(connection, 8)

# The driver's pool keeps connections and releases their sessions.
pool = oracledb.create_pool(min=2, max=12, increment=1, cclass="APP", **who)
# The driver opens the second connection behind the call's back, and hands it out unused where a new one is wanted. One
# that is opened behind a release gets the session that was released.
deadline = time.monotonic() + 60
while pool.opened < 2:
    assert time.monotonic() < deadline, pool.opened
    time.sleep(0.01)
seen = []
for turn in range(6):
    with pool.acquire() as connection:
        seen.append(one(connection, GET))
        put(connection, 10 + turn)
        # Statements cached by the driver do not exist in the next session.
        assert one(connection, "select :1 + 1 from dual", turn) == turn + 1
        assert one(connection, "select :1 + 1 from dual", turn) == turn + 1
        connection.cursor().execute("insert into w values (1, 'not committed')")
        assert connection.session_id > 0
        assert connection.transaction_in_progress
with pool.acquire() as connection:
    assert one(connection, "select count(*) from w") == 0
    # An error of the first call after a release belongs to that call.
    assert seen[0] == 1 and seen[-1] > 9, seen
with pool.acquire() as connection:
    try:
        one(connection, "select * from nosuch")
        raise AssertionError("it is not there")
    except oracledb.DatabaseError as e:
        assert e.args[0].code == 942
    assert one(connection, "select 1 from dual") == 1
with pool.acquire() as connection:
    connection.ping()
    cursor = connection.cursor()
    cursor.executemany("insert into w values (:1, :2)", [(n, "x") for n in range(500)])
    connection.commit()
    assert cursor.execute("select count(*) from w").fetchone()[0] == 500
with pool.acquire(purity=oracledb.PURITY_NEW) as connection:
    got = one(connection, GET)
    assert got == 1, (got, pool.opened)

# More threads than servers.
failures = []


def work(number):
    try:
        for turn in range(5):
            with pool.acquire() as connection:
                cursor = connection.cursor()
                cursor.execute("insert into w values (:1, 'y')", [1000 + number * 10 + turn])
                connection.commit()
    except Exception as e:
        failures.append(e)


threads = [threading.Thread(target=work, args=[n]) for n in range(12)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not failures, failures
with pool.acquire() as connection:
    assert one(connection, "select count(*) from w where t = 'y'") == 60
    assert one(connection, "select count(*) from v$session where server = 'POOLED'") <= 3
pool.close()

# Unsupported by the pool.
try:
    with oracledb.connect(**who) as connection:
        connection.changepassword("Tiger1", "Tiger3")
    raise AssertionError("a password was changed")
except oracledb.DatabaseError as e:
    assert e.args[0].code == 56609, e
print("all done")
