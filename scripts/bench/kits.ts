import { rmSync } from "node:fs";
import { join } from "node:path";
import { projectTree } from "./material.ts";
import { byTurns, type Measured, shell } from "./measure.ts";
import { judged, type Row } from "./row.ts";
import { openStage, publish } from "./stage.ts";

const MIB = 1024;

/** Compares a deployment from a kit with one from a hub over loopback: the same bytes, checks and files. */
export async function kitRows(folder: string, runs: number): Promise<Row[]> {
  await using stage = await openStage(join(folder, "stage"));
  const { program, host, projectId } = stage;
  const source = join(stage.folder, "source");
  const plugin = await projectTree(source, projectId);
  await shell(`head -c ${MIB}M /dev/urandom > ${join(plugin, "cargo.bin")}`);
  await publish(stage, source, "1.0.0");
  const { stdout } = await program("sealift", ["host", "key", "--out", stage.folder], {});
  const kit = join(stage.folder, "kit");
  const making = ["kit", "make", `project:${projectId}`, "--host", `pier-7=${stdout.trim()}`, "--out", kit];
  await program("sealift", making, host);
  const deploy = (from: readonly string[], env: Record<string, string>): Promise<Measured> => {
    const root = join(stage.folder, "root");
    rmSync(root, { recursive: true, force: true });
    const signer = ["--signer-public-key", join(stage.folder, "keys/signer.pub")];
    return program("deploy-project", ["--project-id", projectId, ...signer, "--project-root", root, ...from], env);
  };
  const { ours, theirs } = await byTurns(runs, {
    ours: () => deploy(["--from", kit, "--host-key-file", join(stage.folder, "host.key")], {}),
    theirs: () => deploy([], host),
  });
  const peaks = `${Math.round(ours.peakMb)} MB against ${Math.round(theirs.peakMb)} MB`;
  return [judged("kit", ours.wall / theirs.wall, `${ours.wall.toFixed(1)} s, ${peaks}, ${MIB} MiB`)];
}
