// Prints the summary of a publication in Markdown. Usage: node summary.js TARGET EVENTS.ndjson (docs/ci.md)
import { readFileSync } from "node:fs";
import { argv, stdout } from "node:process";

const [target = "", file = ""] = argv.slice(2);
const lines = readFileSync(file, "utf8").trim().split("\n");
const result = JSON.parse(lines.at(-1) || "{}");

const print = (text) => void stdout.write(`${text}\n`);

/** Texts of others stand in tables: no cell ends early, and nothing is markup. */
const cell = (text) =>
  String(text)
    .replaceAll(/[\r\n]+/g, " ")
    .replaceAll(/[&<>|`\\*_[\]]/g, (sign) => `&#${sign.codePointAt(0)};`);

function size(bytes) {
  const power = bytes < 1024 ? 0 : Math.min(3, Math.floor(Math.log2(bytes) / 10));
  return `${(bytes / 1024 ** power).toFixed(power === 0 ? 0 : 1)} ${["B", "KiB", "MiB", "GiB"][power]}`;
}

const rows = [];
const row = (what, value) => rows.push(`| ${cell(what)} | ${cell(value)} |`);

if (result.status === "success") {
  const record = result.release ?? result.record ?? {};
  const version = record.version ?? result.version;
  const digest = record.sha256 ?? record.artifact_sha256;
  const bytes = record.size_bytes ?? result.artifact_bytes;
  row("version", version);
  if (result.outcome !== undefined) row("outcome", result.outcome);
  if (record.state !== undefined) row("state", record.state.state);
  if (bytes !== undefined) row("size", size(bytes));
  if (digest !== undefined) row("SHA-256", digest);
  if (result.content_sha256 !== undefined) row("SHA-256 of the tree", result.content_sha256);
  for (const delta of result.deltas ?? []) row(`delta from ${delta.base_version}`, size(delta.bytes));
  for (const { kind, size_bytes, sha256 } of result.statements ?? [])
    row(kind, `${size(size_bytes)}, SHA-256 ${sha256}`);
  print(`### Published ${cell(target)} ${cell(version)}\n\n| what | value |\n| --- | --- |\n${rows.join("\n")}\n`);
  print(`Check it:\n\n\`\`\`sh\nsealift version statements '${target}' '${version}'\n\`\`\`\n`);
} else {
  const { code = "internal", message = "It ended without a result." } = result.error ?? result;
  print(`### Not published: ${cell(target)}\n\n${cell(message)} (${cell(code)})\n`);
}
