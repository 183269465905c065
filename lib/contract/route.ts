import * as z from "zod";
import type { SCOPES } from "./scopes.ts";
import type { MarketplaceKind, MOUNTS } from "./surfaces/paths.ts";

type Scope = (typeof SCOPES)[number];

/**
 * Callers of a route: those whose key or session has one of the scopes (all live ones where the list is empty),
 * administrators, or everyone. Refusals are sentences for the keys that have the scope and are turned away all the
 * same.
 */
export type Who =
  | {
      key: readonly Scope[];
      /** Refusal of keys that are bound to one project, plugin or service; without it they may call, too. */
      boundRefusal?: string;
    }
  | { session: readonly Scope[] }
  | { keyOrSession: readonly Scope[] }
  /** A caller without a key is served, too; one whose key is not live is refused. */
  | { optionalKey: true }
  | { administrator: true; refusal: string }
  /** No credential in a header: nobody need be known, or another part of the request proves who asks. */
  | { everyone: true };

/** A body that is no JSON, by its media type. */
export interface Content {
  description: string;
  content: Readonly<Record<string, { schema: z.ZodType }>>;
}

/** A route of the hub: served, called and documented from this one description. */
export interface Route {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** The prefix of its path, by its name in {@link MOUNTS}. */
  mount: Exclude<keyof typeof MOUNTS, "devkeysApp">;
  /** `/webhooks/:webhook`: a name behind a colon is a parameter. */
  path: string;
  who: Who;
  /** Whether HEAD is a request of its own: its answer has every header that GET's would have. */
  head?: true;
  /**
   * Treatment under load, where it is not that of most routes: a part of a deployment that has `begun` is let in for
   * longer, a route of health `always`, and an `endless` answer lasts until its client leaves.
   */
  load?: "begun" | "always" | "endless";
  /** Schema of the path's parameters; any texts unless given. */
  params?: z.ZodObject;
  query?: z.ZodObject;
  body?: z.ZodType;
  /** Whether the body is a form, which the handler reads: parts of it may be large. */
  form?: true;
  /** Schemas of the answers to a request that is carried out, by status. */
  ok: Readonly<Record<number, z.ZodType | Content>>;
  /** Further statuses that it may answer, beside those of every route. */
  errors?: readonly number[];
  /** Schemas of errors with fields of their own, by status. */
  faults?: Readonly<Record<number, z.ZodType>>;
  /** Fields of the body whose values appear in no message and no line of a log. */
  secret?: readonly string[];
  /** One line. */
  summary: string;
  description?: string;
  tags: readonly string[];
}

/**
 * Every error body of ours (docs/contract/marketplace.md): `detail` for readers of surface A, `error` for those of
 * surface B.
 */
export const errorBody = z.object({ error: z.string(), detail: z.string(), code: z.string() });

/** The answer of a route that has nothing to say. */
export const noContent = z.null().describe("Done; there is nothing to say.");

/** The answer to a conditional request whose caller has the newest representation. */
export const notModified = z.null().describe("Not changed since the representation that If-None-Match names.");

/** An answer of bytes. */
export const bytes = (description: string, contentType = "application/octet-stream"): Content => ({
  description,
  content: { [contentType]: { schema: z.string().meta({ format: "binary" }) } },
});

/** Describes a route of plugins and the same one of services. */
export const ofKinds = <const R extends Route>(describe: (kind: MarketplaceKind) => R): Record<MarketplaceKind, R> => ({
  plugin: describe("plugin"),
  service: describe("service"),
});

type NamesIn<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | NamesIn<Rest>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

type OutputOf<Schema, Otherwise> = Schema extends z.ZodType ? z.output<Schema> : Otherwise;

/** The names of the parameters in a route's path. */
export type ParamsIn<R extends Pick<Route, "path">> = NamesIn<R["path"]>;

/** Parameters of a route's path, as its handler gets them. */
export type ParamsOf<R extends Route> = OutputOf<R["params"], Record<NamesIn<R["path"]>, string>>;
/** Query of a route, as its handler gets it. */
export type QueryOf<R extends Route> = OutputOf<R["query"], unknown>;
/** Body of a route, as its handler gets it. */
export type BodyOf<R extends Route> = OutputOf<R["body"], undefined>;
/** Body of a route's answer, where it is not "not changed". */
export type AnswerOf<R extends Route> = OutputOf<R["ok"][Exclude<keyof R["ok"], 304>], never>;
