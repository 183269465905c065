import { createHash } from "node:crypto";
import type { FastifyRequest } from "fastify";
import type * as z from "zod";
import * as routes from "../../../contract/changes/routes.ts";
import { beatIn, type MarksAnswer, type pollAnswer } from "../../../contract/surfaces/changes.ts";
import { HEADERS } from "../../../contract/surfaces/headers.ts";
import { parseTarget } from "../../../contract/target.ts";
import { matchesEtag } from "../../../support/network/entity-tags.ts";
import type { MountOptions } from "../../access/authentication.ts";
import { credentialHash } from "../../access/credentials.ts";
import { speaksFor } from "../../access/own-host.ts";
import { serve, type Served, serveRaw } from "../../access/serve.ts";
import { askedBy, type TargetAccessParts } from "../../access/target-access.ts";
import { notFound } from "../../base/errors.ts";
import type { Principal } from "../../base/principal.ts";
import { controls } from "../../base/rights.ts";
import { answerHost } from "../../gate/host-answer.ts";
import { answerEtag, detailFor } from "../../gate/latest.ts";
import { EVENT_STREAM_TYPE } from "../../http/event-stream.ts";
import { findKey } from "../../records/access.ts";
import { viewState } from "../../records/fleet.ts";
import { findAnswer, readPulse } from "../../records/projects.ts";
import { hostOf } from "../../records/sightings.ts";
import { fleetOf } from "../../records/subjects.ts";
import { findVisibleTarget, type VisibleTarget } from "../../records/visible-targets.ts";
import type { VisibleTargets } from "./sent-hints.ts";
import type { HintStreams } from "./streams.ts";

/** Target as a caller may see it; `detail` is the detail record of surface A. */
type Seen = VisibleTarget & { detail?: { detail: string; etag: string } };

/** SHA-256 of the key of a request that was admitted with one. */
const hashIn = (request: FastifyRequest): string => credentialHash(request)!;

/** Hints of changes: a stream for many targets, and a poll of many targets (docs/contract/hints.md). */
export function hintRoutes(
  { hub, authentication }: MountOptions<TargetAccessParts>,
  hints: HintStreams,
): readonly Served[] {
  const { statements } = hub.database;

  /** Finds a target by the rules of its own route. @returns undefined where that route answers 404 or 403 */
  async function see(text: string, principal: Principal, keyHash: string, hostId?: string): Promise<Seen | undefined> {
    const { kind, slug } = parseTarget(text);
    if (kind === "project") {
      const project = await findAnswer(statements, slug, hostId);
      return project !== undefined && controls(principal, project) ? project : undefined;
    }
    const query = { kind, slug, credentialHash: keyHash, hostId, now: hub.now() };
    const { target } = await findVisibleTarget(statements, query);
    return target && { ...target, detail: target };
  }

  /** Finds what a stream may name, and notes that the host which follows it was heard of. */
  async function visibleTargets(
    request: FastifyRequest,
    names: readonly string[],
    principal: Principal,
    keyHash: string,
  ): Promise<VisibleTargets> {
    const visible = new Map<string, string>();
    for (const name of names) {
      const seen = await see(name, principal, keyHash);
      if (seen === undefined) continue;
      visible.set(seen.id, name);
      const { kind, slug } = parseTarget(name);
      hub.sightings.hear(request, fleetOf({ kind, id: seen.id, slug, owner: principal.owner }));
    }
    return visible;
  }

  /** Computes the mark of a target. @returns undefined where the caller sees neither the target nor a fleet of it */
  async function markOf(text: string, principal: Principal, keyHash: string): Promise<string | undefined> {
    const { kind, slug } = parseTarget(text);
    const seen = await see(text, principal, keyHash);
    if (kind === "project" && seen === undefined) return undefined;
    const view = fleetOf({ kind, id: slug, slug, owner: principal.owner });
    const { changes, forgotten } = await viewState(statements, view);
    if (seen === undefined && changes === 0) return undefined;
    const pulse = seen && (await readPulse(hub.database, seen.id));
    return createHash("sha256")
      .update(JSON.stringify([changes, forgotten, pulse]))
      .digest("base64url");
  }

  /** Returns the ETag of the latest version for the requesting host; null where there is none. */
  function etagOf(request: FastifyRequest, text: string, seen: Seen, principal: Principal): string | null {
    const { kind, slug } = parseTarget(text);
    const view = fleetOf({ kind, id: seen.id, slug, owner: principal.owner });
    hub.sightings.note(request, view);
    const by = kind === "project" ? { view, isOwners: true } : askedBy(principal, seen, view);
    const answer = answerHost(hub, seen, request, by);
    const { detail, gate } = seen;
    if (detail !== undefined) return `"sha256-${(gate === null ? detail : detailFor(detail, answer)).etag}"`;
    return answer.version === null ? null : answerEtag(answer);
  }

  return [
    serveRaw(routes.followChanges, async (request, reply, principal) => {
      const { targets } = request.query;
      const keyHash = hashIn(request);
      const host = hostOf(request.headers);
      hints.requireRoom(principal.owner);
      const visible = await visibleTargets(request, targets, principal, keyHash);
      if (visible.size === 0) throw notFound("There are no such targets, or none that you may see.");
      if (request.method === "HEAD") return reply.type(EVENT_STREAM_TYPE).send("");
      const subscription = {
        // Two machines that speak for one host are heard each by itself.
        id: JSON.stringify([keyHash, host, request.headers[HEADERS.instance.toLowerCase()], targets.toSorted()]),
        owner: principal.owner,
        ...{ keyId: principal.keyId, host },
        visible,
        look: async (): Promise<VisibleTargets | undefined> => {
          const live = await findKey(statements, keyHash, hub.now());
          if (live === undefined || !speaksFor(live, host)) return undefined;
          authentication.accepted(request, live);
          return visibleTargets(request, targets, live, keyHash);
        },
      };
      const lastEventId = request.headers["last-event-id"]?.toString();
      const beat = beatIn(request.headers[HEADERS.beat.toLowerCase()]);
      if (beat !== undefined) void reply.header(HEADERS.beat, String(beat));
      hints.open(reply.raw, subscription, reply.getHeaders() as Record<string, string>, { lastEventId, beat });
      return reply.hijack();
    }),

    serve(routes.readMarks, async (request, principal) => {
      const targets: MarksAnswer["targets"] = [];
      for (const target of request.query.targets ?? []) {
        const mark = await markOf(target, principal, hashIn(request));
        if (mark !== undefined) targets.push({ target, mark });
      }
      return { targets };
    }),

    serve(routes.pollTargets, async (request, principal) => {
      const targets: z.infer<typeof pollAnswer>["targets"] = [];
      for (const { target, etag } of request.body.targets) {
        const seen = await see(target, principal, hashIn(request), hostOf(request.headers));
        if (seen === undefined) continue;
        const current = etagOf(request, target, seen, principal);
        targets.push({
          target,
          changed: current === null ? etag !== null : !matchesEtag(etag ?? undefined, current),
        });
      }
      return { targets };
    }),
  ];
}
