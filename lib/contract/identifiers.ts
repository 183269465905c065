import * as z from "zod";
import { later } from "./later.ts";
import { parseTarget } from "./target.ts";

/** Project id on surface B (docs/contract/project-artifact.md): `prj_` and 10 to 40 letters or digits. */
export const projectId = later(() =>
  z.string().regex(/^prj_[A-Za-z0-9]{10,40}$/, "must be prj_ followed by 10 to 40 letters or digits"),
);

/** Id of a plugin or extension, and slug on the marketplace: 1 to 128 characters. */
export const pluginId = later(() =>
  z
    .string()
    .regex(/^[a-z0-9][a-z0-9_.-]{0,127}$/, "must be 1 to 128 of a-z, 0-9, _, . and -, starting with a letter or digit"),
);

export const slug = pluginId;

/** Version of a manifest: strict semver 2.0.0, without a leading v. */
export const semverLabel = later(() =>
  z
    .string()
    .max(128)
    .regex(
      /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-((?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?(?:\+([0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*))?$/,
      "must be a semantic version such as 1.4.0",
    ),
);

/** Version label that a hub stores. It is used in paths, headers and file names, and cannot be `latest`. */
export const versionLabel = later(() =>
  z
    .string()
    .regex(
      /^[A-Za-z0-9][A-Za-z0-9._+-]{0,127}$/,
      "must be 1 to 128 letters, digits, ., _, + or -, starting with a letter or digit",
    )
    .refine((label) => label !== "latest", "must not be the word latest"),
);

const hexOf32Bytes = later(() => z.string().regex(/^[0-9a-f]{64}$/, "must be 64 lower-case hexadecimal digits"));
export const sha256Hex = hexOf32Bytes;
/** Ed25519 public key. */
export const publicKeyHex = hexOf32Bytes;

/** Standard base64 of `bytes` bytes in canonical form: unused bits are zero. */
export const base64Of = (bytes: number) =>
  z.base64().refine((text) => {
    const decoded = Buffer.from(text, "base64");
    return decoded.length === bytes && decoded.toString("base64") === text;
  }, `must be the base64 of ${bytes} bytes`);

/**
 * Name of a host in reports and the fleet view: printable, at most 255 characters, and neither `.` nor `..`. It has one
 * form (NFC): texts that look alike would be two hosts.
 */
export const hostId = later(() =>
  z
    .string()
    .min(1)
    .max(255)
    .regex(/^(?!\.{1,2}$)[^\p{Cc}\p{Cf}\p{Cs}\p{Z}]+$/u, "must be printable, without spaces, and not . or ..")
    .refine((text) => text.normalize("NFC") === text, "must be in the Unicode form NFC"),
);

/** Relative path without `..`. @param fault message for any other text */
export const pathBelow = (fault: string) =>
  z
    .string()
    .min(1)
    .max(1024)
    .refine((path) => !path.startsWith("/") && !/[\\\0]/.test(path) && !path.split("/").includes(".."), fault);

/** Target as people write it: `plugin:SLUG`, `service:SLUG` or `project:ID`. */
export const targetForm = later(() =>
  z.string().refine((text) => {
    try {
      parseTarget(text);
      return true;
    } catch {
      return false;
    }
  }, "must be plugin:SLUG, service:SLUG or project:ID"),
);

/** Name of an environment variable. */
export const envName = later(() => z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "must be a variable name"));

/** ISO 8601, with a zone. */
export const timestamp = later(() => z.iso.datetime({ offset: true }));

/** Platform in the words of Node.js: operating system and processor. */
export const platform = later(() =>
  z.string().regex(/^[a-z0-9]{2,16}-[a-z0-9]{2,16}$/, "must be a platform such as linux-arm64"),
);
