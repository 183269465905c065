import { existsSync, readFileSync } from "node:fs";

/** The version of this package, from the nearest package.json (beside the sources, or above dist). */
export function version(): string {
  const file = ["../../package.json", "../../../package.json"]
    .map((path) => new URL(path, import.meta.url))
    .find((url) => existsSync(url));
  return (JSON.parse(readFileSync(file!, "utf8")) as { version: string }).version;
}
