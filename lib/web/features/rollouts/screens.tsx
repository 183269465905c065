import * as routes from "../../../contract/rollouts/routes.ts";
import { ROLLOUT_ACTIONS, type RolloutAction } from "../../../contract/surfaces/rollouts.ts";
import { notFound } from "../../../hub/ground/errors.ts";
import { may } from "../../../hub/ground/principal.ts";
import { callTo } from "../../page/api.ts";
import { field, param, principalOf, type Screen } from "../../page/context.ts";
import { named } from "../../page/named-target.ts";
import type { TargetKind } from "../../page/view.ts";
import { RolloutsPage } from "./page.tsx";
import { rolloutsPath } from "./paths.ts";

export const rollouts =
  (kind: TargetKind): Screen =>
  async (context, request) => {
    const principal = principalOf(request);
    const { slug, id, name, latest } = await named(context, request, kind, param(request, "slug"));
    if (id === undefined) throw notFound(`There is no such ${kind}, or none that the key may see.`);
    const found = await context.api.page(
      request,
      callTo(routes.listRollouts, { params: { id }, query: { limit: "20" } }),
    );
    const mayChange = may(principal, "publish", "projects");
    const allowed = ROLLOUT_ACTIONS.filter((action) => (action === "approve" ? may(principal, "projects") : mayChange));
    return <RolloutsPage {...{ kind, slug, name, latest, allowed, mayStart: mayChange, ...found }} />;
  };

const MINUTE_SECONDS = 60;

/** Starts a rollout. What the form leaves empty is as the hub has it by default. */
export const startRollout =
  (kind: TargetKind): Screen =>
  async (context, request) => {
    const { slug, id } = await named(context, request, kind, param(request, "slug"));
    if (id === undefined) throw notFound(`There is no such ${kind}, or none that the key may see.`);
    const given = (name: string) => field(request, name);
    const [waves, soak] = [given("waves"), given("soak")];
    const body = {
      ...{ version: given("version") ?? "", max_failing: given("max_failing"), window: given("window") },
      ...(waves !== undefined && { waves: waves.split(/[\s,]+/).filter((wave) => wave !== "") }),
      ...(soak !== undefined && { soak_seconds: Number(soak) * MINUTE_SECONDS }),
      ...{ approve: given("approve") !== undefined, on_halt: given("on_halt"), replace: given("replace") },
      allow_empty_wave: given("allow_empty_wave") !== undefined,
    };
    await context.api.call(request, callTo(routes.startRollout, { params: { id }, body }));
    return { goTo: rolloutsPath(kind, slug) };
  };

const isAction = (text: string): text is RolloutAction => (ROLLOUT_ACTIONS as readonly string[]).includes(text);

/** Pauses, resumes, approves or aborts a rollout. */
export const actOnRollout =
  (kind: TargetKind): Screen =>
  async (context, request) => {
    const { slug, id } = await named(context, request, kind, param(request, "slug"));
    const action = param(request, "action");
    if (id === undefined || !isAction(action)) throw notFound("There is no such rollout.");
    const reason = field(request, "reason");
    const rollback = field(request, "rollback") === "yes";
    const params = { id, rollout: param(request, "rollout") };
    const body = { ...(reason !== undefined && { reason }), ...(rollback && { rollback }) };
    await context.api.call(request, callTo(routes.ACTION_ROUTES[action], { params, body }));
    return { goTo: rolloutsPath(kind, slug) };
  };
