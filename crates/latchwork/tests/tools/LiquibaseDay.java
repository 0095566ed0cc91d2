import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.util.Map;
import java.util.TreeMap;
import java.util.logging.Level;
import java.util.logging.Logger;
import liquibase.Contexts;
import liquibase.LabelExpression;
import liquibase.Liquibase;
import liquibase.database.Database;
import liquibase.database.DatabaseFactory;
import liquibase.database.jvm.JdbcConnection;
import liquibase.resource.DirectoryResourceAccessor;
import liquibase.snapshot.DatabaseSnapshot;
import liquibase.snapshot.SnapshotControl;
import liquibase.snapshot.SnapshotGeneratorFactory;
import liquibase.structure.core.Column;
import liquibase.structure.core.Sequence;
import liquibase.structure.core.Table;
import liquibase.structure.core.View;

/** Liquibase: a change log is run, the schema is read back as a snapshot, changes are rolled back, all is dropped. */
public class LiquibaseDay {
    static final String LOG = """
        <databaseChangeLog xmlns="http://www.liquibase.org/xml/ns/dbchangelog"
            xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
            xsi:schemaLocation="http://www.liquibase.org/xml/ns/dbchangelog
              http://www.liquibase.org/xml/ns/dbchangelog/dbchangelog-latest.xsd">
          <changeSet id="1" author="a">
            <createTable tableName="item" remarks="a table">
              <column name="id" type="bigint" autoIncrement="true">
                <constraints primaryKey="true" primaryKeyName="pk_item"/>
              </column>
              <column name="label" type="varchar(40)">
                <constraints nullable="false" unique="true" uniqueConstraintName="uq_item"/>
              </column>
              <column name="made" type="datetime" defaultValueComputed="sysdate"/>
              <column name="open" type="boolean" defaultValueBoolean="true"/>
              <column name="price" type="decimal(10,2)" remarks="amount"/>
            </createTable>
            <createTable tableName="part">
              <column name="id" type="int"><constraints primaryKey="true"/></column>
              <column name="item_id" type="bigint"/>
            </createTable>
            <addForeignKeyConstraint baseTableName="part" baseColumnNames="item_id" constraintName="fk_part"
              referencedTableName="item" referencedColumnNames="id" onDelete="CASCADE"/>
            <createIndex tableName="item" indexName="ix_item"><column name="made"/><column name="price"/></createIndex>
            <createSequence sequenceName="numbers" startValue="10" incrementBy="5"/>
            <createView viewName="labels">select id, label from item</createView>
          </changeSet>
          <changeSet id="2" author="a">
            <addColumn tableName="item">
              <column name="extra" type="varchar(10)" defaultValue="q"><constraints nullable="false"/></column>
            </addColumn>
            <modifyDataType tableName="item" columnName="label" newDataType="varchar(80)"/>
            <renameColumn tableName="item" oldColumnName="extra" newColumnName="more" columnDataType="varchar(10)"/>
            <insert tableName="item"><column name="label" value="one"/></insert>
            <addNotNullConstraint tableName="item" columnName="price" columnDataType="decimal(10,2)"
              defaultNullValue="0"/>
            <createProcedure>create or replace procedure nothing is begin null; end;</createProcedure>
            <rollback><dropColumn tableName="item" columnName="more"/></rollback>
          </changeSet>
        </databaseChangeLog>
        """;

    static void same(String what, Object actual, Object wanted) {
        if (!String.valueOf(actual).equals(String.valueOf(wanted))) {
            throw new AssertionError(what + ": " + actual + ", and not " + wanted);
        }
    }

    public static void main(String[] args) throws Exception {
        Logger.getLogger("").setLevel(Level.SEVERE);
        Path folder = Files.createTempDirectory("liquibase");
        Files.writeString(folder.resolve("log.xml"), LOG);
        String url = "jdbc:oracle:thin:@127.0.0.1:" + args[0] + "/" + args[1];
        Connection c = DriverManager.getConnection(url, "app", "Tiger1");
        Database db = DatabaseFactory.getInstance().findCorrectDatabaseImplementation(new JdbcConnection(c));
        same("database", db.getShortName(), "oracle");
        Liquibase liquibase = new Liquibase("log.xml", new DirectoryResourceAccessor(folder), db);
        liquibase.update(new Contexts());
        same("not run", liquibase.listUnrunChangeSets(new Contexts(), new LabelExpression()).size(), 0);
        liquibase.update(new Contexts());
        liquibase.tag("first");
        liquibase.validate();
        DatabaseSnapshot all = SnapshotGeneratorFactory.getInstance()
            .createSnapshot(db.getDefaultSchema(), db, new SnapshotControl(db));
        Map<String, String> shown = new TreeMap<>();
        for (Table t : all.get(Table.class)) {
            if (t.getName().startsWith("DATABASECHANGELOG")) {
                continue;
            }
            shown.put(t.getName(), t.getPrimaryKey().getColumnNames() + " keys " + t.getOutgoingForeignKeys().size()
                + " unique " + t.getUniqueConstraints().size());
            for (Column k : t.getColumns()) {
                shown.put(t.getName() + "." + k.getName(), k.getType().getTypeName() + (k.isNullable() ? ""
                    : " not null")
                    + (k.getDefaultValue() == null ? "" : " " + k.getDefaultValue())
                    + (k.getRemarks() == null ? "" : " " + k.getRemarks()));
            }
        }
        same("snapshot", shown, "{ITEM=ID keys 0 unique 1, ITEM.ID=NUMBER not null, ITEM.LABEL=VARCHAR not null, "
            + "ITEM.MADE=TIMESTAMP(6) SYSDATE, ITEM.MORE=VARCHAR not null q, ITEM.OPEN=NUMBER 1, "
            + "ITEM.PRICE=NUMBER not null amount, PART=ID keys 1 unique 0, PART.ID=NUMBER not null, "
            + "PART.ITEM_ID=NUMBER}");
        for (Sequence s : all.get(Sequence.class)) {
            same(s.getName(), s.getName() + s.getIncrementBy(), "NUMBERS5");
        }
        for (View v : all.get(View.class)) {
            same(v.getName(), v.getDefinition(), "select id, label from item");
        }
        liquibase.rollback(1, (String) null);
        same("to run again", liquibase.listUnrunChangeSets(new Contexts(), new LabelExpression()).size(), 1);
        liquibase.dropAll();
        String tables = "select count(*) from user_tables where table_name in ('ITEM', 'PART')";
        try (var r = c.createStatement().executeQuery(tables)) {
            r.next();
            same("left", r.getInt(1), 0);
        }
        System.out.println("all done");
    }
}
