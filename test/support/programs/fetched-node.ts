import { execFileSync } from "node:child_process";
import { globSync } from "node:fs";
import { join } from "node:path";

/**
 * Fetches a Node.js from npm's registry, or npm's cache of it. Needs tar.
 *
 * @param folder an empty one
 * @param platform such as `linux-arm64`
 * @param version a version, or how it begins
 * @returns its program
 */
export function fetchedNode(folder: string, platform: string, version: string): string {
  const wanted = `node-${platform}@${version}`;
  execFileSync("npm", ["pack", wanted, "--silent", "--pack-destination", folder], { cwd: folder, stdio: "pipe" });
  const [tarball = ""] = globSync(join(folder, `node-${platform}-*.tgz`));
  execFileSync("tar", ["--extract", "--file", tarball, "--directory", folder, "package/bin/node"]);
  return join(folder, "package/bin/node");
}
