/**
 * `npm run build`: everything in `dist/`. Does nothing when no input has changed since the last build, so that `npm
 * test` can build first each time. `npm run build -- --fast` makes programs to try out, a few times faster.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, globSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename } from "node:path";
import packageJson from "../../package.json" with { type: "json" };
import { scriptArguments } from "../arguments.ts";
import { type Bundled, bundleGuest, bundlePrograms, bundleZod, copyZodTypes } from "./bundle.ts";
import { hashOfInputs, isBuiltFrom, removeStamp, writeStamp } from "./inputs.ts";
import { step } from "./step.ts";
import { BUNDLED_FILE, bundledPackages, dependencyFaults, licencesText } from "./third-party.ts";

const node = (...args: string[]): unknown => execFileSync(process.execPath, args, { stdio: "inherit" });

/** Leaves out what only the package needs: checks of types, licences, manual pages, compiled code. */
const { fast: isFast } = scriptArguments(import.meta.filename, {
  options: { fast: { type: "boolean", default: false } },
}).values;

async function build(): Promise<void> {
  const programs = Object.values(packageJson.bin).map((path) => basename(path, ".js"));
  const bundled: Bundled = { inputs: {}, outputs: {} };
  const parts = await step("bundle the programs", () =>
    Promise.all([bundleGuest(), bundleZod(), bundlePrograms(programs)]),
  );
  for (const { inputs, outputs } of parts) {
    Object.assign(bundled.inputs, inputs);
    Object.assign(bundled.outputs, outputs);
  }
  for (const program of programs) chmodSync(`dist/bin/${program}.js`, 0o755);
  // Left by earlier builds, under names that this one does not use.
  for (const path of globSync("dist/{bin,lib,zod}/**/*.*")) if (!(path in bundled.outputs)) rmSync(path);
  copyZodTypes();
  // The hub's pages read them from their own folder.
  for (const name of ["page.css", "page.js"]) copyFileSync(`lib/web/page/${name}`, `dist/lib/chunks/${name}`);
  // The runtime loads the SDK, and the next step starts all programs.
  await step(isFast ? "write the SDK's types" : "check and write the SDK's types", () =>
    node(
      createRequire(import.meta.url).resolve("typescript/bin/tsc"),
      ...["-p", "tsconfig.build.json"],
      ...(isFast ? ["--noCheck"] : []),
    ),
  );
  // Sandboxes cannot read ours: without one of their own, Node parses each file as CommonJS first.
  for (const folder of ["lib/guest", "sdk", "zod"]) writeFileSync(`dist/${folder}/package.json`, '{"type":"module"}\n');
  if (isFast) return;

  await step("collect the licences", () => {
    const packages = bundledPackages(bundled.inputs);
    writeFileSync("dist/THIRD-PARTY-LICENCES.txt", licencesText(packages));
    writeFileSync(BUNDLED_FILE, JSON.stringify(packages.map(({ texts: _, ...named }) => named)));
    const faults = dependencyFaults(bundled.inputs, packageJson);
    if (faults.length > 0) throw new Error(faults.join("\n"));
  });
  await step("write the manual pages", () => node("scripts/manual.ts"));
}

const inputs = hashOfInputs();
if (!isBuiltFrom(inputs)) {
  removeStamp();
  await build();
  if (!isFast) writeStamp(inputs);
}
