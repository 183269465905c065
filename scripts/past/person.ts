import { writeFileSync } from "node:fs";
import type { OldHub } from "./old-hub.ts";

/** The user files of a person who has logged in to two hubs, and trusts a folder. */
export interface Person {
  /** Folder that is trusted. */
  trusted: string;
}

export async function personOf(hub: OldHub): Promise<Person> {
  const home = { XDG_CONFIG_HOME: hub.path("config") };
  const file = hub.path("admin.key");
  writeFileSync(file, hub.adminKey, { mode: 0o600 });
  for (const name of ["spare", "harbour"]) {
    const args = ["login", hub.url, "--name", name, "--api-key-file", file];
    await hub.programs.run("sealift", args, home);
  }
  const trusted = hub.path("source");
  writeFileSync(hub.path("source/sealift.yaml"), `hub_url: ${hub.url}\n`);
  await hub.programs.run("sealift", ["trust-folder", trusted], home);
  return { trusted };
}
