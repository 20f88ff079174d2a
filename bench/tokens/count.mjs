// Counts the o200k tokens of two text items of a search with ten hits, and of the records' own contents in them. Fails
// if the second, with plain records, is above the bar.
//
//   node count.mjs BAR WITH-SOURCE PLAIN [JSON]
import { readFileSync, writeFileSync } from "node:fs";
import { encode } from "gpt-tokenizer/encoding/o200k_base";

const [bar, withSource, plain, json] = process.argv.slice(2);

function count(path) {
  const text = readFileSync(path, "utf8").trim();
  const records = JSON.parse(text).result;
  const sum = (of) => records.reduce((sum, record) => sum + of(record), 0);
  const field = (name) => (record) => (name in record ? encode(JSON.stringify({ [name]: record[name] })).length - 2 : 0);
  const names = [...new Set(records.flatMap(Object.keys))];
  return {
    hits: records.length,
    tokens: encode(text).length,
    contents: sum((record) => encode(record.content).length),
    characters: text.length,
    fields: Object.fromEntries(names.map((name) => [name, sum(field(name))])),
  };
}

function print(title, { hits, tokens, contents, characters, fields }) {
  console.log(title);
  console.log(`${hits} hits: ${tokens} tokens, of which the contents alone are ${contents}; ${characters} characters`);
  for (const [name, tokens] of Object.entries(fields)) {
    console.log(`  ${name.padEnd(16)} about ${tokens}`);
  }
}

const figures = { with_source: count(withSource), plain: count(plain) };
const { tokens } = figures.plain;
const verdict = { is_met: tokens <= Number(bar), bar: `ten hits in ${tokens} tokens (bar: <= ${bar})` };
figures.verdicts = [verdict];
print("records with a source (no bar):", figures.with_source);
print("plain records:", figures.plain);
console.log(`${verdict.is_met ? "PASS" : "FAIL"} ${verdict.bar}`);
if (json) writeFileSync(json, JSON.stringify(figures, null, 2) + "\n");
process.exitCode = verdict.is_met ? 0 : 1;
