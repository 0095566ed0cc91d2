"""Client attributes of a session, with python-oracledb in thin mode. Arguments: port, service, program, directory."""

import subprocess
import sys

import oracledb

PORT, SERVICE, LATCHWORK, DIRECTORY = sys.argv[1:5]


def connect(user="u", password="Tiger1", **more):
    return oracledb.connect(user=user, password=password, dsn=f"127.0.0.1:{PORT}/{SERVICE}", **more)


def local(*statements):
    """Runs statements as SYSDBA on the local socket."""
    text = "".join(s + ";\n" for s in statements) + "exit\n"
    command = [LATCHWORK, "sql", "-s", "--dir", DIRECTORY, "/", "as", "sysdba"]
    out = subprocess.run(command, input=text, text=True, capture_output=True, timeout=60).stdout
    assert "ORA-" not in out, out
    return out


def fails(code, call):
    try:
        call()
    except oracledb.Error as e:
        assert code in str(e), f"{code} wanted, not {e}"
        return
    raise AssertionError(f"{code} wanted")


def row(c, sql, *binds):
    return c.cursor().execute(sql, binds).fetchone()


def env(c, name):
    return row(c, "select sys_context('userenv', :1) from dual", name)[0]


def names():
    with connect() as c:
        database = row(c, "select value from v$parameter where name = 'db_name'")[0]
        assert row(c, "select name, db_unique_name from v$database") == (database, database)
        assert (c.db_name, c.db_unique_name, env(c, "db_name"), env(c, "db_unique_name")) == (database,) * 4
        mine = "select service_name from v$session where sid = sys_context('userenv', 'sid')"
        assert c.service_name == env(c, "service_name") == row(c, mine)[0] == SERVICE.upper()
        served = "select count(*) from v$services s, v$active_services a, dba_services d where s.name = :1 and a.name = s.name and d.name = s.name"
        assert row(c, served, c.service_name) == (1,)
        assert c.instance_name == env(c, "instance_name") == row(c, "select instance_name from v$instance")[0]
        assert (env(c, "network_protocol"), env(c, "ip_address")) == ("tcp", "127.0.0.1")
        assert row(c, "select dbms_debug_jdwp.current_session_id, dbms_debug_jdwp.current_session_serial from dual") == (
            c.session_id,
            c.serial_num,
        )
        fails("ORA-02003", lambda: env(c, "no_such_thing"))
    with oracledb.connect(user="u", password="Tiger1", host="127.0.0.1", port=int(PORT), sid="latchwork") as c:
        assert c.service_name == env(c, "service_name") == "SYS$USERS"


def client():
    with connect(driver_name="a driver : 1", program="prog", machine="box", terminal="tty9", osuser="me") as c:
        info = "select client_driver, client_charset, client_version, osuser from v$session_connect_info where sid = :1"
        driver, charset, version, osuser = row(c, info, c.session_id)
        assert (driver, charset, osuser) == ("a driver : 1", "AL32UTF8", "me")
        assert version.split(".")[0] == oracledb.__version__.split(".")[0], version
        shown = "select program, machine, terminal, osuser, sign(port) from v$session where sid = :1"
        assert row(c, shown, c.session_id) == ("prog", "box", "tty9", "me", 1)
        c.module, c.action, c.client_identifier, c.clientinfo, c.dbop = "m", "a", "id", "info", "batch"
        said = "select module, action, client_identifier, client_info from v$session where sid = :1"
        assert row(c, said, c.session_id) == ("m", "a", "id", "info")
        assert row(c, "select dbop_name, status from v$sql_monitor where sid = :1", c.session_id) == ("batch", "EXECUTING")
        assert row(c, "select max(module), max(action) from v$sql where sql_text like 'select dbop_name%'") == ("m", "a")
        c.module = c.action = c.dbop = None
        assert row(c, said, c.session_id) == (None, None, "id", "info")
        assert row(c, "select count(*) from v$sql_monitor where sid = :1", c.session_id) == (0,)


def trips():
    names = ("SQL*Net roundtrips to/from client", "bytes sent via SQL*Net to client", "bytes received via SQL*Net from client")
    of = "select s.value from v$sesstat s, v$statname n where s.statistic# = n.statistic# and s.sid = :1 and n.name = :2"
    with connect() as c, connect() as other:
        def figures():
            return [row(other, of, c.session_id, name)[0] for name in names]

        before = figures()
        for _ in range(3):
            c.ping()
        one, sent, received = (now - then for now, then in zip(figures(), before))
        # A ping is a message of 13 bytes at least, and so is its answer.
        assert one == 3 and 30 < sent < 300 and 30 < received < 300, (one, sent, received)
        before = figures()
        cursor = c.cursor()
        cursor.prefetchrows, cursor.arraysize = 2, 100
        cursor.execute("select level, rpad('x', 100, 'x') from dual connect by level <= 302").fetchall()
        one, sent, received = (now - then for now, then in zip(figures(), before))
        assert 4 <= one <= 5 and sent > 302 * 100 and received < 1000, (one, sent, received)
        wait = "select event, p1, p1text, chr(trunc(p1 / 16777216)) from v$session_wait where sid = :1"
        assert row(other, wait, c.session_id) == ("SQL*Net message from client", 0x54435000, "driver id", "T")


def modes():
    for mode in (oracledb.SYSOPER, oracledb.SYSASM, oracledb.SYSBKP, oracledb.SYSDGD, oracledb.SYSKMT, oracledb.SYSRAC):
        fails("ORA-01031", lambda: connect(mode=mode))
        fails("ORA-01017", lambda: connect(mode=mode, password="wrong"))


def contexts():
    of = "select sys_context('clientcontext', :1), sys_context('nothing', 'ONE') from dual"
    with connect(appcontext=[("CLIENTCONTEXT", "one", "1"), ("clientcontext", "TWO", "2")]) as c, connect() as other:
        assert row(c, of, "ONE") == ("1", None) and row(c, of, "two") == ("2", None)
        assert row(other, of, "ONE") == (None, None)
        c.set_app_context("CLIENTCONTEXT", three="3", one="x" * 4000)
        assert row(c, of, "THREE") == ("3", None) and row(c, of, "ONE") == ("x" * 4000, None)
        c.clear_app_context("CLIENTCONTEXT")
        assert row(c, of, "THREE") == (None, None)
        c.set_app_context("MINE", one="1")
        fails("ORA-28267", c.ping)
        c.ping()
        cursor = c.cursor()
        cursor.callproc("dbms_session.set_context", ["clientcontext", "four", "4"])
        assert row(c, of, "FOUR") == ("4", None)
        cursor.callproc("dbms_session.clear_context", ["clientcontext", None, "four"])
        assert row(c, of, "FOUR") == (None, None)
        fails("ORA-01031", lambda: cursor.callproc("dbms_session.set_context", ["mine", "four", "4"]))
    fails("ORA-28267", lambda: connect(appcontext=[("USERENV", "ACTION", "1")]))
    # As many as fit a message before the proof; more are refused with an error.
    for many in (85, 86, 300):
        with connect(appcontext=[("CLIENTCONTEXT", f"c{n}", str(n)) for n in range(many)]) as c:
            last = f"select sys_context('clientcontext', 'c{many - 1}') from dual"
            assert row(c, last) == (str(many - 1),), many
    for many in (900, 6000):
        fails("ORA-03106", lambda: connect(appcontext=[("CLIENTCONTEXT", f"c{n}", str(n)) for n in range(many)]))


def settings():
    with connect() as c:
        assert c.current_schema is None and c.edition is None
        c.cursor().execute("alter session set current_schema = system")
        assert c.current_schema == "SYSTEM"
        c.current_schema = "U"
        assert env(c, "current_schema") == "U"
        c.cursor().execute("alter session set edition = ora$base")
        assert c.edition == env(c, "current_edition_name") == env(c, "session_edition_name") == "ORA$BASE"
        fails("ORA-38802", lambda: c.cursor().execute("alter session set edition = none_such"))
        for level in ("serializable", "read committed", "serializable", "read committed"):
            c.cursor().execute(f"alter session set isolation_level = {level}")
            row(c, "select count(*) from w")
        c.cursor().execute("insert into w values (-1, 'x')")
        fails("ORA-01453", lambda: c.cursor().execute("alter session set isolation_level = serializable"))
        c.rollback()
    fails("ORA-38802", lambda: connect(edition="none_such"))


def passwords():
    local("create user words identified by Tiger1", "grant create session to words")
    longest = "p" * 1024
    with connect(user="words") as c:
        for refused in ("1" * 1500, "p" * 70000):
            fails("ORA-00988", lambda: c.changepassword("Tiger1", refused))
        fails("ORA-28218", lambda: c.changepassword("Tiger1", longest + "p"))
        fails("ORA-28008", lambda: c.changepassword("wrong", "Tiger2"))
        fails("ORA-28218", lambda: c.cursor().execute(f'alter user words identified by "{longest}p" replace "Tiger1"'))
        c.changepassword("Tiger1", longest)
    with connect(user="words", password=longest) as c:
        c.changepassword(longest, "a/b@c")
    with connect(user="words", password="a/b@c", newpassword="Tiger1"):
        pass
    fails("ORA-00988", lambda: connect(user="words", newpassword="1" * 1500))
    connect(user="words").close()


def proxies():
    local(
        "alter user system identified by Manager1 account unlock",
        "create user web identified by Web1",
        "grant create session to web",
        "create user client no authentication",
        "create user \"Mixed\" identified by x",
        "create user shut identified by x account lock",
        "create user bare identified by x",
        "create role r1",
        "create role r2",
        "create role r3",
        "grant r3 to r1",
        "grant create session, r1, r2, r3 to client",
        "grant create session to \"Mixed\"",
        "alter user client, \"Mixed\", shut, bare grant connect through web",
    )
    roles = "select listagg(role, ' ') within group (order by role) from session_roles where role like 'R_'"

    def through(client="client", **more):
        return connect(user="web", password="Web1", proxy_user=client, **more)

    with through() as c:
        assert (c.username, c.proxy_user) == ("web", "client")
        assert [env(c, name) for name in ("session_user", "proxy_user", "current_schema")] == ["CLIENT", "WEB", "CLIENT"]
        number = "select user_id from all_users where username = 'WEB'"
        assert env(c, "proxy_userid") == str(row(c, number)[0])
        assert row(c, roles) == ("R1 R2 R3",)
        kind = "select authentication_type from v$session_connect_info where sid = sys_context('userenv', 'sid')"
        assert row(c, kind) == ("PROXY",)
    with connect(user="web[client]", password="Web1") as c:
        assert env(c, "session_user") == "CLIENT" and c.proxy_user == "client"
    with through('"Mixed"') as c:
        assert env(c, "session_user") == "Mixed"
    with connect(user="web", password="Web1") as c:
        assert env(c, "proxy_user") is None
    local("audit create session by client")
    through().close()
    local("noaudit create session by client")
    noted = "select action_name || ' ' || dbusername || ' ' || dbproxy_username from unified_audit_trail where dbusername = 'CLIENT'"
    with connect(user="system", password="Manager1") as c:
        said = [text for (text,) in c.cursor().execute(noted + " order by entry_id")]
    assert said == ["LOGON CLIENT WEB", "LOGOFF CLIENT WEB"], said
    fails("ORA-28150", lambda: through("u"))
    fails("ORA-28150", lambda: through("none_such"))
    fails("ORA-28150", lambda: through("r1"))
    fails("ORA-28150", lambda: through("public"))
    fails("ORA-28000", lambda: through("shut"))
    fails("ORA-01045", lambda: through("bare"))
    fails("ORA-01017", lambda: connect(user="web", password="wrong", proxy_user="client"))
    fails("ORA-01017", lambda: connect(user="none_such", password="Web1", proxy_user="client"))
    fails("ORA-28150", lambda: connect(user="u", password="Tiger1", proxy_user="client"))
    local("alter user client grant connect through web with role r2")
    with through() as c:
        assert row(c, roles) == ("R2",)
        fails("ORA-28157", lambda: c.cursor().execute("set role r1"))
        c.cursor().execute("set role all")
        assert row(c, roles) == ("R2",)
    local("alter user client grant connect through web with role all except r3")
    with through() as c:
        assert row(c, roles) == ("R1 R2",)
        c.cursor().execute("set role r1")
        assert row(c, roles) == ("R1",)
        fails("ORA-28157", lambda: c.cursor().execute("set role r3"))
    local("alter user client grant connect through web with no roles")
    with through() as c:
        assert row(c, roles) == (None,)
    local("alter user client grant connect through web authentication required")
    fails("ORA-28183", through)
    local("alter user client revoke connect through web")
    fails("ORA-28150", through)
    local("alter user client grant connect through web", "alter user web password expire")
    fails("ORA-28001", through)
    shell = [LATCHWORK, "sql", "-s", "-L", "--dir", DIRECTORY, "web[client]/Web1"]
    local("alter user web identified by Web1")
    text = "set heading off\nselect sys_context('userenv', 'proxy_user') || '>' || user from dual;\n"
    out = subprocess.run(shell, input=text, text=True, capture_output=True, timeout=60).stdout
    assert "WEB>CLIENT" in out, out


local("grant select any dictionary to u")
for part in (names, client, trips, modes, contexts, settings, passwords, proxies):
    part()
    print(part.__name__, "done")
print("all done")
