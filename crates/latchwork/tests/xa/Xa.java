import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import javax.sql.XAConnection;
import javax.transaction.xa.XAException;
import javax.transaction.xa.XAResource;
import javax.transaction.xa.Xid;
import oracle.jdbc.xa.OracleXAException;
import oracle.jdbc.xa.client.OracleXADataSource;

/**
 * Two-phase commit by Oracle's JDBC driver (thin), as a transaction manager uses it. Arguments: port, service. Writes
 * what came of each step on a line.
 */
public class Xa {
    private record Id(int format, byte[] global, byte[] branch) implements Xid {
        private static final Map<Integer, Id> KNOWN = new HashMap<>();

        /** The same object each time: the driver asks whether two identifiers are equal. */
        static Id of(int n) {
            return KNOWN.computeIfAbsent(n, k -> new Id(0x4C57, new byte[] {1, 2, 3, (byte) n}, new byte[] {(byte) n}));
        }

        @Override
        public int getFormatId() {
            return format;
        }

        @Override
        public byte[] getGlobalTransactionId() {
            return global;
        }

        @Override
        public byte[] getBranchQualifier() {
            return branch;
        }
    }

    private interface Step {
        Object run() throws XAException, SQLException;
    }

    private static void say(String name, Step step) {
        Object outcome;
        try {
            outcome = step.run();
        } catch (XAException e) {
            boolean named = e instanceof OracleXAException o && o.getOracleError() != 0;
            outcome = "XA " + e.errorCode + (named ? ", ORA " + ((OracleXAException) e).getOracleError() : "");
        } catch (SQLException e) {
            outcome = "ORA " + e.getErrorCode();
        }
        System.out.println(name + ": " + outcome);
    }

    private static Object execute(Connection c, String sql) throws SQLException {
        try (Statement s = c.createStatement()) {
            return s.executeUpdate(sql);
        }
    }

    private static Object count(Connection c, int n) throws SQLException {
        try (Statement s = c.createStatement();
                ResultSet r = s.executeQuery("select count(*) from xa_rows where n = " + n)) {
            r.next();
            return r.getInt(1);
        }
    }

    private static Object start(XAResource x, int n, int flags) throws XAException {
        x.start(Id.of(n), flags);
        return "ok";
    }

    private static Object end(XAResource x, int n, int flags) throws XAException {
        x.end(Id.of(n), flags);
        return "ok";
    }

    private static Object commit(XAResource x, int n, boolean onePhase) throws XAException {
        x.commit(Id.of(n), onePhase);
        return "ok";
    }

    private static Object rollback(XAResource x, int n) throws XAException {
        x.rollback(Id.of(n));
        return "ok";
    }

    private static Object recover(XAResource x) throws XAException {
        StringBuilder all = new StringBuilder();
        for (Xid id : x.recover(XAResource.TMSTARTRSCAN | XAResource.TMENDRSCAN)) {
            all.append(id.getFormatId()).append(' ').append(HexFormat.of().formatHex(id.getGlobalTransactionId()))
                    .append(' ').append(HexFormat.of().formatHex(id.getBranchQualifier())).append(';');
        }
        return all.isEmpty() ? "none" : all;
    }

    private static String insert(int n) {
        return "insert into xa_rows values (" + n + ")";
    }

    public static void main(String[] arguments) throws SQLException {
        OracleXADataSource source = new OracleXADataSource();
        source.setURL("jdbc:oracle:thin:@//127.0.0.1:" + arguments[0] + "/" + arguments[1]);
        source.setUser("system");
        source.setPassword("Manager1");
        XAConnection first = source.getXAConnection();
        XAConnection second = source.getXAConnection();
        Connection a = first.getConnection();
        Connection b = second.getConnection();
        XAResource x = first.getXAResource();
        XAResource y = second.getXAResource();

        say("two phases, start", () -> start(x, 1, XAResource.TMNOFLAGS));
        say("two phases, insert", () -> execute(a, insert(1)));
        say("two phases, end", () -> end(x, 1, XAResource.TMSUCCESS));
        say("two phases, prepare", () -> x.prepare(Id.of(1)));
        say("two phases, before", () -> count(b, 1));
        say("two phases, recover", () -> recover(y));
        say("two phases, commit by the other", () -> commit(y, 1, false));
        say("two phases, after", () -> count(b, 1));
        say("two phases, again", () -> commit(x, 1, false));

        say("read only, start", () -> start(x, 2, XAResource.TMNOFLAGS));
        say("read only, query", () -> count(a, 1));
        say("read only, end", () -> end(x, 2, XAResource.TMSUCCESS));
        say("read only, prepare", () -> x.prepare(Id.of(2)));

        say("one phase, start", () -> start(x, 3, XAResource.TMNOFLAGS));
        say("one phase, insert", () -> execute(a, insert(3)));
        say("one phase, end", () -> end(x, 3, XAResource.TMSUCCESS));
        say("one phase, commit", () -> commit(x, 3, true));
        say("one phase, after", () -> count(b, 3));

        say("rollback, start", () -> start(x, 4, XAResource.TMNOFLAGS));
        say("rollback, insert", () -> execute(a, insert(4)));
        say("rollback, end", () -> end(x, 4, XAResource.TMFAIL));
        say("rollback, rollback", () -> rollback(x, 4));
        say("rollback, after", () -> count(b, 4));

        say("suspend, start", () -> start(x, 5, XAResource.TMNOFLAGS));
        say("suspend, insert", () -> execute(a, insert(5)));
        say("suspend, suspend", () -> end(x, 5, XAResource.TMSUSPEND));
        say("suspend, outside", () -> count(a, 5));
        say("suspend, resume", () -> start(x, 5, XAResource.TMRESUME));
        say("suspend, inside", () -> count(a, 5));
        say("suspend, end", () -> end(x, 5, XAResource.TMSUCCESS));
        say("join by the other", () -> start(y, 5, XAResource.TMJOIN));
        say("join, insert", () -> execute(b, insert(5)));
        say("join, end", () -> end(y, 5, XAResource.TMSUCCESS));
        say("join, prepare", () -> y.prepare(Id.of(5)));
        say("join, rollback", () -> rollback(x, 5));
        say("join, after", () -> count(b, 5));

        say("errors, start", () -> start(x, 6, XAResource.TMNOFLAGS));
        say("errors, the same by the other", () -> start(y, 6, XAResource.TMNOFLAGS));
        say("errors, insert", () -> execute(a, insert(6)));
        say("errors, DDL", () -> execute(a, "create table xa_more (n number)"));
        say("errors, end", () -> end(x, 6, XAResource.TMSUCCESS));
        say("errors, the end again", () -> end(x, 6, XAResource.TMSUCCESS));
        say("errors, not prepared", () -> commit(x, 6, false));
        say("errors, an unknown one", () -> x.prepare(Id.of(77)));
        say("errors, resumed unknown", () -> start(x, 77, XAResource.TMRESUME));
        say("errors, rollback", () -> rollback(x, 6));

        b.setAutoCommit(false);
        say("local, insert", () -> execute(b, insert(7)));
        say("local, start", () -> start(y, 7, XAResource.TMNOFLAGS));
        say("local, commit", () -> {
            b.commit();
            return "ok";
        });
        say("local, after", () -> count(a, 7));
        say("at last", () -> recover(x));
        first.close();
        second.close();
    }
}
