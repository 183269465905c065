import type { FastifyRequest } from "fastify";
import type { JoinedHost } from "../../../contract/joining/records.ts";
import * as routes from "../../../contract/joining/routes.ts";
import { labelsText } from "../../../contract/labels.ts";
import { may } from "../../../hub/base/principal.ts";
import { act } from "../../page/act.ts";
import { callTo } from "../../page/api.ts";
import { field, param, requirePrincipal } from "../../page/context.ts";
import { Ask, Field, Opened, Remove } from "../../page/forms.tsx";
import { targetScreen } from "../../page/named-target.ts";
import { Badge, Empty, Go, Pager, type Row, Section, Table, Time, type Tone, withNotes } from "../../page/parts.tsx";
import { TargetLayout } from "../../page/target-layout.tsx";
import { pagePaths } from "../../page/view.ts";
import { InviteForm, inviteRow, signersOf } from "./invites.tsx";
import { hostsPath } from "./paths.ts";

const HOST_STATES: Record<JoinedHost["state"], [text: string, tone: Tone]> = {
  pending: ["waits for approval", "warn"],
  approved: ["approved", "busy"],
  joined: ["joined", "good"],
  ended: ["its key has ended", "bad"],
};

/** Name of the invites' cursor in the address; the hosts have another one. */
const INVITES_CURSOR = "invites";

/** Shows the hosts of a project with keys of their own, those that wait, and its invites. */
export const joinedHosts = targetScreen(async (context, request, { id, name }) => {
  const { api } = context;
  const of = { params: { id } };
  const { items, cursor, next } = await api.page(
    request,
    callTo(routes.listJoined, { ...of, query: { limit: "100" } }),
  );
  const pending = callTo(routes.listJoined, { ...of, query: { limit: "100", state: "pending" } });
  const { items: waiting } = await api.call(request, pending);
  const listed = callTo(routes.listInvites, { ...of, query: { limit: "50" } });
  const invites = await api.page(request, listed, INVITES_CURSOR);
  const mayManage = may(requirePrincipal(request), "keys");
  const signers = mayManage ? await signersOf(context, request, id) : [];
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
    <TargetLayout kind="project" slug={id} name={name} isControlled at="Hosts">
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
});

/**
 * Returns the command that makes an invite, with signers if the hub has none to name: nobody has signed the project
 * yet.
 */
const inviteCommand = (project: string, signers: readonly string[]): string =>
  `sealift host invite --project ${project}${signers.length === 0 ? " --signer-public-key signer.pub" : ""} > join.token`;

function hostRow(project: string, host: JoinedHost, mayManage: boolean): Row {
  const { host_id: id, state, heard_at: heard, address, clones } = host;
  const [text, tone] = HOST_STATES[state];
  const at = `${hostsPath(project)}/${encodeURIComponent(id)}`;
  return [
    id,
    heard === null ? id : <Go to={pagePaths.host("project", project, id)}>{id}</Go>,
    <>
      <Badge tone={tone}>{text}</Badge>
      {clones.length > 0 &&
        withNotes(
          <>
            {" "}
            <Badge tone="bad">{`${clones.length} machines`}</Badge>
          </>,
          ...clones.map(({ address: from, heard_at: spoke }) => (
            <>
              {from} <Time at={spoke} />
            </>
          )),
        )}
    </>,
    host.version,
    <Time at={heard} none="never" />,
    labelsText(host.labels),
    withNotes(
      <Time at={host.created_at} />,
      `${address === "" ? "" : `from ${address} `}${host.invite_id ?? "key made by hand"}`,
    ),
    mayManage && (
      <>
        {state === "pending" && (
          <Ask at={at} verb="Approve" thing={id}>
            Let {id} in? It gets a key that speaks for it, and deploys what the project publishes.
          </Ask>
        )}
        <Opened title="Rename" to={`${at}/rename`}>
          <Field label={`New name of ${id}`} name="host_id" required maxLength={128} />
          <button>Rename {id}</button>
        </Opened>
        <Remove at={at} verb="Remove" thing={id}>
          Remove {id}? Its keys end at once, and it leaves the fleet. What it runs goes on running.
        </Remove>
      </>
    ),
  ];
}

const to = (request: FastifyRequest): string => hostsPath(param(request, "slug"));
const params = (request: FastifyRequest) => ({ id: param(request, "slug"), host: param(request, "host") });

export const approveHost = act(routes.approveHost, { to, params });
export const removeHost = act(routes.removeHost, { to, params });
export const renameHost = act(routes.renameHost, {
  ...{ to, params },
  body: (request) => ({ host_id: field(request, "host_id") ?? "" }),
});
