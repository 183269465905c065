import { createHash } from "node:crypto";
import type { FastifyRequest } from "fastify";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import * as z from "zod";
import {
  hintedTargets,
  type MarksAnswer,
  marksAnswer,
  pollAnswer,
  pollRequest,
} from "../../../contract/surfaces/changes.ts";
import type { MarketplaceKind } from "../../../contract/surfaces/paths.ts";
import { parseTarget } from "../../../contract/target.ts";
import { matchesEtag } from "../../../support/network/entity-tags.ts";
import type { MountOptions } from "../../access/authentication.ts";
import { credentialHash } from "../../access/credentials.ts";
import { askedBy, type TargetAccessParts } from "../../access/target-access.ts";
import { answerHost } from "../../gate/host-answer.ts";
import { answerEtag, detailFor } from "../../gate/latest.ts";
import { notFound } from "../../ground/errors.ts";
import { type Principal, requireScope } from "../../ground/principal.ts";
import { controls } from "../../ground/rights.ts";
import { errors, security } from "../../http/documentation.ts";
import { findKey } from "../../records/access.ts";
import { viewState } from "../../records/fleet.ts";
import { findAnswer, readPulse } from "../../records/projects.ts";
import { loggedTarget } from "../../records/reports.ts";
import { hostOf } from "../../records/sightings.ts";
import { findVisibleTarget, type VisibleTarget } from "../../records/visible-targets.ts";
import type { HintStreams, Sight } from "./streams.ts";

const tags = ["hints"];

/** A target as a caller may see it; `detail` is surface A's record. */
type Seen = VisibleTarget & { detail?: { detail: string; etag: string } };

/** Hints of changes: a stream for many targets, and a poll of many targets (docs/contract/hints.md). */
export const changes =
  (hints: HintStreams): FastifyPluginAsyncZod<MountOptions<TargetAccessParts>> =>
  async (app, { hub, authentication }) => {
    const { statements } = hub.database;

    /** Looks a target up by the rules of its own call. @returns undefined where that one answers 404 or 403 */
    async function see(
      text: string,
      principal: Principal,
      keyHash: string,
      hostId?: string,
    ): Promise<Seen | undefined> {
      const { kind, slug } = parseTarget(text);
      if (kind === "project") {
        const project = await findAnswer(statements, slug, hostId);
        return project !== undefined && controls(principal, project) ? project : undefined;
      }
      const question = { kind, slug, credentialHash: keyHash, hostId, now: hub.now() };
      const { target } = await findVisibleTarget(statements, question);
      return target && { ...target, detail: target };
    }

    /** @throws 401, 403 */
    async function caller(request: FastifyRequest): Promise<{ principal: Principal; keyHash: string }> {
      const principal = await authentication.key(request);
      requireScope(principal, "deploy", "read");
      return { principal, keyHash: credentialHash(request)! };
    }

    async function sightOf(names: readonly string[], principal: Principal, keyHash: string): Promise<Sight> {
      const sight = new Map<string, string>();
      for (const name of names) {
        const seen = await see(name, principal, keyHash);
        if (seen !== undefined) sight.set(seen.id, name);
      }
      return sight;
    }

    app.get("/v1/changes", {
      config: { isEndless: true },
      schema: {
        tags,
        summary: "Hints that targets may have another latest version, as server-sent events",
        description: "The stream names what the key may see. A comment every 15 seconds shows that it is alive.",
        security: security.key,
        querystring: z.object({ targets: hintedTargets }),
        response: {
          200: { description: "The stream.", content: { "text/event-stream": { schema: z.string() } } },
          ...errors(401, 403, 404, 422),
        },
      },
      async handler(request, reply) {
        const { targets } = request.query;
        const { principal, keyHash } = await caller(request);
        hints.requireRoom(principal.owner);
        const sight = await sightOf(targets, principal, keyHash);
        if (sight.size === 0) throw notFound("There are no such targets, or none that you may see.");
        if (request.method === "HEAD") return reply.type("text/event-stream; charset=utf-8").send("");
        const question = {
          id: `${keyHash} ${targets.toSorted().join(",")}`,
          owner: principal.owner,
          sight,
          look: async (): Promise<Sight | undefined> => {
            const live = await findKey(statements, keyHash, hub.now());
            return live && sightOf(targets, live, keyHash);
          },
        };
        const lastEventId = request.headers["last-event-id"];
        hints.open(reply.raw, question, reply.getHeaders() as Record<string, string>, lastEventId?.toString());
        return reply.hijack();
      },
    });

    app.get("/v1/marks", {
      schema: {
        tags,
        summary: "A mark of each target, which is another one after every change of its versions, rollouts and fleet",
        description:
          "The fleet is that of the caller's owner, or the project's. Marks of one target are only compared.",
        security: security.key,
        querystring: z.object({ targets: hintedTargets.optional() }),
        response: { 200: marksAnswer, ...errors(401, 403, 422) },
      },
      async handler(request) {
        const principal = await authentication.key(request);
        requireScope(principal, "read");
        const targets: MarksAnswer["targets"] = [];
        for (const target of request.query.targets ?? []) {
          const mark = await markOf(target, principal, credentialHash(request)!);
          if (mark !== undefined) targets.push({ target, mark });
        }
        return { targets };
      },
    });

    /** Makes the mark of a target. @returns undefined where the caller sees neither the target nor a fleet of it */
    async function markOf(text: string, principal: Principal, keyHash: string): Promise<string | undefined> {
      const { kind, slug } = parseTarget(text);
      const seen = await see(text, principal, keyHash);
      if (kind === "project" && seen === undefined) return undefined;
      const view =
        kind === "project"
          ? { holder: "", target: slug }
          : { holder: principal.owner, target: loggedTarget(kind, slug) };
      const { changes, forgotten } = await viewState(statements, view);
      if (seen === undefined && changes === 0) return undefined;
      const pulse = seen && (await readPulse(statements, seen.id));
      return createHash("sha256")
        .update(JSON.stringify([changes, forgotten, pulse]))
        .digest("base64url");
    }

    app.post("/v1/poll", {
      schema: {
        tags,
        summary: "Which of many targets have another answer to “latest” than the caller knows",
        security: security.key,
        body: pollRequest,
        response: { 200: pollAnswer, ...errors(400, 401, 403, 415, 422) },
      },
      async handler(request) {
        const { principal, keyHash } = await caller(request);
        const targets: z.infer<typeof pollAnswer>["targets"] = [];
        for (const { target, etag } of request.body.targets) {
          const seen = await see(target, principal, keyHash, hostOf(request.headers));
          if (seen === undefined) continue;
          const current = etagOf(request, target, seen, principal);
          targets.push({
            target,
            changed: current === null ? etag !== null : !matchesEtag(etag ?? undefined, current),
          });
        }
        return { targets };
      },
    });

    /** Returns the ETag that the host of a request gets with the latest version; null where there is none. */
    function etagOf(request: FastifyRequest, text: string, seen: Seen, principal: Principal): string | null {
      const { kind, slug } = parseTarget(text);
      const { owner } = principal;
      const view =
        kind === "project"
          ? { holder: "", target: seen.id }
          : { holder: owner, target: loggedTarget(kind satisfies MarketplaceKind, slug) };
      hub.sightings.note(request, view);
      const by = kind === "project" ? { view, isOwners: true } : askedBy(principal, seen, view);
      const answer = answerHost(hub, seen, request, by);
      const { detail, rollout } = seen;
      if (detail !== undefined) return `"sha256-${(rollout === null ? detail : detailFor(detail, answer)).etag}"`;
      return answer.version === null ? null : answerEtag(answer);
    }
  };
