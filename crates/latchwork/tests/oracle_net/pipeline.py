"""Pipelines of python-oracledb: calls that do not wait for answers. Arguments: port, service."""

import asyncio
import sys

import oracledb

PORT, SERVICE = sys.argv[1:3]
TRIPS = "select value from v$mystat join v$statname using (statistic#) where name = 'SQL*Net roundtrips to/from client'"


def connect(**more):
    return oracledb.connect_async(user="u", password="Tiger1", dsn=f"127.0.0.1:{PORT}/{SERVICE}", **more)


async def value(c, sql):
    with c.cursor() as cursor:
        await cursor.execute(sql)
        return (await cursor.fetchone())[0]


def pipeline(*steps):
    p = oracledb.create_pipeline()
    for step in steps:
        if step == "commit":
            p.add_commit()
        elif isinstance(step, tuple):
            p.add_executemany(*step)
        elif step.startswith("select"):
            p.add_fetchall(step)
        else:
            p.add_execute(step)
    return p


async def modes(c):
    steps = [
        "insert into piped values (1, 'a')",
        "insert into piped_none values (2, 'b')",
        "select n from piped order by n",
        "commit",
    ]
    results = await c.run_pipeline(pipeline(*steps), continue_on_error=True)
    assert results[1].error.full_code == "ORA-00942", results[1].error
    assert results[2].rows == [(1,)], results[2].rows
    assert [r.error is None for r in results] == [True, False, True, True]
    try:
        await c.run_pipeline(pipeline(*steps))
        raise AssertionError("an error is wanted")
    except oracledb.Error as e:
        assert e.args[0].full_code == "ORA-00942", e
    assert await value(c, "select count(*) from piped") == 2
    await c.rollback()
    assert await value(c, "select count(*) from piped") == 1


async def trips(c):
    before = await value(c, TRIPS)
    results = await c.run_pipeline(pipeline(*["select user from dual"] * 20))
    assert [r.rows for r in results] == [[("U",)]] * 20
    # The query itself takes one or two.
    assert await value(c, TRIPS) - before <= 3


async def large(c):
    rows = [(n, "x" * 2000) for n in range(300)]
    steps = [("insert into piped values (:1, :2)", rows)] * 8 + ["select n, t from piped"] * 8
    results = await c.run_pipeline(pipeline("delete from piped", *steps, "commit"))
    assert all(len(r.rows) == 2400 for r in results[9:17])
    assert all(len(t) == 2000 for _, t in results[16].rows)


async def broken(c):
    """A break fails the running call; the driver gets the answer to the break after its next call."""
    run = c.run_pipeline(
        pipeline("begin dbms_session.sleep(60); end;", "select 'behind' from dual"), continue_on_error=True
    )
    task = asyncio.create_task(run)
    async with connect() as other:
        sql = f"select count(*) from v$session where sid = {c.session_id} and status = 'ACTIVE' and event like '%timer%'"
        while await value(other, sql) == 0:
            await asyncio.sleep(0.01)
        c.cancel()
    results = await task
    assert results[0].error.full_code == "ORA-01013", results[0].error
    assert results[1].rows == [("behind",)], results[1].error
    try:
        await value(c, "select 1 from dual")
    except oracledb.Error as e:
        assert e.args[0].full_code == "ORA-01013", e
    assert await value(c, "select 'again' from dual") == "again"


async def run():
    async with connect() as c:
        await modes(c)
        await trips(c)
        await large(c)
        await broken(c)
    # Packets of the smallest size.
    async with connect(sdu=512) as c:
        await large(c)
    print("all done")


asyncio.run(run())
