import { Opened } from "../../page/forms.tsx";
import { Badge, Command, Facts, Go } from "../../page/parts.tsx";
import { TargetLayout } from "../../page/target-layout.tsx";
import type { TargetKind } from "../../page/view.ts";
import { approvalPath, stagingPath } from "./paths.ts";

export interface ApprovalView {
  kind: TargetKind;
  slug: string;
  name: string;
  /** Whether new versions have to be approved. */
  isRequired: boolean;
  mayChange: boolean;
}

/** Whether another person has to approve each new version, and the form that changes it. */
export function ApprovalPage({ kind, slug, name, isRequired, mayChange }: ApprovalView) {
  const target = `${kind}:${slug}`;
  return (
    <TargetLayout kind={kind} slug={slug} name={name} at="Approval">
      <Facts
        of={{
          "New versions": isRequired ? <Badge tone="good">need approval</Badge> : <Badge tone="calm">go out</Badge>,
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
      {mayChange ? (
        <div className="acts">
          <Change {...{ kind, slug, name, isRequired }} />
        </div>
      ) : (
        <>
          <p>A key with the right to manage projects changes it:</p>
          <Command text={`sealift project update ${target} --${isRequired ? "no-" : ""}require-approval`} />
        </>
      )}
    </TargetLayout>
  );
}

/** The form that changes the rule: it opens with a question. */
function Change({ kind, slug, name, isRequired }: Omit<ApprovalView, "mayChange">) {
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
