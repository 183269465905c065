import type { KitRecord } from "../../../contract/kits/records.ts";
import * as routes from "../../../contract/kits/routes.ts";
import { may } from "../../../hub/base/principal.ts";
import { callTo } from "../../page/api.ts";
import { param, requirePrincipal } from "../../page/context.ts";
import { Remove } from "../../page/forms.tsx";
import { targetScreen } from "../../page/named-target.ts";
import {
  Badge,
  Command,
  Empty,
  FactList,
  Pager,
  type Row,
  Section,
  Table,
  Time,
  withNotes,
} from "../../page/parts.tsx";
import { TargetLayout } from "../../page/target-layout.tsx";
import { kitsPath } from "./paths.ts";

/** Shows the kits of a target, for hosts without network, and the command that makes one. */
export const kits = targetScreen(async ({ api }, request, { kind, slug, id, name, isControlled }) => {
  const listed = callTo(routes.listKits, { params: { id }, query: { limit: "50" } });
  const { items, cursor, next } = await api.page(request, listed);
  const { hub_key: hubKey } = await api.call(request, callTo(routes.showKitKey, {}));
  const here = kitsPath(kind, slug);
  const mayEnd = may(requirePrincipal(request), "deploy");
  const credential = kind === "project" ? " --deployment-credential-file FILE" : "";
  const hosts = kind === "project" ? "" : " --project PROJECT";
  const make = `sealift kit make ${kind}:${slug} --host HOST=LINE${hosts} --out FOLDER${credential}`;
  return (
    <TargetLayout {...{ kind, slug, name, isControlled, at: "Kits" }}>
      {items.length === 0 && cursor === "" ? (
        <Empty title="No kit was made yet." command={make} isPattern>
          A kit brings a version to hosts without network, on a stick. Its key is sealed to each of them.
        </Empty>
      ) : (
        <Section id="kits" title="Kits">
          <Table
            label="Kits"
            columns={["Kit", "State", "Version", "Hosts", "Made", ["", "acts"]]}
            rows={items.map((kit) => kitRow(`${kind}:${slug}`, here, kit, mayEnd))}
          />
          <Pager to={here} at={cursor} next={next} />
          <p>Make another one:</p>
          <Command text={make} isPattern />
        </Section>
      )}
      <FactList of={{ "Key of this hub, for hub_keys of policies": <code>{hubKey}</code> }} />
    </TargetLayout>
  );
});

/** Ends a kit, and goes back to the list. */
export const endKit = targetScreen(async ({ api }, request, { kind, slug, id }) => {
  await api.call(request, callTo(routes.endKit, { params: { id, kit: param(request, "kit") } }));
  return { goTo: kitsPath(kind, slug) };
});

const isLive = ({ ended_at: ended, ends_at: end }: KitRecord): boolean =>
  ended === null && Date.parse(end) > Date.now();

function kitRow(of: string, here: string, kit: KitRecord, mayEnd: boolean): Row {
  const { id, target, version, hosts, made_at: made, made_by: maker, ends_at: end, ended_at: ended } = kit;
  return [
    id,
    id,
    withNotes(
      isLive(kit) ? <Badge tone="good">live</Badge> : <Badge tone="calm">ended</Badge>,
      <Time at={ended ?? end} />,
    ),
    withNotes(version, ...(target === of ? [] : [target])),
    withNotes(
      hosts.map(({ host_id: host }) => host).join(", "),
      ...hosts.flatMap(({ host_id: host, removed_at: removed }) => (removed === null ? [] : [`${host} was removed`])),
      ...(kit.hosts_project_id === null || target !== of ? [] : [`of project ${kit.hosts_project_id}`]),
    ),
    withNotes(<Time at={made} />, maker),
    mayEnd && isLive(kit) && (
      <Remove at={`${here}/${id}`} verb="End" thing={`the kit of ${target === of ? version : `${target} ${version}`}`}>
        It leaves this list of live ones. A stick that is out there is not reached: its hosts take it until its own end,
        or until they have accepted a newer one.
      </Remove>
    ),
  ];
}
