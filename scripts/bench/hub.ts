import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import autocannon from "autocannon";
import { projectTree } from "./material.ts";
import { openStage, publish } from "./project.ts";
import { atLeast, type Row } from "./row.ts";

const SECONDS = 3;

async function requestsPerSecond(url: string, headers: Record<string, string>, seconds = SECONDS): Promise<number> {
  const result = await autocannon({ url, headers, connections: 20, duration: seconds });
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${url}: ${result.non2xx} refusals, ${result.errors} errors`);
  return result.requests.average;
}

const median = (values: number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;

/** The hub's polls, detail and latest, against a bare server that does the same hash and the same one indexed read. */
export async function hubRows(folder: string, runs: number): Promise<Row[]> {
  // The limit is there and counts, but lets all of them through.
  await using stage = await openStage(join(folder, "stage"), ["--rate-limit", "1000000000"]);
  const source = join(stage.folder, "source");
  await projectTree(source, stage.projectId);
  await publish(stage, source, "1.0.0");
  const hubUrl = stage.publisher["SEALIFT_HUB_URL"]!;
  const apiKey = stage.publisher["SEALIFT_API_KEY"]!;
  const json = { "x-api-key": apiKey, "content-type": "application/json" };
  const project = { name: "Cargo", kind: "plugin", slug: "cargo" };
  await fetch(`${hubUrl}/devkeys/projects`, { method: "POST", headers: json, body: JSON.stringify(project) });
  const session = await fetch(`${hubUrl}/app/deploy/v1/auth`, {
    method: "POST",
    headers: json,
    body: JSON.stringify({ xdevkey: stage.host["SEALIFT_API_KEY"], project_id: stage.projectId }),
  });
  const { access_token: token } = (await session.json()) as { access_token: string };
  const polls = [
    { name: "hub: detail", path: "/app/marketplace/plugins/cargo", headers: { "x-api-key": apiKey } },
    {
      name: "hub: latest",
      path: `/app/deploy/v1/projects/${stage.projectId}/versions/latest`,
      headers: { authorization: `Bearer ${token}` },
    },
  ];
  const rows: Row[] = [];
  for (const { name, path, headers } of polls) {
    const text = await (await fetch(hubUrl + path, { headers })).text();
    using bare = await bareServer(join(folder, `${name.slice(-6)}.sqlite`), text);
    const rates = { hub: [] as number[], bare: [] as number[] };
    await requestsPerSecond(hubUrl + path, headers, 1);
    await requestsPerSecond(bare.url, headers, 1);
    for (let run = 0; run < runs; run++) {
      rates.bare.push(await requestsPerSecond(bare.url, headers));
      rates.hub.push(await requestsPerSecond(hubUrl + path, headers));
    }
    const [ours, theirs] = [median(rates.hub), median(rates.bare)];
    rows.push(
      atLeast(
        name,
        "bare node:http server",
        ours / theirs,
        0.7,
        `${Math.round(ours)}/s against ${Math.round(theirs)}/s`,
      ),
    );
  }
  return rows;
}

async function bareServer(database: string, text: string): Promise<Disposable & { url: string }> {
  const file = fileURLToPath(new URL("./bare-hub.ts", import.meta.url));
  const child: ChildProcess = spawn(process.execPath, [file, database, text], { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = (await once(child.stdout!, "data")) as [Buffer];
  return { url: `http://127.0.0.1:${Number(line.toString())}/`, [Symbol.dispose]: () => void child.kill("SIGKILL") };
}
