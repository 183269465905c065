import { rmSync } from "node:fs";
import { join } from "node:path";
import { DevkeysClient } from "../../lib/client/devkeys-client.ts";
import { randomPublisher } from "../load/publisher.ts";
import { byTurns, program, shell } from "./measure.ts";
import { atLeast, type Row } from "./row.ts";
import { openHub } from "./stage.ts";

const ARTIFACT_MIB = 64;
const BUDGET = 0.7;

/** Backs a hub with many large artifacts up, and copies the same bytes with `cp`; both end with them on the disk. */
export async function backupRows(folder: string, gib: number, runs: number): Promise<Row[]> {
  const stage = join(folder, "stage");
  await using hub = await openHub(stage);
  const connection = { hubUrl: hub.url, apiKey: hub.admin.SEALIFT_API_KEY, timeoutMs: 60_000 };
  const { id: projectId } = await new DevkeysClient(connection).createProject({ name: "Load", kind: "project" });
  const onError = (code: string): never => {
    throw new Error(`a publication failed: ${code}`);
  };
  const publish = randomPublisher(connection, { projectId, folder, bytes: ARTIFACT_MIB * 2 ** 20, onError });
  const artifacts = Math.ceil((gib * 1024) / ARTIFACT_MIB);
  for (let index = 0; index < artifacts; index++) await publish(`1.${index}.0`);

  const dataDir = join(stage, "hub");
  const [to, copy] = [join(folder, "backup"), join(folder, "copy")];
  const gone = (path: string): void => rmSync(path, { recursive: true, force: true });
  const { ours, theirs } = await byTurns(runs, {
    theirs: async () => {
      gone(to);
      return shell(`cp -r '${dataDir}/blobs' '${copy}'; sync -f '${copy}'`);
    },
    ours: async () => {
      gone(copy);
      return program("sealift", ["hub", "backup", "--data-dir", dataDir, "--to", to, "--unsigned"]);
    },
  });
  gone(to);
  const rate = ({ wall }: { wall: number }): string => `${Math.round((artifacts * ARTIFACT_MIB) / wall)} MiB/s`;
  return [
    atLeast(
      `hub backup, ${gib} GiB in ${artifacts} artifacts`,
      "cp -r and sync",
      theirs.wall / ours.wall,
      BUDGET,
      `${rate(ours)} against ${rate(theirs)}, ${ours.peakMb} MB`,
    ),
  ];
}
