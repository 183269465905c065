import { Fragment } from "react";
import type { InviteRecord, JoinedHost, NewInvite } from "../../../contract/joining/records.ts";
import { labelsText } from "../../../contract/labels.ts";
import type { Paged } from "../../page/api.ts";
import { Ask, Field, Opened, Remove, Select } from "../../page/forms.tsx";
import { Badge, Command, Empty, Go, Pager, Section, Table, Time, type Tone } from "../../page/parts.tsx";
import { SecretsPage } from "../../page/secrets-page.tsx";
import { TargetLayout } from "../../page/target-layout.tsx";
import { KeyName } from "../../page/version-marks.tsx";
import { pagePaths, useView } from "../../page/view.ts";
import { hostsPath } from "./paths.ts";

const HOST_STATES: Record<JoinedHost["state"], [text: string, tone: Tone]> = {
  pending: ["waits for approval", "warn"],
  approved: ["approved", "busy"],
  joined: ["joined", "good"],
  ended: ["its key has ended", "bad"],
};
const INVITE_TONES: Record<InviteRecord["state"], Tone> = {
  open: "good",
  used: "calm",
  expired: "calm",
  revoked: "calm",
};
const LIVES = [
  ["1", "an hour"],
  ["24", "a day"],
  ["168", "a week"],
] as const;

/** The cursor of the invites in the address; that of the hosts is another one. */
export const INVITES_CURSOR = "invites";

interface HostsView extends Paged<JoinedHost> {
  /** Id of the project. */
  id: string;
  name: string;
  waiting: JoinedHost[];
  invites: Paged<InviteRecord>;
  mayManage: boolean;
  /** Public keys that hosts of a new invite are to pin, in hexadecimal. */
  signers: string[];
}

/** The hosts of a project whose keys speak for them alone, those that wait, and its invites. */
export function HostsPage({ id, name, items, cursor, next, waiting, invites, mayManage, signers }: HostsView) {
  const here = hostsPath(id);
  const joined = items.filter(({ state }) => state !== "pending");
  const table = (label: string, hosts: JoinedHost[]) => (
    <Table
      label={label}
      columns={["Host", "State", ["Version", "num"], "Last heard", "Labels", "Joined", ["", "acts"]]}
      rows={hosts.map((host) => hostRow(id, host, mayManage))}
    />
  );
  return (
    <TargetLayout kind="project" slug={id} name={name} at="Hosts">
      {mayManage && <InviteForm to={`${here}/invites`} signers={signers} />}
      {waiting.length > 0 && (
        <Section id="waiting" title="Waiting for approval">
          <p className="help">Let in whom you expect, from the address that you expect.</p>
          {table("Hosts that wait for approval", waiting)}
        </Section>
      )}
      {items.length === 0 && cursor === "" && (
        <Empty title="No host has joined yet." command={inviteCommand(id, signers)}>
          A host with an invite joins by itself, and gets a key that speaks for it alone. Invite hosts here, or with:
        </Empty>
      )}
      {joined.length > 0 && (
        <Section id="joined" title="Hosts">
          {joined.some(({ clones }) => clones.length > 0) && (
            <p className="help">
              Several machines speak for one host: it was cloned after it had joined. Remove it, delete the files of the
              join on each machine, and let each join under a name of its own.
            </p>
          )}
          {table("Hosts", joined)}
        </Section>
      )}
      <Pager to={here} query={{ [INVITES_CURSOR]: invites.cursor }} at={cursor} next={next} />
      {invites.items.length > 0 && (
        <Section id="invites" title="Invites">
          <Table
            label="Invites"
            columns={["Invite", "State", ["Hosts", "num"], "Until", "Approval", "Labels", ["", "acts"]]}
            rows={invites.items.map((invite) => inviteRow(here, invite, mayManage))}
          />
          <Pager to={here} query={{ cursor }} at={invites.cursor} next={invites.next} name={INVITES_CURSOR} />
        </Section>
      )}
    </TargetLayout>
  );
}

/** The hub names no signers to hosts of a project that nobody has signed yet. */
const inviteCommand = (project: string, signers: readonly string[]): string =>
  `sealift host invite --project ${project}${signers.length === 0 ? " --signer-public-key signer.pub" : ""} > join.token`;

function hostRow(project: string, host: JoinedHost, mayManage: boolean) {
  const { host_id: id, state, version, heard_at: heard, labels, created_at: at, address, invite_id: invite } = host;
  const { clones } = host;
  const [text, tone] = HOST_STATES[state];
  const to = `${hostsPath(project)}/${encodeURIComponent(id)}`;
  return [
    id,
    heard === null ? id : <Go to={pagePaths.host("project", project, id)}>{id}</Go>,
    <>
      <Badge tone={tone}>{text}</Badge>
      {clones.length > 0 && (
        <>
          {" "}
          <Badge tone="bad">{`${clones.length} machines`}</Badge>
          {clones.map(({ address: from, heard_at: spoke }, index) => (
            <p className="slug" key={index}>
              {from} <Time at={spoke} />
            </p>
          ))}
        </>
      )}
    </>,
    version,
    <Time at={heard} none="never" />,
    labelsText(labels),
    <>
      <Time at={at} />
      <p className="slug">
        {address === "" ? "" : `from ${address} `}
        {invite ?? "key made by hand"}
      </p>
    </>,
    mayManage && (
      <>
        {state === "pending" && (
          <Ask at={to} verb="Approve" thing={id}>
            Let {id} in? It gets a key that speaks for it, and deploys what the project publishes.
          </Ask>
        )}
        <Opened title="Rename" to={`${to}/rename`}>
          <Field label={`New name of ${id}`} name="host_id" required maxLength={128} />
          <button>Rename {id}</button>
        </Opened>
        <Remove at={to} verb="Remove" thing={id}>
          Remove {id}? Its keys end at once, and it leaves the fleet. What it runs goes on running.
        </Remove>
      </>
    ),
  ] as const;
}

const inviteRow = (here: string, { id, state, used, uses, ...invite }: InviteRecord, mayManage: boolean) =>
  [
    id,
    <>
      <code>{id}</code>
      <p className="slug">by {invite.created_by}</p>
    </>,
    <Badge tone={INVITE_TONES[state]}>{state}</Badge>,
    `${used} of ${uses}`,
    <Time at={invite.expires_at} />,
    invite.approve ? "needed" : "",
    labelsText(invite.labels),
    mayManage && state !== "revoked" && (
      <Remove
        at={`${here}/invites/${encodeURIComponent(id)}`}
        verb="Revoke"
        // The whole id is wider than a phone.
        thing={`invite ${id.slice(-6)}`}
      >
        Revoke this invite? Nobody joins with it any more, and hosts that wait with it are refused.
      </Remove>
    ),
  ] as const;

const InviteForm = ({ to, signers }: { to: string; signers: string[] }) => (
  <Opened className="panel" title="Invite hosts" to={to}>
    <Field label="Hosts" name="uses" type="number" min={1} max={100_000} defaultValue={1} required />
    <Select label="It ends in" name="hours" of={LIVES} />
    <Field label="Labels" name="labels" maxLength={2048} placeholder="env=prod region=eu" />
    <Field
      label="Signers that hosts pin: public keys in hexadecimal"
      name="signers"
      defaultValue={signers.join(" ")}
      maxLength={2048}
      required
    />
    <label className="check">
      <input type="checkbox" name="approve" value="yes" />
      <span>Each host waits until somebody approves it</span>
    </label>
    <button>Make the invite</button>
  </Opened>
);

/** The token of a new invite: the only time that it is shown. */
export function NewInvitePage({
  project,
  invite,
  line,
}: {
  project: { id: string; name: string };
  invite: NewInvite;
  /** The token with the fingerprint of the signers. */
  line: string;
}) {
  const { hubUrl } = useView();
  const many = invite.uses === 1 ? "One host" : `${invite.uses} hosts`;
  const below = (
    <>
      <Command text={`sealift join ${hubUrl} --token-file join.token`} />
      <p>
        <Go to={hostsPath(project.id)}>Back to the hosts</Go>
      </p>
    </>
  );
  return (
    <SecretsPage
      title={`${project.name}: new invite`}
      of={`Invite to ${project.name}`}
      notice="Copy the token now, into a file on the host. The hub does not show it again."
      secrets={{ Token: line }}
      below={below}
    >
      {many} may join until <Time at={invite.expires_at} />, and pin{" "}
      {invite.signers.map((hex, index) => (
        <Fragment key={hex}>
          {index > 0 && ", "}
          <KeyName hex={hex} />
        </Fragment>
      ))}
      . On the host:
    </SecretsPage>
  );
}
