/**
 * Scopes that a key may have (docs/contract/keys.md). Apart from the schemas, for programs that only need the names.
 */
export const SCOPES = [
  "admin",
  "keys",
  "projects",
  "publish",
  "stage",
  "settings",
  "deploy",
  "report",
  "read",
] as const;
