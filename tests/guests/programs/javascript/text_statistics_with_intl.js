const text = `The rain in Spain stays mainly in the plain.
In Hartford, Hereford and Hampshire, hurricanes hardly ever happen.`;
const words = text.toLowerCase().match(/\b[a-z]+\b/g);
const counts = Object.entries(words.reduce((c, w) => ((c[w] = (c[w] ?? 0) + 1), c), {})).sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0]));
console.log(words.length, counts.slice(0, 4));
console.log(text.split(/\n/).map((l, i) => `${i + 1}: ${l.length}`), [...new Set(text.replace(/[^a-z]/gi, "").toLowerCase())].sort().join(""));
console.log(words.filter((w) => w === [...w].reverse().join("")), text.at(-1), text.indexOf("Spain"), text.lastIndexOf("in"));
console.log("ab".padEnd(5, "*"), "x".codePointAt(0), String.fromCodePoint(128512), "😀".length, [..."😀é"].length, "ß".toUpperCase(), "  trim ".trim() + "|");
console.log("résumé".normalize("NFD").replace(/[\u0300-\u036f]/g, ""), "a,b,,c".split(","), "abc".localeCompare("abd"), "%" + encodeURIComponent("a b&ü"));
