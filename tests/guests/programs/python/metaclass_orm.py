"""A toy ORM: descriptors, metaclass, __init_subclass__, __getattr__, operator overloading to build SQL."""
import sqlite3


class Field:
    def __init__(self, kind, default=None):
        self.kind, self.default = kind, default

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, obj, owner=None):
        return self if obj is None else obj.__dict__.get(self.name, self.default)

    def __set__(self, obj, value):
        if value is not None and not isinstance(value, self.kind):
            raise TypeError(f"{self.name} must be {self.kind.__name__}, not {type(value).__name__}")
        obj.__dict__[self.name] = value

    def _op(op):
        return lambda self, other: Condition(f"{self.name} {op} ?", [other])

    __eq__, __lt__, __gt__ = _op("="), _op("<"), _op(">")
    __hash__ = object.__hash__


class Condition:
    def __init__(self, sql, args):
        self.sql, self.args = sql, args

    def __and__(self, other):
        return Condition(f"({self.sql} AND {other.sql})", self.args + other.args)

    def __or__(self, other):
        return Condition(f"({self.sql} OR {other.sql})", self.args + other.args)


class Meta(type):
    def __new__(mcls, name, bases, body, **kw):
        cls = super().__new__(mcls, name, bases, body)
        cls.fields = {k: v for k, v in body.items() if isinstance(v, Field)}
        return cls

    def __len__(cls):
        return db.execute(f"SELECT count(*) FROM {cls.table}").fetchone()[0]


class Model(metaclass=Meta):
    registry = {}

    def __init_subclass__(cls, table=None, **kw):
        super().__init_subclass__(**kw)
        cls.table = table or cls.__name__.lower()
        Model.registry[cls.table] = cls

    def __init__(self, **values):
        for k, v in values.items():
            if k not in self.fields:
                raise AttributeError(f"{type(self).__name__} has no field {k!r}")
            setattr(self, k, v)

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{k}={getattr(self, k)!r}' for k in self.fields)})"

    @classmethod
    def create_table(cls):
        kinds = {int: "INTEGER", str: "TEXT", float: "REAL"}
        db.execute(f"CREATE TABLE {cls.table} ({', '.join(f'{k} {kinds[f.kind]}' for k, f in cls.fields.items())})")

    def save(self):
        db.execute(f"INSERT INTO {self.table} VALUES ({', '.join('?' * len(self.fields))})", [getattr(self, k) for k in self.fields])
        return self

    @classmethod
    def where(cls, condition):
        print("SQL:", condition.sql, condition.args)
        rows = db.execute(f"SELECT * FROM {cls.table} WHERE {condition.sql} ORDER BY 1", condition.args)
        return [cls(**dict(zip(cls.fields, row))) for row in rows]


db = sqlite3.connect(":memory:")


class Person(Model, table="people"):
    name = Field(str)
    age = Field(int, default=0)


class City(Model):
    name = Field(str)
    size = Field(float)


for model in Model.registry.values():
    model.create_table()
for n, a in [("Ada", 36), ("Bo", 20), ("Cy", 55)]:
    Person(name=n, age=a).save()
Person(name="Di").save()
print(len(Person), Model.registry)
print(Person.where((Person.age > 30) & (Person.age < 60)))
print(Person.where((Person.name == "Di") | (Person.age == 20)))
for bad in ({"age": "old"}, {"colour": "red"}):
    try:
        Person(**bad)
    except (TypeError, AttributeError) as e:
        print(type(e).__name__, e)
