import jakarta.persistence.CascadeType;
import jakarta.persistence.Column;
import jakarta.persistence.Entity;
import jakarta.persistence.EnumType;
import jakarta.persistence.Enumerated;
import jakarta.persistence.FetchType;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.GenerationType;
import jakarta.persistence.Id;
import jakarta.persistence.Index;
import jakarta.persistence.LockModeType;
import jakarta.persistence.ManyToOne;
import jakarta.persistence.OneToMany;
import jakarta.persistence.SequenceGenerator;
import jakarta.persistence.Table;
import jakarta.persistence.UniqueConstraint;
import jakarta.persistence.Version;
import java.math.BigDecimal;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.hibernate.SessionFactory;
import org.hibernate.cfg.Configuration;

/** Hibernate: a schema is made of entities, used, validated, updated with a new column, and dropped. */
public class HibernateDay {
    public enum Kind { SMALL, LARGE }

    @Entity(name = "Item")
    @Table(name = "item", indexes = @Index(name = "item_ix", columnList = "name"),
        uniqueConstraints = @UniqueConstraint(name = "item_uq", columnNames = {"code"}))
    public static class Item {
        @Id @GeneratedValue(strategy = GenerationType.IDENTITY) public Long id;
        @Column(nullable = false, length = 40) public String name;
        public Integer code;
        @Column(precision = 12, scale = 2) public BigDecimal price;
        @Enumerated(EnumType.STRING) public Kind kind;
        public boolean active;
        public LocalDate day;
        public LocalDateTime made;
        public Double weight;
        public UUID token;
        @Version public int version;
        @OneToMany(mappedBy = "item", cascade = CascadeType.ALL,
            orphanRemoval = true) public List<Part> parts = new ArrayList<>();
    }

    @Entity(name = "Part")
    @Table(name = "part")
    public static class Part {
        @Id @GeneratedValue(strategy = GenerationType.SEQUENCE, generator = "g")
        @SequenceGenerator(name = "g", sequenceName = "part_seq", allocationSize = 50) public Long id;
        public String label;
        @Enumerated public Kind kind;
        @ManyToOne(fetch = FetchType.LAZY) public Item item;
    }

    /** PART as the next release has it. */
    @Entity(name = "Part2")
    @Table(name = "part")
    public static class Part2 {
        @Id public Long id;
        public String label;
        @Column(length = 10) public String added;
    }

    static String url;

    static SessionFactory open(String mode, Class<?>... entities) {
        Configuration c = new Configuration()
            .setProperty("hibernate.connection.url", url)
            .setProperty("hibernate.connection.username", "app")
            .setProperty("hibernate.connection.password", "Tiger1")
            .setProperty("hibernate.hbm2ddl.auto", mode)
            .setProperty("hibernate.hbm2ddl.halt_on_error", "true")
            .setProperty("hibernate.jdbc.batch_size", "20");
        for (Class<?> entity : entities) {
            c.addAnnotatedClass(entity);
        }
        return c.buildSessionFactory();
    }

    static void same(String what, Object actual, Object wanted) {
        if (!String.valueOf(actual).equals(String.valueOf(wanted))) {
            throw new AssertionError(what + ": " + actual + ", and not " + wanted);
        }
    }

    static Item item(int n) {
        Item i = new Item();
        i.name = "n" + n;
        i.code = n;
        i.price = new BigDecimal(n + ".25");
        i.kind = n % 2 == 0 ? Kind.SMALL : Kind.LARGE;
        i.active = true;
        i.day = LocalDate.of(2024, 2, 29);
        i.made = LocalDateTime.of(2024, 2, 29, 23, 59, 58, 123456000);
        i.weight = 1.5;
        i.token = new UUID(7, n);
        for (int k = 0; k < 3; k++) {
            Part p = new Part();
            p.label = "p" + k;
            p.kind = Kind.LARGE;
            p.item = i;
            i.parts.add(p);
        }
        return i;
    }

    static void work() {
        try (SessionFactory f = open("none", Item.class, Part.class)) {
            f.inTransaction(s -> {
                for (int n = 0; n < 30; n++) {
                    s.persist(item(n));
                }
            });
            f.inTransaction(s -> {
                same("parts", s.createQuery("select count(p) from Part p where p.item.name like 'n1%'",
                    Long.class).getSingleResult(), 33);
                List<Item> page = s.createQuery("from Item i where i.kind = :k order by i.code desc", Item.class)
                    .setParameter("k", Kind.SMALL).setFirstResult(2).setMaxResults(3).list();
                same("page", page.stream().map(i -> i.name + i.price + i.parts.size()).toList(),
                    "[n2424.253, n2222.253, n2020.253]");
                same("values", page.get(0).day + " " + page.get(0).made + " " + page.get(0).weight + " "
                    + page.get(0).token.getLeastSignificantBits(),
                    "2024-02-29 2024-02-29T23:59:58.123456 1.5 24");
                page.get(0).name = "changed";
                page.get(1).parts.remove(0);
            });
            f.inTransaction(s -> {
                same("updated",
                    s.createMutationQuery("update Item set price = price * 2 where active = true").executeUpdate(), 30);
                same("groups", s.createQuery("select kind, sum(price), avg(weight) from Item group by kind",
                    Object[].class).list().size(), 2);
                Item i = s.find(Item.class, 1L, LockModeType.PESSIMISTIC_WRITE);
                same("key", i.name, "n0");
                s.remove(i);
            });
            f.inTransaction(s -> {
                same("left", s.createQuery("select count(*) from Part", Long.class).getSingleResult(), 86);
                same("version", s.createQuery("select version from Item where name = 'changed'",
                    Integer.class).getSingleResult(), 1);
                s.createMutationQuery("delete from Part p where p.item.code > 10").executeUpdate();
            });
        }
    }

    public static void main(String[] args) {
        Logger.getLogger("org.hibernate").setLevel(Level.SEVERE);
        url = "jdbc:oracle:thin:@127.0.0.1:" + args[0] + "/" + args[1];
        open("create-only", Item.class, Part.class).close();
        work();
        open("validate", Item.class, Part.class).close();
        try {
            open("validate", Part2.class).close();
            throw new IllegalStateException("a missing column is not missed");
        } catch (org.hibernate.tool.schema.spi.SchemaManagementException e) {
            same("missing", e.getMessage().contains("missing column [added] in table [part]"), true);
        }
        open("update", Part2.class).close();
        open("validate", Part2.class).close();
        open("update", Item.class, Part.class).close();
        open("create-drop", Item.class, Part.class).close();
        System.out.println("all done");
    }
}
