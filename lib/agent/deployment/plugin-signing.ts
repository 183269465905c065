import { join } from "node:path";
import { writePluginSignature } from "../../artifact/signatures/plugin-signature.ts";
import type { Item } from "../../releases/layout.ts";
import { readDescriptor } from "../base/documents.ts";

/**
 * Writes `plugin.sig` for every trusted plugin of a finished release (docs/contract/marketplace.md). Runs after
 * provisioning and after the data folder has become a link, so that it covers what the runtime will read.
 *
 * @param secret the UTF-8 key of `--plugin-secret-key`
 */
export async function signPlugins(release: string, items: readonly Item[], secret: string): Promise<void> {
  for (const { section, id } of items) {
    if (section !== "plugins") continue;
    const folder = join(release, section, id);
    const { name, version, entry_point: entryPoint, execution_mode: mode } = await readDescriptor(folder);
    if (mode === "trusted") await writePluginSignature(folder, { name, version, entryPoint }, secret);
  }
}
