import { Agent } from "node:http";
import type * as z from "zod";
import type { Code } from "../contract/codes.ts";
import { deploymentError, isAbort, SealiftError } from "../contract/errors.ts";
import {
  APP_SERVE_PATHS,
  applicationHealth,
  applicationsStatus,
  type ApplicationStatus,
  applicationStatus,
  type ApplicationVerb,
  type AppServeCode,
  appServeError,
} from "../contract/surfaces/app-serve.ts";
import { parseJson } from "../support/documents/limits.ts";
import { safelyParsed } from "../support/documents/safe-parse.ts";
import { exchange } from "../support/network/exchange.ts";

/** Largest answer that is read, in bytes. */
const MAX_ANSWER_BYTES = 1024 * 1024;
/** Address of the surface in a request, which goes over the socket whatever it says. */
const ORIGIN = "http://localhost";

/** Codes of a start that failed because of the version. Any other is a matter of the host. */
const OF_THE_VERSION: ReadonlySet<string> = new Set<AppServeCode>(["migration_failed", "start_failed"]);

export interface AppServeOptions {
  /** Path of the socket, of at most 107 bytes. */
  socket: string;
  /** Time limit of an answer, in milliseconds. */
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

/** Returns the states of all applications that an `app serve` runs. @throws DeploymentError `supervisor_unavailable` */
export async function askApplications(options: AppServeOptions): Promise<ApplicationStatus[]> {
  return (await ask("GET", APP_SERVE_PATHS.status, applicationsStatus, options)).applications;
}

/**
 * Starts, stops or restarts an application; resolves once that is done.
 *
 * @throws DeploymentError `unhealthy` for a start that failed because of the version; `supervisor_unavailable`
 */
export const actOnApplication = (
  id: string,
  verb: ApplicationVerb,
  options: AppServeOptions,
): Promise<ApplicationStatus> => ask("POST", APP_SERVE_PATHS.act(id, verb), applicationStatus, options);

/** Asks by the health command of an application whether it works. @returns why not; undefined where it does */
export async function askHealth(id: string, isFresh: boolean, options: AppServeOptions): Promise<string | undefined> {
  const path = APP_SERVE_PATHS.health(id);
  return (await ask(isFresh ? "POST" : "GET", path, applicationHealth, options)).fault ?? undefined;
}

async function ask<T extends z.ZodType>(
  method: "GET" | "POST",
  path: string,
  schema: T,
  { socket, timeoutMs, signal }: AppServeOptions,
): Promise<z.output<T>> {
  const agent = new Agent({ socketPath: socket } as object);
  const limit = AbortSignal.timeout(timeoutMs);
  try {
    const answer = await exchange(new URL(path, ORIGIN), {
      ...{ method, agent, timeoutMs, signal: signal === undefined ? limit : AbortSignal.any([signal, limit]) },
    });
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of answer.body as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > MAX_ANSWER_BYTES) throw unusable(`it answered more than ${MAX_ANSWER_BYTES} bytes`);
      chunks.push(chunk);
    }
    return read(answer.status, Buffer.concat(chunks).toString("utf8"), schema);
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof SealiftError) throw error;
    throw unusable(whyNot(error as NodeJS.ErrnoException, timeoutMs), error);
  } finally {
    agent.destroy();
  }
}

function read<T extends z.ZodType>(status: number, text: string, schema: T): z.output<T> {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (error) {
    throw unusable("its answer is not JSON", error);
  }
  if (status === 200) {
    const parsed = safelyParsed(schema, value);
    if (parsed.success) return parsed.data;
    throw unusable("its answer is not what this version of Sealift knows");
  }
  const parsed = safelyParsed(appServeError, value);
  if (!parsed.success) throw unusable(`it answered ${status}`);
  const { code, message } = parsed.data.error;
  const ours: Code = OF_THE_VERSION.has(code) ? "unhealthy" : "supervisor_unavailable";
  throw deploymentError(ours, message, {
    ...{ status, hubCode: code },
    ...(ours === "supervisor_unavailable" && { hint: HOST_TO_BLAME }),
  });
}

const HOST_TO_BLAME =
  "The version is not to blame: correct applications.yaml or the application's settings, and deploy it again.";

const unusable = (why: string, cause?: unknown): SealiftError =>
  deploymentError("supervisor_unavailable", `\`sealift app serve\` does not answer for this project root: ${why}.`, {
    hint: "Start it: `sealift app serve --project-root ROOT`, as the user who owns the root.",
    ...(cause !== undefined && { cause }),
  });

function whyNot(error: NodeJS.ErrnoException, timeoutMs: number): string {
  if (error.code === "ENOENT" || error.code === "ECONNREFUSED") return "it does not run";
  if (error.code === "EACCES") return "it belongs to another user";
  if (isAbort(error) || error.name === "TimeoutError") return `it was silent for ${timeoutMs / 1000} s`;
  return error.message;
}
