// The tasks of driver_speed.py in Java: ojdbc beside pgjdbc. Arguments: the URL of Latchwork and that of PostgreSQL.
// Each line of the input names a database and a task, each line of the output is how many were done in how many
// seconds.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;

public class Speed {
    static final int ROWS = 1_000_000;
    static final int MANY = 10_000;

    final boolean postgres;
    final String url;
    Connection mine;

    Speed(String url) {
        this.url = url;
        postgres = url.startsWith("jdbc:postgresql");
    }

    Connection connect() throws Exception {
        Connection c = DriverManager.getConnection(url, "u", "Tiger1");
        // pgjdbc takes rows by portions only within a transaction.
        c.setAutoCommit(false);
        return c;
    }

    /** The connection that serves all tasks but those that connect. */
    Connection own() throws Exception {
        if (mine == null) {
            mine = connect();
        }
        return mine;
    }

    int server() throws Exception {
        String text = "select pg_backend_pid()";
        if (!postgres) {
            text = "select to_number(p.spid) from v$process p join v$session s on s.paddr = p.addr "
                    + "where s.sid = sys_context('userenv', 'sid')";
        }
        try (Statement s = own().createStatement(); ResultSet r = s.executeQuery(text)) {
            r.next();
            return r.getInt(1);
        }
    }

    static void single(Connection c, int times) throws Exception {
        try (PreparedStatement s = c.prepareStatement("select name from big where id = ?")) {
            for (int n = 0; n < times; n++) {
                s.setInt(1, (int) (n * 7919L % ROWS + 1));
                try (ResultSet r = s.executeQuery()) {
                    r.next();
                    r.getString(1);
                }
            }
        }
    }

    long sixteen() throws Exception {
        CountDownLatch ready = new CountDownLatch(16), begin = new CountDownLatch(1), done = new CountDownLatch(16);
        AtomicReference<Exception> failure = new AtomicReference<>();
        for (int n = 0; n < 16; n++) {
            new Thread(() -> {
                try (Connection c = connect()) {
                    single(c, 10);
                    ready.countDown();
                    begin.await();
                    single(c, 1000);
                } catch (Exception e) {
                    failure.set(e);
                    ready.countDown();
                }
                done.countDown();
            }).start();
        }
        ready.await();
        long from = System.nanoTime();
        begin.countDown();
        done.await();
        if (failure.get() != null) {
            throw failure.get();
        }
        return System.nanoTime() - from;
    }

    /** Rows by so many at a time, or as the driver has it where that is 0. */
    void million(int fetch) throws Exception {
        try (Statement s = own().createStatement()) {
            s.setFetchSize(fetch);
            int count = 0;
            try (ResultSet r = s.executeQuery("select id, name from big")) {
                while (r.next()) {
                    r.getInt(1);
                    r.getString(2);
                    count++;
                }
            }
            if (count != ROWS) {
                throw new IllegalStateException(count + " rows");
            }
        }
        own().commit();
    }

    long array(String task) throws Exception {
        Connection c = own();
        if (task.equals("insert")) {
            try (Statement s = c.createStatement()) {
                s.execute("delete from small");
            }
            c.commit();
        }
        String text = switch (task) {
            case "insert" -> "insert into small (name, id) values (?, ?)";
            case "update" -> "update small set name = ? where id = ?";
            default -> "delete from small where id = ?";
        };
        long from = System.nanoTime();
        try (PreparedStatement s = c.prepareStatement(text)) {
            for (int n = 0; n < MANY; n++) {
                if (task.equals("delete")) {
                    s.setInt(1, n);
                } else {
                    s.setString(1, task + " " + n);
                    s.setInt(2, n);
                }
                s.addBatch();
            }
            s.executeBatch();
        }
        c.commit();
        return System.nanoTime() - from;
    }

    void connects(int times) throws Exception {
        for (int n = 0; n < times; n++) {
            try (Connection c = connect(); Statement s = c.createStatement();
                    ResultSet r = s.executeQuery(postgres ? "select 1" : "select 1 from dual")) {
                r.next();
            }
        }
    }

    String run(String task) throws Exception {
        String[] words = task.split(" ");
        long from = System.nanoTime(), took = -1;
        int done;
        switch (words[0]) {
            case "server":
                return server() + " 0";
            case "prepared":
                single(own(), done = 5000);
                break;
            case "sixteen":
                took = sixteen();
                done = 16_000;
                break;
            case "million":
                million(Integer.parseInt(words[1]));
                done = ROWS;
                break;
            case "array":
                took = array(words[1]);
                done = MANY;
                break;
            case "connects":
                connects(done = 50);
                break;
            default:
                throw new IllegalArgumentException(task);
        }
        return done + " " + (took < 0 ? System.nanoTime() - from : took) / 1e9;
    }

    public static void main(String[] urls) throws Exception {
        Map<String, Speed> databases = Map.of("Latchwork", new Speed(urls[0]), "PostgreSQL", new Speed(urls[1]));
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ", 2);
            System.out.println(databases.get(words[0]).run(words[1]));
        }
        System.exit(0);
    }
}
