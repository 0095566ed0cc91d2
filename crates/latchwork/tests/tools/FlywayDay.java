import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.flywaydb.core.Flyway;

/** Flyway: a schema is migrated, checked, repaired and cleaned. */
public class FlywayDay {
    static void same(String what, Object actual, Object wanted) {
        if (!String.valueOf(actual).equals(String.valueOf(wanted))) {
            throw new AssertionError(what + ": " + actual + ", and not " + wanted);
        }
    }

    static String one(String url, String sql) throws Exception {
        try (Connection c = DriverManager.getConnection(url, "app", "Tiger1");
                ResultSet r = c.createStatement().executeQuery(sql)) {
            return r.next() ? r.getString(1) : null;
        }
    }

    public static void main(String[] args) throws Exception {
        Logger.getLogger("").setLevel(Level.SEVERE);
        String url = "jdbc:oracle:thin:@127.0.0.1:" + args[0] + "/" + args[1];
        Path folder = Files.createTempDirectory("flyway");
        Files.writeString(folder.resolve("V1__tables.sql"), """
            create table account (id number generated as identity primary key, owner varchar2(20));
            comment on table account is 'a; b';
            create sequence numbers start with 5;
            """);
        Files.writeString(folder.resolve("V2__units.sql"), """
            create or replace procedure open_account (n number) is
            begin
              insert into account (owner) values ('a;b' || n);
            end;
            /
            begin open_account(1); end;
            /
            create or replace package bank as procedure p; end;
            /
            create synonym accounts for account;
            insert into accounts (owner) values ('${who}');
            """);
        Files.writeString(folder.resolve("R__view.sql"),
            "create or replace view owners as select owner from account;\n");
        Flyway flyway = Flyway.configure().dataSource(url, "app", "Tiger1").locations("filesystem:" + folder)
            .placeholders(java.util.Map.of("who", "me")).cleanDisabled(false).load();
        same("migrated", flyway.migrate().migrationsExecuted, 3);
        same("rows", one(url, "select listagg(owner, ',') within group (order by owner) from owners"), "a;b1,me");
        flyway.validate();
        same("known", flyway.info().applied().length, 3);
        same("again", flyway.migrate().migrationsExecuted, 0);
        Files.writeString(folder.resolve("V3__bad.sql"), "create table more (id number);\nselect * from nothing;\n");
        try {
            flyway.migrate();
            throw new IllegalStateException("a bad script ran");
        } catch (org.flywaydb.core.api.FlywayException e) {
            same("error", e.getMessage().contains("ORA-00942"), true);
        }
        flyway.repair();
        Files.writeString(folder.resolve("V3__bad.sql"), "drop table more purge;\n");
        same("mended", flyway.migrate().migrationsExecuted, 1);
        flyway.clean();
        same("left", one(url, "select count(*) from user_objects"), 0);
        System.out.println("all done");
    }
}
