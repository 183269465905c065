import * as z from "zod";
import { readJson } from "../client/answers.ts";
import { DeployClient } from "../client/deploy-client.ts";
import { header, type HttpRequest, send } from "../client/http.ts";
import type { HubConnection } from "../client/hub-connection.ts";
import { searchTargets } from "../client/marketplace-client.ts";
import { asSealiftError } from "../contract/errors.ts";
import { later } from "../contract/later.ts";
import { baseUrl } from "../contract/surfaces/paths.ts";
import { failed, type Finding, ok, warning } from "./finding.ts";

/** Hub to examine; with a project, whether the key may deploy that. */
export type ExaminedHub = HubConnection & { projectId?: string };

/** Clock difference, in milliseconds, from which sessions and credentials look expired. */
export const MAX_CLOCK_SKEW_MS = 60_000;

/** Measures the clock difference to a hub. @returns milliseconds; NaN if the hub states no time */
export async function clockSkewMs(hub: HubConnection): Promise<number> {
  const request: HttpRequest = { operation: "health", method: "GET", url: `${baseUrl(hub.hubUrl)}/healthz` };
  const asked = Date.now();
  const response = await send(request, hub);
  response.body.on("error", () => {}).resume();
  return Math.abs(Date.parse(header(response, "date") ?? "") - (asked + Date.now()) / 2);
}

/** Checks a hub that was named: address, clock, storage, room, and the API key. */
export async function* hubFindings(hub: ExaminedHub): AsyncGenerator<Finding> {
  const reached = await hubFinding(hub);
  yield reached;
  if (reached.status === "failed") return;
  yield* readinessFindings(hub);
  yield await keyFinding(hub);
}

async function hubFinding(hub: HubConnection): Promise<Finding> {
  try {
    const skew = await clockSkewMs(hub);
    if (skew > MAX_CLOCK_SKEW_MS) {
      const message = `${hub.hubUrl} answers, but its clock and this one are ${Math.round(skew / 1000)} s apart`;
      return warning("hub", message, "Set the clocks, for example with chrony.");
    }
    return ok("hub", `${hub.hubUrl} answers`);
  } catch (thrown) {
    const { message, hint } = asSealiftError(thrown);
    return failed("hub", message, hint);
  }
}

const part = later(() => z.object({ ok: z.boolean(), trouble: z.string().optional() }));
const readinessOfHub = later(() =>
  z.object({
    parts: z.object({ database_read: part, database_write: part, blobs: part }).optional(),
    connections: z.object({ open: z.int(), most: z.int().optional(), shed: z.int() }),
    descriptors: z.object({ open: z.int(), limit: z.int() }).optional(),
  }),
);
type Readiness = z.infer<typeof readinessOfHub>;

/** Reports the hub's storage, and its room for further connections and files. Yields nothing that it does not state. */
async function* readinessFindings(hub: HubConnection): AsyncGenerator<Finding> {
  const request: HttpRequest = { operation: "health", method: "GET", url: `${baseUrl(hub.hubUrl)}/readyz?verbose` };
  let readiness: Readiness;
  try {
    readiness = await readJson(await send(request, hub), request, readinessOfHub);
  } catch (thrown) {
    const { status, message } = asSealiftError(thrown);
    if (status === 503) yield failed("hub storage", message, OPERATOR);
    return;
  }
  if (readiness.parts !== undefined) yield* storageFindings(readiness.parts);
  yield roomFinding(readiness);
}

const OPERATOR = "The hub's operator has to look at it: `GET /readyz?verbose`, and the hub's log.";

/** Reports the parts of a hub's storage. A full one refuses writes; what is stored is served. */
function* storageFindings({ database_write: database, blobs }: NonNullable<Readiness["parts"]>): Generator<Finding> {
  const parts = [
    // A deployment opens a session, which the database stores.
    {
      name: "database",
      health: database,
      whenFull: failed,
      full: "projects are not deployed, and nothing is published",
    },
    { name: "storage of artifacts", health: blobs, whenFull: warning, full: "nothing is published" },
  ];
  const troubled = parts.filter(({ health }) => !health.ok);
  if (troubled.length === 0) yield ok("hub storage", "Its database and its storage of artifacts can be written");
  for (const { name, health, whenFull, full } of troubled)
    if (health.trouble === "full")
      yield whenFull("hub storage", `The hub's ${name} is full: ${full}`, "The hub's operator has to make room.");
    else yield failed("hub storage", `The hub's ${name} cannot be used: ${health.trouble ?? "failed"}`, OPERATOR);
}

/** Share of its connections or descriptors beyond which a hub is nearly full. */
const NEARLY_FULL = 0.8;

function roomFinding({ connections, descriptors }: Readiness): Finding {
  const { open, most = Infinity, shed } = connections;
  const { open: files, limit } = descriptors ?? { open: 0, limit: Infinity };
  const message =
    `${open}${most === Infinity ? "" : ` of ${most}`} connections are open` +
    (descriptors === undefined ? "" : `, and ${files} of ${limit} descriptors`) +
    (shed === 0 ? "" : `; ${shed} were closed for want of room`);
  const hint = "Raise the hub's limit of open files (LimitNOFILE=), or add a hub.";
  const hasRoom = open < most * NEARLY_FULL && files < limit * NEARLY_FULL;
  return hasRoom ? ok("hub connections", message) : warning("hub connections", message, hint);
}

async function keyFinding({ projectId, ...hub }: ExaminedHub): Promise<Finding> {
  try {
    if (projectId !== undefined) await new DeployClient(projectId, hub).authenticate();
    else await searchTargets("plugin", "", hub).next();
    return ok("key", projectId === undefined ? "The hub knows the API key" : `The API key may deploy ${projectId}`);
  } catch (thrown) {
    const { message, hint } = asSealiftError(thrown);
    return failed("key", message, hint);
  }
}
