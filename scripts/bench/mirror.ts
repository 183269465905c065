import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../../test/support/free-port.ts";
import { projectTree } from "./material.ts";
import { bin, byTurns, run, shell } from "./measure.ts";
import { judged, type Row } from "./row.ts";
import { openStage, publish, type Stage } from "./stage.ts";

const MIB = 512;
/** Turns of each measurement: they are short, and differ by half on a busy machine. */
const TURNS = 9;

/** Compares a mirror with nginx: the same bytes from the page cache over loopback to curl, one download at a time. */
export async function mirrorRows(folder: string, runs: number): Promise<Row[]> {
  if (spawnSync("nginx", ["-v"]).status !== 0) {
    console.error("nginx is not installed: the mirror is not measured");
    return [];
  }
  await using stage = await openStage(join(folder, "stage"));
  const source = join(stage.folder, "source");
  const plugin = await projectTree(source, stage.projectId);
  await shell(`head -c ${MIB}M /dev/urandom > ${join(plugin, "cargo.bin")}`);
  await publish(stage, source, "1.0.0");
  const hubUrl = stage.publisher["SEALIFT_HUB_URL"]!;

  const cache = ["--cache-dir", join(stage.folder, "cache"), "--listen", "127.0.0.1:0", "--json"];
  using mirror = spawn(process.execPath, [bin("sealift"), "mirror", "serve", "--hub-url", hubUrl, ...cache], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [ready] = (await once(mirror.stdout, "data")) as [Buffer];
  const mirrored = new URL((JSON.parse(ready.toString()) as { url: string }).url);
  mirrored.href = new URL(await downloadPath(stage, hubUrl), mirrored).href;

  const site = join(stage.folder, "site");
  mkdirSync(site);
  await run("curl", ["-sf", "-o", join(site, "artifact"), mirrored.href]);
  const port = await freePort();
  const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => `${name}_temp_path ${site}/temp;`);
  writeFileSync(
    join(site, "nginx.conf"),
    `worker_processes 1; daemon off; user root; pid ${site}/pid; events {}
    http { access_log off; sendfile on; tcp_nopush on; ${paths.join(" ")}
      server { listen 127.0.0.1:${port}; root ${site}; } }`,
  );
  using _nginx = spawn("nginx", ["-e", join(site, "log"), "-c", join(site, "nginx.conf")], { stdio: "ignore" });
  const plain = `http://127.0.0.1:${port}/artifact`;
  while (spawnSync("curl", ["-sfI", "-o", "/dev/null", plain]).status !== 0) await sleep(50);

  const { ours, theirs } = await byTurns(Math.max(runs, TURNS), {
    ours: () => run("curl", ["-sf", "-o", "/dev/null", mirrored.href]),
    theirs: () => run("curl", ["-sf", "-o", "/dev/null", plain]),
  });
  const rate = (seconds: number): string => `${Math.round((MIB * 1.048576) / seconds)} MB/s`;
  return [judged("mirror", theirs.wall / ours.wall, `${rate(ours.wall)} against ${rate(theirs.wall)}, ${MIB} MiB`)];
}

/** Returns the path of a download URL, which holds for 15 minutes. */
async function downloadPath({ projectId, host }: Stage, hubUrl: string): Promise<string> {
  const deploy = `${hubUrl}/app/deploy/v1`;
  const session = await fetch(`${deploy}/auth`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ xdevkey: host["SEALIFT_API_KEY"], project_id: projectId }),
  });
  const { access_token: token } = (await session.json()) as { access_token: string };
  const headers = { authorization: `Bearer ${token}` };
  const located = await fetch(`${deploy}/projects/${projectId}/artifacts/1.0.0`, { headers });
  const { pathname, search } = new URL(((await located.json()) as { download_url: string }).download_url);
  return pathname + search;
}
