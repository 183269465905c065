/** One thing that a plugin did and that a permission, a grant or the sandbox decides about. */
export type Use =
  /** A service, an event or another plugin: `permissions` of the descriptor. */
  | { what: "service"; target: string; action: string }
  /** A server that it spoke HTTP with, as `host:port`: `network`. */
  | { what: "host"; host: string }
  /** A use that Node's permission model would have refused, in its own words. */
  | { what: "node"; permission: string; resource: string };

/** Hears of every use. Where there is one, nothing is refused by permissions. */
export type Auditor = (plugin: string, use: Use) => void;

/**
 * Node's permission model in the sandboxes of a runtime: `audited` lets a plugin do what it would refuse, and tells;
 * `absent` is for tests, which see by it that the wall holds alone.
 */
export type PermissionModel = "enforced" | "audited" | "absent";
