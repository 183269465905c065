import { showProject } from "../../../contract/projects/routes.ts";
import * as routes from "../../../contract/staging/routes.ts";
import { isAdministrator, may } from "../../../hub/base/principal.ts";
import { callTo } from "../../page/api.ts";
import { field, requirePrincipal } from "../../page/context.ts";
import { Opened } from "../../page/forms.tsx";
import { type NamedTarget, targetScreen } from "../../page/named-target.ts";
import { Badge, Command, FactList, Go } from "../../page/parts.tsx";
import { TargetLayout } from "../../page/target-layout.tsx";
import { approvalPath, stagingPath } from "./paths.ts";

/** Those who set a rule, in words. */
const RULERS = { owner: "its owner", administrator: "an administrator", hub: "the hub, for every target" };

/** Whether another person has to approve each new version of a target, and the form that changes it. */
export const approval = targetScreen(async ({ api }, request, target) => {
  const { kind, slug, id, name, isControlled } = target;
  const rule = await api.call(request, callTo(showProject, { params: { id } }));
  const { requires_approval: isRequired = false, approval_by: by = null } = rule;
  const principal = requirePrincipal(request);
  const isOthers = isRequired && (by === "administrator" || by === "hub") && !isAdministrator(principal);
  return (
    <TargetLayout {...{ kind, slug, name, isControlled }} at="Approval">
      <FactList
        of={{
          "New versions": isRequired ? <Badge tone="good">need approval</Badge> : <Badge tone="calm">go out</Badge>,
          ...(isRequired && by !== null && { "Set by": RULERS[by] }),
        }}
      />
      {isRequired ? (
        <p>
          A publication without <code>--stage</code> is refused. What was staged waits under{" "}
          <Go to={stagingPath}>Approvals</Go> until another person than its publisher approves it.
        </p>
      ) : (
        <p>
          Whoever may publish gives a version to every host, unless it is published with <code>--stage</code>.
        </p>
      )}
      {isOthers ? (
        <p>An administrator lifts this rule.</p>
      ) : may(principal, "projects") ? (
        <div className="acts">
          <Change {...{ ...target, isRequired }} />
        </div>
      ) : (
        <>
          <p>A key with the right to manage projects changes it:</p>
          <Command text={`sealift project update ${kind}:${slug} --${isRequired ? "no-" : ""}require-approval`} />
        </>
      )}
    </TargetLayout>
  );
});

/** Shows the form that changes the rule, which asks for confirmation. */
function Change({ kind, slug, name, isRequired }: NamedTarget & { isRequired: boolean }) {
  const to = approvalPath(kind, slug);
  if (isRequired)
    return (
      <Opened title="Require no approval" to={to}>
        <p>Let everybody who may publish {name} give versions to every host?</p>
        <input type="hidden" name="required" value="no" />
        <button className="bad">Require no approval of {name}</button>
      </Opened>
    );
  return (
    <Opened title="Require approval" to={to}>
      <p>Have another person approve each new version of {name}? Publications that are not staged are refused then.</p>
      <input type="hidden" name="required" value="yes" />
      <button>Require approval of {name}</button>
    </Opened>
  );
}

export const requireApproval = targetScreen(async ({ api }, request, { kind, slug, id }) => {
  const body = { required: field(request, "required") === "yes" };
  await api.call(request, callTo(routes.requireApproval, { params: { id }, body }));
  return { goTo: approvalPath(kind, slug) };
});
