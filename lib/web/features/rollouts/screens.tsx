import { ROLLOUT_ACTIONS, type RolloutAction, type RolloutRecord } from "../../../contract/rollouts/records.ts";
import * as routes from "../../../contract/rollouts/routes.ts";
import { notFound } from "../../../hub/base/errors.ts";
import { may } from "../../../hub/base/principal.ts";
import { callTo } from "../../page/api.ts";
import { field, param, requirePrincipal } from "../../page/context.ts";
import { targetScreen } from "../../page/named-target.ts";
import { Badge, Empty, Live, Pager, Section, Table, Time, withNotes } from "../../page/parts.tsx";
import { TargetLayout } from "../../page/target-layout.tsx";
import { pagePaths } from "../../page/view.ts";
import { Current, TONES } from "./current.tsx";
import { rolloutsPath } from "./paths.ts";
import { StartForm } from "./start-form.tsx";

const isOver = ({ ended_at: at }: RolloutRecord): boolean => at !== null;

/** Lists the rollouts of a plugin, service or project, newest first. */
export const rollouts = targetScreen(async ({ api }, request, { kind, slug, id, name, latest, isControlled }) => {
  const asked = callTo(routes.listRollouts, { params: { id }, query: { limit: "20" } });
  const { items, cursor, next } = await api.page(request, asked);
  const principal = requirePrincipal(request);
  const mayChange = may(principal, "publish", "projects");
  const allowed = ROLLOUT_ACTIONS.filter((action) => (action === "approve" ? may(principal, "projects") : mayChange));
  const here = rolloutsPath(kind, slug);
  const [current, past] = [items.filter((rollout) => !isOver(rollout)), items.filter(isOver)];
  return (
    <TargetLayout {...{ kind, slug, name, isControlled }} at="Rollouts">
      {mayChange && <StartForm to={here} current={current[0]} />}
      {items.length === 0 && (
        <Empty
          title="No rollout yet."
          command={`sealift rollout start ${kind}:${slug} ${latest === "" ? "1.0.0" : latest}`}
        >
          A rollout gives a version to few hosts first, and halts when they fail:
        </Empty>
      )}
      <Live id="rollouts" of={pagePaths.target(kind, slug)}>
        {current.map((rollout) => (
          <Current key={rollout.id} {...{ rollout, here, allowed }} />
        ))}
        {past.length > 0 && (
          <Section id="past" title="Past rollouts">
            <Table
              label="Past rollouts"
              columns={["Version", "State", "Hosts by wave", "Started", "Ended", ["Why", "why"]]}
              rows={past.map((rollout) => [
                rollout.id,
                <span className="num">{rollout.version}</span>,
                <Badge tone={TONES[rollout.state]}>{rollout.state}</Badge>,
                withNotes("", ...wavesOf(rollout)),
                <Time at={rollout.created_at} />,
                <Time at={rollout.ended_at} />,
                rollout.reason,
              ])}
            />
          </Section>
        )}
      </Live>
      <Pager to={here} at={cursor} next={next} />
    </TargetLayout>
  );
});

/** Describes the hosts of each wave of an ended rollout: how far it came. */
const wavesOf = ({ waves, open }: RolloutRecord) =>
  waves.map(({ wave, hosts, done, failing }, index) => (
    <>
      {wave}:{" "}
      {index < open ? (
        <span className="num">
          {done} of {hosts}
          {failing > 0 && <span className="bad-text"> · {failing} failing</span>}
        </span>
      ) : (
        <span className="faint">not opened</span>
      )}
    </>
  ));

const MINUTE_SECONDS = 60;

/** Starts a rollout. Empty fields of the form get the hub's defaults. */
export const startRollout = targetScreen(async ({ api }, request, { kind, slug, id }) => {
  const given = (name: string) => field(request, name);
  const [waves, soak] = [given("waves"), given("soak")];
  const body = {
    ...{ version: given("version") ?? "", max_failing: given("max_failing"), window: given("window") },
    ...(waves !== undefined && { waves: waves.split(/[\s,]+/).filter((wave) => wave !== "") }),
    ...(soak !== undefined && { soak_seconds: Number(soak) * MINUTE_SECONDS }),
    ...{ approve: given("approve") !== undefined, on_halt: given("on_halt"), replace: given("replace") },
    allow_empty_wave: given("allow_empty_wave") !== undefined,
  };
  await api.call(request, callTo(routes.startRollout, { params: { id }, body }));
  return { goTo: rolloutsPath(kind, slug) };
});

const isAction = (text: string): text is RolloutAction => (ROLLOUT_ACTIONS as readonly string[]).includes(text);

/** Pauses, resumes, approves or aborts a rollout. */
export const actOnRollout = targetScreen(async ({ api }, request, { kind, slug, id }) => {
  const action = param(request, "action");
  if (!isAction(action)) throw notFound("There is no such rollout.");
  const params = { id, rollout: param(request, "rollout") };
  const body = { reason: field(request, "reason"), ...(field(request, "rollback") === "yes" && { rollback: true }) };
  await api.call(request, callTo(routes.ACTION_ROUTES[action], { params, body }));
  return { goTo: rolloutsPath(kind, slug) };
});
