"""The catalog queries of a database browser that opens a schema, as sent by DBeaver."""

import sys

import oracledb

port, service = sys.argv[1:3]
c = oracledb.connect(user="app", password="Tiger1", dsn=f"127.0.0.1:{port}/{service}").cursor()
for sql in (
    "create table dept (id number(4) constraint pk_dept primary key, name varchar2(20) not null)",
    "create table emp (id number generated as identity primary key, dept number(4) constraint fk_emp references dept, "
    "sal number(8,2) default 1, constraint ck_sal check (sal > 0))",
    "create index ix_emp on emp (lower(to_char(sal)), dept desc)",
    "create view v_emp as select id, sal from emp",
    "create sequence seq_emp",
    "create synonym s_emp for emp",
    "create procedure raise_all (by_what number) is begin update emp set sal = sal + by_what; end;",
    "create package pay as procedure p (n in number); function f (t in out varchar2) return date; end;",
    "comment on table emp is 'staff'",
    "comment on column emp.sal is 'salary'",
):
    c.execute(sql)


def rows(sql, *binds):
    try:
        c.execute(sql, binds)
    except oracledb.Error as e:
        raise AssertionError(f"{e}\n{sql}")
    return c.fetchall()


def same(what, actual, wanted):
    assert actual == wanted, f"{what}: {actual!r}, and not {wanted!r}"


HINT = "/*+RULE*/"
# The connection.
same("role", rows("SELECT 'YES' FROM USER_ROLE_PRIVS WHERE GRANTED_ROLE='DBA'"), [])
same("schema", rows("SELECT SYS_CONTEXT( 'USERENV', 'CURRENT_SCHEMA' ) FROM DUAL"), [("APP",)])
rows("SELECT * FROM PRODUCT_COMPONENT_VERSION")
for view in ("ALL_ALL_TABLES", "ALL_TAB_COLS", "ALL_OBJECTS", "ALL_MVIEWS", "ALL_RECYCLEBIN"):
    try:
        c.execute(f"SELECT 1 FROM SYS.{view} WHERE 1<>1")
        assert view != "ALL_RECYCLEBIN"
    except oracledb.Error as e:
        assert view == "ALL_RECYCLEBIN" and e.args[0].code == 942, f"{view}: {e}"
try:
    c.execute("SELECT 1 FROM SYS.DBA_TABLES WHERE 1<>1")
    raise AssertionError("DBA_TABLES is for those who may read it")
except oracledb.Error as e:
    same("DBA_TABLES", e.args[0].code, 942)
for view in ("V$PARAMETER", "V$INSTANCE", "V$SESSION"):
    try:
        c.execute(f"SELECT * FROM {view}")
        raise AssertionError(f"{view} is for those who may read it")
    except oracledb.Error as e:
        same(view, e.args[0].code, 942)
schemas = rows("SELECT U.* FROM SYS.ALL_USERS U ORDER BY USERNAME")
assert "APP" in [s[0] for s in schemas]
# Tables and their columns.
tables = rows(
    f"SELECT {HINT} O.*, t.TABLE_TYPE_OWNER,t.TABLE_TYPE,t.TABLESPACE_NAME,t.PARTITIONED,t.IOT_TYPE,t.IOT_NAME,"
    "t.TEMPORARY,t.SECONDARY,t.NESTED,t.NUM_ROWS FROM SYS.ALL_OBJECTS O, SYS.ALL_ALL_TABLES t "
    "WHERE t.OWNER(+) = O.OWNER AND t.TABLE_NAME(+) = o.OBJECT_NAME "
    "AND O.OWNER=:1 AND O.OBJECT_TYPE IN ('TABLE', 'VIEW', 'MATERIALIZED VIEW')", "APP")
same("tables", sorted(t[1] for t in tables), ["DEPT", "EMP", "V_EMP"])
columns = rows("SELECT c.*,c.TABLE_NAME as OBJECT_NAME FROM SYS.ALL_TAB_COLS c WHERE c.OWNER=:1 AND c.TABLE_NAME=:2 "
               "ORDER BY c.TABLE_NAME,c.COLUMN_ID", "APP", "EMP")
same("columns", [x[2] for x in columns if not x[2].startswith("SYS_NC")], ["ID", "DEPT", "SAL"])
same("comments", rows("SELECT TABLE_NAME, COMMENTS FROM ALL_TAB_COMMENTS WHERE OWNER=:1 AND COMMENTS IS NOT NULL",
    "APP"),
     [("EMP", "staff")])
same("comments", rows("SELECT COLUMN_NAME, COMMENTS FROM ALL_COL_COMMENTS cc WHERE CC.OWNER=:1 AND cc.TABLE_NAME=:2 "
                      "AND COMMENTS IS NOT NULL", "APP", "EMP"), [("SAL", "salary")])
keys = rows(
    "SELECT c.TABLE_NAME, c.CONSTRAINT_NAME, c.CONSTRAINT_TYPE, c.STATUS, c.SEARCH_CONDITION, "
    "(SELECT LISTAGG(COLUMN_NAME || ':' || POSITION,',') WITHIN GROUP (ORDER BY \"POSITION\") "
    "FROM ALL_CONS_COLUMNS col "
    "WHERE col.OWNER =:1 AND col.TABLE_NAME = :2 AND col.CONSTRAINT_NAME = c.CONSTRAINT_NAME GROUP BY CONSTRAINT_NAME) "
    "COLUMN_NAMES_NUMS FROM SYS.ALL_CONSTRAINTS c "
    "WHERE c.CONSTRAINT_TYPE <> 'R' AND c.OWNER = :3 AND c.TABLE_NAME = :4", "APP", "EMP", "APP", "EMP")
same("constraints", sorted((k[2], k[5]) for k in keys if k[4] != '"ID" IS NOT NULL'), [("C", "SAL:"), ("P", "ID:1")])
same("foreign keys", rows(
    "SELECT c.CONSTRAINT_NAME, c.R_CONSTRAINT_NAME, rc.TABLE_NAME AS R_TABLE_NAME, c.DELETE_RULE, "
    "(SELECT LISTAGG(COLUMN_NAME || ':' || POSITION,',') WITHIN GROUP (ORDER BY \"POSITION\") "
    "FROM ALL_CONS_COLUMNS col "
    "WHERE col.OWNER =:1 AND col.TABLE_NAME = :2 AND col.CONSTRAINT_NAME = c.CONSTRAINT_NAME GROUP BY CONSTRAINT_NAME) "
    "COLUMN_NAMES_NUMS FROM SYS.ALL_CONSTRAINTS c LEFT JOIN SYS.ALL_CONSTRAINTS rc "
    "ON rc.OWNER = c.r_OWNER AND rc.CONSTRAINT_NAME = c.R_CONSTRAINT_NAME AND rc.CONSTRAINT_TYPE='P' "
    "WHERE c.OWNER = :3 AND c.TABLE_NAME = :4 AND c.CONSTRAINT_TYPE = 'R'", "APP", "EMP", "APP", "EMP"),
    [("FK_EMP", "PK_DEPT", "DEPT", "NO ACTION", "DEPT:1")])
same("indexes", rows(
    f"SELECT {HINT} i.INDEX_NAME,i.INDEX_TYPE,i.UNIQUENESS,ic.COLUMN_POSITION,ic.DESCEND,iex.COLUMN_EXPRESSION "
    "FROM SYS.ALL_INDEXES i JOIN SYS.ALL_IND_COLUMNS ic ON i.owner = ic.index_owner AND i.index_name = ic.index_name "
    "LEFT JOIN SYS.ALL_IND_EXPRESSIONS iex ON iex.index_owner = i.owner AND iex.INDEX_NAME = i.INDEX_NAME "
    "AND iex.COLUMN_POSITION = ic.COLUMN_POSITION "
    "WHERE i.TABLE_OWNER=:1 AND i.TABLE_NAME=:2 AND i.INDEX_NAME = 'IX_EMP' "
    "ORDER BY i.INDEX_NAME,ic.COLUMN_POSITION", "APP", "EMP"),
    [("IX_EMP", "FUNCTION-BASED NORMAL", "NONUNIQUE", 1, "ASC", "LOWER(TO_CHAR(SAL))"),
     ("IX_EMP", "FUNCTION-BASED NORMAL", "NONUNIQUE", 2, "DESC", '"DEPT"')])
# Other objects of a schema.
same("sequences", [r[0] for r in rows(
    "SELECT SEQUENCE_NAME FROM SYS.ALL_SEQUENCES WHERE SEQUENCE_OWNER=:1 AND SEQUENCE_NAME NOT LIKE 'ISEQ%'", "APP")],
    ["SEQ_EMP"])
same("procedures", rows(
    "SELECT OBJECT_NAME, OBJECT_TYPE, STATUS FROM SYS.ALL_OBJECTS WHERE OBJECT_TYPE IN ('PROCEDURE','FUNCTION') "
    "AND OWNER=:1", "APP"), [("RAISE_ALL", "PROCEDURE", "VALID")])
same("package", rows(
    "SELECT P.PROCEDURE_NAME, P.SUBPROGRAM_ID, "
    "CASE WHEN A.DATA_TYPE IS NULL THEN 'PROCEDURE' ELSE 'FUNCTION' END as PROCEDURE_TYPE "
    "FROM ALL_PROCEDURES P LEFT OUTER JOIN ALL_ARGUMENTS A ON A.OWNER=P.OWNER AND A.PACKAGE_NAME=P.OBJECT_NAME "
    "AND A.OBJECT_NAME=P.PROCEDURE_NAME AND A.ARGUMENT_NAME IS NULL AND A.DATA_LEVEL=0 "
    "WHERE P.OWNER=:1 AND P.OBJECT_NAME=:2 AND P.PROCEDURE_NAME IS NOT NULL ORDER BY P.PROCEDURE_NAME", "APP", "PAY"),
    [("F", 2, "FUNCTION"), ("P", 1, "PROCEDURE")])
same("arguments", rows(
    "SELECT ARGUMENT_NAME, IN_OUT, DATA_TYPE, POSITION FROM SYS.ALL_ARGUMENTS WHERE OWNER=:1 AND OBJECT_NAME=:2 "
    "AND PACKAGE_NAME IS NULL ORDER BY SEQUENCE", "APP", "RAISE_ALL"), [("BY_WHAT", "IN", "NUMBER", 1)])
same("source", rows("SELECT TEXT FROM SYS.ALL_SOURCE WHERE TYPE=:1 AND OWNER=:2 AND NAME=:3 ORDER BY LINE",
                    "PROCEDURE", "APP", "RAISE_ALL")[0][0][:19], "procedure raise_all")
same("synonyms", rows(
    "SELECT s.SYNONYM_NAME, s.TABLE_NAME, O.OBJECT_TYPE FROM SYS.ALL_SYNONYMS S, SYS.ALL_OBJECTS O "
    "WHERE S.OWNER = :1 AND O.OWNER = S.TABLE_OWNER AND O.OBJECT_NAME=S.TABLE_NAME", "APP"), [("S_EMP", "EMP",
        "TABLE")])
same("view", rows("SELECT TEXT,TYPE_TEXT,OID_TEXT,VIEW_TYPE_OWNER,VIEW_TYPE,SUPERVIEW_NAME FROM SYS.ALL_VIEWS "
                  "WHERE OWNER=:1 AND VIEW_NAME=:2", "APP", "V_EMP")[0][0], "select id, sal from emp")
for nothing in (
    "SELECT * FROM SYS.ALL_MVIEWS WHERE OWNER=:1 ORDER BY MVIEW_NAME",
    "SELECT * FROM SYS.ALL_QUEUES WHERE OWNER=:1 ORDER BY NAME",
    "SELECT * FROM SYS.ALL_DB_LINKS WHERE OWNER=:1 ORDER BY DB_LINK",
    "SELECT * FROM SYS.ALL_JAVA_CLASSES WHERE OWNER=:1",
    "SELECT * FROM SYS.ALL_TYPES WHERE OWNER=:1 ORDER BY TYPE_NAME",
    "SELECT * FROM SYS.ALL_TRIGGERS WHERE OWNER=:1 AND TRIM(BASE_OBJECT_TYPE) IN ('DATABASE','SCHEMA')",
    "SELECT * FROM ALL_SCHEDULER_JOBS WHERE OWNER=:1 ORDER BY JOB_NAME",
    "SELECT * FROM ALL_SCHEDULER_PROGRAMS WHERE OWNER=:1",
    "SELECT * FROM ALL_PART_TABLES WHERE OWNER=:1",
    "SELECT * FROM ALL_TAB_PARTITIONS WHERE TABLE_OWNER=:1 ORDER BY PARTITION_POSITION",
    "SELECT * FROM ALL_TYPE_ATTRS WHERE OWNER=:1 ORDER BY ATTR_NO",
):
    same(nothing, rows(nothing, "APP"), [])
same("recycle bin", rows("SELECT * FROM USER_RECYCLEBIN"), [])
same("status", rows("SELECT STATUS FROM SYS.ALL_OBJECTS WHERE OBJECT_TYPE=:1 AND OWNER=:2 AND OBJECT_NAME=:3",
                    "TABLE", "APP", "EMP"), [("VALID",)])
print("all done")
