import type { FastifyRequest } from "fastify";
import { Fragment } from "react";
import { currentSigners } from "../../../client/project-signers.ts";
import type { InviteRecord } from "../../../contract/joining/records.ts";
import * as routes from "../../../contract/joining/routes.ts";
import { joinLine } from "../../../contract/joining/token.ts";
import { labelsIn, labelsText } from "../../../contract/labels.ts";
import { listSigners } from "../../../contract/signers/routes.ts";
import { listVersions } from "../../../contract/versions/routes.ts";
import { unprocessable } from "../../../hub/base/errors.ts";
import { act } from "../../page/act.ts";
import { callTo } from "../../page/api.ts";
import { field, type PageContext, param } from "../../page/context.ts";
import { Check, Field, Opened, Remove, Select } from "../../page/forms.tsx";
import { targetScreen } from "../../page/named-target.ts";
import { Badge, Command, Go, type Row, Time, type Tone, withNotes } from "../../page/parts.tsx";
import { SecretsPage } from "../../page/secrets-page.tsx";
import { KeyName } from "../../page/version-marks.tsx";
import { hostsPath } from "./paths.ts";

/** Invites of hosts to a project: the form for a new one, its token, and the rows of existing ones. */

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

export const inviteRow = (
  here: string,
  { id, state, used, uses, ...invite }: InviteRecord,
  mayManage: boolean,
): Row => [
  id,
  withNotes(<code>{id}</code>, `by ${invite.created_by}`),
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
];

export const InviteForm = ({ to, signers }: { to: string; signers: string[] }) => (
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
    <Check name="approve">Each host waits until somebody approves it</Check>
    <button>Make the invite</button>
  </Opened>
);

/** Lists the keys that hosts are to pin, as far as the visitor's key may see them. */
export const signersOf = ({ api }: PageContext, request: FastifyRequest, projectId: string): Promise<string[]> =>
  currentSigners(
    {
      async *listSigners({ params }) {
        yield* (await api.ask(request, callTo(listSigners, { params, query: { limit: "200" } })))?.items ?? [];
      },
      async *listVersions({ params }) {
        yield* (await api.ask(request, callTo(listVersions, { params, query: { limit: "200" } })))?.items ?? [];
      },
    },
    projectId,
  );

const HOUR_MS = 3_600_000;
/** Longest life of an invite, in hours: a year. */
const MOST_HOURS = 8760;

/** Reads a whole number of a form. @throws HubError 422 for another text */
function numberIn(request: FastifyRequest, name: string, most: number): number {
  const text = field(request, name) ?? "";
  const count = /^[0-9]{1,9}$/.test(text) ? Number(text) : 0;
  if (count < 1 || count > most) throw unprocessable(`${name}: must be a whole number from 1 to ${most}.`);
  return count;
}

/** Reads labels of a form. @throws HubError 422 for a word of another form */
function labelsOf(request: FastifyRequest) {
  const words = (field(request, "labels") ?? "").split(/[\s,]+/).filter((word) => word !== "");
  const labels = labelsIn(words.join(","));
  if (Object.keys(labels).length !== words.length)
    throw unprocessable("labels: must be NAME=VALUE, each name once, such as env=prod region=eu.");
  return labels;
}

/** Makes an invite, and shows its token: the only time. */
export const inviteHosts = targetScreen(async ({ api, hub }, request, { id, name }) => {
  const hours = numberIn(request, "hours", MOST_HOURS);
  const body = {
    uses: numberIn(request, "uses", 100_000),
    expires_at: new Date(hub.clock() + hours * HOUR_MS).toISOString(),
    labels: labelsOf(request),
    approve: field(request, "approve") !== undefined,
    signers: (field(request, "signers") ?? "").split(/[\s,]+/).filter((key) => key !== ""),
  };
  const invite = await api.call(request, callTo(routes.createInvite, { params: { id }, body }));
  return (
    <SecretsPage
      title={`${name}: new invite`}
      of={`Invite to ${name}`}
      notice="Copy the token now, into a file on the host. The hub does not show it again."
      secrets={{ Token: joinLine(invite.token, invite.signers) }}
      below={
        <>
          <Command text={`sealift join ${hub.publicUrl()} --token-file join.token`} />
          <p>
            <Go to={hostsPath(id)}>Back to the hosts</Go>
          </p>
        </>
      }
    >
      {invite.uses === 1 ? "One host" : `${invite.uses} hosts`} may join until <Time at={invite.expires_at} />, and pin{" "}
      {invite.signers.map((hex, index) => (
        <Fragment key={hex}>
          {index > 0 && ", "}
          <KeyName hex={hex} />
        </Fragment>
      ))}
      . On the host:
    </SecretsPage>
  );
});

export const revokeInvite = act(routes.revokeInvite, {
  to: (request) => hostsPath(param(request, "slug")),
  params: (request) => ({ id: param(request, "slug"), invite: param(request, "invite") }),
});
