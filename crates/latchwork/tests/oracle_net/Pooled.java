// JDBC against the connection pool of the database: Pooled.java PORT SERVICE.

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.Properties;
import oracle.jdbc.OracleConnection;

class Pooled {
    static final String QUERY =
        "select kept.get || ' ' || server from v$session where sid = sys_context('userenv', 'sid')";

    static void is(Connection c, String want) throws Exception {
        try (Statement s = c.createStatement(); ResultSet r = s.executeQuery(QUERY)) {
            r.next();
            if (!want.equals(r.getString(1))) throw new AssertionError(r.getString(1) + " is not " + want);
        }
    }

    static void put(Connection c, int n) throws Exception {
        try (PreparedStatement s = c.prepareStatement("begin kept.put(?); end;")) {
            s.setInt(1, n);
            s.execute();
        }
    }

    static Connection connect(String[] where, String purity) throws Exception {
        Properties p = new Properties();
        p.put("user", "u");
        p.put("password", "Tiger1");
        p.put("oracle.jdbc.DRCPConnectionClass", "JAVA");
        p.put("oracle.jdbc.DRCPConnectionPurity", purity);
        String place = "(ADDRESS=(PROTOCOL=tcp)(HOST=127.0.0.1)(PORT=" + where[0] + "))";
        String data = "(CONNECT_DATA=(SERVICE_NAME=" + where[1] + ")(SERVER=POOLED))";
        return DriverManager.getConnection("jdbc:oracle:thin:@(DESCRIPTION=" + place + data + ")", p);
    }

    public static void main(String[] where) throws Exception {
        for (int turn = 0; turn < 2; turn++) {
            try (Connection c = connect(where, "NEW")) {
                is(c, "1 POOLED");
                put(c, 7);
            }
        }
        try (Connection c = connect(where, "SELF")) {
            OracleConnection own = c.unwrap(OracleConnection.class);
            if (!own.isDRCPEnabled()) throw new AssertionError("it does not ask for the pool");
            for (int turn = 0; turn < 3; turn++) {
                own.attachServerConnection();
                is(c, (turn == 0 ? 1 : 9 + turn) + " POOLED");
                put(c, 10 + turn);
                is(c, 10 + turn + " POOLED");
                own.detachServerConnection((String) null);
            }
        }
        System.out.println("all done");
    }
}
