import * as z from "zod";
import {
  envName,
  pluginId,
  projectId,
  publicKeyHex,
  semverLabel,
  sha256Hex,
  slug,
  versionLabel,
} from "../identifiers.ts";
import { later } from "../later.ts";

/** Ed25519 public keys in hexadecimal. */
const signerPublicKeys = later(() => z.array(publicKeyHex).min(1));

/**
 * Origin of a plugin that is fetched at deployment time instead of being embedded (docs/contract/project-artifact.md).
 */
export const pluginSource = later(() =>
  z
    .strictObject({
      marketplace_slug: slug.nullable(),
      marketplace_version: versionLabel.or(z.literal("latest")).nullable(),
      marketplace_kind: z.enum(["plugin", "service"]),
      url: z.url({ protocol: /^https?$/ }).nullable(),
      ref: z.string().max(255).nullable(),
      subdirectory: z.string().max(1024).nullable(),
      /** Authors, one of whom must have signed the archive; omitted where no signature is required. */
      signer_public_keys: signerPublicKeys.optional(),
    })
    .refine((source) => (source.marketplace_slug === null) !== (source.url === null), {
      message: "names either a marketplace slug or a url",
    })
    .refine((source) => source.signer_public_keys === undefined || source.marketplace_slug !== null, {
      message: "demands a signature, which only versions of the marketplace have",
    }),
);

export const environmentNames = later(() =>
  z.strictObject({
    required: z.array(envName).default([]),
    optional: z.array(envName).default([]),
  }),
);

export const manifestPlugin = later(() =>
  z.strictObject({
    id: pluginId,
    version: z.string().min(1).max(128),
    sha256: sha256Hex.nullable(),
    environment: environmentNames.nullable(),
    source: pluginSource.nullable(),
  }),
);

export const manifestExtension = later(() =>
  z.strictObject({
    id: pluginId,
    sha256: sha256Hex.nullable(),
    source: pluginSource.nullable(),
  }),
);

const uniqueIds = (entries: readonly { id: string }[]): boolean =>
  new Set(entries.map(({ id }) => id)).size === entries.length;

/**
 * `manifest.json` at the root of a project artifact: all of these keys and no others
 * (docs/contract/project-artifact.md).
 */
export const manifest = later(() =>
  z.strictObject({
    format_version: z.literal("1"),
    project_id: projectId,
    project_name: z.string().min(1).max(255),
    version: semverLabel,
    built_at: z.iso.datetime(),
    /** Empty only where the plan installs applications. */
    plugins: z.array(manifestPlugin).refine(uniqueIds, "has two entries with one id"),
    extensions: z.array(manifestExtension).refine(uniqueIds, "has two entries with one id"),
    plugins_dirname: z.string().regex(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/, "must be one plain folder name"),
    content_sha256: sha256Hex,
  }),
);

export type Manifest = z.infer<typeof manifest>;
export type PluginSource = z.infer<typeof pluginSource>;

/**
 * `deployment/sources.yaml` in a source tree: plugins that the publisher names in the manifest instead of embedding
 * them. Not in the contract; fields that are missing are null in the manifest.
 */
const sourceFields = {
  sha256: sha256Hex,
  source: z.strictObject({
    marketplace_slug: slug.optional(),
    marketplace_version: versionLabel.or(z.literal("latest")).optional(),
    marketplace_kind: z.enum(["plugin", "service"]).optional(),
    url: z.url({ protocol: /^https?$/ }).optional(),
    ref: z.string().max(255).optional(),
    subdirectory: z.string().max(1024).optional(),
    signer_public_keys: signerPublicKeys.optional(),
  }),
};
export const projectSources = later(() =>
  z.strictObject({
    plugins: z
      .record(
        pluginId,
        z.strictObject({
          version: z.string().min(1).max(128),
          environment: environmentNames.optional(),
          ...sourceFields,
        }),
      )
      .default({}),
    extensions: z.record(pluginId, z.strictObject(sourceFields)).default({}),
  }),
);
export const SOURCES_FILE = "deployment/sources.yaml";

/** Name of the manifest at the artifact's root. */
export const MANIFEST_FILE = "manifest.json";
/** Install plan of a project artifact. */
export const PLAN_FILE = "deployment/install.yaml";
/** Optional project configuration that names the plugins folder. */
export const INTEGRATION_FILE = "integration.yaml";

/** Descriptor of a plugin, in its folder. */
export const DESCRIPTOR_FILE = "plugin.yaml";
