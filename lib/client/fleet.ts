import streamObject from "stream-json/streamers/stream-object.js";
import { z } from "zod";
import { SealiftError } from "../contract/errors.ts";
import { HEADERS } from "../contract/headers.ts";
import { baseUrl, paths, type TargetKind } from "../contract/paths.ts";
import { deploymentStatus } from "../contract/reports.ts";
import { paceBuffers } from "../support/buffer-pacing.ts";
import type { DeployClientOptions } from "./deploy-client.ts";
import { discard, header, type HttpRequest, operationError, send, statusError, transportError } from "./http.ts";

/** `plugin:SLUG`, `service:SLUG` or `project:ID`. */
export type FleetTarget = { kind: TargetKind | "project"; slug: string };

const hostRecord = z.looseObject({
  version: z.string(),
  status: deploymentStatus,
  error_message: z.string().nullish(),
  completed_at: z.string().nullish(),
});
export interface FleetHost extends z.output<typeof hostRecord> {
  host_id: string;
}

/** What a later call needs to pay only for what changed. */
export interface FleetMark {
  etag?: string;
  cursor?: string;
}

export interface FleetView {
  /** False when nothing has changed since the mark. */
  changed: boolean;
  mark: FleetMark;
  /** Hosts in host-id order, read from the answer as it arrives; with a cursor only those that changed. */
  hosts: AsyncIterable<FleetHost>;
}

/**
 * Who runs what: the hosts of a target, in memory that does not grow with their number (design, section 5, stream-json).
 *
 * @throws DeploymentError; AuthenticationError on 401 and 403
 */
export async function readFleet(
  target: FleetTarget,
  options: DeployClientOptions,
  since: FleetMark = {},
): Promise<FleetView> {
  const path = target.kind === "project" ? paths.projectHosts(target.slug) : paths.hosts(target.kind, target.slug);
  const query = since.cursor === undefined ? "" : `?since=${encodeURIComponent(since.cursor)}`;
  const request: HttpRequest = {
    operation: "fleet",
    method: "GET",
    url: baseUrl(options.hubUrl) + path + query,
    credentials: { [HEADERS.apiKey]: options.apiKey },
    secrets: [options.apiKey],
    ...(since.etag !== undefined && { headers: { "if-none-match": since.etag } }),
  };
  const response = await send(request, options);
  if (response.status === 304) {
    discard(response.body);
    return { changed: false, mark: since, hosts: nothing() };
  }
  if (response.status !== 200) throw await statusError(response, request);
  const etag = header(response, "etag");
  const cursor = header(response, "x-cursor");
  const mark = { ...(etag !== undefined && { etag }), ...(cursor !== undefined && { cursor }) };
  return { changed: true, mark, hosts: hostsOf(response, request, options) };
}

/** Bytes of tokens and records that the parser makes of each byte, roughly: they are collected before they gather. */
const GARBAGE_PER_BYTE = 32;

async function* nothing(): AsyncGenerator<FleetHost> {}

async function* hostsOf(
  response: Awaited<ReturnType<typeof send>>,
  request: HttpRequest,
  options: DeployClientOptions,
): AsyncGenerator<FleetHost> {
  const bad = (why: string, cause?: unknown) =>
    operationError("fleet", "bad_answer", `the hub answered 200, but ${why}.`, {
      status: 200,
      ...(cause !== undefined && { cause }),
    });
  const members = streamObject.withParserAsStream();
  response.body.on("error", (error) => members.destroy(error));
  const pace = paceBuffers();
  response.body.on("data", (chunk: Buffer) => pace(chunk.length * GARBAGE_PER_BYTE));
  response.body.pipe(members);
  try {
    for await (const { key, value } of members as AsyncIterable<{ key: string; value: unknown }>) {
      const record = hostRecord.safeParse(value);
      if (!record.success) throw bad(`its record of ${JSON.stringify(key.slice(0, 100))} is not a host's`);
      yield { ...record.data, host_id: key };
    }
  } catch (error) {
    const explained = transportError(error, request, response.url, options);
    // What is neither ours nor the transport's is the parser's.
    throw explained instanceof SealiftError || options.signal?.aborted
      ? explained
      : bad("not with a JSON object", error);
  } finally {
    members.destroy();
    discard(response.body);
  }
}
