// Counts the o200k tokens of standard input, which is the text item of a search with ten hits, and of the records' own
// contents in it. Fails above the bar.
import { readFileSync } from "node:fs";
import { encode } from "gpt-tokenizer/encoding/o200k_base";

const bar = Number(process.argv[2] ?? Infinity);
const text = readFileSync(0, "utf8").trim();
const records = JSON.parse(text).result;
const tokens = encode(text).length;
const own = records.reduce((sum, record) => sum + encode(record.content).length, 0);

console.log(`${records.length} hits: ${tokens} tokens, of which the contents alone are ${own}; ${text.length} characters`);
for (const name of new Set(records.flatMap(Object.keys))) {
  const field = (record) => (name in record ? encode(JSON.stringify({ [name]: record[name] })).length - 2 : 0);
  console.log(`  ${name.padEnd(16)} about ${records.reduce((sum, record) => sum + field(record), 0)}`);
}
if (Number.isFinite(bar)) {
  console.log(`${tokens <= bar ? "PASS" : "FAIL"} ten hits in ${tokens} tokens (bar: <= ${bar})`);
}
process.exitCode = tokens <= bar ? 0 : 1;
