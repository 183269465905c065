/**
 * `node scripts/load/versions.ts [COUNT] [DATABASE-URL]`: times of answers, publish and quota with 1,000 versions and
 * with COUNT (100,000), in turns, and the plans of the slowest statements; on SQLite, or in an empty PostgreSQL. The
 * versions are rows that were copied from published ones.
 */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "kysely";
import { FEATURES } from "../../lib/hub/features.ts";
import { createHub } from "../../lib/hub/hub.ts";
import { usageOf } from "../../lib/hub/records/usage.ts";
import { openHubDatabase } from "../../lib/hub/storage/open.ts";
import { type Answer, createProject, hubAt, newSigner, publication } from "../../test/support/hub/harness.ts";
import { scriptArguments } from "../arguments.ts";
import { median } from "../bench/statistics.ts";

const ROUNDS = 100;
const FILL_ROWS = 10_000;
const FEW = 1000;
const { positionals } = scriptArguments(import.meta.filename, { allowPositionals: true });
const [many = "100000", databaseUrl] = positionals;
const MANY = Number(many);

const folder = await mkdtemp(join(tmpdir(), "sealift-versions-"));
const statements = new Map<string, { count: number; ms: number }>();
const place = { dataDir: folder, ...(databaseUrl !== undefined && { databaseUrl }) };
const hub = await createHub({
  ...place,
  listen: { host: "127.0.0.1", port: 0 },
  rateLimits: false,
  checkArchive: async () => ({ description: null }),
  onStatement: (text, ms) => {
    const known = statements.get(text) ?? { count: 0, ms: 0 };
    statements.set(text, { count: known.count + 1, ms: known.ms + ms });
  },
});
try {
  const url = await hub.listen();
  const admin = (await readFile(join(folder, "admin.key"), "utf8")).trim();
  const api = hubAt(url, admin);
  const ask = async (...request: Parameters<typeof api.call>): Promise<Answer> => {
    const answer = await api.call(...request);
    if (answer.status >= 300) throw new Error(`${request[1]}: ${answer.status} ${answer.bytes.toString()}`);
    return answer;
  };
  const signer = newSigner();

  /** Makes a project and a plugin with as many versions. @returns the work to measure, by name */
  const many = async (count: number): Promise<Record<string, () => Promise<unknown>>> => {
    const slug = `many-${count}`;
    const project = await createProject(api);
    const json = { name: "Many", kind: "plugin", slug };
    const plugin = (await ask("POST", "/devkeys/projects", { json })).body as { id: string };
    const bearer = await project.session();
    const base = `/app/deploy/v1/projects/${project.id}`;
    const detail = `/app/marketplace/plugins/${slug}`;
    let next = 0;
    const publish = async (): Promise<void> => {
      const { status, bytes } = await project.publish(publication(`2.${next++}.0`, { size: 100, signer }));
      if (status >= 300) throw new Error(`publish: ${status} ${bytes.toString()}`);
    };
    const publishPlugin = async (): Promise<void> => {
      const form = new FormData();
      form.set("version", `2.${next++}.0`);
      form.set("signature", `hmac_sha256:${"ab".repeat(32)}`);
      form.set("archive", new Blob([Buffer.alloc(100, 1)]), "archive.zip");
      await ask("POST", `${detail}/versions`, { form });
    };
    await publish();
    await publishPlugin();
    for (const owner of [project.id, plugin.id])
      for (const table of ["versions", "blobs", "sealed"] as const) await fill(table, owner, count);
    return {
      latest: () => ask("GET", `${base}/versions/latest`, { bearer }),
      location: () => ask("GET", `${base}/artifacts/1.5.0`, { bearer }),
      "publish of a project": publish,
      detail: () => ask("GET", detail),
      "publish of a plugin": publishPlugin,
      "page of versions": () => ask("GET", `${detail}/versions`),
      "page of managed versions": () => ask("GET", `/devkeys/projects/${project.id}/versions`),
      "sum of a quota": () => usageOf(kysely, `project/${project.id}`),
    };
  };

  await using opened = await openHubDatabase({ ...place, hooks: FEATURES });
  const { dialect, kysely } = opened.database;
  const createdAt = {
    sqlite: "strftime('%Y-%m-%dT%H:%M:%fZ', '2020-01-01', '+' || n.i || ' minutes')",
    postgres: `to_char(timestamp '2020-01-01' + n.i * interval '1 minute', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
  }[dialect];

  /** Fills a table with copies of the one row that a project has there. Archives are not sealed. */
  const fill = async (table: "versions" | "blobs" | "sealed", owner: string, count: number): Promise<void> => {
    // The copies sort after it.
    const one = sql<object>`select * from ${sql.table(table)} where project_id = ${owner} order by id`;
    const [first] = (await sql<object>`${one} limit 1`.execute(kysely)).rows;
    if (first === undefined) return;
    const columns = Object.keys(first);
    const made: Record<string, string> = {
      id: "t.id || '_' || n.i",
      version_id: "t.version_id || '_' || n.i",
      version: "'1.' || n.i || '.0'",
      created_at: createdAt,
    };
    const values = columns.map((name) => sql.raw(made[name] ?? `t."${name}"`));
    // In parts, each shorter than a statement may take.
    for (let from = 1; from <= count; from += FILL_ROWS)
      await sql`
        insert into ${sql.table(table)} (${sql.join(columns.map((name) => sql.ref(name)))})
        with recursive n(i) as (
          select ${sql.lit(from)} union all select i + 1 from n where i < ${sql.lit(Math.min(from + FILL_ROWS - 1, count))})
        select ${sql.join(values)} from n, (${one} limit 1) t`.execute(kysely);
    await sql`analyze ${sql.table(table)}`.execute(kysely);
  };

  /** Returns the plan of a statement without its values. */
  const planOf = async (text: string): Promise<string[]> => {
    const lines = (rows: object[]): string[] => rows.map((row) => String(Object.values(row).at(-1)));
    if (dialect === "sqlite") return lines((await sql.raw<object>(`explain query plan ${text}`).execute(kysely)).rows);
    return kysely.connection().execute(async (connection) => {
      const run = async (line: string) => (await sql.raw<object>(line).execute(connection)).rows;
      await run("set plan_cache_mode = force_generic_plan");
      let position = 0;
      const numbered = text.replaceAll("?", () => `$${++position}`);
      await run(`prepare slow as ${numbered}`);
      const nulls = Array.from(new Set(numbered.match(/\$\d+/g)), () => "null").join(", ");
      const plan = lines(await run(`explain execute slow${nulls === "" ? "" : `(${nulls})`}`));
      await run("deallocate slow");
      return plan;
    });
  };

  const works = [await many(FEW), await many(MANY)];
  statements.clear();
  const times = new Map<string, string[]>();
  for (const name of Object.keys(works[0]!)) {
    const taken: [number[], number[]] = [[], []];
    // In turn, so that a busy machine is busy for both.
    for (let round = 0; round < 2 * ROUNDS; round++) {
      const started = performance.now();
      await works[round % 2]![name]!();
      taken[round % 2]!.push(performance.now() - started);
    }
    times.set(
      name,
      taken.map((all) => `${median(all).toFixed(2)} ms`),
    );
  }
  for (const [name, [few, many]] of times) console.log(`${name}: ${few} at ${FEW} versions, ${many} at ${MANY}`);
  const planned = [...statements].filter(([text]) => /^(select|insert|update|delete|with)\b/i.test(text));
  for (const [text, { count, ms }] of planned.toSorted(([, a], [, b]) => b.ms / b.count - a.ms / a.count).slice(0, 5)) {
    console.log(`${(ms / count).toFixed(2)} ms: ${text}`);
    for (const line of await planOf(text)) console.log(`    ${line}`);
  }
} finally {
  await hub.close();
  await rm(folder, { recursive: true, force: true });
}
