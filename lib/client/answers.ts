import * as z from "zod";
import type { Code } from "../contract/codes.ts";
import { SealiftError } from "../contract/errors.ts";
import { faultsOf } from "../support/documents/faults.ts";
import { parseJson } from "../support/documents/limits.ts";
import { safelyParsed } from "../support/documents/safe-parse.ts";
import { printable } from "../support/printable.ts";
import { OPERATIONS, serverOf } from "./error-wording.ts";
import { bodyOf, header, type HttpRequest, type HttpResponse, operationError } from "./http.ts";

/** Largest answer other than an artifact that is read, in bytes. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

/** Reads a small body whole. @throws RangeError for one of more than `maxBytes` */
export async function readText(
  response: HttpResponse,
  request: HttpRequest,
  maxBytes = MAX_ANSWER_BYTES,
): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of bodyOf(response, request)) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new RangeError(`the answer is larger than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** Makes a hub's text safe to show: one line, printable, short, and without the request's secrets. */
function presentable(text: string, secrets: readonly string[]): string {
  let shown = text;
  for (const secret of secrets) if (secret !== "") shown = shown.replaceAll(secret, "[redacted]");
  return printable(shown).trim().slice(0, 500);
}

/** Codes of a hub that are more precise than its status, with what to do next. */
const PRECISE: Partial<Record<Code, string>> = {
  quota_exceeded: "Delete old versions (`sealift version delete`), or ask the hub's operator for a larger quota.",
  project_in_use: "`sealift fleet TARGET --state ok` shows hosts; --force deletes it all the same.",
  name_taken: "Choose another name, or take this one all the same with --same-name: commands then need the id.",
  name_lookalike: "Choose a name that differs by more, or ask an administrator to create it and give it to you.",
  settings_conflict: "Run the command again: it makes new numbers from what the hub has now.",
  wave_empty: "Label hosts first (`sealift fleet label`), or start it with --allow-empty-wave.",
  other_host: "Start it with the --host-id that the key speaks for, or give this host a key of its own.",
  host_removed: "Stop its watch, or join again with another invite (`sealift join`).",
  invite_ended: "Ask for another invite (`sealift host invite`).",
  host_key_removed:
    "Nothing was made. Remove host.key on the host: `sealift host key` makes another one, and prints its line. `sealift join` makes it by itself.",
  host_key_taken:
    "Nothing was made. Name the host as its kits do, or give it the other name first: `sealift host rename PROJECT OLD NEW`.",
  host_taken: "Take another name (--host-id of a join), or remove the host that has this one (`sealift host remove`).",
  approval_required: "Add --stage; `sealift stage list` then shows what waits for approval.",
  own_approval: "Ask a colleague, who sees it in `sealift stage list` or on the hub's page.",
  approval_differs: "`sealift stage diff` shows what has changed; approve the digest that it has now.",
  trust_root_forked: "`sealift trust show TARGET --out FILE` writes what the hub has; make the next version from it.",
  trust_root_order: "`sealift trust show TARGET` says which version the hub has; publish the ones between first.",
  trust_root_undersigned: "`sealift trust show FILE --base BEFORE` says whose signatures are missing.",
  upload_busy: "Another run publishes the same upload; wait until it ends.",
  upload_offset: "Try again: another run may have gone on with the same upload.",
  upload_differs: "Try again: what the hub has kept is dropped, and the whole is sent.",
  signer_refused: "`sealift signer list` shows who may sign; its owner adds a key with `sealift signer add`.",
};

/** Fields of an error's body, from a hub or a runtime. */
type ErrorBody = Partial<
  Record<"error" | "detail" | "code" | "content_sha256" | "id" | "settings_version" | "status" | "msg", unknown>
>;

/** Returns the error of a runtime that was addressed as a hub, or of a hub that was addressed as a runtime. */
function misdirected(body: ErrorBody, { operation, url }: HttpRequest, status: number): SealiftError | undefined {
  const { name, option } = serverOf(operation);
  const answered = body.status === "error" && typeof body.msg === "string" ? "runtime" : "hub";
  // A hub has none of a runtime's paths.
  const isHub = status === 404 && typeof body.detail === "string" && typeof body.code === "string";
  const isSealift = answered === "runtime" || isHub;
  if (!isSealift || answered === name) return undefined;
  const why = `${new URL(url).origin} is a ${answered}, not a ${name}: it answered ${status}.`;
  return operationError(operation, "bad_answer", why, {
    status,
    hint:
      name === "hub"
        ? `Give the hub's URL; ${new URL(url).origin} belongs to --runtime-url.`
        : `Give the runtime's URL as ${option}; ${new URL(url).origin} is the hub's.`,
  });
}

/** Beginning of what every hub says of a path that it does not have. */
const NO_ROUTE = "There is no route ";

/** Returns the error of a hub that does not have a route; undefined for other answers. */
function olderHub(said: string, { operation, method, url }: HttpRequest, status: number): SealiftError | undefined {
  if (status !== 404 || !said.startsWith(NO_ROUTE) || serverOf(operation).name !== "hub") return undefined;
  const { origin, pathname } = new URL(url);
  const why = `the hub ${origin} is older than this Sealift: it does not know ${method} ${pathname}.`;
  return operationError(operation, "not_found", why, {
    status,
    hubCode: "not_found",
    hint: "Ask its operator to upgrade it, or use what it knows.",
  });
}

/** Advice for an answer of something that is neither a hub nor a runtime. */
function rootHint(operation: HttpRequest["operation"]): string {
  const { name, option } = serverOf(operation);
  return `Check that ${option} is the root of a Sealift ${name}.`;
}

/** Returns the error of an answer that is not 2xx; reads and closes its body. */
export async function statusError(response: HttpResponse, request: HttpRequest): Promise<SealiftError> {
  const { operation } = request;
  const { status } = response;
  const { codeOf } = OPERATIONS[operation];
  let said = "";
  let hubCode: string | undefined;
  let body: ErrorBody = {};
  try {
    body = z.looseObject({}).parse(parseJson(await readText(response, request)));
    const text = typeof body.error === "string" ? body.error : body.detail;
    if (typeof text === "string" && text !== "") said = presentable(text, request.secrets ?? []).replace(/\.$/, "");
    if (typeof body.code === "string") hubCode = presentable(body.code, request.secrets ?? []).slice(0, 64);
  } catch {
    response.discard();
  }
  const elsewhere = misdirected(body, request, status);
  if (elsewhere !== undefined) return elsewhere;
  const older = olderHub(said, request, status);
  if (older !== undefined) return older;
  const asked = header(response, "retry-after");
  const retryAfterMs = parseRetryAfter(asked);
  const precise = PRECISE[hubCode as Code];
  const { code, hint, note } = {
    ...codeOf(status, asked),
    ...(precise !== undefined && { code: hubCode as Code, hint: precise }),
    ...(status === 404 && said === "" && hubCode === undefined && { hint: rootHint(operation) }),
  };
  const { settings_version: settings } = body;
  const why = `${note ?? `the ${serverOf(operation).name} answered`} ${status}${said === "" ? "" : `: ${said}`}.`;
  return operationError(operation, code, why, {
    status,
    ...(said !== "" && { reason: said }),
    ...(hint !== undefined && { hint }),
    ...(hubCode !== undefined && { hubCode }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(status === 409 && typeof body.id === "string" && { existingId: presentable(body.id, request.secrets ?? []) }),
    ...(typeof body.content_sha256 === "string" && { storedContentSha256: body.content_sha256 }),
    ...(Number.isSafeInteger(settings) && (settings as number) > 0 && { settingsVersion: settings as number }),
  });
}

/** Reads a 2xx JSON answer against its schema. @throws `bad_answer` and the status errors of the operation */
export async function readJson<T extends z.ZodType>(
  response: HttpResponse,
  request: HttpRequest,
  schema: T,
): Promise<z.output<T>> {
  if (response.status < 200 || response.status > 299) throw await statusError(response, request);
  const server = serverOf(request.operation);
  const bad = (why: string): SealiftError =>
    operationError(request.operation, "bad_answer", `the ${server.name} answered ${response.status}, but ${why}.`, {
      status: response.status,
      hint: rootHint(request.operation),
    });
  let value: unknown;
  try {
    value = parseJson(await readText(response, request));
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof RangeError) {
      response.discard();
      throw bad("not with JSON");
    }
    throw error;
  }
  const parsed = safelyParsed(schema, value);
  if (!parsed.success) throw bad(`without what the contract asks for (${faultsOf(parsed.error).join("; ")})`);
  return parsed.data;
}

/**
 * Requires that a 2xx answer is not a web page, which a portal or proxy sends in a server's place: nothing is known of
 * the bytes that were asked for then.
 *
 * @throws `bad_answer`
 */
export function refuseWebPage(response: HttpResponse, { operation }: HttpRequest): void {
  if (!/^(?:text\/html|application\/xhtml\+xml)\b/i.test(header(response, "content-type") ?? "")) return;
  const { status } = response;
  throw operationError(
    operation,
    "bad_answer",
    `the ${serverOf(operation).name} answered ${status}, but with a web page.`,
    {
      status,
      hint: "Check what stands between here and the hub: a proxy, or a portal that wants a login.",
    },
  );
}

/** Returns the milliseconds of a `Retry-After` header (seconds or a date), or undefined. */
function parseRetryAfter(value: string | undefined, now = Date.now()): number | undefined {
  if (value === undefined) return undefined;
  if (/^\d+$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

/** Returns an answer of a hub; undefined where it has no such thing, or does not know the route. */
export async function ifFound<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    // A runtime in the hub's place answers 404, too.
    if (error instanceof SealiftError && error.status === 404 && error.code !== "bad_answer") return undefined;
    throw error;
  }
}
