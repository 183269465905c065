import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** A systemctl that finds a plugin's unit failed while the plugin has a file `sick`. @returns its folder */
export async function systemctlOf(folder: string, plugin: string): Promise<string> {
  const programs = join(folder, "programs");
  await mkdir(programs);
  const state = `$([ -e ${plugin}/sick ] && echo failed || echo active)`;
  const script = `#!/bin/sh\ncase "$*" in *show*) echo LoadState=loaded; echo ActiveState=${state}; echo NRestarts=0;; esac\n`;
  await writeFile(join(programs, "systemctl"), script, { mode: 0o755 });
  return programs;
}
