/**
 * The rival of the hub's polls: node:http, the same hash of the key, the same one indexed read, the same bytes.
 * Arguments: database, text.
 */
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { DatabaseSync } from "node:sqlite";

const [file = ":memory:", text = "{}"] = process.argv.slice(2);
const database = new DatabaseSync(file);
database.exec("PRAGMA journal_mode = WAL; CREATE TABLE answers (hash TEXT PRIMARY KEY, answer TEXT) WITHOUT ROWID");
const hashOf = (key: string): string => createHash("sha256").update(key).digest("hex");
const insert = database.prepare("INSERT INTO answers VALUES (?, ?)");
for (let index = 0; index < 1000; index++) insert.run(hashOf(`key ${index}`), text);
const read = database.prepare("SELECT answer FROM answers WHERE hash = ?");

const server = createServer((request, response) => {
  const key = request.headers["x-api-key"] ?? request.headers.authorization ?? "";
  const row = read.get(hashOf(String(key))) ?? read.get(hashOf("key 7"));
  const body = row!["answer"] as string;
  response.writeHead(200, {
    "content-type": "application/json; charset=utf-8",
    "content-length": Buffer.byteLength(body),
  });
  response.end(body);
});
server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port));
