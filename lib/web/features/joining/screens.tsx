import type { FastifyRequest } from "fastify";
import type { JoinedHost } from "../../../contract/joining/records.ts";
import * as routes from "../../../contract/joining/routes.ts";
import { JOINED_FACTS } from "../../../contract/joining/shown.ts";
import { may } from "../../../hub/base/principal.ts";
import { act } from "../../page/act.ts";
import { callTo } from "../../page/api.ts";
import { field, param, requirePrincipal } from "../../page/context.ts";
import { factRows } from "../../page/fact-rows.tsx";
import { Ask, Field, Opened, Remove } from "../../page/forms.tsx";
import { targetScreen } from "../../page/named-target.ts";
import { Badge, Empty, Go, Pager, Section, Table, Time, type Tone, withNotes } from "../../page/parts.tsx";
import { TargetLayout } from "../../page/target-layout.tsx";
import { pagePaths } from "../../page/view.ts";
import { InviteForm, inviteRows, signersOf } from "./invites.tsx";
import { hostsPath } from "./paths.ts";

const HOST_TONES: Record<JoinedHost["state"], Tone> = {
  pending: "warn",
  approved: "busy",
  joined: "good",
  ended: "bad",
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
  const table = (label: string, hosts: JoinedHost[]) => <Table label={label} {...hostRows(id, hosts, mayManage)} />;
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
          <Table label="Invites" {...inviteRows(here, invites.items, mayManage)} />
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

const hostRows = (project: string, hosts: readonly JoinedHost[], mayManage: boolean) =>
  factRows(JOINED_FACTS, hosts, {
    keyOf: ({ host_id: id }) => id,
    formed: {
      host_id: ({ host_id: id, heard_at: heard }) =>
        heard === null ? id : <Go to={pagePaths.host("project", project, id)}>{id}</Go>,
      state: (host) => (
        <>
          <Badge tone={HOST_TONES[host.state]}>{JOINED_FACTS.state.text(host)}</Badge>
          {host.clones.length > 0 && <Clones of={host.clones} />}
        </>
      ),
      created_at: ({ created_at: joined, address, invite_id: invite }) =>
        withNotes(<Time at={joined} />, `${address === "" ? "" : `from ${address} `}${invite ?? "key made by hand"}`),
    },
    acts: (host) => mayManage && <HostForms project={project} host={host} />,
  });

/** Machines that speak for one host. */
const Clones = ({ of }: { of: JoinedHost["clones"] }) =>
  withNotes(
    <>
      {" "}
      <Badge tone="bad">{`${of.length} machines`}</Badge>
    </>,
    ...of.map(({ address, heard_at: heard }) => (
      <>
        {address} <Time at={heard} />
      </>
    )),
  );

function HostForms({ project, host: { host_id: id, state } }: { project: string; host: JoinedHost }) {
  const at = `${hostsPath(project)}/${encodeURIComponent(id)}`;
  return (
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
  );
}

const to = (request: FastifyRequest): string => hostsPath(param(request, "slug"));
const params = (request: FastifyRequest) => ({ id: param(request, "slug"), host: param(request, "host") });

export const approveHost = act(routes.approveHost, { to, params });
export const removeHost = act(routes.removeHost, { to, params });
export const renameHost = act(routes.renameHost, {
  ...{ to, params },
  body: (request) => ({ host_id: field(request, "host_id") ?? "" }),
});
