import { Command, Option } from "clipanion";
import { versionStateText } from "../../lib/contract/version-states.ts";
import { connection } from "../../lib/options/connection.ts";
import { projectUpdate, rejection } from "../../lib/options/staging.ts";
import { ComparingCommand } from "../hub/comparing.ts";
import { managed } from "../hub/managed.ts";
import { withOptions } from "../shell/base.ts";
import { DEPLOY_TIMEOUT_MS, hubConnection } from "../shell/connection.ts";
import type { CommandFeature } from "../shell/feature.ts";
import { DIFFERENCE_FIELDS } from "../shell/output/differences.ts";
import { showList, timeText } from "../shell/output/listing.ts";
import { type Connected, resource } from "../shell/resource.ts";
import { StageWait } from "./wait.ts";

async function clientOf(options: Connected) {
  const [{ callsOf }, routes] = await Promise.all([
    import("../../lib/client/calls.ts"),
    import("../../lib/contract/staging/routes.ts"),
  ]);
  return callsOf(routes, hubConnection(options, DEPLOY_TIMEOUT_MS));
}

/** Finds a project, plugin or service by its name, slug or id. @throws DeploymentError `not_found` */
async function target(options: Connected, text: string) {
  const [client, { idOf }] = await Promise.all([clientOf(options), managed(options)]);
  return { client, id: await idOf(text) };
}

const ofHub = resource("stage", [], clientOf);
const ofVersion = resource("stage", ["TARGET", "VERSION"], target);
const ofProject = resource("project", ["TARGET"], target);

const list = ofHub("list", connection, {
  description: "List the versions that wait for approval",
  details: "Who has staged a version does not approve it. A key that may only stage sees what it has staged itself.",
  examples: [["What waits for you", "$0 stage list"]],
  listed: async () => Object.keys((await import("../../lib/contract/staging/staging.ts")).stagedVersion.shape),
  async run(client, shell) {
    const { sizeText } = await import("../../lib/support/size-text.ts");
    return showList(shell, {
      event: "staged",
      rows: client.listStaged(),
      columns: {
        TARGET: ({ name }) => name,
        VERSION: ({ version }) => version,
        STAGED: ({ staged_at: at }) => timeText(at),
        SIZE: ({ size_bytes: bytes }) => sizeText(bytes),
        DIGEST: ({ sha256 }) => sha256.slice(0, 16),
        "STAGED BY": ({ published_by: by }) => by ?? "–",
        "YOU MAY APPROVE": ({ may_approve: may, is_yanked: yanked }) => (yanked ? "yanked" : may ? "yes" : "no"),
      },
      none: "No version waits for approval.",
    });
  },
});

const show = ofVersion("show", connection, {
  description: "Show one version that waits for approval",
  examples: [["Who has staged it, and its digest", "$0 stage show Harbour 1.4.0"]],
  async run({ client, id }, { json, print, done }, [, version]) {
    const staged = await client.showStaged({ params: { id, version } });
    if (json) return done({ staged });
    const { name, sha256, size_bytes: bytes, signer_public_key: signer, staged_at: at, published_by: by } = staged;
    const { sizeText } = await import("../../lib/support/size-text.ts");
    const facts = {
      target: `${name} (${staged.target})`,
      version,
      digest: sha256,
      size: sizeText(bytes),
      signer: signer === null ? "not signed by its author" : Buffer.from(signer, "base64").toString("hex"),
      staged: `${timeText(at)} by ${by ?? "a key that is gone"}`,
    };
    for (const [fact, text] of Object.entries(facts)) print.line(`${fact.padEnd(8)} ${text}`);
    if (staged.may_approve) print.line(`Approve it: sealift stage approve ${sha256}`);
    else print.line("Another person approves it, with a key of their own.");
    return done({});
  },
});

class Approve extends withOptions(connection) {
  static override paths = [["stage", "approve"]];
  static override usage = Command.Usage({
    category: "Approval",
    description: "Approve staged versions, and with that publish them",
    details: `
      DIGEST is the SHA-256 that \`stage list\`, \`stage show\` and the publication have printed, or its first 12 or more
      digits: bytes that have changed since are not approved. Several versions are published together or not at all.
      Needs a key that may publish, of another person and another workflow run than what has staged them.
    `,
    examples: [["Approve two", "$0 stage approve 9f86d081884c7d65 60303ae22b998861"]],
  });

  digests = Option.Rest({ name: "DIGEST", required: 1 });

  override async run(): Promise<number> {
    const [client, { stagedCalled }] = await Promise.all([
      clientOf(this.options),
      import("../../lib/client/staging.ts"),
    ]);
    const called = await stagedCalled(this.digests, client.listStaged());
    const approved = called.map(({ project_id, version, sha256 }) => ({ project_id, version, sha256 }));
    const { versions } = await client.approveStaged({ body: { versions: approved } });
    for (const [index, { version, state }] of versions.entries())
      this.note(`${called[index]!.name} ${version} is published${state ? `: ${versionStateText(state)}` : ""}.`);
    return this.done({ versions });
  }
}

const reject = ofVersion("reject", rejection, {
  description: "Reject a staged version and remove its bytes",
  details: "Nobody has got it, so that its label is free again. Who has staged a version may reject it, too.",
  examples: [["Reject it", "$0 stage reject Harbour 1.4.0 --reason 'wrong tides'"]],
  async run({ client, id }, { options: { reason }, note, done }, [name, version]) {
    await client.rejectStaged({ params: { id, version }, body: { reason } });
    note(`Rejected ${name} ${version}.`);
    return done({ project_id: id, version });
  },
});

class Diff extends ComparingCommand {
  static override paths = [["stage", "diff"]];
  static override listed = () => DIFFERENCE_FIELDS;
  static override usage = Command.Usage({
    category: "Approval",
    description: "Compare a staged version with the one that hosts get",
    details: `
      Names what plugins may do in one version and not in the other, steps of a project's install plan, and files with
      their sizes, as \`version diff\` does and with its options. The key has to be one that may fetch and publish. The
      hub's page compares a plugin or service without a secret.
    `,
    examples: [
      [
        "What an approval would bring",
        "$0 stage diff Harbour 1.4.0 --signer-public-key signer.pub --deployment-credential-file credential",
      ],
    ],
  });

  target = Option.String({ name: "TARGET", required: true });
  version = Option.String({ name: "VERSION", required: true });

  override run(): Promise<number> {
    return this.compare(this.target, undefined, this.version);
  }
}

const update = ofProject("update", projectUpdate, {
  description: "Require approval of new versions, or no longer",
  details: `
    With \`--require-approval\` a publication without \`--stage\` is refused, whoever publishes: each version is staged,
    and another person approves it. TARGET is a project, plugin or service. Needs the scope \`projects\`. What an
    administrator or the hub requires, an administrator lifts (\`--no-require-approval\`).
  `,
  examples: [["Two people for each version", "$0 project update Harbour --require-approval"]],
  async run({ client, id }, { options, note, done }, [name]) {
    const { required } = await client.requireApproval({ params: { id }, body: { required: options.requireApproval } });
    note(`New versions of ${name} ${required ? "require approval: publish with --stage" : "require no approval"}.`);
    return done({ project_id: id, requires_approval: required });
  },
});

/** Commands of versions that another person approves. */
export const staging: CommandFeature = {
  name: "staging",
  commands: [Approve, Diff, list, reject, show, update, StageWait],
};
