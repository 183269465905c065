import { deploymentError, usageError } from "../contract/errors.ts";
import type { ProjectRecord } from "../contract/surfaces/keys.ts";
import { parseTarget, type Target } from "../contract/target.ts";
import { printableJson } from "../support/printable.ts";
import { closestTo } from "../support/suggestion.ts";
import type { HubConnection } from "./hub-connection.ts";
import type { KeyService } from "./key-service.ts";

/** Finds records by what people call them. */

/** Matches the ids that a hub makes, which need no lookup. */
const PROJECT_ID = /^(?:prj_[A-Za-z0-9]{10,40}|(?:plg|svc)_[0-9a-f]{32})$/;
const KEY_ID = /^key_(?:[0-9a-f]{32}|admin)$/;

const sameLetters = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();

/** Returns tests of a project, the strictest first: a match of a stricter test wins. */
function projectTests(text: string): ((project: ProjectRecord) => boolean)[] {
  const [, kind, rest = text] = /^(project|plugin|service):(.+)$/s.exec(text) ?? [];
  const isOfKind = (project: ProjectRecord): boolean => kind === undefined || project.kind === kind;
  return [
    (project) => isOfKind(project) && (project.id === rest || project.slug === rest),
    (project) => isOfKind(project) && project.name === rest,
    (project) => isOfKind(project) && sameLetters(project.name, rest),
  ];
}

/**
 * Finds one record among all that the key may list.
 *
 * @param tests the strictest first
 * @throws DeploymentError `not_found`; UsageError `usage` when several match
 */
async function findOne<T>(
  text: string,
  records: AsyncIterable<T>,
  tests: readonly ((record: T) => boolean)[],
  words: {
    what: string;
    list: string;
    nameOf: (record: T) => string;
    shown: (record: T) => string;
    /** Strips what no name has. */
    bare?: (text: string) => string;
  },
): Promise<T> {
  const found: T[][] = tests.map(() => []);
  const names: string[] = [];
  for await (const record of records) {
    names.push(words.nameOf(record));
    const first = tests.findIndex((fits) => fits(record));
    if (first !== -1) found[first]!.push(record);
  }
  const [only, ...others] = found.find(({ length }) => length > 0) ?? [];
  if (only === undefined) {
    const near = closestTo(words.bare?.(text) ?? text, names);
    throw deploymentError("not_found", `You have no ${words.what} named ${printableJson(text)}.`, {
      hint: near === undefined ? `\`${words.list}\` shows yours.` : `Did you mean ${printableJson(near)}?`,
    });
  }
  if (others.length === 0) return only;
  const candidates = [only, ...others].map(words.shown).join(", ");
  throw usageError("usage", `Several are named ${printableJson(text)}: ${candidates}.`, {
    hint: "Give the id of the one that you mean.",
  });
}

/**
 * Finds a record by its id, or by its name.
 *
 * @throws DeploymentError `not_found`; UsageError `usage` when several have the name
 */
export const findNamed = <T extends { id: string; name: string }>(
  text: string,
  records: AsyncIterable<T>,
  words: { what: string; list: string; shown: (record: T) => string },
): Promise<T> =>
  findOne(text, records, [({ id }) => id === text, ({ name }) => name === text], {
    ...words,
    nameOf: ({ name }) => name,
  });

/**
 * Finds a project, plugin or service by its id, slug or name; `plugin:NAME` also states its kind.
 *
 * @throws DeploymentError `not_found`; UsageError `usage` when several match
 */
export function projectCalled(client: KeyService, text: string): Promise<ProjectRecord> {
  return findOne(text, client.listProjects(), projectTests(text), {
    what: "project, plugin or service",
    list: "sealift project list",
    nameOf: ({ name }) => name,
    bare: (text) => text.replace(/^(?:project|plugin|service):/, ""),
    shown: ({ id, kind, slug }) => (kind === "project" ? id : `${kind}:${slug} (${id})`),
  });
}

/**
 * Returns the id of a project, plugin or service; a text in the form of an id is returned as it is.
 *
 * @throws as {@link projectCalled}
 */
export async function projectIdOf(client: KeyService, text: string): Promise<string> {
  return PROJECT_ID.test(text) ? text : (await projectCalled(client, text)).id;
}

/** Matches a target with its kind and its id or slug, which needs no lookup. */
const EXACT_TARGET = /^(?:project:prj_[A-Za-z0-9]{10,40}|(?:plugin|service):[a-z0-9][a-z0-9_.-]{0,127})$/;

/**
 * Finds a target by its kind with its id, slug or name, or by one of these alone.
 *
 * @throws as {@link projectCalled}, and the errors of a request where a name has to be looked up
 */
export async function targetCalled(connection: HubConnection, text: string): Promise<Target> {
  const whole = /^prj_[A-Za-z0-9]{10,40}$/.test(text) ? `project:${text}` : text;
  if (EXACT_TARGET.test(whole)) return parseTarget(whole);
  const { keyService } = await import("./key-service.ts");
  const { kind, slug } = await projectCalled(keyService(connection), text);
  return { kind, slug };
}

/** Finds a project's id by id or name. @throws as {@link targetCalled}; UsageError `usage` for a plugin or service */
export async function projectNamed(connection: HubConnection, text: string): Promise<string> {
  const { kind, slug } = await targetCalled(connection, text);
  if (kind === "project") return slug;
  throw usageError("usage", `${printableJson(text)} is a ${kind}, and a project is needed.`);
}

/** Returns the id of an API key by its id, or by the name of a live one. @throws as {@link projectCalled} */
export async function keyIdOf(client: KeyService, text: string): Promise<string> {
  if (KEY_ID.test(text)) return text;
  const key = await findNamed(text, client.listKeys({ query: { state: "live" } }), {
    what: "key in use",
    list: "sealift key list",
    shown: ({ id, prefix }) => `${id} (${prefix}…)`,
  });
  return key.id;
}
