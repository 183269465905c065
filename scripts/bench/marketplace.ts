import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { smallFiles } from "./material.ts";
import { byTurns, freshFolder, type Measured, program, shell } from "./measure.ts";
import { judged, type Row, rowOf } from "./row.ts";
import { type BenchHub, openHub } from "./stage.ts";

const SECRET = "bench-secret";

/**
 * Publishes a plugin of `count` small files as a ZIP.
 *
 * @returns a function that deploys it to an empty host
 */
async function publishCargo(
  folder: string,
  hub: BenchHub,
  count: number,
  bytesOf?: (index: number) => number,
): Promise<() => Promise<Measured>> {
  const secrets = { ...hub.admin, SEALIFT_SIGNING_SECRET: SECRET };
  const plugin = join(folder, "cargo-1.0.0");
  mkdirSync(plugin);
  writeFileSync(join(plugin, "plugin.yaml"), "name: cargo\nversion: 1.0.0\n");
  smallFiles(plugin, count, bytesOf);
  const archive = join(folder, "cargo.zip");
  await shell(`cd ${folder}; zip -qr cargo.zip cargo-1.0.0`);
  await program("sealift", ["project", "create", "Cargo", "--kind", "plugin", "--slug", "cargo"], secrets);
  await program("sealift", ["marketplace", "publish", "cargo", "--version", "1.0.0", "--archive", archive], secrets);
  const plan = join(folder, "install.yaml");
  await program("sealift", ["plan", "init", "cargo", "--out", plan]);
  return () => {
    const root = freshFolder(folder, "host", true);
    return program("deploy-marketplace", ["cargo", "--install-plan", plan, "--project-root", root], secrets);
  };
}

/**
 * Measures the peak memory of deploy-marketplace with a ZIP of 200,000 tiny files, where memory per file counts most.
 */
export async function manyFilesRow(folder: string): Promise<Row> {
  await using hub = await openHub(folder);
  const deploy = await publishCargo(folder, hub, 200_000, (index) => 1 + (index % 500));
  const { peakMb, wall } = await deploy();
  return judged("zip_memory", peakMb, `${wall.toFixed(1)} s`);
}

/**
 * Compares deploy-marketplace of a ZIP with 10,000 files with curl, openssl, unzip and sha256sum (docs/performance.md).
 */
export async function marketplaceRows(folder: string, place: string, runs: number): Promise<Row[]> {
  await using hub = await openHub(folder);
  const deploy = await publishCargo(folder, hub, 10_000);
  const url = `${hub.url}/app/marketplace/plugins/cargo/install`;
  const { ours, theirs } = await byTurns(runs, {
    ours: deploy,
    theirs: () => {
      const out = freshFolder(folder, "out", true);
      return shell(
        `cd ${folder}; curl -sSf -H 'X-API-Key: ${hub.admin.SEALIFT_API_KEY}' -o got.zip '${url}'
         openssl dgst -sha256 -hmac ${SECRET} got.zip >/dev/null; unzip -q got.zip -d ${out}
         find ${out} -type f -print0 | xargs -0 sha256sum >/dev/null; ${place === "disk" ? `sync -f ${out}` : "true"}`,
      );
    },
  });
  return [
    rowOf("marketplace", ours, theirs, place, place === "disk" ? 1.2 : 1),
    judged("zip_memory", ours.peakMb, `${ours.wall.toFixed(2)} s`, `here 10,000 files, ${place}`),
  ];
}
