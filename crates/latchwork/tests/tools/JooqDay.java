import static org.jooq.impl.DSL.count;
import static org.jooq.impl.DSL.field;
import static org.jooq.impl.DSL.name;
import static org.jooq.impl.DSL.table;
import static org.jooq.impl.DSL.using;

import java.sql.Connection;
import java.sql.DriverManager;
import org.jooq.DSLContext;
import org.jooq.Field;
import org.jooq.SQLDialect;
import org.jooq.Table;

/** jOOQ: statements of its open edition, which has no dialect of Oracle's and sends standard SQL. */
public class JooqDay {
    static void same(String what, Object actual, Object wanted) {
        if (!String.valueOf(actual).equals(String.valueOf(wanted))) {
            throw new AssertionError(what + ": " + actual + ", and not " + wanted);
        }
    }

    public static void main(String[] args) throws Exception {
        System.setProperty("org.jooq.no-logo", "true");
        System.setProperty("org.jooq.no-tips", "true");
        String url = "jdbc:oracle:thin:@127.0.0.1:" + args[0] + "/" + args[1];
        try (Connection c = DriverManager.getConnection(url, "app", "Tiger1")) {
            DSLContext d = using(c, SQLDialect.DEFAULT);
            d.execute("create table item (id number(10) primary key, label varchar2(20), price number(8,2))");
            Table<?> item = table(name("ITEM"));
            Field<Integer> id = field(name("ID"), Integer.class);
            Field<String> label = field(name("LABEL"), String.class);
            for (int n = 0; n < 10; n++) {
                same("insert", d.insertInto(item, id, label).values(n, "n" + n).execute(), 1);
            }
            same("select", d.select(id, label).from(item).where(id.gt(5)).orderBy(id.desc()).fetch().getValues(id),
                "[9, 8, 7, 6]");
            same("update", d.update(item).set(label, "z").where(id.eq(1)).execute(), 1);
            same("count", d.selectCount().from(item).fetchOne(0, int.class), 10);
            c.setAutoCommit(false);
            d.transaction(t -> using(t).deleteFrom(item).where(id.lt(3)).execute());
            same("left", d.fetchCount(item), 7);
            try {
                d.transaction(t -> {
                    using(t).deleteFrom(item).execute();
                    throw new IllegalStateException("no");
                });
            } catch (IllegalStateException e) {
                same("rolled back", d.fetchCount(item), 7);
            }
            same("groups", d.select(label, count()).from(item).groupBy(label).having(count().ge(1)).fetch().size(), 7);
        }
        System.out.println("all done");
    }
}
