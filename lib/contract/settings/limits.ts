/** Limits of settings that travel (docs/contract/settings.md), apart from the schemas. */

/** Most bytes of the document of one host, before it is sealed. */
export const MAX_SETTINGS_BYTES = 64 * 1024;
/** Documents are padded to a multiple of this, so that a hub does not see which hosts differ by a few letters. */
export const SETTINGS_PAD_BYTES = 1024;
/** Most bytes of a sealed document in base64. */
export const MAX_SEALED_TEXT = 96 * 1024;
/** Most bytes of signed terms, which may name 1,000 hosts. */
export const MAX_TERMS_BYTES = 512 * 1024;
/** Most bytes of a card, and of an outcome. */
export const MAX_CARD_BYTES = 4096;
export const MAX_OUTCOME_BYTES = 32 * 1024;
/** Most characters of the name of a setting. */
export const MAX_SETTING_NAME = 128;
/** Most applications of one document. */
export const MAX_APPLICATIONS = 200;
/** Most documents of one upload. Each upload has all hosts of the project ask, so that few are better than many. */
export const MAX_BATCH = 1000;
/**
 * Most numbers by which a document may be ahead of those that a reader knows of its host. Beyond it somebody would use
 * up all numbers, after which the host could get no settings any more.
 */
export const MOST_AHEAD = 1_000_000;
/** Most operators that a host obeys. */
export const MAX_OPERATORS = 4;
/** Most bytes of the body of an upload. */
export const MAX_UPLOAD_BYTES = 16 * 1024 * 1024;
