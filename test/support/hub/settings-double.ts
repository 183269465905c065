/**
 * The settings of one project at a small hub in memory, which checks bodies as the real one does, and lies when it is
 * told to: it can change every row that it keeps.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json as jsonOf } from "node:stream/consumers";
import type { Test } from "tap";
import { readTerms } from "../../../lib/artifact/sealed/terms.ts";
import { inviteRequest } from "../../../lib/contract/joining/records.ts";
import {
  cardUpload,
  type HostSettings,
  outcomeUpload,
  type SettingsUpload,
  settingsUpload,
} from "../../../lib/contract/settings/records.ts";

export const DOUBLE_PROJECT = "prj_harbour00001";
export const DOUBLE_KEY = "slk_operator";

type Row = HostSettings & { sealed: string | undefined };

export interface SettingsDouble {
  url: string;
  project: string;
  /** Rows that it keeps, by host, to look at and to lie with. */
  rows: Map<string, Row>;
  /** Uploads that it took, in order. */
  uploads: SettingsUpload["documents"][];
  /** Calls so far, such as `GET /settings`. */
  calls: string[];
  /** Called after each upload: how hosts answer. */
  onUpload: (documents: SettingsUpload["documents"]) => void;
  /** Called before it looks at the next upload. */
  beforeUpload: (() => void) | undefined;
  /** Whether it takes any number: a hub that forks the truth. */
  takesAll: boolean;
  /** Calls that it answers with 503. */
  fails: string[];
  /** Status by which it refuses a call. */
  refuses: Record<string, number>;
  /** Whether its list of hosts has no end. */
  isEndless: boolean;
  /** Whether it lists all hosts where one is asked for. */
  listsAll: boolean;
  /** Labels that it says of hosts. */
  labels: Record<string, Record<string, string>>;
  /** Id that it gives for the project's name. */
  projectId: string;
  /** Way in which it answers an invite with terms: as a hub does, without them, or as a hub that knows none. */
  terms: { ways: "kept" | "dropped" | "unknown"; text?: string | undefined };
  /** Puts a host there with its card. Its key is `slk_` and its name. */
  put(host: string, card?: string, terms?: string | null): Row;
}

const newRow = (host_id: string, card: string | null, terms: string | null): Row => ({
  ...{ host_id, card, terms, number: null, to: null, uploaded_at: null, uploaded_by: null },
  ...{ outcome: null, outcome_at: null, sealed: undefined },
});

class Refused extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** Starts one; it ends with the test. */
export async function startSettingsDouble(t: Test): Promise<SettingsDouble> {
  const rows = new Map<string, Row>();
  let version = 0;
  const double: SettingsDouble = {
    ...{
      url: "",
      project: DOUBLE_PROJECT,
      rows,
      uploads: [],
      calls: [],
      onUpload: () => {},
      beforeUpload: undefined,
      takesAll: false,
      fails: [],
      refuses: {},
      isEndless: false,
      listsAll: false,
      labels: {},
      projectId: DOUBLE_PROJECT,
      terms: { ways: "kept" },
    },
    put(host, card, terms) {
      const row = newRow(host, card ?? null, terms ?? null);
      rows.set(host, row);
      return row;
    },
  };

  const upload = (body: unknown): object => {
    const parsed = settingsUpload.safeParse(body);
    if (!parsed.success) throw new Refused(422, "invalid", parsed.error.message);
    const { documents } = parsed.data;
    double.beforeUpload?.();
    double.beforeUpload = undefined;
    for (const { host_id: host, follows } of documents) {
      const row = rows.get(host);
      if (row === undefined) throw new Refused(404, "not_found", `There is no host ${host}.`);
      if (!double.takesAll && row.number !== follows)
        throw new Refused(409, "settings_conflict", `${host} has the number ${row.number}.`);
    }
    for (const { host_id: host, number, to, sealed } of documents)
      Object.assign(rows.get(host)!, {
        ...{ number, to, sealed, uploaded_at: new Date().toISOString(), uploaded_by: "key_1" },
        ...{ outcome: null, outcome_at: null },
      });
    double.uploads.push(documents);
    double.onUpload(documents);
    return { settings_version: ++version };
  };

  const ownRow = (request: IncomingMessage): Row => {
    const row = rows.get(String(request.headers["x-api-key"]).replace("slk_", ""));
    if (row === undefined) throw new Refused(403, "forbidden", "The key speaks for no host.");
    return row;
  };

  const answers: Record<string, (request: IncomingMessage, url: URL) => Promise<object | undefined> | object> = {
    "GET /projects": () => ({
      items: [
        {
          ...{ id: double.projectId, name: "Harbour", kind: "project", slug: double.projectId },
          ...{ created_at: new Date(0).toISOString(), versions: 0 },
        },
      ],
      next: null,
    }),
    "POST /host-invites": async (request) => {
      const invite = inviteRequest.parse(await jsonOf(request));
      if (invite.terms !== undefined && double.terms.ways === "unknown")
        throw new Refused(422, "invalid", 'unknown key "terms"');
      double.terms.text = invite.terms;
      const digest = invite.terms !== undefined && double.terms.ways === "kept" && readTerms(invite.terms).digest;
      return {
        ...{ id: "inv_1", state: "open", uses: invite.uses, used: 0, approve: false, labels: invite.labels ?? {} },
        ...{ signers: invite.signers ?? [], expires_at: invite.expires_at, created_at: invite.expires_at },
        ...{ created_by: "key_1", token: `sjt_${"t".repeat(43)}`, ...(digest !== false && { terms_digest: digest }) },
      };
    },
    "DELETE /host-invites/inv_1": () => Promise.resolve(undefined),
    "GET /settings": (_request, url) => {
      const only = url.searchParams.get("host_id");
      const found = [...rows.values()]
        .filter(({ host_id: host }) => only === null || double.listsAll || host === only)
        .toSorted((a, b) => (a.host_id < b.host_id ? -1 : 1));
      const limit = Number(url.searchParams.get("limit") ?? 50);
      const at = Number(url.searchParams.get("cursor") ?? 0);
      const items = found.slice(at, at + limit).map(({ sealed: _sealed, ...row }) => row);
      const isLast = at + limit >= found.length;
      return { items, next: double.isEndless ? "more" : isLast ? null : String(at + limit) };
    },
    "GET /joined-hosts": () => ({
      items: Object.entries(double.labels).map(([host_id, labels]) => ({
        ...{ host_id, state: "joined", invite_id: null, address: "", created_at: new Date(0).toISOString() },
        ...{ heard_at: new Date(0).toISOString(), version: null, labels, clones: [] },
      })),
      next: null,
    }),
    "POST /settings": async (request) => upload(await jsonOf(request)),
    "DELETE /settings/:host": async (_request, url) => {
      rows.delete(decodeURIComponent(url.pathname.split("/").at(-1)!));
      return Promise.resolve(undefined);
    },
    "PUT /host-card": async (request) => {
      const row = ownRow(request);
      const { card, terms } = cardUpload.parse(await jsonOf(request));
      Object.assign(row, { card, terms: terms ?? null });
      return undefined;
    },
    "GET /host-settings": (request) => {
      const { to, number, sealed } = ownRow(request);
      if (sealed === undefined) throw new Refused(404, "not_found", "Nobody has made settings for it.");
      return { to, number, sealed };
    },
    "PUT /host-settings/outcome": async (request) => {
      const { outcome } = outcomeUpload.parse(await jsonOf(request));
      Object.assign(ownRow(request), { outcome, outcome_at: new Date().toISOString() });
      return undefined;
    },
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url!, "http://hub");
    const path = url.pathname.replace("/devkeys", "").replace(`/projects/${DOUBLE_PROJECT}`, "");
    const call = `${request.method} ${path.replace(/^\/settings\/.+/, "/settings/:host")}`;
    double.calls.push(call);
    const refusal = double.refuses[call];
    if (refusal !== undefined) throw new Refused(refusal, "forbidden", "Not for you.");
    if (double.fails.includes(call)) throw new Refused(503, "unavailable", "Not now.");
    const known = answers[call];
    if (known === undefined) throw new Refused(404, "not_found", `There is no route ${call}.`);
    const body = await known(request, url);
    response.writeHead(body === undefined ? 204 : call.endsWith("/host-invites") ? 201 : 200, {
      "content-type": "application/json",
    });
    response.end(body && JSON.stringify(body));
  }

  const server = createServer((request, response) => {
    answer(request, response).catch((error: Error) => {
      const { status = 500, code = "internal" } = error as Partial<Refused>;
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify({ detail: error.message, error: error.message, code }));
    });
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  t.teardown(() => server.close());
  double.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return double;
}
