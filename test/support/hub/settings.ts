/** Hosts of a project with keys of their own, settings that are sealed to them, and what they say of them. */
import { randomBytes } from "node:crypto";
import { makeCard } from "../../../lib/artifact/sealed/card.ts";
import { type HostKey, hostKeyOf, newHostSeed } from "../../../lib/artifact/sealed/host-key.ts";
import { sealSettings, signOutcome } from "../../../lib/artifact/sealed/settings.ts";
import { makeTerms } from "../../../lib/artifact/sealed/terms.ts";
import { fingerprintOf } from "../../../lib/contract/joining/token.ts";
import type { HostSettings } from "../../../lib/contract/settings/records.ts";
import type { SettingsOutcome } from "../../../lib/contract/settings/texts.ts";
import { type FeatureFill, HOSTILE_HOST } from "./filling.ts";
import type { Answer, RunningHub } from "./harness.ts";
import { type Invited, invited, ownSecrets, signerHex, soon } from "./joining.ts";

type Calls = Pick<RunningHub, "call">;

/** Digest of no document. */
const SOME_DIGEST = "ab".repeat(32);

/** A host that has joined by terms of the operator. */
export interface SettingsHost {
  name: string;
  /** API key, which speaks for it alone. */
  api: string;
  key: HostKey;
  card: string;
  terms: string;
  /** Returns its settings, sealed to it, as an upload has them. */
  document: (number: number, follows: number | null, more?: object) => Record<string, unknown>;
  /** Returns what it says of settings. */
  outcome: (number: number, more?: Partial<Omit<SettingsOutcome, "t" | "v">>) => string;
}

/** Calls of the routes of settings. */
interface SettingsCalls {
  sendCard: (host: SettingsHost, more?: object) => Promise<Answer>;
  /** Uploads documents. @param key by default that of the scope `settings` */
  upload: (documents: readonly object[], key?: string, hub?: Calls) => Promise<Answer>;
  /** Returns the settings of the host whose key asks. */
  own: (key: string) => Promise<Answer>;
  say: (key: string, outcome: string) => Promise<Answer>;
  shown: () => Promise<HostSettings[]>;
  /** Returns what `latest` says, and its ETag. */
  latest: (api: string, etag?: string) => Promise<{ status: number; body: object; etag: string | null }>;
}

interface SettingsProject extends Invited, SettingsCalls {
  id: string;
  operatorSeed: Buffer;
  /** API key of the scope `settings`, bound to the project. */
  uploader: string;
  /** Lets a host join by terms of its own; its card is not sent. */
  host: (name: string, hub?: Calls) => Promise<SettingsHost>;
}

/** Issues an API key. @param project the only one that it works for */
export async function keyOf(hub: Calls, scopes: readonly string[], project?: string): Promise<string> {
  const json = { name: scopes.join(" "), scopes, ...(project !== undefined && { project_id: project }) };
  return (await hub.call("POST", "/devkeys/api-keys", { json })).body["key"] as string;
}

/** Calls the routes of settings of a project. @param uploader key of uploads, unless another one is given */
export function settingsAt(hub: Calls, id: string, uploader: string): SettingsCalls {
  const at = `/devkeys/projects/${id}`;
  return {
    sendCard: ({ api, card, terms }, more = {}) =>
      hub.call("PUT", `${at}/host-card`, { key: api, json: { card, terms, ...more } }),
    upload: (documents, key = uploader, where = hub) =>
      where.call("POST", `${at}/settings`, { key, json: { documents } }),
    own: (key) => hub.call("GET", `${at}/host-settings`, { key }),
    say: (key, outcome) => hub.call("PUT", `${at}/host-settings/outcome`, { key, json: { outcome } }),
    shown: async () => (await hub.call("GET", `${at}/settings?limit=200`)).body.items as HostSettings[],
    async latest(api, known) {
      const json = { xdevkey: api, project_id: id };
      const session = await hub.call("POST", "/app/deploy/v1/auth", { key: null, json });
      const answer = await hub.call("GET", `/app/deploy/v1/projects/${id}/versions/latest`, {
        bearer: session.body["access_token"] as string,
        ...(known !== undefined && { headers: { "if-none-match": known } }),
      });
      return { status: answer.status, body: answer.body as object, etag: answer.headers.get("etag") };
    },
  };
}

/** Makes a project whose operator has settings for its hosts. */
export async function withSettings(hub: Calls, operatorSeed = randomBytes(32)): Promise<SettingsProject> {
  const joining = await invited(hub);
  const { id } = joining.project;
  const uploader = await keyOf(hub, ["settings"], id);
  return {
    ...{ ...joining, ...settingsAt(hub, id, uploader), id, operatorSeed, uploader },
    async host(name, where = hub) {
      const { signers } = joining;
      const facts = { labels: { env: "prod" }, uses: 1, expires_at: soon() };
      const terms = makeTerms({ project: id, ...facts, pins: fingerprintOf(signers) }, operatorSeed);
      const { token } = await joining.invite({ ...facts, terms: terms.text });
      const own = ownSecrets();
      const joined = await joining.join(token, name, own, where);
      if (joined.status !== 200) throw new Error(`${name} was not let in: ${joined.status}.`);
      const key = hostKeyOf(newHostSeed());
      return {
        ...{ name, api: own.key, key, terms: terms.text },
        card: makeCard({ project: id, name }, key, { digest: terms.digest, seed: terms.secret.seed }),
        document(number, follows, more = {}) {
          const facts = { project: id, to: key.fingerprint, number, made_at: new Date().toISOString() };
          const { sealed } = sealSettings({ ...facts, apps: { web: { SECRET: "tide" } } }, key.x25519, operatorSeed);
          const to = key.fingerprint;
          return { host_id: name, to, number, follows, sealed: sealed.toString("base64"), ...more };
        },
        outcome: (number, more = {}) =>
          signOutcome(
            {
              ...{ project: id, to: key.fingerprint, number, digest: SOME_DIGEST, state: "applied", code: null },
              ...{ ignored: [], at: new Date().toISOString(), ...more },
            },
            key,
          ),
      };
    },
  };
}

/** Fills a host with a card, settings and an outcome, and another one that is dropped. */
export const settingsFill: FeatureFill = {
  async fill({ hub, done, project: { id } }) {
    const operatorSeed = randomBytes(32);
    const signers = [signerHex()];
    const facts = { labels: { env: "prod" }, uses: 2, expires_at: soon() };
    const terms = makeTerms({ project: id, ...facts, pins: fingerprintOf(signers) }, operatorSeed);
    const at = `/devkeys/projects/${id}`;
    const invite = { signers, ...facts, terms: terms.text };
    const { token } = (await done("POST", `${at}/host-invites`, { json: invite })) as unknown as { token: string };
    for (const name of [`sealed${HOSTILE_HOST}`, "dropped"]) {
      const own = ownSecrets();
      await done("POST", "/devkeys/join", { json: { token, host_id: name, ...own }, key: null });
      const key = hostKeyOf(newHostSeed());
      const card = makeCard({ project: id, name }, key, { digest: terms.digest, seed: terms.secret.seed });
      const asHost = (path: string, json: object) => hub.call("PUT", `${at}/${path}`, { key: own.key, json });
      await asHost("host-card", { card, terms: terms.text });
      const to = key.fingerprint;
      const document = { project: id, to, number: 1, made_at: soon(), apps: { web: { SECRET: "tide" } } };
      const sealed = sealSettings(document, key.x25519, operatorSeed).sealed.toString("base64");
      const documents = [{ host_id: name, to, number: 1, follows: null, sealed }];
      await done("POST", `${at}/settings`, { json: { documents } });
      const said = { project: id, to, number: 1, digest: SOME_DIGEST, ignored: [], at: soon() };
      await asHost("host-settings/outcome", { outcome: signOutcome({ ...said, state: "failed", code: "x" }, key) });
    }
    await done("DELETE", `${at}/settings/dropped`);
  },
  // Settings that a host could not use, and hosts that have none.
  async show({ hub, project: { id } }) {
    const operatorSeed = randomBytes(32);
    const at = `/devkeys/projects/${id}`;
    const invite = { signers: [signerHex()], uses: 1, expires_at: soon() };
    const { body } = await hub.call("POST", `${at}/host-invites`, { json: invite });
    const own = ownSecrets();
    await hub.call("POST", "/devkeys/join", { key: null, json: { token: body["token"], host_id: "pier-7", ...own } });
    const key = hostKeyOf(newHostSeed());
    const to = key.fingerprint;
    const document = { project: id, to, number: 1, made_at: soon(), apps: { web: { SECRET: "tide" } } };
    const sealed = sealSettings(document, key.x25519, operatorSeed).sealed.toString("base64");
    const documents = [{ host_id: "pier-7", to, number: 1, follows: null, sealed }];
    await hub.call("POST", `${at}/settings`, { json: { documents } });
    const said = { project: id, to, number: 1, digest: SOME_DIGEST, ignored: [], at: soon(), state: "failed" as const };
    const outcome = signOutcome({ ...said, code: "health_failed" }, key);
    await hub.call("PUT", `${at}/host-settings/outcome`, { key: own.key, json: { outcome } });
    const session = await hub.call("POST", "/app/deploy/v1/auth", {
      ...{ key: null, json: { xdevkey: own.key, project_id: id } },
    });
    await hub.call("POST", "/app/deploy/v1/deployments/report", {
      bearer: session.body["access_token"] as string,
      json: {
        ...{ project_id: id, deployment_id: "seventh", status: "success", version: "1.1.0", host_id: "pier-7" },
        ...{ started_at: "", completed_at: "", plugins: [] },
      },
    });
  },
};
