"""A turn-based battle with classes, inheritance, a seeded random generator and a battle log."""
import random
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import Flag, IntEnum, auto


class Element(IntEnum):
    FIRE = 1
    WATER = 2
    GRASS = 3

    def beats(self, other):
        return (self - other) % 3 == 1


class Status(Flag):
    NONE = 0
    POISONED = auto()
    STUNNED = auto()


@dataclass
class Fighter(ABC):
    name: str
    element: Element
    hp: int = 30
    status: Status = Status.NONE
    log: list = field(default_factory=list, repr=False)

    @abstractmethod
    def attack(self, rng): ...

    def take(self, damage, element):
        if element.beats(self.element):
            damage *= 2
        self.hp = max(0, self.hp - damage)
        return damage

    @property
    def alive(self):
        return self.hp > 0


class Knight(Fighter):
    def attack(self, rng):
        return rng.randint(4, 7), Status.NONE


class Snake(Fighter):
    def attack(self, rng):
        return rng.randint(1, 5), Status.POISONED if rng.random() < 0.4 else Status.NONE


class Mage(Fighter):
    def attack(self, rng):
        return rng.choice([0, 3, 9]), Status.STUNNED if rng.random() < 0.3 else Status.NONE


def battle(a, b, seed):
    rng = random.Random(seed)
    for turn in range(1, 50):
        for me, foe in ((a, b), (b, a)):
            if Status.STUNNED in me.status:
                me.status &= ~Status.STUNNED
                print(f"{turn:>2} {me.name} is stunned")
                continue
            damage, effect = me.attack(rng)
            dealt = foe.take(damage, me.element)
            foe.status |= effect
            print(f"{turn:>2} {me.name} hits {foe.name} for {dealt} ({foe.hp} left)" + (f" {effect.name}" if effect else ""))
            if Status.POISONED in me.status:
                me.hp = max(0, me.hp - 1)
            if not foe.alive or not me.alive:
                return me if me.alive else foe


winner = battle(Knight("Sir", Element.FIRE), Snake("Ssss", Element.WATER, hp=22), seed=5)
print("winner", winner)
winner = battle(Mage("Merlin", Element.GRASS, 20), Knight("Lance", Element.FIRE), seed=9)
print("winner", winner.name, winner.hp, repr(winner.status), winner.element.name, list(Element), Status.POISONED | Status.STUNNED)
try:
    Fighter("x", Element.FIRE)
except TypeError as e:
    print("TypeError", "abstract" in str(e))
