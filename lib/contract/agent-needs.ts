import { addressVariables, wordParts } from "./files/address-variables.ts";
import type { Application } from "./files/application.ts";

/** Version of Sealift that hosts need for the applications of a project, and for which keys of which descriptors. */
export interface AgentNeeds {
  version: string;
  /** Such as `apps/worker: of`, sorted. */
  keys: string[];
}

/** Version that added what {@link newIn} finds: hosts before it refuse such an `app.yaml`, or read it otherwise. */
const KINDS_SINCE = "0.3.0";

/** Returns what hosts need for some applications; undefined where the first version with applications is enough. */
export function agentNeeds(apps: ReadonlyMap<string, Application>): AgentNeeds | undefined {
  const keys = [...apps].flatMap(([id, app]) => newIn(app).map((key) => `apps/${id}: ${key}`)).toSorted();
  return keys.length === 0 ? undefined : { version: KINDS_SINCE, keys };
}

/** Lists the keys of a descriptor that agents before 0.3.0 do not know. */
function newIn(app: Application): string[] {
  const { of, schedule, timezone, catch_up, within, limits, environment, command, migrate = [], listen, ports } = app;
  const given = { of, schedule, timezone, catch_up, within, limits };
  const variables = addressVariables([...listen, ...ports]);
  const hasVariable = (word: string): boolean => wordParts(word, variables).some((part) => "variable" in part);
  return [
    ...Object.entries(given).flatMap(([key, value]) => (value === undefined ? [] : [key])),
    ...(app.health.command !== undefined ? ["health.command"] : []),
    ...(Object.keys(environment.values).length > 0 ? ["environment.values"] : []),
    ...([...command, ...migrate].some(hasVariable) ? ["$PORT in a command"] : []),
  ];
}
