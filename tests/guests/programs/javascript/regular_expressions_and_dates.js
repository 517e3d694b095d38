const text = "Contact: ann@example.com, bob@test.org on 2024-03-15 or 2023-12-01";
console.log(text.match(/[\w.]+@[\w.]+\.\w+/g));
for (const { groups: { y, m, d }, index } of text.matchAll(/(?<y>\d{4})-(?<m>\d\d)-(?<d>\d\d)/g)) console.log(y, m, d, index);
console.log(text.replace(/(\d{4})-(\d\d)-(\d\d)/g, "$3/$2/$1").slice(-24));
console.log("camelCaseString".replace(/[A-Z]/g, (c) => "_" + c.toLowerCase()), "a-b-c".split("-"), /^\p{Lu}/u.test("École"));
const date = new Date(Date.UTC(2024, 1, 29, 12));
console.log(date.toISOString(), date.getUTCDay(), new Date("2024-03-01T00:00:00Z") - date);
date.setUTCDate(date.getUTCDate() + 1);
console.log(date.toJSON(), new Date(NaN).getTime());
