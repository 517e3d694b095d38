// intl.js: Intl and the toLocale methods for one locale, en-US, and one time zone, UTC. Other locales are answered in en-US;
// other time zones are refused. Numbers are in numbers.js.
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
      full: { hour: "numeric", minute: "2-digit", second: "2-digit", timeZoneName: "long" },
      long: { hour: "numeric", minute: "2-digit", second: "2-digit", timeZoneName: "short" },
      medium: { hour: "numeric", minute: "2-digit", second: "2-digit" },
      short: { hour: "numeric", minute: "2-digit" },
    },
  };
  const ERAS = { short: ["BC", "AD"], long: ["Before Christ", "Anno Domini"], narrow: ["B", "A"] };
  const ZONES = { short: "UTC", long: "Coordinated Universal Time", shortOffset: "GMT", longOffset: "GMT", shortGeneric: "GMT" };
  const DATE_FIELDS = ["weekday", "year", "month", "day"],
    TIME_FIELDS = ["hour", "minute", "second", "fractionalSecondDigits"];

  const two = (n) => String(n).padStart(2, "0");
  const sized = (n, size) => (size === "2-digit" ? two(n % 100) : String(n));

  // Parts are [type, text]; `between` puts a literal between those that are there.
  const between = (text, ...lists) =>
    lists.filter((list) => list.length).flatMap((list, i) => (i ? [["literal", text], ...list] : list));
  const part = (type, text) => (text ? [[type, text]] : []);

  const dateParts = (date, o) => {
    const word = (list, at, size) => (size === "long" ? list[at] : size === "narrow" ? list[at][0] : list[at].slice(0, 3));
    const isWord = o.month && !["numeric", "2-digit"].includes(o.month);
    const number = date.getUTCFullYear();
    const weekday = part("weekday", o.weekday && word(DAYS, date.getUTCDay(), o.weekday)),
      day = part("day", o.day && sized(date.getUTCDate(), o.day)),
      year = part("year", o.year && sized(o.era && number < 1 ? 1 - number : number, o.year)),
      at = date.getUTCMonth(),
      month = part("month", o.month && (isWord ? word(MONTHS, at, o.month) : sized(at + 1, o.month)));
    const era = part("era", o.era && ERAS[o.era]?.[number < 1 ? 0 : 1]);
    const numbers = isWord
      ? between(day.length ? ", " : " ", between(" ", month, day), year)
      : between("/", month, day, year);
    if (!month.length) return between(" ", day, weekday, year, era);
    return between(" ", ...(day.length ? [between(", ", weekday, numbers)] : [numbers, weekday]), era);
  };

  const timeParts = (date, o) => {
    const twelve = o.hour12 ?? !["h23", "h24"].includes(o.hourCycle),
      hours = date.getUTCHours();
    const shown = twelve ? hours % 12 || 12 : hours;
    const millis = String(date.getUTCMilliseconds()).padStart(3, "0");
    const second = o.second && (o.minute || o.second === "2-digit" ? two(date.getUTCSeconds()) : `${date.getUTCSeconds()}`);
    const minute = o.minute && (o.hour || o.second ? two(date.getUTCMinutes()) : `${date.getUTCMinutes()}`);
    const fraction = part("fractionalSecond", o.fractionalSecondDigits && millis.slice(0, o.fractionalSecondDigits));
    const clock = between(
      ":",
      part("hour", o.hour && (o.hour === "2-digit" || !twelve ? two(shown) : `${shown}`)),
      part("minute", minute),
      between(".", part("second", second), fraction),
    );
    const half = part("dayPeriod", o.hour && twelve && (hours < 12 ? "AM" : "PM"));
    return between(" ", clock, half, part("timeZoneName", o.timeZoneName && ZONES[o.timeZoneName]));
  };

  // `needs` says what is shown when the options name no field: "date", "time" or "any" (the date) or "all" (both).
  const partsOf = (date, given = {}, needs = "any") => {
    checkZone(given.timeZone);
    let o = { ...given };
    if (o.dateStyle || o.timeStyle) o = { ...o, ...STYLES.date[o.dateStyle], ...STYLES.time[o.timeStyle] };
    else if (![...DATE_FIELDS, ...TIME_FIELDS].some((f) => o[f])) {
      if (needs !== "time") Object.assign(o, { year: "numeric", month: "numeric", day: "numeric" });
      if (needs === "time" || needs === "all") Object.assign(o, { hour: "numeric", minute: "2-digit", second: "2-digit" });
    }
    const isDayAlone = o.weekday && !o.year && !o.month && !o.day;
    const joint = o.month === "long" ? " at " : isDayAlone ? " " : ", ";
    return between(joint, dateParts(date, o), timeParts(date, o));
  };
  const formatDate = (date, given, needs) => {
    checkZone(given?.timeZone);
    if (Number.isNaN(date.getTime())) return "Invalid Date";
    return partsOf(date, given, needs)
      .map(([, text]) => text)
      .join("");
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

  // en-latn-US → en-Latn-US
  const canonical = (locale) =>
    `${locale}`
      .toLowerCase()
      .replace(/-[a-z]{4}(?=-|$)/, (script) => `-${script[1].toUpperCase()}${script.slice(2)}`)
      .replace(/-[a-z]{2}(?=-|$)/, (region) => region.toUpperCase());
  const momentOf = (given) => {
    const date = given === undefined ? new Date() : new Date(given);
    if (Number.isNaN(date.getTime())) throw new RangeError("Invalid time value");
    return date;
  };

  const EMOJI = String.raw`\p{Extended_Pictographic}\p{Emoji_Modifier}?\uFE0F?`;
  const EXTENDING = String.raw`[\p{M}\p{Emoji_Modifier}\u200C\u200D\u{E0020}-\u{E007F}]*`;
  const HANGUL = String.raw`[\u1100-\u115F]*(?:[\u1160-\u11A7]+|[\uAC00-\uD7A3])[\u1160-\u11FF]*`;
  const SEGMENTS = {
    grapheme: new RegExp(
      String.raw`\r\n|\p{RI}\p{RI}${EXTENDING}|${EMOJI}${EXTENDING}(?:(?<=\u200D)${EMOJI}${EXTENDING})*|${HANGUL}${EXTENDING}|[^\p{Cc}]${EXTENDING}|[^]`,
      "gu",
    ),
    word: /[\p{L}\p{N}\p{M}_]+(?:['’.:][\p{L}\p{M}]+|[.,][\p{N}]+)*|\r\n|[ \t]+|[^]/gu,
    sentence: /(?=[^])[^.!?\n]*(?:[.!?]+["'”’)]*\s*|\n|$)(?!\p{Ll})/gu,
  };
  const english = { locale: "en-US", numberingSystem: "latn" };
  const Intl = {
    NumberFormat: hooks.NumberFormat,
    DateTimeFormat: class DateTimeFormat {
      #options;
      constructor(locales, options = {}) {
        checkZone(options.timeZone);
        this.#options = { ...options };
      }
      get format() {
        return (date) => formatDate(momentOf(date), this.#options);
      }
      formatToParts(date) {
        return partsOf(momentOf(date), this.#options).map(([type, value]) => ({ type, value }));
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
    // Characters as people see them, words and sentences, by rules that are right for most scripts.
    Segmenter: class Segmenter {
      #granularity;
      constructor(locales, { granularity = "grapheme" } = {}) {
        if (!Object.hasOwn(SEGMENTS, granularity)) throw new RangeError(`Value ${granularity} out of range for Intl.Segmenter options property granularity`);
        this.#granularity = granularity;
      }
      segment(given) {
        const input = `${given}`,
          kind = this.#granularity;
        const describe = ({ 0: segment, index }) => ({ segment, index, input, ...(kind === "word" && { isWordLike: /[\p{L}\p{N}]/u.test(segment) }) });
        const all = () => input.matchAll(SEGMENTS[kind]);
        return {
          containing: (at = 0) => all().map(describe).find(({ segment, index }) => at >= index && at < index + segment.length),
          [Symbol.iterator]: () => all().map(describe),
        };
      }
      resolvedOptions() {
        return { locale: "en-US", granularity: this.#granularity };
      }
    },
    getCanonicalLocales: (locales) => [].concat(locales ?? []).map(canonical),
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
  const engineText = { whole: Date.prototype.toString, time: Date.prototype.toTimeString };
  const named = (text) => (text === "Invalid Date" ? text : `${text} (Coordinated Universal Time)`);
  replace(Date.prototype, {
    toString() {
      return named(engineText.whole.call(this));
    },
    toTimeString() {
      return named(engineText.time.call(this));
    },
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
