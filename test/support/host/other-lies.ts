/** Lies of a hub around the settings of a host: of their counter, and to what the host says of them. */
import type { HostKey } from "../../../lib/artifact/sealed/host-key.ts";
import { changes, type Lie, type LiedRoute, says, status } from "../hub/lying-settings.ts";

/** Facts that a hub knows which lies to one host, and texts that it got from elsewhere. */
export interface LiarFacts {
  key: HostKey;
  /** Seed of the operator: for documents of his that were made for others. The hub itself has none. */
  operatorSeed: Uint8Array;
  project: string;
  /** Highest number that the host has taken. */
  number: number;
  /** Sealed documents that the hub has had for the host, the first and the newest. */
  first: Buffer;
  newest: Buffer;
  /** Server at another address, which nobody should hand a key to. */
  elsewhere: string;
}

export interface SettingsLie {
  name: string;
  /** Route that it is told on; that of the host's settings by default. */
  on?: LiedRoute;
  /** Codes of which the host says one; undefined for a lie that it passes by. */
  code?: string | RegExp;
  lie: (facts: LiarFacts) => Lie;
}

/** Returns a maker of lies on a route. */
export const lieOn =
  (route: LiedRoute | undefined) =>
  (name: string, code: string | RegExp | undefined, lie: SettingsLie["lie"]): SettingsLie => ({
    ...{ name, lie },
    ...(route !== undefined && { on: route }),
    ...(code !== undefined && { code }),
  });
const [latest, said] = [lieOn("latest"), lieOn("outcome")];

const names =
  (settings_version: unknown): (() => Lie) =>
  () =>
    changes((body) => ({ ...body, settings_version }));

/** Lies with which version is the newest. */
const LATEST: readonly SettingsLie[] = [
  latest("a counter that goes back to one", undefined, names(1)),
  latest("the highest counter that there is", undefined, names(Number.MAX_SAFE_INTEGER)),
  latest("no counter any more", undefined, () => changes(({ settings_version: _settings, ...body }) => body)),
  ...["7", 0, -1, 1.5, null, {}].map((value) => ({
    ...{ name: `the counter ${JSON.stringify(value)}`, on: "latest" as const, code: "bad_answer", lie: names(value) },
  })),
  latest("a counter beyond whole numbers", "bad_answer", () => async (response, truth, request) => {
    const { body } = await truth();
    says(body.toString().replace(/"settings_version":\d+/, '"settings_version":1e300'))(response, truth, request);
  }),
  latest("a wrong mark of what the host knows", undefined, () => async (response, truth) => {
    const { body } = await truth();
    response.writeHead(200, { "content-type": "application/json", etag: `"${"x".repeat(4000)}"` }).end(body);
  }),
];

/** Lies to what the host says of its settings. */
const OUTCOME: readonly SettingsLie[] = [
  said("that it will not hear", "hub_unavailable", () => status(500)),
  said("that the outcome is another host's", /./, () => status(422)),
  said("that it has heard, and forgets", undefined, () => status(204)),
  said("a way to another server for the outcome", /./, ({ elsewhere }) =>
    status(307, { location: `${elsewhere}/outcome` }),
  ),
];

export const OTHER_LIES: readonly SettingsLie[] = [...LATEST, ...OUTCOME];
