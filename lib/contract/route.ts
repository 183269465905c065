import * as z from "zod";
import { later } from "./later.ts";
import type { SCOPES } from "./scopes.ts";
import type { MarketplaceKind, MOUNTS } from "./surfaces/paths.ts";

type Scope = (typeof SCOPES)[number];

/**
 * Callers of a route: those whose key or session has one of the scopes (all live ones where the list is empty),
 * administrators, or everyone. Refusals are sentences for keys that have the scope and are rejected for another reason.
 */
export type Who =
  | {
      key: readonly Scope[];
      /** Refusal of keys bound to one project, plugin or service; without it they may call, too. */
      boundRefusal?: string;
    }
  | { session: readonly Scope[] }
  | { keyOrSession: readonly Scope[] }
  /** Admits callers without a key, too; a key that is not live is rejected. */
  | { optionalKey: true }
  | { administrator: true; refusal: string }
  /** No credential in a header: anyone may call, or another part of the request authenticates the caller. */
  | { everyone: true };

/** Body other than JSON, by its media type. */
export interface Content {
  description: string;
  content: Readonly<Record<string, { schema: z.ZodType }>>;
}

/** Scopes that a key which speaks for one host may have. */
export type HostScope = "deploy" | "report" | "read";

type OthersScope = Exclude<Scope, HostScope>;

/** Callers among which is no key that speaks for one host: each list has only scopes that such a key never has. */
type NoHosts =
  { key: readonly [OthersScope, ...OthersScope[]]; boundRefusal?: string } | { administrator: true; refusal: string };

/**
 * Statement about hosts other than the one that a key speaks for: the answer names none of them, its handler leaves
 * them out for such a key, or it names them, or facts of several ones. A route that names them is refused to such keys,
 * unless its query asks for their own host alone.
 */
export type OtherHosts = "none" | "left out" | "named";

/** Route of the hub. The compiler asks for {@link OtherHosts} where a key that speaks for one host may call. */
export type Route = RouteFacts & ({ who: NoHosts; otherHosts?: never } | { who: Who; otherHosts: OtherHosts });

/** Description of a route, from which it is served, called and documented. */
interface RouteFacts {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Prefix of its path, by its name in {@link MOUNTS}. */
  mount: Exclude<keyof typeof MOUNTS, "devkeysApp">;
  /** Path such as `/webhooks/:webhook`, with parameters after a colon. */
  path: string;
  /** Whether HEAD is a request of its own: its answer has every header that GET's would have. */
  head?: true;
  /**
   * Treatment under load, where it differs from most routes: a deployment that has `begun` is admitted for longer, a
   * health route `always`, and an `endless` answer lasts until its client disconnects.
   */
  load?: "begun" | "always" | "endless";
  /** Schema of the path's parameters. Default: any texts. */
  params?: z.ZodObject;
  query?: z.ZodObject;
  body?: z.ZodType;
  /** Most bytes of the body, where it may be larger than those of most routes. */
  maxBody?: number;
  /** Whether the body is a form, which the handler reads itself, since parts may be large. */
  form?: true;
  /** Schemas of successful answers, by status. */
  ok: Readonly<Record<number, z.ZodType | Content>>;
  /** Whether its path only filters a list: then nothing that it names is missing, and no answer is a 404. */
  filters?: true;
  /** Error statuses beyond those of every route, and those that follow from what it takes ({@link errorsOf}). */
  errors?: readonly number[];
  /** Schemas of errors with fields of their own, by status. */
  faults?: Readonly<Record<number, z.ZodType>>;
  /** Fields of the body whose values must not appear in messages or logs. */
  secret?: readonly string[];
  /** Summary in one line. */
  summary: string;
  description?: string;
  tags: readonly string[];
}

/** Returns the error statuses of a route: those that follow from its credential, path, query and body, and its own. */
export function errorsOf(route: Route): number[] {
  const { who, path, params, query, body, filters, errors = [] } = route;
  const scopes =
    "key" in who ? who.key : "session" in who ? who.session : "keyOrSession" in who ? who.keyOrSession : [];
  return [
    ...(body === undefined ? [] : [400, 415]),
    ...("everyone" in who ? [] : [401]),
    ...(scopes.length > 0 || "administrator" in who ? [403] : []),
    ...(path.includes(":") && !filters ? [404] : []),
    ...(body === undefined && query === undefined && params === undefined ? [] : [422]),
    ...errors,
  ];
}

/**
 * Error body of every route (docs/contract/marketplace.md): `detail` for readers of surface A, `error` for those of
 * surface B.
 */
export const errorBody = later(() => z.object({ error: z.string(), detail: z.string(), code: z.string() }));

/** Answer of a route that returns nothing. */
export const noContent = later(() => z.null().describe("Done; there is nothing to say."));

/** Answer to a conditional request whose caller has the newest representation. */
export const notModified = later(() =>
  z.null().describe("Not changed since the representation that If-None-Match names."),
);

/** Describes an answer of bytes. */
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

/** Names of the parameters in a route's path. */
export type ParamsIn<R extends Pick<Route, "path">> = NamesIn<R["path"]>;

/** Parameters of a route's path, as its handler gets them. */
export type ParamsOf<R extends Route> = OutputOf<R["params"], Record<NamesIn<R["path"]>, string>>;
/** Query of a route, as its handler gets it. */
export type QueryOf<R extends Route> = OutputOf<R["query"], unknown>;
/** Body of a route, as its handler gets it. */
export type BodyOf<R extends Route> = OutputOf<R["body"], undefined>;
/** Body of a route's answer, where it is not "not changed". */
export type AnswerOf<R extends Route> = OutputOf<R["ok"][Exclude<keyof R["ok"], 304>], never>;
