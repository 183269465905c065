/** Limits of kits (docs/contract/kits.md), apart from the schemas. */

/** Names of a kit's files, which differ in more than the case of their letters. */
export const KIT_FILE = "kit.json";
export const KIT_BYTES_FILE = "artifact.bin";
export const KIT_REPORTS_FOLDER = "reports";

/** Most bytes of `kit.json`. */
export const MAX_KIT_BYTES = 16 * 1024 * 1024;
/** Most bytes of the terms of one host, before they are sealed. */
export const MAX_KIT_TERMS_BYTES = 4096;
/** Most hosts of one kit. */
export const MAX_KIT_HOSTS = 200;
/** Most versions of a trust root in one kit. */
export const MAX_KIT_ROOTS = 64;
/** Most bytes of a signed report. */
export const MAX_KIT_REPORT_BYTES = 512 * 1024;
/** Most reports of one upload, and most bytes of its body. */
export const MAX_KIT_REPORTS = 50;
export const MAX_KIT_UPLOAD_BYTES = 16 * 1024 * 1024;

/** Lifetime of a kit, in seconds: the default, the shortest and the longest. */
export const KIT_LIFETIME_S = { default: 7 * 86_400, min: 60, max: 366 * 86_400 } as const;
