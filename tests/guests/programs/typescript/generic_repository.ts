interface Entity {
  id: number;
}

interface User extends Entity {
  name: string;
  email?: string;
}

class Repository<T extends Entity> {
  private items = new Map<number, T>();
  private nextId = 1;

  add(item: Omit<T, "id">): T {
    const created = { ...item, id: this.nextId++ } as T;
    this.items.set(created.id, created);
    return created;
  }

  find(predicate: (item: T) => boolean): T | undefined {
    return [...this.items.values()].find(predicate);
  }

  update(id: number, patch: Partial<T>): T {
    const existing = this.items.get(id);
    if (!existing) throw new Error(`no entity ${id}`);
    const merged = { ...existing, ...patch };
    this.items.set(id, merged);
    return merged;
  }

  get size(): number {
    return this.items.size;
  }
}

const users = new Repository<User>();
users.add({ name: "Ann" });
users.add({ name: "Bob", email: "bob@example.com" });
console.log(users.update(1, { email: "ann@example.com" }));
console.log(users.find((u) => u.name === "Bob")?.email, users.find((u) => u.name === "Zed")?.email ?? "none");
try {
  users.update(9, {});
} catch (e) {
  console.log((e as Error).message);
}
console.log(users.size);
