/** A project with a fleet: its owner's commands, its hosts' polls and reports, as they go over the wire. */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { LatestAnswer } from "../../../lib/contract/surfaces/deploy.ts";
import { type Answer, createProject, newSigner, type ProjectAccess, publication, type RunningHub } from "./harness.ts";

const DEPLOY = "/app/deploy/v1";
/** The scopes of a key that publishes, deploys and rolls out. */
export const FLEET_SCOPES = ["publish", "projects", "deploy", "report", "read"];

/** Waits for a record to become as it should. @returns it, also when it did not in time */
export async function until<T>(look: () => Promise<T>, isSo: (found: T) => boolean): Promise<T> {
  for (const end = performance.now() + 10_000; ;) {
    const found = await look();
    if (isSo(found) || performance.now() > end) return found;
    await sleep(20);
  }
}

/** A project with a fleet, and what its hosts and its owner ask. */
export async function fleetOf(hub: Pick<RunningHub, "call">, project: ProjectAccess) {
  const bearer = await project.session();
  const at = `/devkeys/projects/${project.id}/rollouts`;
  const { key } = project;
  const named = (host: string | undefined): Record<string, string> =>
    host === undefined ? {} : { "x-sealift-host": host };
  return {
    at,
    start: (json: object) => hub.call("POST", at, { key, json }),
    act: (id: string, action: string, json?: object) =>
      hub.call("POST", `${at}/${id}/${action}`, { key, json: json ?? {} }),
    show: async (id: string): Promise<Answer["body"]> => (await hub.call("GET", `${at}/${id}`, { key })).body,
    latest: (host?: string, headers: Record<string, string> = {}) =>
      hub.call("GET", `${DEPLOY}/projects/${project.id}/versions/latest`, {
        bearer,
        headers: { ...named(host), ...headers },
      }),
    report: (host: string, version: string, more: object = {}) =>
      hub.call("POST", `${DEPLOY}/deployments/report`, {
        bearer,
        headers: named(host),
        json: {
          ...{ project_id: project.id, deployment_id: randomUUID(), status: "success", version, plugins: [] },
          ...{ started_at: "", completed_at: "", host_id: host, running_version: version, ...more },
        },
      }),
  };
}

/** A fleet whose owner publishes, yanks, deletes and releases by labels, and whose hosts say what they run. */
export async function operatedFleet(hub: RunningHub, scopes = FLEET_SCOPES) {
  const project = await createProject(hub, scopes);
  const fleet = await fleetOf(hub, project);
  const signer = newSigner();
  const versions = `/devkeys/projects/${project.id}/versions`;
  const { key } = project;
  const at = (version: string, action = "") => `${versions}/${version}${action}`;
  return {
    ...{ project, ...fleet, versions, key },
    publish: async (...labels: string[]): Promise<Answer> => {
      let last: Answer | undefined;
      for (const label of labels) last = await project.publish(publication(label, { signer }));
      return last!;
    },
    yank: (version: string) => hub.call("POST", at(version, "/yank"), { key, json: {} }),
    unyank: (version: string) => hub.call("DELETE", at(version, "/yank"), { key }),
    remove: (version: string) => hub.call("DELETE", `${at(version)}?reason=test`, { key }),
    release: (version: string, json: object = {}) => hub.call("POST", at(version, "/release"), { key, json }),
    /** The versions as their owner lists them, by label. */
    list: async () => {
      const { items } = (await hub.call("GET", `${versions}?limit=100`, { key })).body;
      return Object.fromEntries(
        (items as { version: string; is_latest: boolean; state?: { name: string; cause: string } }[]).map((each) => [
          each.version,
          each.state === undefined ? (each.is_latest ? "latest" : "open") : `${each.state.name} ${each.state.cause}`,
        ]),
      );
    },
    /** The answer to a host that runs a version, as `version`, `version withdrawn VERSION`, or the error's code. */
    told: async (host: string | undefined, running: string, headers: Record<string, string> = {}): Promise<string> => {
      const { body } = await fleet.latest(host, { "x-sealift-running": running, ...headers });
      const { version, withdrawn, next, code } = body as Partial<LatestAnswer> & { code: string };
      if (version === undefined) return code;
      return `${version}${withdrawn === undefined ? "" : ` withdrawn ${withdrawn}`}${next === undefined ? "" : ` next ${next.version}`}`;
    },
  };
}
