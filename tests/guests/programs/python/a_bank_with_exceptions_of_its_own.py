class InsufficientFunds(Exception):
    def __init__(self, needed, available):
        super().__init__(f"need {needed:.2f}, have {available:.2f}")
        self.shortfall = needed - available

class Account:
    interest = 0.02
    _count = 0

    def __init__(self, owner, balance=0):
        self.owner, self._balance, self.history = owner, balance, []
        Account._count += 1

    @property
    def balance(self):
        return self._balance

    def deposit(self, amount):
        if amount <= 0:
            raise ValueError("deposit must be positive")
        self._balance += amount
        self.history.append(("deposit", amount))
        return self

    def withdraw(self, amount):
        if amount > self._balance:
            raise InsufficientFunds(amount, self._balance)
        self._balance -= amount
        self.history.append(("withdraw", amount))
        return self

    @classmethod
    def count(cls):
        return cls._count

    def __str__(self):
        return f"{self.owner}: ${self._balance:,.2f}"

class Savings(Account):
    def add_interest(self):
        return self.deposit(self._balance * self.interest)

a = Savings("Ada", 1000).deposit(500)
a.add_interest()
print(a, Account.count())
try:
    a.withdraw(5000)
except InsufficientFunds as e:
    print("Error:", e, "shortfall", e.shortfall)
try:
    a.deposit(-1)
except ValueError as e:
    print("Error:", e)
try:
    a.balance = 3
except AttributeError:
    print("read-only")
print(a.history)
