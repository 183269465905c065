import type { FleetCounts } from "../../../contract/surfaces/reports.ts";
import type { RootDocument, RootKey } from "../../../contract/trust/root.ts";
import { followedRoot, readProjectRoot, readTargetRoot, type RootRecord } from "../../../contract/trust/routes.ts";
import { HubError, notFound } from "../../../hub/base/errors.ts";
import { counted } from "../../../support/counted.ts";
import { countsCall } from "../../fleets/fleets.ts";
import { type ApiCall, callTo, unlessHidden } from "../../page/api.ts";
import { targetScreen } from "../../page/named-target.ts";
import { Badge, Command, Empty, FactList, type Row, Section, Table, Time, withNotes } from "../../page/parts.tsx";
import { TargetLayout } from "../../page/target-layout.tsx";
import { KeyName, shortHex } from "../../page/version-marks.tsx";

const START =
  "sealift trust start 1.root.json --from-signer signer.key --root-key a.pub --root-key b.pub --root-key c.pub";

/** Shows the trust root that a target follows: its root keys, and the signers that it names. */
export const trust = targetScreen(async ({ api }, request, { kind, slug, id, name, isControlled }) => {
  if (!isControlled) throw notFound("The key may not see which trust root it follows.");
  const frame = { kind, slug, name, isControlled, at: "Trust" };
  const root = await unlessNone(api.call(request, callTo(followedRoot, { params: { id } })));
  if (root === undefined)
    return (
      <TargetLayout {...frame}>
        <Empty title="It follows no trust root." command={START} isPattern>
          Each host pins the keys of its signers. With a trust root, hosts take new signers without being visited.
        </Empty>
      </TargetLayout>
    );
  const version = String(root.version);
  // A key may see the root and not the fleet.
  const counts = await unlessHidden(api.call(request, countsCall({ kind, slug })));
  const call: ApiCall<RootDocument> =
    kind === "project"
      ? callTo(readProjectRoot, { params: { project_id: slug, version } })
      : callTo(readTargetRoot[kind], { params: { slug, version } });
  const document = await api.call(request, call);
  return (
    <TargetLayout {...frame}>
      <Root of={root} document={document} />
      {counts !== undefined && <Followers of={root} counts={counts} />}
      <Command text={`sealift trust show ${kind}:${slug}`} />
    </TargetLayout>
  );
});

/** Returns the root; undefined for a target that follows none. */
async function unlessNone(asked: Promise<RootRecord>): Promise<RootRecord | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof HubError && error.statusCode === 404) return undefined;
    throw error;
  }
}

function Root({ of: root, document: { signed } }: { of: RootRecord; document: RootDocument }) {
  const { root: holders, targets: signers } = signed.roles;
  const names = signed["x-sealift-names"] ?? {};
  const rowOf = (id: string): Row => [
    id,
    names[id] ?? <span className="faint">no name</span>,
    keyOf(id, signed.keys[id]!),
  ];
  return (
    <>
      <FactList
        of={{
          "Trust root": <code>{root.id}</code>,
          Version: root.version,
          Digest: <code title={`SHA-256: ${root.digest}`}>{shortHex(root.digest)}</code>,
          Published: <Time at={root.published_at} />,
          By: root.published_by,
          Expires: withNotes(<Time at={root.expires} />, "nothing stops then"),
          Followed: `by ${counted(root.targets.length, "target")}`,
        }}
      />
      <Section id="root-keys" title="Root keys">
        <p className="help">
          {holders.threshold} of {counted(holders.keyids.length, "key")} must sign the next version.
        </p>
        {holders.threshold === 1 && (
          <p className="notice warn">Whoever takes one of them owns these hosts, and only a visit takes them back.</p>
        )}
        <Table label="Root keys" columns={["Name", "Key"]} rows={holders.keyids.map(rowOf)} />
      </Section>
      <Section id="signers" title="Signers">
        <p className="help">Hosts install what any one of them has signed.</p>
        <Table label="Signers" columns={["Name", "Key"]} rows={signers.keyids.map(rowOf)} />
      </Section>
    </>
  );
}

/** Shows how many hosts of the target follow which version, and versions of which there are two. */
function Followers({ of: root, counts: { hosts, roots = [] } }: { of: RootRecord; counts: FleetCounts }) {
  const following = roots.reduce((sum, each) => sum + each.hosts, 0);
  const isFork = ({ version, digest }: (typeof roots)[number]) =>
    roots.some((other) => other.version === version && other.digest !== digest) ||
    (version === root.version && digest !== root.digest);
  const stateOf = (each: (typeof roots)[number]) =>
    isFork(each) ? (
      <Badge tone="bad">forked</Badge>
    ) : each.version < root.version ? (
      <Badge tone="warn">late</Badge>
    ) : (
      <Badge tone="good">current</Badge>
    );
  return (
    <Section id="followers" title="Hosts">
      <p className="help">
        {following} of {counted(hosts, "host")} {following === 1 ? "has" : "have"} said which version they follow.
      </p>
      {roots.length > 0 && (
        <Table
          label="Hosts by version"
          columns={["Version", "Digest", ["Hosts", "num"], "State"]}
          rows={roots.map((each) => [
            `${each.version} ${each.digest}`,
            each.version,
            <code title={`SHA-256: ${each.digest}`}>{shortHex(each.digest)}</code>,
            each.hosts,
            stateOf(each),
          ])}
        />
      )}
    </Section>
  );
}

const keyOf = (id: string, { keytype, keyval }: RootKey) =>
  keytype === "ed25519" ? <KeyName hex={keyval.public} /> : <code title={`P-256, id ${id}`}>{shortHex(id)}</code>;
