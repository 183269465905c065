import type { ListFacts } from "../facts/list-facts.ts";
import type { ApiKeyRecord } from "../surfaces/keys.ts";

type KeyState = "live" | "expired" | "revoked";

/** Returns the state of a key at a time, in milliseconds since 1970. */
export function keyState({ revoked_at: revoked, expires_at: expires }: ApiKeyRecord, now: number): KeyState {
  if (revoked !== null) return "revoked";
  return expires !== null && Date.parse(expires) <= now ? "expired" : "live";
}

/**
 * Returns the facts of a list of keys.
 *
 * @param nameOf returns the name of a project by its id; undefined for one that the caller may not list
 * @param now in milliseconds since 1970
 */
export const keyFacts = (nameOf: (project: string) => string | undefined, now: number) =>
  ({
    name: { title: "Name", text: ({ name }) => name },
    prefix: { title: "Key", text: ({ prefix }) => `${prefix}…`, only: "command" },
    state: { title: "State", text: (key) => keyState(key, now) },
    owner: { title: "Owner", text: ({ owner }) => owner, only: "command" },
    project_id: { title: "Project", text: ({ project_id: id }) => (id === null ? "all" : (nameOf(id) ?? id)) },
    host: { title: "Host", text: ({ host }) => host ?? "any", only: "command" },
    created_at: { title: "Created", at: ({ created_at: at }) => at, none: "", only: "page" },
    expires_at: { title: "Expires", at: ({ expires_at: at }) => at, none: "never" },
    last_used_at: { title: "Last used", at: ({ last_used_at: at }) => at, none: "never" },
    scopes: { title: "Scopes", text: ({ scopes }) => scopes.join(", ") },
    id: { title: "Id", text: ({ id }) => id, only: "command" },
  }) as const satisfies ListFacts<ApiKeyRecord>;
