"""SQLAlchemy: tables are made from a model, read back from the dictionary, and used by the mapper."""

import sys

import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship

port, service = sys.argv[1:3]
engine = sa.create_engine(f"oracle+oracledb://app:Tiger1@127.0.0.1:{port}/?service_name={service}")


def same(what, actual, wanted):
    assert actual == wanted, f"{what}: {actual!r}, and not {wanted!r}"


metadata = sa.MetaData()
parent = sa.Table(
    "parent",
    metadata,
    sa.Column("id", sa.Integer, sa.Identity(start=5, increment=2), primary_key=True),
    sa.Column("name", sa.String(40), nullable=False),
    sa.Column("price", sa.Numeric(10, 2), server_default=sa.text("7")),
    sa.Column("twice", sa.Numeric(10, 2), sa.Computed("price * 2")),
    sa.Column("made", sa.DateTime),
    sa.Column("stamp", sa.TIMESTAMP),
    sa.Column("f", sa.Float),
    sa.Column("bits", sa.dialects.oracle.RAW(16)),
    sa.Column("note", sa.String(10), comment="a note"),
    sa.UniqueConstraint("name", name="uq_name"),
    sa.CheckConstraint("price >= 0", name="ck_price"),
    comment="parents",
)
child = sa.Table(
    "child",
    metadata,
    sa.Column("pid", sa.ForeignKey("parent.id", ondelete="CASCADE", name="fk_parent"), primary_key=True),
    sa.Column("seq", sa.Integer, primary_key=True),
)
sa.Index("ix_made", parent.c.made, parent.c.price.desc())
sa.Index("ix_note", sa.func.upper(parent.c.note))
sa.Sequence("sq", start=3, metadata=metadata)
metadata.create_all(engine)
metadata.create_all(engine)  # finds them
with engine.begin() as c:
    c.execute(sa.text("create view v as select id, name from parent"))
    c.execute(sa.text("create synonym syn for parent"))
    c.execute(sa.text("create global temporary table gtt (id number) on commit preserve rows"))

i = sa.inspect(engine)
same("tables", sorted(i.get_table_names()), ["child", "parent"])
same("views", i.get_view_names(), ["v"])
same("temporary tables", i.get_temp_table_names(), ["gtt"])
same("materialized views", i.get_materialized_view_names(), [])
assert "sq" in i.get_sequence_names() and i.has_sequence("sq") and not i.has_sequence("sqq")
assert {"app", "sys", "system"} <= set(i.get_schema_names())
assert i.has_table("parent") and not i.has_table("nothing")
columns = {c["name"]: c for c in i.get_columns("parent")}
types = {name: c["type"].compile(engine.dialect) for name, c in columns.items()}
same("types", types, {
    "id": "INTEGER", "name": "VARCHAR(40 CHAR)", "price": "NUMBER(10, 2)", "twice": "NUMBER(10, 2)", "made": "DATE",
    "stamp": "TIMESTAMP", "f": "DOUBLE PRECISION", "bits": "RAW(16)", "note": "VARCHAR(10 CHAR)",
})
same("nullable", [n for n, c in columns.items() if not c["nullable"]], ["id", "name"])
same("default", columns["price"]["default"].strip(), "7")
same("computed", columns["twice"]["computed"], {"sqltext": "PRICE * 2"})
same("identity", {k: columns["id"]["identity"][k] for k in ("always", "start", "increment", "cycle")},
     {"always": False, "start": 5, "increment": 2, "cycle": False})
same("comments", (columns["note"]["comment"], i.get_table_comment("parent")["text"]), ("a note", "parents"))
same("primary key", i.get_pk_constraint("child")["constrained_columns"], ["pid", "seq"])
[key] = i.get_foreign_keys("child")
same("foreign key", (key["name"], key["referred_table"], key["referred_columns"], key["options"]),
     ("fk_parent", "parent", ["id"], {"ondelete": "CASCADE"}))
[unique] = i.get_unique_constraints("parent")
same("unique", (unique["name"], unique["column_names"]), ("uq_name", ["name"]))
same("checks", i.get_check_constraints("parent"), [{"name": "ck_price", "sqltext": "price >= 0"}])
indexes = {x["name"]: x for x in i.get_indexes("parent")}
same("expression", indexes["ix_note"]["expressions"], ["UPPER(NOTE)"])
same("descending", indexes["ix_made"]["column_sorting"], {'"PRICE"': ("desc",)})
same("options", i.get_table_options("parent"), {"oracle_tablespace": "USERS"})
same("view", (i.get_view_definition("v"), [c["name"] for c in i.get_columns("v")]),
     ("select id, name from parent", ["id", "name"]))
same("through a synonym", [c["name"] for c in i.get_columns("syn", oracle_resolve_synonyms=True)], list(columns))
for many in ("columns", "pk_constraint", "foreign_keys", "indexes", "unique_constraints", "check_constraints",
             "table_comment", "table_options"):
    assert (None, "parent") in getattr(i, f"get_multi_{many}")(), many
reflected = sa.MetaData()
reflected.reflect(engine, views=True)
same("reflected", sorted(reflected.tables), ["child", "parent", "v"])


class Base(DeclarativeBase):
    pass


class Author(Base):
    __tablename__ = "author"
    id: Mapped[int] = mapped_column(sa.Identity(), primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(40))
    books: Mapped[list["Book"]] = relationship(back_populates="author", cascade="all, delete-orphan")


class Book(Base):
    __tablename__ = "book"
    id: Mapped[int] = mapped_column(sa.Integer, sa.Sequence("book_seq"), primary_key=True)
    title: Mapped[str] = mapped_column(sa.String(40))
    price: Mapped[float] = mapped_column(sa.Numeric(8, 2))
    author_id: Mapped[int] = mapped_column(sa.ForeignKey("author.id"))
    author: Mapped[Author] = relationship(back_populates="books")


Base.metadata.create_all(engine)
with Session(engine) as s:
    s.add_all([Author(name=f"a{n}", books=[Book(title=f"b{n}.{k}", price=k) for k in range(3)]) for n in range(20)])
    s.commit()
    same("count", s.scalar(sa.select(sa.func.count()).select_from(Book)), 60)
    page = s.scalars(sa.select(Author).order_by(Author.id).offset(5).limit(3)).all()
    same("page", [a.name for a in page], ["a5", "a6", "a7"])
    same("joined", s.scalar(sa.select(sa.func.sum(Book.price)).join(Author).where(Author.name == "a3")), 3)
    s.execute(sa.update(Book).where(Book.price == 2).values(price=Book.price + 1))
    s.delete(page[0])
    s.rollback()
    same("rolled back", s.scalar(sa.select(sa.func.max(Book.price))), 2)
    s.delete(s.get(Author, 1))
    s.commit()
    same("cascaded", s.scalar(sa.select(sa.func.count()).select_from(Book)), 57)
with engine.connect().execution_options(isolation_level="SERIALIZABLE") as c:
    same("serializable", c.scalar(sa.text("select count(*) from parent")), 0)
Base.metadata.drop_all(engine)
same("dropped", sorted(sa.inspect(engine).get_table_names()), ["child", "parent"])
print("all done")
