import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Programs } from "./programs.ts";
import { say } from "./words.ts";

interface Joined {
  folder: string;
  hubUrl: string;
  /** Environment of the operator's commands. */
  admin: Record<string, string>;
  /** Environment that the project's plugins need. */
  plugins: Record<string, string>;
}

/** Lets two hosts join the project Harbour with one invite, and deploys it on each. */
export async function joinHosts(programs: Programs, { folder, hubUrl, admin, plugins }: Joined): Promise<void> {
  const file = join(folder, "join.token");
  const invite = ["host", "invite", "--project", "Harbour", "--uses", "2", "--label", "env=prod"];
  const { token } = await programs.run<{ token: string }>("sealift", invite, admin);
  await writeFile(file, token, { mode: 0o600 });
  for (const host of ["pier-1", "pier-2"]) {
    const place = ["--out", join(folder, host), "--project-root", join(folder, host, "root")];
    await programs.run("sealift", ["join", hubUrl, "--token-file", file, "--host-id", host, ...place, "--yes"], {});
    await programs.run("sealift", ["watch", "--config", join(folder, host, "watch.yaml"), "--once"], plugins);
  }
  await programs.run("sealift", ["host", "list", "Harbour"], admin, ({ event, host_id: id, version, state }) => {
    if (event === "host") say(`${String(id)}  ${String(version)}  ${String(state)}`);
  });
}
