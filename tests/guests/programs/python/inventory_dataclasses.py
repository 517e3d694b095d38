"""Inventory with dataclasses, enums, a decorator and JSON round trip."""
from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from decimal import Decimal
from enum import Enum, auto
from functools import total_ordering, wraps


class Category(Enum):
    TOOL = auto()
    TOY = auto()
    FOOD = auto()


@total_ordering
@dataclass(frozen=True)
class Item:
    sku: str
    name: str
    price: Decimal
    category: Category
    tags: tuple[str, ...] = ()

    def __lt__(self, other: Item) -> bool:
        return (self.price, self.sku) < (other.price, other.sku)

    def __post_init__(self):
        if self.price < 0:
            raise ValueError(f"negative price for {self.sku}")


def logged(method):
    @wraps(method)
    def wrapper(self, *args, **kwargs):
        try:
            result = method(self, *args, **kwargs)
            self.log.append(f"{method.__name__}{args!r} -> {result!r}")
            return result
        except Exception as error:
            self.log.append(f"{method.__name__}{args!r} !! {error}")
            raise

    return wrapper


@dataclass
class Inventory:
    stock: dict[str, int] = field(default_factory=dict)
    items: dict[str, Item] = field(default_factory=dict)
    log: list[str] = field(default_factory=list, repr=False)

    def register(self, item: Item, count: int = 0) -> None:
        self.items[item.sku] = item
        self.stock[item.sku] = self.stock.get(item.sku, 0) + count

    @logged
    def remove(self, sku: str, count: int) -> int:
        if self.stock.get(sku, 0) < count:
            raise LookupError(f"only {self.stock.get(sku, 0)} of {sku}")
        self.stock[sku] -= count
        return self.stock[sku]

    def value(self) -> Decimal:
        return sum((self.items[s].price * n for s, n in self.stock.items()), Decimal(0))


class Encoder(json.JSONEncoder):
    def default(self, o):
        if isinstance(o, Decimal):
            return str(o)
        if isinstance(o, Enum):
            return o.name
        return super().default(o)


inv = Inventory()
inv.register(Item("A1", "Hammer", Decimal("12.50"), Category.TOOL, ("steel", "heavy")), 4)
inv.register(Item("B2", "Yo-yo", Decimal("3.99"), Category.TOY), 20)
inv.register(Item("C3", "Honey", Decimal("6.00"), Category.FOOD), 9)
print(inv.value())
print(inv.remove("A1", 1))
try:
    inv.remove("B2", 100)
except LookupError as e:
    print("error:", e)
try:
    Item("X", "bad", Decimal("-1"), Category.TOY)
except ValueError as e:
    print("error:", e)
print(sorted(inv.items.values())[0])
print(max(inv.items.values()) >= min(inv.items.values()))
print(replace(inv.items["A1"], price=Decimal("10")).price)
print(json.dumps({s: asdict(i) for s, i in inv.items.items()}, cls=Encoder, indent=1))
print(*inv.log, sep="\n")
print(inv)
