import java.io.PrintStream;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.BatchUpdateException;
import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;
import java.sql.Types;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Properties;
import java.util.StringJoiner;
import oracle.jdbc.OracleCallableStatement;
import oracle.jdbc.OracleDatabaseException;
import oracle.jdbc.OraclePreparedStatement;
import oracle.jdbc.OracleTypes;

/**
 * Holds the conversation of steps.txt with Oracle's JDBC driver (thin). Arguments: steps.txt, port, service. What is
 * written and what the operations mean: python.py.
 */
public class Jdbc {
    private static String url;
    private final Connection c;

    private Jdbc() throws SQLException {
        c = connect("u", "Tiger1");
        c.setAutoCommit(false);
    }

    private record Bind(String key, String kind, String text) {
        boolean isOut() {
            return key.equals("out") || key.equals("inout");
        }
    }

    private static Connection connect(String user, String password) throws SQLException {
        return DriverManager.getConnection(url, user, password);
    }

    private static Object value(Bind b) {
        if (b.key.equals("null")) {
            return null;
        }
        return switch (b.kind) {
            case "n" -> new BigDecimal(b.text);
            case "s*" -> "y".repeat(Integer.parseInt(b.text));
            case "d" -> Timestamp.valueOf(b.text);
            case "r" -> HexFormat.of().parseHex(b.text);
            case "b" -> b.text.equals("true");
            case "a" -> Arrays.stream(b.text.split(" ")).mapToDouble(Double::parseDouble).toArray();
            default -> b.text;
        };
    }

    private static int type(String kind) {
        return switch (kind.charAt(0)) {
            case 'n' -> Types.NUMERIC;
            case 'd' -> Types.TIMESTAMP;
            case 'r' -> Types.VARBINARY;
            case 'b' -> OracleTypes.PLSQL_BOOLEAN;
            default -> Types.VARCHAR;
        };
    }

    private static void set(PreparedStatement s, List<Bind> binds) throws SQLException {
        for (int at = 1; at <= binds.size(); at++) {
            Bind b = binds.get(at - 1);
            if (b.isOut()) {
                ((CallableStatement) s).registerOutParameter(at, type(b.kind));
            }
            if (b.key.equals("out")) {
                continue;
            }
            Object v = value(b);
            switch (b.kind) {
                case "b" -> s.setObject(at, v, OracleTypes.PLSQL_BOOLEAN);
                case "c" -> ((OraclePreparedStatement) s).setFixedCHAR(at, (String) v);
                case "a" -> {
                    double[] numbers = (double[]) v;
                    ((OracleCallableStatement) s)
                            .setPlsqlIndexTable(at, numbers, numbers.length, numbers.length, OracleTypes.NUMBER, 0);
                }
                default -> {
                    if (v == null) {
                        s.setNull(at, type(b.kind));
                    } else {
                        s.setObject(at, v);
                    }
                }
            }
        }
    }

    private static String shown(Object v) throws SQLException {
        if (v == null) {
            return "null";
        }
        if (v instanceof String s) {
            return "'" + s + "'";
        }
        if (v instanceof byte[] b) {
            return "0x" + HexFormat.of().formatHex(b);
        }
        if (v instanceof BigDecimal n) {
            return n.signum() == 0 ? "0" : n.stripTrailingZeros().toPlainString();
        }
        if (v instanceof oracle.sql.TIMESTAMP t) {
            return shown(t.timestampValue());
        }
        if (v instanceof Timestamp t) {
            return t.toString().replaceFirst("\\.0$", "");
        }
        return v.toString();
    }

    private static String cells(ResultSet r) throws SQLException {
        StringJoiner cells = new StringJoiner(" | ");
        for (int at = 1; at <= r.getMetaData().getColumnCount(); at++) {
            Object v = r.getObject(at);
            cells.add(v instanceof oracle.sql.Datum ? shown(r.getTimestamp(at)) : shown(v));
        }
        return cells.toString();
    }

    private static String rows(ResultSet r) throws SQLException {
        StringJoiner rows = new StringJoiner(" / ");
        while (r.next()) {
            rows.add(cells(r));
        }
        return rows.toString();
    }

    private static String code(SQLException e) {
        return String.format("ORA-%05d", e.getErrorCode());
    }

    private String query(String sql, List<Bind> binds) throws SQLException {
        try (PreparedStatement s = c.prepareStatement(sql)) {
            set(s, binds);
            return rows(s.executeQuery());
        }
    }

    private static String outs(CallableStatement s, List<Bind> binds) throws SQLException {
        StringJoiner outs = new StringJoiner(" | ");
        for (int at = 1; at <= binds.size(); at++) {
            if (binds.get(at - 1).isOut()) {
                outs.add(shown(s.getObject(at)));
            }
        }
        return outs.toString();
    }

    private String exec(String sql, List<Bind> binds) throws SQLException {
        if (binds.stream().noneMatch(Bind::isOut)) {
            try (PreparedStatement s = c.prepareStatement(sql)) {
                set(s, binds);
                return String.valueOf(s.executeUpdate());
            }
        }
        try (OraclePreparedStatement s = (OraclePreparedStatement) c.prepareStatement(sql)) {
            for (int at = 1; at <= binds.size(); at++) {
                if (binds.get(at - 1).isOut()) {
                    s.registerReturnParameter(at, type(binds.get(at - 1).kind));
                } else {
                    s.setObject(at, value(binds.get(at - 1)));
                }
            }
            int rows = s.executeUpdate();
            return rows + " : " + rows(s.getReturnResultSet());
        }
    }

    private String each(String sql, List<List<Bind>> table) throws SQLException {
        StringJoiner counts = new StringJoiner(" ");
        try (PreparedStatement s = c.prepareStatement(sql)) {
            for (List<Bind> row : table) {
                set(s, row);
                counts.add(String.valueOf(s.executeUpdate()));
            }
        }
        return counts.toString();
    }

    private int[] batch(String sql, List<List<Bind>> table) throws SQLException {
        try (PreparedStatement s = c.prepareStatement(sql)) {
            for (List<Bind> row : table) {
                set(s, row);
                s.addBatch();
            }
            return s.executeBatch();
        }
    }

    private String returning(String sql) throws SQLException {
        try (OraclePreparedStatement s = (OraclePreparedStatement) c.prepareStatement(sql)) {
            s.registerReturnParameter(1, Types.NUMERIC);
            s.executeUpdate();
            return rows(s.getReturnResultSet()).replace(" / ", " ");
        }
    }

    private String block(String sql, List<Bind> binds) throws SQLException {
        try (CallableStatement s = c.prepareCall(sql)) {
            set(s, binds);
            s.execute();
            return outs(s, binds);
        }
    }

    private String refcursor(String sql) throws SQLException {
        try (CallableStatement s = c.prepareCall(sql)) {
            s.registerOutParameter(1, OracleTypes.CURSOR);
            s.execute();
            return rows((ResultSet) s.getObject(1));
        }
    }

    private String nestedsum(String sql) throws SQLException {
        long count = 0;
        long sum = 0;
        try (Statement s = c.createStatement()) {
            s.setFetchSize(20);
            try (ResultSet r = s.executeQuery(sql)) {
                for (; r.next(); count++) {
                    try (ResultSet inner = (ResultSet) r.getObject(2)) {
                        while (inner.next()) {
                            sum += inner.getLong(1);
                        }
                    }
                }
            }
        }
        return count + " rows, " + sum;
    }

    private String nested(String sql) throws SQLException {
        try (Statement s = c.createStatement(); ResultSet r = s.executeQuery(sql)) {
            r.next();
            return shown(r.getObject(1)) + " : " + rows((ResultSet) r.getObject(2));
        }
    }

    private String implicit(String sql) throws SQLException {
        StringJoiner said = new StringJoiner(" / ");
        try (CallableStatement s = c.prepareCall(sql)) {
            s.execute();
            while (s.getMoreResults()) {
                said.add(rows(s.getResultSet()));
            }
        }
        return said.toString();
    }

    private String fetch(String text) throws SQLException {
        String[] cut = text.split(" ", 2);
        try (Statement s = c.createStatement()) {
            s.setFetchSize(Integer.parseInt(cut[0]));
            ResultSet r = s.executeQuery(cut[1]);
            long rows = 0;
            long sum = 0;
            while (r.next()) {
                rows++;
                sum += r.getLong(1);
            }
            return rows + " rows, " + sum;
        }
    }

    private String length(String sql) throws SQLException {
        try (Statement s = c.createStatement(); ResultSet r = s.executeQuery(sql)) {
            r.next();
            return String.valueOf(r.getString(1).length());
        }
    }

    private String describe(String sql) throws SQLException {
        try (PreparedStatement s = c.prepareStatement(sql)) {
            ResultSetMetaData m = s.getMetaData();
            StringJoiner names = new StringJoiner(" ");
            for (int at = 1; m != null && at <= m.getColumnCount(); at++) {
                names.add(m.getColumnName(at));
            }
            return names.toString();
        }
    }

    private String scroll(String sql) throws SQLException {
        int how = ResultSet.TYPE_SCROLL_INSENSITIVE;
        try (Statement s = c.createStatement(how, ResultSet.CONCUR_READ_ONLY); ResultSet r = s.executeQuery(sql)) {
            r.last();
            String said = "last " + r.getInt(1);
            r.first();
            said += ", first " + r.getInt(1);
            r.absolute(4);
            said += ", absolute " + r.getInt(1);
            r.relative(2);
            said += ", relative " + r.getInt(1);
            r.previous();
            return said + ", prior " + r.getInt(1);
        }
    }

    private String change(String sql, List<List<Bind>> table) throws SQLException {
        StringJoiner said = new StringJoiner(", ");
        try (PreparedStatement s = c.prepareStatement(sql)) {
            for (List<Bind> row : table) {
                set(s, row);
                said.add(rows(s.executeQuery()));
            }
        }
        return said.toString();
    }

    private void cancel(String sql) throws Exception {
        try (Statement s = c.createStatement()) {
            Thread breaks = new Thread(() -> {
                try {
                    Thread.sleep(300);
                    s.cancel();
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
            });
            breaks.start();
            try {
                s.execute(sql);
            } finally {
                breaks.join();
            }
        }
    }

    private String position(String sql) throws SQLException {
        try (Statement s = c.createStatement()) {
            s.executeQuery(sql);
            return "no error";
        } catch (SQLException e) {
            return code(e) + " at " + ((OracleDatabaseException) e.getCause()).getErrorPosition();
        }
    }

    private String lastRowid(String sql) throws SQLException {
        try (PreparedStatement s = c.prepareStatement(sql, Statement.RETURN_GENERATED_KEYS)) {
            s.executeUpdate();
            ResultSet keys = s.getGeneratedKeys();
            keys.next();
            try (PreparedStatement q = c.prepareStatement("select id from kinds where rowid = ?")) {
                q.setRowId(1, keys.getRowId(1));
                return rows(q.executeQuery());
            }
        }
    }

    private String other(String sql) throws SQLException {
        try (Connection other = connect("other", "Tiger1"); Statement s = other.createStatement()) {
            return rows(s.executeQuery(sql));
        }
    }

    private String newPassword(String[] words) throws SQLException {
        Properties p = new Properties();
        p.put("user", words[0]);
        p.put("password", words[1]);
        p.put("oracle.jdbc.newPassword", words[2]);
        DriverManager.getConnection(url, p).close();
        try (Connection with = connect(words[0], words[2]); Statement s = with.createStatement()) {
            ResultSet r = s.executeQuery("select user from dual");
            r.next();
            return r.getString(1);
        }
    }

    private String proxy(String[] words) throws SQLException {
        String sql = "select user, sys_context('userenv', 'proxy_user') from dual";
        try (Connection with = connect(words[0] + "[" + words[2] + "]", words[1]); Statement s = with.createStatement()) {
            ResultSet r = s.executeQuery(sql);
            r.next();
            return r.getString(1) + " " + r.getString(2);
        }
    }

    private String run(String op, String text, List<Bind> binds, List<List<Bind>> table) throws Exception {
        switch (op) {
            case "logon":
                connect(text.split(" ")[0], text.split(" ")[1]).close();
                return "open";
            case "query":
                return query(text, binds);
            case "exec":
                return exec(text, binds);
            case "each":
                return each(text, table);
            case "many":
                return String.valueOf(Arrays.stream(batch(text, table)).map(n -> n < 0 ? 1 : n).sum());
            case "counts":
                return String.join(" ", Arrays.stream(batch(text, table)).mapToObj(String::valueOf).toList());
            case "batch":
                // The driver's batches end at the first error.
                try {
                    batch(text, table.subList(0, 1));
                } catch (BatchUpdateException e) {
                    batch(text, table.subList(1, 2));
                }
                return "-";
            case "other":
                return other(text);
            case "commit":
                c.commit();
                return "None";
            case "rollback":
                c.rollback();
                return "None";
            case "position":
                return position(text);
            case "returning":
                return returning(text);
            case "block":
                return block(text, binds);
            case "refcursor":
                return refcursor(text);
            case "nested":
                return nested(text);
            case "nestedsum":
                return nestedsum(text);
            case "implicit":
                return implicit(text);
            case "fetch":
                return fetch(text);
            case "length":
                return length(text);
            case "describe":
                return describe(text);
            case "parse":
                describe(text);
                return "None";
            case "scroll":
                return scroll(text);
            case "change":
                return change(text, table);
            case "cancel":
                cancel(text);
                return "None";
            case "module":
                c.setClientInfo("OCSID.MODULE", text.split(" ")[0]);
                c.setClientInfo("OCSID.ACTION", text.split(" ")[1]);
                return "None";
            case "lastrowid":
                return lastRowid(text);
            case "autocommit":
                c.setAutoCommit(true);
                exec(text, binds);
                c.setAutoCommit(false);
                return "None";
            case "ping":
                return c.isValid(10) ? "alive" : "dead";
            case "newpassword":
                return newPassword(text.split(" "));
            case "proxy":
                return proxy(text.split(" "));
            default:
                throw new IllegalStateException(op);
        }
    }

    private static String[] cut(String line) {
        int at = line.indexOf(' ');
        return at < 0 ? new String[] {line, ""} : new String[] {line.substring(0, at), line.substring(at + 1)};
    }

    private static Bind bind(String key, String rest) {
        String[] cut = cut(rest);
        return new Bind(key, cut[0], cut[1]);
    }

    private static List<Bind> row(String text) {
        List<Bind> row = new ArrayList<>();
        for (String cell : text.split(";")) {
            String[] cut = cut(cell.strip());
            row.add(cut[0].equals("null") ? new Bind("null", cut[1], "") : new Bind("bind", cut[0], cut[1]));
        }
        return row;
    }

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        url = "jdbc:oracle:thin:@//127.0.0.1:" + args[1] + "/" + args[2];
        Jdbc conversation = new Jdbc();
        List<String> keys = List.of("bind", "null", "out", "inout", "row");
        for (String step : Files.readString(Path.of(args[0])).split("\n\n+")) {
            List<String> lines = step.lines().filter(l -> !l.isEmpty() && !l.startsWith("#") && !l.startsWith("=")).toList();
            if (lines.isEmpty()) {
                continue;
            }
            String name = lines.get(0).replaceAll("^\\[|\\]$", "");
            String said = "None";
            try {
                for (int at = 1; at < lines.size(); ) {
                    String[] op = cut(lines.get(at++));
                    List<Bind> binds = new ArrayList<>();
                    List<List<Bind>> table = new ArrayList<>();
                    for (; at < lines.size() && keys.contains(cut(lines.get(at))[0]); at++) {
                        String[] more = cut(lines.get(at));
                        if (more[0].equals("row")) {
                            table.add(row(more[1]));
                        } else {
                            binds.add(bind(more[0], more[1]));
                        }
                    }
                    said = conversation.run(op[0], op[1], binds, table);
                }
            } catch (SQLException e) {
                said = code(e);
            } catch (Exception e) {
                said = e.toString();
            }
            out.println(name + "\t" + said);
        }
        conversation.c.close();
    }
}
