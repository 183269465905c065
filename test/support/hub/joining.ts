/** Hosts that join a hub's project over the wire. */
import { randomBytes } from "node:crypto";
import type { JoinAnswer, JoinedHost, NewInvite } from "../../../lib/contract/joining/records.ts";
import { heldKey, rootChain } from "../forged/roots.ts";
import { type FeatureFill, HOSTILE, HOSTILE_HOST, later } from "./filling.ts";
import { type Answer, createProject, newSigner, type ProjectAccess, type RunningHub } from "./harness.ts";

type Calls = Pick<RunningHub, "call">;

/** The secrets of a host, which it makes itself. */
export const ownSecrets = () => ({
  key: `slk_${randomBytes(32).toString("base64url")}`,
  deployment_credential: `sdc_${randomBytes(32).toString("base64url")}`,
});

/** The public key of a signer, in hexadecimal. */
export const signerHex = (): string => Buffer.from(newSigner().publicKey).toString("hex");

export const soon = (ms = 3_600_000): string => new Date(Date.now() + ms).toISOString();

export interface Invited {
  project: ProjectAccess;
  /** The path of the project at the key service. */
  at: string;
  signers: string[];
  invite: (more?: object) => Promise<NewInvite>;
  join: (token: string, host: string, more?: object, hub?: Calls) => Promise<Answer & { body: JoinAnswer }>;
  /** Opens a session with a key: 200 for one that works. */
  enter: (key: string) => Promise<number>;
  list: () => Promise<JoinedHost[]>;
}

/** Speaks for a host as two machines do that were cloned, in turn. */
export async function askAsClones(hub: Calls, key: string, host: string): Promise<void> {
  for (const instance of ["the-machine", "its-clone", "the-machine", "its-clone"]) {
    const headers = { "x-sealift-host": encodeURIComponent(host), "x-sealift-instance": instance };
    const { status } = await hub.call("GET", "/devkeys/key", { key, headers });
    if (status !== 200) throw new Error(`The host's key was refused: ${status}.`);
  }
}

/** A project that hosts can be invited to. */
export async function invited(hub: Calls): Promise<Invited> {
  const project = await createProject(hub, ["keys", "projects", "publish", "deploy", "report", "read"]);
  const at = `/devkeys/projects/${project.id}`;
  const signers = [signerHex()];
  return {
    ...{ project, at, signers },
    invite: async (more = {}) =>
      (await hub.call("POST", `${at}/host-invites`, { json: { signers, expires_at: soon(), ...more } }))
        .body as NewInvite,
    join: (token, host_id, more = {}, where = hub) =>
      where.call("POST", "/devkeys/join", { key: null, json: { token, host_id, ...ownSecrets(), ...more } }),
    enter: async (xdevkey) =>
      (await hub.call("POST", "/app/deploy/v1/auth", { key: null, json: { xdevkey, project_id: project.id } })).status,
    list: async () => (await hub.call("GET", `${at}/joined-hosts?limit=200`)).body.items as JoinedHost[],
  };
}

/** Fills invites of a key that ends: one host joins and is cloned, another one waits; then both are revoked. */
export const joiningFill: FeatureFill = {
  async fill({ hub, done, project }) {
    const base = `/devkeys/projects/${project.id}`;
    const scopes = ["keys", "deploy", "report", "read"];
    const inviting = (await done("POST", "/devkeys/api-keys", {
      json: { name: HOSTILE, scopes, expires_at: later(86_400) },
    })) as unknown as { key: string };
    const facts = { signers: [signerHex()], expires_at: later(3600), uses: 9, labels: { env: "prod" } };
    for (const [host, approve] of [
      [HOSTILE_HOST, false],
      [`waits${HOSTILE_HOST}`, true],
    ] as const) {
      const invite = (await done("POST", `${base}/host-invites`, {
        json: { ...facts, approve },
        key: inviting.key,
      })) as unknown as { id: string; token: string };
      const own = ownSecrets();
      await done("POST", "/devkeys/join", { json: { token: invite.token, host_id: host, ...own }, key: null });
      if (approve) continue;
      await askAsClones(hub, own.key, host);
      await done("DELETE", `${base}/host-invites/${invite.id}`);
    }
    const root = rootChain().version(1, [heldKey()]);
    await done("POST", `${base}/host-invites`, { json: { root, expires_at: later(3600) } });
  },
  async show({ hub, project }) {
    for (const [host, approve] of [
      ["pier-2", false],
      ["pier-3", true],
    ] as const) {
      const json = { signers: [signerHex()], expires_at: soon(), labels: { site: "hull" }, approve };
      const invite = await hub.call("POST", `/devkeys/projects/${project.id}/host-invites`, { json });
      const joining = { token: invite.body.token as string, host_id: host, ...ownSecrets() };
      await hub.call("POST", "/devkeys/join", { key: null, json: joining });
    }
  },
  pages: (projectId) => ({ hosts: `/projects/${projectId}/hosts` }),
  rights: ({ project }) => ({ [`/projects/${project}/hosts`]: `/devkeys/projects/${project}/joined-hosts` }),
  async lists({ hub, project }) {
    const json = { signers: [signerHex()], expires_at: soon() };
    await hub.call("POST", `/devkeys/projects/${project}/host-invites`, { json });
    return {
      "invite list": [`invite list ${project}`, true],
      "host list": [`host list ${project}`, false],
    };
  },
};
