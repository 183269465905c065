import type * as z from "zod";

/** Loads the schema of an identifier when there is a value to check: help and completion work without zod. */
export type Form = () => Promise<z.ZodType<string>>;

const identifiers = () => import("../contract/identifiers.ts");

export const hostId: Form = async () => (await identifiers()).hostId;
export const slug: Form = async () => (await identifiers()).slug;
export const versionLabel: Form = async () => (await identifiers()).versionLabel;
export const semverLabel: Form = async () => (await identifiers()).semverLabel;
export const sha256Hex: Form = async () => (await identifiers()).sha256Hex;
export const repoReference: Form = async () => (await import("../contract/surfaces/marketplace.ts")).repoReference;
export const platform: Form = async () => (await identifiers()).platform;
