// numbers.js: Intl.NumberFormat and toLocaleString of numbers, in en-US. A number is rounded as it is written in decimal, so that
// 1.005 with two digits is 1.01; everything is made of parts, which formatToParts gives as they are.
(function (native, hooks) {
  const SYMBOLS = {
    ...{ USD: "$", EUR: "€", GBP: "£", JPY: "¥", INR: "₹", CNY: "CN¥", KRW: "₩", BRL: "R$", CAD: "CA$", AUD: "A$", MXN: "MX$" },
    ...{ NZD: "NZ$", HKD: "HK$", TWD: "NT$", ILS: "₪", VND: "₫", PHP: "₱" },
  };
  const NAMES = { USD: "US dollars", EUR: "euros", GBP: "British pounds", JPY: "Japanese yen", CHF: "Swiss francs" };
  const WHOLE_CURRENCIES = ["JPY", "KRW", "VND", "CLP", "ISK", "XAF", "XOF", "XPF"];
  const SIZES = [
    ["", ""],
    ["K", "thousand"],
    ["M", "million"],
    ["B", "billion"],
    ["T", "trillion"],
  ];
  // Short forms, as [for one, for more]; "per" joins two of them.
  const UNITS = {
    ...{ kilometer: ["km"], meter: ["m"], centimeter: ["cm"], millimeter: ["mm"], mile: ["mi"], foot: ["ft"], inch: ["in"] },
    ...{ yard: ["yd"], kilogram: ["kg"], gram: ["g"], pound: ["lb"], ounce: ["oz"], liter: ["L"], milliliter: ["mL"] },
    ...{ millisecond: ["ms"], second: ["sec"], minute: ["min"], hour: ["hr"], day: ["day", "days"], week: ["wk", "wks"] },
    ...{ month: ["mth", "mths"], year: ["yr", "yrs"], bit: ["bit"], byte: ["byte"], kilobyte: ["kB"], megabyte: ["MB"] },
    ...{ gigabyte: ["GB"], terabyte: ["TB"], degree: ["deg"], celsius: ["°C"], fahrenheit: ["°F"], percent: ["%"], acre: ["ac"] },
    ...{ gallon: ["gal"], stone: ["st"], petabyte: ["PB"], kilobit: ["kb"], megabit: ["Mb"], gigabit: ["Gb"], hectare: ["ha"] },
  };
  const ATTACHED = ["celsius", "fahrenheit", "percent"];
  const LONG_FORMS = {
    ...{ foot: ["foot", "feet"], inch: ["inch", "inches"], stone: ["stone", "stones"], percent: ["percent", "percent"] },
    ...{ celsius: ["degree Celsius", "degrees Celsius"], fahrenheit: ["degree Fahrenheit", "degrees Fahrenheit"] },
  };
  const CHOICES = {
    style: ["decimal", "percent", "currency", "unit"],
    notation: ["standard", "scientific", "engineering", "compact"],
    compactDisplay: ["short", "long"],
    signDisplay: ["auto", "never", "always", "exceptZero", "negative"],
    currencyDisplay: ["symbol", "narrowSymbol", "code", "name"],
    currencySign: ["standard", "accounting"],
    unitDisplay: ["short", "narrow", "long"],
    ...{ roundingMode: ["ceil", "floor", "expand", "trunc", "halfCeil", "halfFloor", "halfExpand", "halfTrunc", "halfEven"] },
  };

  const whole = (o, name, least, most) => {
    if (o[name] === undefined) return undefined;
    const value = Number(o[name]);
    if (!(value >= least && value <= most)) throw new RangeError(`${name} value is out of range.`);
    return Math.floor(value);
  };

  // The options as they take effect. What is wrong with them is said when the format is made.
  const resolve = (given) => {
    const o = { ...given };
    for (const [name, known] of Object.entries(CHOICES)) {
      if (o[name] !== undefined && !known.includes(`${o[name]}`))
        throw new RangeError(`Value ${o[name]} out of range for Intl.NumberFormat options property ${name}`);
      o[name] ??= name === "roundingMode" ? "halfExpand" : known[0];
    }
    if (o.style === "currency" && o.currency === undefined)
      throw new TypeError("Currency code is required with currency style.");
    if (o.currency !== undefined && !/^[A-Za-z]{3}$/.test(o.currency))
      throw new RangeError(`Invalid currency code : ${o.currency}`);
    o.currency = o.currency?.toUpperCase();
    if (o.style === "unit" && o.unit === undefined) throw new TypeError("Required unit option is missing");
    if (o.style === "unit" && !`${o.unit}`.split("-per-").every((name) => Object.hasOwn(UNITS, name)))
      throw new RangeError(`Invalid unit argument for Intl.NumberFormat() '${o.unit}'`);
    const usual = { currency: WHOLE_CURRENCIES.includes(o.currency) ? [0, 0] : [2, 2], percent: [0, 0] }[o.style] ?? [0, 3];
    let least = whole(o, "minimumFractionDigits", 0, 100),
      most = whole(o, "maximumFractionDigits", 0, 100);
    const isSet = least !== undefined || most !== undefined;
    least ??= Math.min(usual[0], most ?? Infinity);
    most ??= Math.max(usual[1], least);
    const leastSignificant = whole(o, "minimumSignificantDigits", 1, 21);
    const mostSignificant = whole(o, "maximumSignificantDigits", leastSignificant ?? 1, 21);
    const significant = (leastSignificant ?? mostSignificant) !== undefined && [leastSignificant ?? 1, mostSignificant ?? 21];
    if (least > most && !significant) throw new RangeError("maximumFractionDigits value is out of range.");
    const minimumIntegerDigits = whole(o, "minimumIntegerDigits", 1, 21) ?? 1;
    return { ...o, least, most, significant, minimumIntegerDigits, isRough: o.notation === "compact" && !isSet && !significant };
  };

  // A finite number without its sign, as digits and the place of the decimal point among them.
  const decimal = (value) => {
    if (typeof value === "bigint") return { digits: `${value}`, point: `${value}`.length };
    const [mantissa, exponent] = value.toExponential().split("e");
    return { digits: mantissa.replace(".", ""), point: value === 0 ? 1 : Number(exponent) + 1 };
  };

  const goesUp = (mode, isNegative, last, half, isExact) => {
    if (isExact) return false;
    if (mode.startsWith("half") && half !== 0) return half > 0;
    switch (mode) {
      case "ceil":
      case "halfCeil":
        return !isNegative;
      case "floor":
      case "halfFloor":
        return isNegative;
      case "trunc":
      case "halfTrunc":
        return false;
      case "halfEven":
        return Number(last) % 2 === 1;
    }
    return true;
  };

  // Rounds to the first `kept` digits, which may be none.
  const round = ({ digits, point }, kept, mode, isNegative) => {
    if (kept >= digits.length) return { digits, point };
    const head = kept > 0 ? digits.slice(0, kept) : "",
      tail = kept >= 0 ? digits.slice(kept) : `0${digits}`;
    const half = tail[0] === "5" && /^50*$/.test(tail) ? 0 : tail[0] >= "5" ? 1 : -1;
    if (!goesUp(mode, isNegative, head.at(-1) ?? "0", half, !/[1-9]/.test(tail)))
      return head ? { digits: head, point } : { digits: "0", point: 1 };
    const raised = `${BigInt(head || "0") + 1n}`.padStart(head.length, "0");
    return { digits: raised, point: point + raised.length - Math.min(kept, head.length) };
  };

  const isZero = ({ digits }) => !/[1-9]/.test(digits);

  // The texts before and after the decimal point, rounded as the options want it.
  const written = (number, o, isNegative) => {
    let { significant, least, most } = o;
    if (o.isRough) [least, most, significant] = [0, 0, number.point < 2 && [1, 2]];
    const lead = isZero(number) ? 0 : number.digits.search(/[1-9]/);
    const rounded = round(number, significant ? lead + significant[1] : number.point + most, o.roundingMode, isNegative);
    const { digits, point } = rounded;
    const integer = point > 0 ? digits.slice(0, point).padEnd(point, "0").replace(/^0+(?=\d)/, "") : "0";
    let fraction = point > 0 ? digits.slice(point) : "0".repeat(-point) + digits;
    const none = isZero(rounded),
      before = integer !== "0" || none ? -integer.length : fraction.search(/[1-9]/);
    fraction = fraction.replace(/0+$/, "").padEnd(significant ? Math.max(0, before + significant[0]) : least, "0");
    return { integer, fraction, isZero: none };
  };

  const shifted = ({ digits, point }, places) => ({ digits, point: point - places });

  // The number in its notation: its texts, and what power of ten was taken out of it.
  const scaled = (number, o, isNegative) => {
    const step = { scientific: 1, engineering: 3, compact: 3 }[o.notation];
    const most = o.notation === "compact" ? 3 * (SIZES.length - 1) : Infinity;
    const powerOf = (point) => Math.min(Math.floor((point - 1) / step) * step, most);
    if (!step || isZero(number)) return { power: 0, ...written(number, o, isNegative) };
    let power = powerOf(number.point);
    if (o.notation === "compact") power = Math.max(0, power);
    let made = written(shifted(number, power), o, isNegative);
    if (made.integer.length > step && power + step <= most) {
      power += step;
      made = written(shifted(number, power), o, isNegative);
    }
    return { power, ...made };
  };

  const grouped = (integer, o) => {
    const fewest = o.useGrouping === "min2" || (o.useGrouping === undefined && o.notation === "compact") ? 5 : 4;
    const none = o.useGrouping === false || o.useGrouping === "false" || integer.length < fewest;
    return none ? [integer] : integer.replace(/\B(?=(\d{3})+$)/g, ",").split(/(,)/);
  };

  const numberParts = (value, o, isNegative) => {
    if (value === Infinity) return { parts: [["infinity", "∞"]], isZero: false };
    const number = decimal(value);
    if (o.style === "percent") number.point += 2;
    const { integer, fraction, power, isZero: none } = scaled(number, o, isNegative);
    const parts = grouped(integer.padStart(o.minimumIntegerDigits, "0"), o).map((t) => [t === "," ? "group" : "integer", t]);
    if (fraction) parts.push(["decimal", "."], ["fraction", fraction]);
    if (o.notation === "compact" && power) {
      const [short, long] = SIZES[power / 3],
        isLong = o.compactDisplay === "long" && o.style !== "currency";
      if (isLong) parts.push(["literal", " "]);
      parts.push(["compact", isLong ? long : short]);
    } else if (o.notation === "scientific" || o.notation === "engineering") {
      parts.push(["exponentSeparator", "E"]);
      if (power < 0) parts.push(["exponentMinusSign", "-"]);
      parts.push(["exponentInteger", `${Math.abs(power)}`]);
    }
    return { parts, isZero: none };
  };

  const unitParts = (o, isOne) => {
    const [unit, per] = o.unit.split("-per-");
    const form = (name, display) => {
      const long = LONG_FORMS[name] ?? [name, `${name}s`];
      const [one, more] = display === "long" ? long : UNITS[name];
      return isOne || !more ? one : more;
    };
    if (o.unit === "kilometer-per-hour" && o.unitDisplay !== "long") return [["unit", "km/h"]];
    if (o.unit === "mile-per-hour" && o.unitDisplay !== "long") return [["unit", "mph"]];
    const text = form(unit, o.unitDisplay);
    if (!per) return [["unit", text]];
    const other = o.unitDisplay === "long" ? LONG_FORMS[per]?.[0] ?? per : { second: "s", hour: "h" }[per] ?? UNITS[per][0];
    return [["unit", o.unitDisplay === "long" ? `${text} per ${other}` : `${text}/${other}`]];
  };

  // Letters keep a distance from the digits behind them.
  const currencyParts = (o, isNumber) => {
    const symbol = o.currencyDisplay === "code" ? undefined : SYMBOLS[o.currency];
    if (symbol === undefined) return [["currency", o.currency], ...(isNumber ? [["literal", "\u00a0"]] : [])];
    return [["currency", o.currencyDisplay === "narrowSymbol" ? symbol.replace(/^[A-Z]+(?=\P{L}$)/u, "") : symbol]];
  };

  const signOf = (o, isNegative, none) => {
    const shows = { never: "", always: isNegative ? "-" : "+", negative: isNegative && !none ? "-" : "" }[o.signDisplay];
    if (shows !== undefined) return shows;
    if (o.signDisplay === "exceptZero") return none ? "" : isNegative ? "-" : "+";
    return isNegative ? "-" : "";
  };

  const partsOf = (given, o) => {
    let value = typeof given === "bigint" ? given : Number(given);
    const isNegative = value < 0 || Object.is(value, -0);
    if (isNegative) value = -value;
    const isNumber = !Number.isNaN(value);
    const { parts, isZero: none } = isNumber ? numberParts(value, o, isNegative) : { parts: [["nan", "NaN"]], isZero: true };
    const sign = signOf(o, isNegative, none);
    const isOne = parts.length === 1 && parts[0][1] === "1";
    let all = parts;
    if (o.style === "percent") all = [...parts, ["percentSign", "%"]];
    else if (o.style === "unit") {
      const isClose = o.unitDisplay === "narrow" || (o.unitDisplay === "short" && ATTACHED.includes(o.unit));
      all = [...parts, ...(isClose ? [] : [["literal", " "]]), ...unitParts(o, isOne)];
    } else if (o.style === "currency" && o.currencyDisplay === "name")
      all = [...parts, ["literal", " "], ["currency", NAMES[o.currency] ?? o.currency]];
    else if (o.style === "currency") all = [...currencyParts(o, parts[0][0] === "integer"), ...parts];
    if (sign === "-" && o.style === "currency" && o.currencySign === "accounting")
      return [["literal", "("], ...all, ["literal", ")"]];
    return sign ? [[sign === "-" ? "minusSign" : "plusSign", sign], ...all] : all;
  };

  const PLAIN = resolve({});
  const format = (value, options) =>
    partsOf(value, options === undefined ? PLAIN : options)
      .map(([, text]) => text)
      .join("");

  hooks.NumberFormat = class NumberFormat {
    #options;
    constructor(locales, options = {}) {
      this.#options = resolve(options);
    }
    get format() {
      return (value) => format(value, this.#options);
    }
    formatToParts(value) {
      return partsOf(value, this.#options).map(([type, text]) => ({ type, value: text }));
    }
    resolvedOptions() {
      const { least, most, significant, isRough, ...o } = this.#options;
      const digits = significant
        ? { minimumSignificantDigits: significant[0], maximumSignificantDigits: significant[1] }
        : { minimumFractionDigits: isRough ? 0 : least, maximumFractionDigits: isRough ? 0 : most };
      const named = { currency: ["currency", "currencyDisplay", "currencySign"], unit: ["unit", "unitDisplay"] }[o.style] ?? [];
      const shown = Object.fromEntries(["style", ...named].map((name) => [name, o[name]]));
      const useGrouping = o.useGrouping ?? (o.notation === "compact" ? "min2" : "auto");
      return {
        ...{ locale: "en-US", numberingSystem: "latn", ...shown, minimumIntegerDigits: o.minimumIntegerDigits, ...digits },
        ...{ useGrouping, notation: o.notation, ...(o.notation === "compact" && { compactDisplay: o.compactDisplay }) },
        ...{ signDisplay: o.signDisplay, roundingIncrement: 1, roundingMode: o.roundingMode, roundingPriority: "auto" },
        trailingZeroDisplay: "auto",
      };
    }
  };
  for (const { prototype } of [Number, BigInt])
    Object.defineProperty(prototype, "toLocaleString", {
      value: function toLocaleString(locales, options) {
        return format(this.valueOf(), options === undefined ? undefined : resolve(options));
      },
      ...{ writable: true, configurable: true, enumerable: false },
    });
});
