"""Bank accounts with exceptions, properties, context managers, abstract classes; the last error is not caught."""
from abc import ABC, abstractmethod
from contextlib import contextmanager


class BankError(Exception):
    """Base of all errors here."""


class InsufficientFunds(BankError):
    def __init__(self, needed, available):
        self.needed, self.available = needed, available
        super().__init__(f"needed {needed:.2f}, available {available:.2f}")


class Account(ABC):
    count = 0

    def __init__(self, owner, balance=0.0):
        self.owner, self._balance = owner, balance
        type(self).count += 1

    @property
    def balance(self):
        return round(self._balance, 2)

    @balance.setter
    def balance(self, value):
        if value < self.minimum():
            raise InsufficientFunds(self._balance - value, self._balance - self.minimum())
        self._balance = value

    @abstractmethod
    def minimum(self): ...

    def __repr__(self):
        return f"{type(self).__name__}({self.owner!r}, {self.balance:.2f})"


class Savings(Account):
    def minimum(self):
        return 0


class Checking(Account):
    def __init__(self, owner, balance=0.0, overdraft=100):
        super().__init__(owner, balance)
        self.overdraft = overdraft

    def minimum(self):
        return -self.overdraft


@contextmanager
def transaction(*accounts):
    before = [a._balance for a in accounts]
    try:
        yield
    except BankError as e:
        for account, balance in zip(accounts, before):
            account._balance = balance
        print("rolled back:", e)
        raise RuntimeError("transaction failed") from e
    else:
        print("committed")


a, b = Savings("ada", 50), Checking("ben", 20)
with transaction(a, b):
    a.balance -= 30
    b.balance += 30
print(a, b)
try:
    with transaction(a, b):
        a.balance += 500
        b.balance -= 500
except RuntimeError as e:
    print(e, "because", repr(e.__cause__))
print(a, b, Account.count, Savings.count)
try:
    Account("x")
except TypeError as e:
    print(str(e).split(" with")[0])
b.balance -= 150
print(b)
a.balance -= 1000
