// intl.js: Intl and the toLocale methods for one locale, en-US, and one time zone, UTC. Other locales are answered in en-US;
// other time zones are refused.
(function (native, hooks) {
  const MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
  ];
  const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
  const SYMBOLS = {
    USD: "$",
    EUR: "€",
    GBP: "£",
    JPY: "¥",
    INR: "₹",
    CNY: "CN¥",
    KRW: "₩",
    BRL: "R$",
    CAD: "CA$",
    AUD: "A$",
    MXN: "MX$",
  };
  const WHOLE_CURRENCIES = ["JPY", "KRW"];
  const COMPACT = [
    [1e12, "T", "trillion"],
    [1e9, "B", "billion"],
    [1e6, "M", "million"],
    [1e3, "K", "thousand"],
  ];

  const digitLimits = (o) => {
    const style = o.style ?? "decimal";
    const usual =
      style === "currency" ? (WHOLE_CURRENCIES.includes(o.currency) ? [0, 0] : [2, 2]) : style === "percent" ? [0, 0] : [0, 3];
    const least = o.minimumFractionDigits ?? Math.min(usual[0], o.maximumFractionDigits ?? Infinity);
    const most = o.maximumFractionDigits ?? Math.max(usual[1], least);
    if (!(least >= 0 && most <= 100 && least <= most)) throw new RangeError("maximumFractionDigits value is out of range.");
    return [least, most];
  };

  const fixed = (value, o) => {
    if (o.maximumSignificantDigits !== undefined && value !== 0) {
      const text = Number(value).toPrecision(o.maximumSignificantDigits);
      return String(Number(text)).includes("e") ? BigInt(Math.round(Number(text))).toString() : String(Number(text));
    }
    const [least, most] = digitLimits(o);
    if (typeof value === "bigint") return `${value}${least ? "." + "0".repeat(least) : ""}`;
    let text = value >= 1e21 ? BigInt(value).toString() : value.toFixed(most);
    while (text.includes(".") && text.length - text.indexOf(".") - 1 > least && text.endsWith("0")) text = text.slice(0, -1);
    return text.replace(/\.$/, "");
  };

  const formatNumber = (given, o = {}) => {
    let value = typeof given === "bigint" ? given : Number(given),
      suffix = "";
    const negative = value < 0 || Object.is(value, -0);
    if (negative) value = -value;
    if (Number.isNaN(value)) return "NaN";
    if (o.style === "percent") value = typeof value === "bigint" ? value * 100n : value * 100;
    let limits = o;
    if (o.notation === "compact") {
      const found = COMPACT.find(([size]) => Number(value) >= size);
      if (found) [value, suffix] = [Number(value) / found[0], o.compactDisplay === "long" ? ` ${found[2]}` : found[1]];
      limits = { maximumFractionDigits: Number(value) < 10 && found ? 1 : 0, ...o };
    }
    let [whole, part] = value === Infinity ? ["∞"] : fixed(value, limits).split(".");
    whole = whole.padStart(o.minimumIntegerDigits ?? 1, "0");
    if (o.useGrouping !== false) whole = whole.replace(/\B(?=(\d{3})+$)/g, ",");
    const text = whole + (part ? `.${part}` : "") + suffix;
    const sign = negative ? "-" : o.signDisplay === "always" || (o.signDisplay === "exceptZero" && value != 0) ? "+" : "";
    if (o.style === "percent") return `${sign}${text}%`;
    if (o.style === "unit") return `${sign}${text} ${o.unit}`;
    if (o.style !== "currency") return sign + text;
    if (o.currencyDisplay === "code") return `${sign}${o.currency} ${text}`;
    return sign + (SYMBOLS[o.currency] ?? `${o.currency} `) + text;
  };

  const checkZone = (zone) => {
    if (zone !== undefined && !["UTC", "GMT", "ETC/UTC", "ETC/GMT"].includes(`${zone}`.toUpperCase()))
      throw new RangeError(`Invalid time zone specified: ${zone} (only UTC is known here)`);
  };

  const STYLES = {
    date: {
      full: { weekday: "long", year: "numeric", month: "long", day: "numeric" },
      long: { year: "numeric", month: "long", day: "numeric" },
      medium: { year: "numeric", month: "short", day: "numeric" },
      short: { year: "2-digit", month: "numeric", day: "numeric" },
    },
    time: {
      full: { hour: "numeric", minute: "2-digit", second: "2-digit", timeZoneName: "short" },
      long: { hour: "numeric", minute: "2-digit", second: "2-digit", timeZoneName: "short" },
      medium: { hour: "numeric", minute: "2-digit", second: "2-digit" },
      short: { hour: "numeric", minute: "2-digit" },
    },
  };
  const DATE_FIELDS = ["weekday", "year", "month", "day"],
    TIME_FIELDS = ["hour", "minute", "second"];

  const two = (n) => String(n).padStart(2, "0");
  const sized = (n, size) => (size === "2-digit" ? two(n % 100) : String(n));

  const dateText = (date, o) => {
    const word = (list, at, size) => (size === "long" ? list[at] : size === "narrow" ? list[at][0] : list[at].slice(0, 3));
    const weekday = o.weekday && word(DAYS, date.getUTCDay(), o.weekday);
    const day = o.day && sized(date.getUTCDate(), o.day),
      year = o.year && sized(date.getUTCFullYear(), o.year);
    if (o.month && !["numeric", "2-digit"].includes(o.month)) {
      const monthDay = [word(MONTHS, date.getUTCMonth(), o.month), day].filter(Boolean).join(" ");
      return [weekday, year && !day ? `${monthDay} ${year}` : monthDay, day && year].filter(Boolean).join(", ");
    }
    const numbers = [o.month && sized(date.getUTCMonth() + 1, o.month), day, year].filter(Boolean).join("/");
    return [weekday, numbers].filter(Boolean).join(", ");
  };

  const timeText = (date, o) => {
    const twelve = o.hour12 ?? !["h23", "h24"].includes(o.hourCycle),
      hours = date.getUTCHours();
    const shown = twelve ? hours % 12 || 12 : hours;
    const hour = o.hour && (o.hour === "2-digit" || !twelve ? two(shown) : String(shown));
    const parts = [hour, o.minute && two(date.getUTCMinutes()), o.second && two(date.getUTCSeconds())]
      .filter(Boolean)
      .join(":");
    const text =
      parts +
      (o.fractionalSecondDigits
        ? "." + String(date.getUTCMilliseconds()).padStart(3, "0").slice(0, o.fractionalSecondDigits)
        : "");
    return text + (o.hour && twelve ? (hours < 12 ? " AM" : " PM") : "") + (o.timeZoneName ? " UTC" : "");
  };

  // `needs` says what is shown when the options name no field: "date", "time" or "any" (the date) or "all" (both).
  const formatDate = (date, given = {}, needs = "any") => {
    checkZone(given.timeZone);
    if (Number.isNaN(date.getTime())) return "Invalid Date";
    let o = { ...given };
    if (o.dateStyle || o.timeStyle) o = { ...o, ...STYLES.date[o.dateStyle], ...STYLES.time[o.timeStyle] };
    else if (![...DATE_FIELDS, ...TIME_FIELDS].some((f) => o[f])) {
      if (needs !== "time") Object.assign(o, { year: "numeric", month: "numeric", day: "numeric" });
      if (needs === "time" || needs === "all") Object.assign(o, { hour: "numeric", minute: "2-digit", second: "2-digit" });
    }
    const joint = given.dateStyle === "full" || given.dateStyle === "long" ? " at " : ", ";
    return [dateText(date, o), timeText(date, o)].filter(Boolean).join(joint);
  };

  // Compares as people sort words: letters before accents before case; punctuation, then digits, then letters.
  const rank = (c) => (/\p{L}/u.test(c) ? 2 : /\p{N}/u.test(c) ? 1 : 0);
  const bare = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
  const comparePlain = (a, b) => {
    for (let i = 0; i < a.length && i < b.length; i++)
      if (a[i] !== b[i]) return rank(a[i]) - rank(b[i]) || (a[i] < b[i] ? -1 : 1);
    return a.length - b.length;
  };
  const compareNumeric = (a, b) => {
    const left = a.match(/\d+|\D+/g) ?? [],
      right = b.match(/\d+|\D+/g) ?? [];
    for (let i = 0; i < left.length && i < right.length; i++) {
      const numbers = /^\d/.test(left[i]) && /^\d/.test(right[i]);
      const order = numbers ? Number(left[i]) - Number(right[i]) : comparePlain(left[i], right[i]);
      if (order) return order;
    }
    return left.length - right.length;
  };
  const compareAccents = (a, b) => {
    const left = a.normalize("NFD").match(/\P{M}\p{M}*/gu) ?? [],
      right = b.normalize("NFD").match(/\P{M}\p{M}*/gu) ?? [];
    for (let i = 0; i < left.length && i < right.length; i++) {
      const x = left[i].replace(/\P{M}/gu, ""),
        y = right[i].replace(/\P{M}/gu, "");
      if (x !== y) return x < y ? -1 : 1;
    }
    return 0;
  };
  const compare = (a, b, o = {}) => {
    if (a === b) return 0;
    const first = (o.numeric ? compareNumeric : comparePlain)(bare(a), bare(b));
    if (first || o.sensitivity === "base") return Math.sign(first);
    const accents = compareAccents(a, b);
    if (accents && o.sensitivity !== "case") return Math.sign(accents);
    if (o.sensitivity === "accent") return 0;
    const x = a.normalize("NFC"),
      y = b.normalize("NFC");
    for (let i = 0; i < x.length && i < y.length; i++) if (x[i] !== y[i]) return x[i] === x[i].toLowerCase() ? -1 : 1;
    return 0;
  };

  const english = { locale: "en-US", numberingSystem: "latn" };
  const Intl = {
    NumberFormat: class NumberFormat {
      #options;
      constructor(locales, options = {}) {
        this.#options = { ...options };
        digitLimits(this.#options);
      }
      get format() {
        return (value) => formatNumber(value, this.#options);
      }
      resolvedOptions() {
        const [minimumFractionDigits, maximumFractionDigits] = digitLimits(this.#options);
        return { ...english, style: "decimal", ...this.#options, minimumFractionDigits, maximumFractionDigits };
      }
    },
    DateTimeFormat: class DateTimeFormat {
      #options;
      constructor(locales, options = {}) {
        checkZone(options.timeZone);
        this.#options = { ...options };
      }
      get format() {
        return (date) => formatDate(date === undefined ? new Date() : new Date(date), this.#options);
      }
      resolvedOptions() {
        return { ...english, calendar: "gregory", ...this.#options, timeZone: "UTC" };
      }
    },
    Collator: class Collator {
      #options;
      constructor(locales, options = {}) {
        this.#options = { ...options };
      }
      get compare() {
        return (a, b) => compare(`${a}`, `${b}`, this.#options);
      }
      resolvedOptions() {
        return { ...english, usage: "sort", sensitivity: "variant", ...this.#options };
      }
    },
    PluralRules: class PluralRules {
      #ordinal;
      constructor(locales, options = {}) {
        this.#ordinal = options.type === "ordinal";
      }
      select(n) {
        if (!this.#ordinal) return n === 1 ? "one" : "other";
        const tens = n % 100,
          ones = n % 10;
        return tens >= 11 && tens <= 13 ? "other" : ones === 1 ? "one" : ones === 2 ? "two" : ones === 3 ? "few" : "other";
      }
    },
    ListFormat: class ListFormat {
      #word;
      constructor(locales, options = {}) {
        this.#word = options.type === "disjunction" ? "or" : "and";
      }
      format(list) {
        const items = [...list];
        if (items.length <= 2) return items.join(` ${this.#word} `);
        return `${items.slice(0, -1).join(", ")}, ${this.#word} ${items.at(-1)}`;
      }
    },
    getCanonicalLocales: (locales) => [].concat(locales ?? []),
    supportedValuesOf: () => [],
  };
  for (const [name, service] of Object.entries(Intl)) {
    if (!service.prototype) continue;
    service.supportedLocalesOf = (locales) => [].concat(locales ?? []);
    Intl[name] = new Proxy(service, { apply: (made, self, args) => new made(...args) }); // Intl.Collator() works without new
  }
  Object.defineProperty(Intl, Symbol.toStringTag, { value: "Intl", configurable: true });
  hooks.define("Intl", Intl);

  const replace = (prototype, methods) => {
    for (const [name, value] of Object.entries(methods))
      Object.defineProperty(prototype, name, { value, writable: true, configurable: true, enumerable: false });
  };
  replace(Number.prototype, {
    toLocaleString(locales, options) {
      return formatNumber(this.valueOf(), options);
    },
  });
  replace(BigInt.prototype, {
    toLocaleString(locales, options) {
      return formatNumber(this.valueOf(), options);
    },
  });
  replace(Date.prototype, {
    toLocaleString(locales, options) {
      return formatDate(this, options, "all");
    },
    toLocaleDateString(locales, options) {
      return formatDate(this, options, "date");
    },
    toLocaleTimeString(locales, options) {
      return formatDate(this, options, "time");
    },
  });
  replace(String.prototype, {
    localeCompare(other, locales, options) {
      return compare(String(this), `${other}`, options);
    },
  });
});
