'use strict';
// node_count.js: counts what a file of Node's test suite asserts. `soft`: one that fails does not end the file. See node_campaign.py.
module.exports = (soft) => {
  const assert = require('assert');
  const counts = { passed: 0, failed: 0 };
  const fail = (error) => {
    counts.failed++;
    if (!soft) throw error;
  };
  for (const target of [assert, assert.strict])
    for (const [name, check] of Object.entries(target)) {
      if (typeof check !== 'function' || /^(AssertionError|strict|fail|ifError)$/.test(name)) continue;
      target[name] = (...args) => {
        try {
          const answer = check(...args);
          if (typeof answer?.then === 'function') return answer.then(() => void counts.passed++, fail);
          counts.passed++;
          return answer;
        } catch (error) {
          fail(error);
        }
      };
    }
  process.on('exit', () => console.log(`\nASSERTIONS ${counts.passed} ${counts.failed}`));
};
