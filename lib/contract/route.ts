import * as z from "zod";
import type { SCOPES } from "./scopes.ts";
import type { MOUNTS } from "./surfaces/paths.ts";

type Scope = (typeof SCOPES)[number];

/**
 * Callers of a route: keys with one of the scopes (all live keys where the list is empty), or administrators. Refusals
 * are sentences for the keys that have the scope and are turned away all the same.
 */
export type Who =
  | {
      key: readonly Scope[];
      /** Refusal of keys that are bound to one project, plugin or service; without it they may call, too. */
      boundRefusal?: string;
    }
  | { administrator: true; refusal: string };

/** A route of the hub: served, called and documented from this one description. */
export interface Route {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** The prefix of its path, by its name in {@link MOUNTS}. */
  mount: Exclude<keyof typeof MOUNTS, "devkeysApp">;
  /** `/webhooks/:webhook`: a name behind a colon is a parameter. */
  path: string;
  who: Who;
  /** Schema of the path's parameters; any texts unless given. */
  params?: z.ZodObject;
  query?: z.ZodObject;
  body?: z.ZodType;
  /** Schemas of the answers to a request that is carried out, by status. */
  ok: Readonly<Record<number, z.ZodType>>;
  /** Further statuses that it may answer, beside those of every route. */
  errors?: readonly number[];
  /** Fields of the body whose values appear in no message and no line of a log. */
  secret?: readonly string[];
  /** One line. */
  summary: string;
  description?: string;
  tags: readonly string[];
}

/** The answer of a route that has nothing to say. */
export const noContent = z.null().describe("Done; there is nothing to say.");

type NamesIn<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | NamesIn<Rest>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

type OutputOf<Schema, Otherwise> = Schema extends z.ZodType ? z.output<Schema> : Otherwise;

/** Parameters of a route's path, as its handler gets them. */
export type ParamsOf<R extends Route> = OutputOf<R["params"], Record<NamesIn<R["path"]>, string>>;
/** Query of a route, as its handler gets it. */
export type QueryOf<R extends Route> = OutputOf<R["query"], unknown>;
/** Body of a route, as its handler gets it. */
export type BodyOf<R extends Route> = OutputOf<R["body"], undefined>;
/** Body of a route's answer. */
export type AnswerOf<R extends Route> = OutputOf<R["ok"][keyof R["ok"]], never>;
