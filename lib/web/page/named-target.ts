import type { FastifyRequest } from "fastify";
import { showTarget } from "../../contract/marketplace/routes.ts";
import { showProject } from "../../contract/projects/routes.ts";
import { notFound } from "../../hub/base/errors.ts";
import type { Owned } from "../../hub/base/principal.ts";
import { controls } from "../../hub/base/rights.ts";
import { callTo } from "./api.ts";
import { type PageContext, param, type Screen } from "./context.ts";
import type { TargetKind } from "./view.ts";

/** Target, as far as the pages of its fleet and rollouts need it. */
export interface NamedTarget {
  kind: TargetKind;
  slug: string;
  /** Id of its record; undefined where the key may see its fleet but not the target. */
  id: string | undefined;
  name: string;
  latest: string;
  /** Whether the visitor's key acts on it. */
  isControlled: boolean;
}

/** Tells whether the visitor's key acts on a target. */
export const isControlled = ({ visitor }: FastifyRequest, target: Owned): boolean =>
  visitor?.principal !== undefined && controls(visitor.principal, target);

/** Finds a target whose fleet or rollouts are shown. @throws HubError 404 for a project that the key may not see */
export async function named(
  { api }: PageContext,
  request: FastifyRequest,
  kind: TargetKind,
  slug: string,
): Promise<NamedTarget> {
  if (kind === "project") {
    const project = await api.call(request, callTo(showProject, { params: { id: slug } }));
    if (project.kind !== "project") throw notFound("There is no such project.");
    return { kind, slug, id: slug, name: project.name, latest: project.latest_version ?? "", isControlled: true };
  }
  const detail = await api.ask(request, callTo(showTarget[kind], { params: { slug } }));
  if (detail === undefined) return { kind, slug, id: undefined, name: slug, latest: "", isControlled: false };
  const { id, name, latest_version: latest } = detail;
  return { kind, slug, id, name, latest, isControlled: isControlled(request, detail) };
}

/** Returns a screen of targets, by their kind, for keys that may see the target, not only its fleet. */
export const targetScreen =
  (show: (context: PageContext, request: FastifyRequest, target: NamedTarget & { id: string }) => ReturnType<Screen>) =>
  (kind: TargetKind): Screen =>
  async (context, request) => {
    const { id, ...target } = await named(context, request, kind, param(request, "slug"));
    if (id === undefined) throw notFound(`There is no such ${kind}, or none that the key may see.`);
    return show(context, request, { ...target, id });
  };
