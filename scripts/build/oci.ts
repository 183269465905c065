/**
 * `npm run build:oci`: makes `sealift-VERSION-oci-linux-ARCH.tar`, an OCI image from scratch, of the single executable
 * that `npm run build:sea` has made in the same folder (argument; default: here) and the libraries of this Debian that
 * it needs. With `--arch x64 --arch arm64` it makes `sealift-VERSION-oci.tar`, an index of both. `--libraries FOLDER`
 * has a folder of Debian packages for each ARCH, which `npm run build:libraries` fetches. Two runs give the same bytes:
 * times are `SOURCE_DATE_EPOCH`, or that of the last commit.
 */
import { existsSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import packageJson from "../../package.json" with { type: "json" };
import { scriptArguments } from "../arguments.ts";
import { type Image, layoutOf, makeImage, tar } from "./oci-image.ts";
import { buildTime, requireProcessor } from "./platforms.ts";

const { values, positionals } = scriptArguments(import.meta.filename, {
  allowPositionals: true,
  options: {
    arch: { type: "string", multiple: true, default: [process.arch] },
    libraries: { type: "string" },
    compression: { type: "string", default: "gzip" },
  },
});
const target = resolve(positionals[0] ?? ".");
const name = `sealift-${packageJson.version}`;
const epoch = buildTime();
const isCompressed = values.compression === "gzip";
const processors = [...new Set(values.arch.map(requireProcessor))];

const images: Image[] = [];
for (const processor of processors) {
  const program = join(target, `${name}-linux-${processor}`);
  const debs = values.libraries === undefined ? undefined : join(values.libraries, processor);
  images.push(
    await makeImage({
      ...{ program, processor, epoch, isCompressed },
      debs: debs !== undefined && existsSync(debs) ? debs : undefined,
    }),
  );
}
const output = join(target, `${name}-oci${processors.length === 1 ? `-linux-${processors[0]!}` : ""}.tar`);
writeFileSync(output, await tar(layoutOf(images), epoch));
console.log(`${output}: ${statSync(output).size} bytes`);
