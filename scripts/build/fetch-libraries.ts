/**
 * `npm run build:libraries -- FOLDER --arch arm64`: fetches the Debian packages of the libraries that an image for a
 * processor needs, from the Debian that this machine installs from, to FOLDER/ARCH. Needs the network and apt.
 */
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { scriptArguments } from "../arguments.ts";
import { fetchLibraries } from "./libraries.ts";
import { requireProcessor } from "./platforms.ts";

const { values, positionals } = scriptArguments(import.meta.filename, {
  allowPositionals: true,
  options: { arch: { type: "string", multiple: true, default: [process.arch] } },
});
for (const processor of values.arch.map(requireProcessor)) {
  const folder = join(resolve(positionals[0] ?? "."), processor);
  mkdirSync(folder, { recursive: true });
  fetchLibraries(folder, processor);
}
