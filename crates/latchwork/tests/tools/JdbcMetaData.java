import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;

/** Every method of DatabaseMetaData. */
public class JdbcMetaData {
    interface Rows {
        ResultSet get() throws SQLException;
    }

    static final List<String> wrong = new ArrayList<>();

    static void same(String what, Object actual, Object wanted) {
        if (!String.valueOf(actual).equals(String.valueOf(wanted))) {
            wrong.add(what + ": " + actual + ", and not " + wanted);
        }
    }

    /** The named columns of the rows, and how many there are. */
    static void rows(String what, Rows of, String wanted, String... columns) {
        try (ResultSet r = of.get()) {
            List<String> all = new ArrayList<>();
            while (r.next()) {
                StringBuilder row = new StringBuilder();
                for (String column : columns) {
                    row.append(row.length() == 0 ? "" : " ").append(r.getString(column));
                }
                all.add(row.toString());
            }
            same(what, all, wanted);
        } catch (SQLException e) {
            wrong.add(what + ": " + e.getMessage());
        }
    }

    public static void main(String[] args) throws Exception {
        String url = "jdbc:oracle:thin:@127.0.0.1:" + args[0] + "/" + args[1];
        Connection c = DriverManager.getConnection(url, "app", "Tiger1");
        try (Statement s = c.createStatement()) {
            for (String sql : new String[] {
                "create table mp (id number(10) generated as identity primary key, "
                    + "a varchar2(20) default 'x' not null, "
                    + "b number(10,2), c char(3), d date, t timestamp, r raw(10), f float, "
                    + "v number generated always as (b * 2) virtual, constraint mpu unique (a))",
                "comment on table mp is 'the parent'",
                "comment on column mp.a is 'its name'",
                "create table mc (x number(10), y number, constraint mcp primary key (x, y), "
                    + "constraint mcf foreign key (x) references mp on delete cascade)",
                "create index mi on mp (d, b)",
                "create view mv as select a, b from mp",
                "create function mf (p1 number, p2 in out varchar2) return date is begin return null; end;",
                "create package mpk as procedure q (a number, b out date); end;",
                "create synonym msy for mp",
            }) {
                s.execute(sql);
            }
        }
        DatabaseMetaData d = c.getMetaData();
        String us = "APP";
        rows("getTables", () -> d.getTables(null, us, "M%", new String[] {"TABLE", "VIEW", "SYNONYM"}),
            "[MSY SYNONYM, MC TABLE, MP TABLE, MV VIEW]", "TABLE_NAME", "TABLE_TYPE");
        rows("getColumns", () -> d.getColumns(null, us, "MP", "%"),
            "[ID 2 10 0 NO YES NO, A 12 20 null NO NO NO, B 2 10 2 YES NO NO, C 1 3 null YES NO NO, "
                + "D 93 7 null YES NO NO, "
                + "T 93 11 6 YES NO NO, R -3 10 null YES NO NO, F 6 126 null YES NO NO, V 2 0 -127 YES NO YES]",
            "COLUMN_NAME", "DATA_TYPE", "COLUMN_SIZE", "DECIMAL_DIGITS", "IS_NULLABLE", "IS_AUTOINCREMENT",
                "IS_GENERATEDCOLUMN");
        rows("getPrimaryKeys", () -> d.getPrimaryKeys(null, us, "MC"), "[X 1 MCP, Y 2 MCP]", "COLUMN_NAME", "KEY_SEQ",
            "PK_NAME");
        String[] key = {"PKTABLE_NAME", "PKCOLUMN_NAME", "FKTABLE_NAME", "FKCOLUMN_NAME", "DELETE_RULE", "FK_NAME"};
        rows("getImportedKeys", () -> d.getImportedKeys(null, us, "MC"), "[MP ID MC X 0 MCF]", key);
        rows("getExportedKeys", () -> d.getExportedKeys(null, us, "MP"), "[MP ID MC X 0 MCF]", key);
        rows("getCrossReference", () -> d.getCrossReference(null, us, "MP", null, us, "MC"), "[MP ID MC X 0 MCF]", key);
        rows("getIndexInfo", () -> d.getIndexInfo(null, us, "MC", true, true), "[null null, MCP X, MCP Y]",
            "INDEX_NAME", "COLUMN_NAME");
        rows("getIndexInfo of all", () -> d.getIndexInfo(null, us, "MC", false, true), "[null null, MCP X, MCP Y]",
            "INDEX_NAME", "COLUMN_NAME");
        rows("getProcedures", () -> d.getProcedures(null, us, "%"), "[null MF 2, MPK Q 1]", "PROCEDURE_CAT",
            "PROCEDURE_NAME", "PROCEDURE_TYPE");
        rows("getFunctions", () -> d.getFunctions(null, us, "%"), "[MF]", "FUNCTION_NAME");
        rows("getProcedureColumns", () -> d.getProcedureColumns("", us, "MF", "%"),
            "[null 5 DATE, P1 1 NUMBER, P2 2 VARCHAR2]", "COLUMN_NAME", "COLUMN_TYPE", "TYPE_NAME");
        rows("getProcedureColumns of a package", () -> d.getProcedureColumns("MPK", us, "Q", "%"),
            "[A 1 NUMBER, B 4 DATE]", "COLUMN_NAME", "COLUMN_TYPE", "TYPE_NAME");
        rows("getFunctionColumns", () -> d.getFunctionColumns("", us, "MF", "%"), "[null, P1, P2]", "COLUMN_NAME");
        rows("getSchemas", () -> d.getSchemas(null, "AP%"), "[APP]", "TABLE_SCHEM");
        rows("getCatalogs", d::getCatalogs, "[]");
        rows("getTableTypes", d::getTableTypes, "[SYNONYM, TABLE, VIEW]", "TABLE_TYPE");
        rows("getTablePrivileges", () -> d.getTablePrivileges(null, us, "%"), "[]");
        rows("getColumnPrivileges", () -> d.getColumnPrivileges(null, us, "MP", "%"), "[]");
        rows("getBestRowIdentifier", () -> d.getBestRowIdentifier(null, us, "MC", DatabaseMetaData.bestRowSession,
            true),
            "[X 1, Y 1]", "COLUMN_NAME", "PSEUDO_COLUMN");
        rows("getVersionColumns", () -> d.getVersionColumns(null, us, "MP"), "[]");
        rows("getUDTs", () -> d.getUDTs(null, us, "%", null), "[]");
        rows("getPseudoColumns", () -> d.getPseudoColumns(null, us, "MP", "ROWID"), "[ROWID]", "COLUMN_NAME");
        try (ResultSet r = d.getTypeInfo()) {
            int types = 0;
            while (r.next()) {
                types++;
            }
            same("getTypeInfo", types > 20, true);
        }
        d.getSchemas().close();
        d.getClientInfoProperties().close();
        for (Rows unsupported : new Rows[] {() -> d.getSuperTypes(null, us, "%"), () -> d.getSuperTables(null, us,
            "%")}) {
            try {
                unsupported.get().close();
            } catch (SQLFeatureNotSupportedException e) {
                // The driver itself has none.
            }
        }
        same("getUserName", d.getUserName(), "APP");
        same("getDatabaseMajorVersion", d.getDatabaseMajorVersion(), 19);
        same("getDatabaseProductName", d.getDatabaseProductName(), "Oracle");
        same("getMaxTableNameLength", d.getMaxTableNameLength(), 128);
        same("getMaxColumnNameLength", d.getMaxColumnNameLength(), 128);
        for (var method : DatabaseMetaData.class.getMethods()) {
            if (method.getParameterCount() != 0 || method.getReturnType() == ResultSet.class) {
                continue;
            }
            try {
                method.invoke(d);
            } catch (java.lang.reflect.InvocationTargetException e) {
                // Oracle's driver needs a grant on V_$PARAMETER for this one.
                boolean known = method.getName().equals("getMaxLogicalLobSize")
                    && e.getCause().getMessage().contains("ORA-17295");
                if (!known) {
                    wrong.add(method.getName() + ": " + e.getCause().getMessage());
                }
            }
        }
        if (!wrong.isEmpty()) {
            throw new AssertionError(String.join("\n", wrong));
        }
        System.out.println("all done");
    }
}
