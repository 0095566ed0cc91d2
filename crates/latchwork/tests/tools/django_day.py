"""Django: an application is migrated, used through its models, inspected, altered and migrated back."""

import io
import os
import pathlib
import sys
import tempfile

port, service = sys.argv[1:3]

import django
from django.conf import settings

settings.configure(
    SECRET_KEY="x",
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.oracle",
            "NAME": f"127.0.0.1:{port}/{service}",
            "USER": "app",
            "PASSWORD": "Tiger1",
        }
    },
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "shop"],
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    USE_TZ=True,
    TIME_ZONE="America/New_York",
)
MODELS = '''
from django.db import models
from django.db.models.functions import Upper


class Author(models.Model):
    name = models.CharField(max_length=40, unique=True)
    born = models.DateField(null=True)

    class Meta:
        constraints = [models.CheckConstraint(condition=models.Q(name__gt=""), name="author_named")]
        indexes = [models.Index(Upper("name"), name="author_upper")]


class Tag(models.Model):
    name = models.SlugField(unique=True)


class Book(models.Model):
    author = models.ForeignKey(Author, on_delete=models.CASCADE)
    title = models.CharField(max_length=100, db_index=True)
    price = models.DecimalField(max_digits=8, decimal_places=2)
    stock = models.PositiveIntegerField(default=0)
    sold = models.BooleanField(default=False)
    made = models.DateTimeField(auto_now_add=True)
    weight = models.FloatField(null=True)
    reading = models.DurationField(null=True)
    tags = models.ManyToManyField(Tag)

    class Meta:
        unique_together = [("author", "title")]
'''


def same(what, actual, wanted):
    assert actual == wanted, f"{what}: {actual!r}, and not {wanted!r}"


with tempfile.TemporaryDirectory() as folder:
    app = pathlib.Path(folder) / "shop"
    app.mkdir()
    (app / "__init__.py").write_text("")
    (app / "models.py").write_text(MODELS)
    sys.path.insert(0, folder)
    django.setup()
    from django.core.management import call_command
    from django.db import IntegrityError, connection, models, transaction
    from django.db.models import Count, F, Max, Q, Sum, Value, Window
    from django.db.models.functions import Concat, Rank, TruncDay

    def command(*arguments, **options):
        out = io.StringIO()
        call_command(*arguments, stdout=out, **options)
        return out.getvalue()

    command("makemigrations", "shop")
    assert "shop.0001_initial... OK" in command("migrate")
    assert "No migrations to apply" in command("migrate")
    from shop.models import Author, Book, Tag

    authors = [Author.objects.create(name=f"A{n}") for n in range(5)]
    same("keys", [a.pk for a in authors], [1, 2, 3, 4, 5])
    first = authors[0]
    Book.objects.bulk_create([Book(author=first, title=f"B{n}", price=n) for n in range(50)])
    found = Book.objects.filter(title__icontains="b1", author__name="A0").order_by("-price")[:3]
    same("page", [b.title for b in found], ["B19", "B18", "B17"])
    totals = Book.objects.aggregate(n=Count("*"), s=Sum("price"), m=Max("made"))
    same("totals", (totals["n"], totals["s"], totals["m"].tzname()), (50, 1225, "UTC"))
    same("update", Book.objects.filter(price__gt=40).update(stock=F("stock") + 1, sold=True), 9)
    same("either", Book.objects.filter(Q(sold=True) | Q(price=0)).count(), 10)
    tag, made = Tag.objects.get_or_create(name="x")
    assert made and not Tag.objects.get_or_create(name="x")[1]
    Book.objects.first().tags.add(tag)
    same("many to many", Book.objects.filter(tags__name="x").count(), 1)
    with transaction.atomic():
        same("locked", len(Book.objects.select_for_update(nowait=True).filter(price__lt=2)), 2)
    try:
        with transaction.atomic():
            Author.objects.create(name="A0")
        raise AssertionError("a second A0")
    except IntegrityError:
        pass
    same("regular expression", Book.objects.filter(title__regex=r"^B\d$").count(), 10)
    same("year", Book.objects.filter(made__year__gte=2020).count(), 50)
    days = Book.objects.annotate(day=TruncDay("made")).values("day").annotate(n=Count("id"))
    same("by day", ([d["n"] for d in days], str(days[0]["day"].tzinfo)), ([50], "America/New_York"))
    ranks = Book.objects.annotate(r=Window(Rank(), order_by=F("price").desc())).values_list("r", flat=True)[:3]
    same("window", list(ranks), [1, 2, 3])
    joined = Author.objects.annotate(t=Concat("name", Value("!"))).values_list("t", flat=True)
    same("concatenated", sorted(joined)[0], "A0!")
    same("deleted", Author.objects.all().delete()[1]["shop.Book"], 50)

    inspected = command("inspectdb", "shop_book", "shop_author")
    assert "Unable" not in inspected and "The error was" not in inspected, inspected
    for line in (
        "class ShopBook(models.Model):",
        "id = models.BigAutoField(primary_key=True)",
        "title = models.CharField(max_length=100",
        "price = models.DecimalField(max_digits=8, decimal_places=2)",
        "sold = models.BooleanField()",
        "author = models.ForeignKey('ShopAuthor', models.DO_NOTHING",
        "name = models.CharField(unique=True, max_length=40",
    ):
        assert line in inspected, f"{line} is not in\n{inspected}"
    with connection.cursor() as c:
        constraints = connection.introspection.get_constraints(c, "shop_book")
        assert [x for x in constraints.values() if x["foreign_key"] == ("shop_author", "id")]
        assert [x for x in constraints.values() if x["unique"] and x["columns"] == ["author_id", "title"]]
        names = {x["name"] for x in connection.introspection.get_sequences(c, "shop_book")}
        assert names and all(n.startswith("iseq$$") for n in names), names
    command("flush", interactive=False)

    def field(kind, name, **options):
        made = kind(**options)
        made.set_attributes_from_name(name)
        made.model = Tag
        return made

    with connection.schema_editor() as editor:
        short = field(models.CharField, "extra", max_length=60, default="q")
        editor.add_field(Tag, short)
        long = field(models.CharField, "extra", max_length=90, null=True)
        editor.alter_field(Tag, short, long)
        number = field(models.IntegerField, "amount", null=True)
        editor.alter_field(Tag, long, number)
        editor.remove_field(Tag, number)
    command("migrate", "shop", "zero")
    left = [n for n in connection.introspection.table_names() if n.startswith("shop")]
    same("left", left, [])
print("all done")
