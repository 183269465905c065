/** Hosts that join a hub's project over the wire. */
import { randomBytes } from "node:crypto";
import type { JoinAnswer, JoinedHost, NewInvite } from "../../../lib/contract/joining/records.ts";
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
